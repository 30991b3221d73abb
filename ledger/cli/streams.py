"""The streams of a command: letters outside their encoding, and readers that are gone."""

import io
import os
import select
import sys
from contextlib import suppress
from typing import Final

# Systems differ in which of the two a pipe without a reader reports.
GONE: Final = select.POLLERR | select.POLLHUP


def show_every_letter() -> None:
    """Let stdout and stderr take any text: letters outside their encoding are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_read() -> bool:
    """Return whether stdout still has a reader, without writing to it.

    A pipe reports at once that its reader is gone; a write would report it only later.
    """
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return True  # Not of the system, so no reader can go.
    watched = select.poll()
    watched.register(number, GONE)
    return not any(found & GONE for _, found in watched.poll(0))


def flush() -> None:
    """Flush stdout; raises OSError if that is not possible."""
    if sys.stdout is not None:
        sys.stdout.flush()


def read_no_more() -> None:
    """Discard further output to stdout: its reader is gone, or its disk is full."""
    with suppress(AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
