"""The streams of a command: letters that cannot be shown, and readers that are gone."""

import io
import os
import select
import sys
from contextlib import suppress
from typing import Final

# Systems differ in which of the two a pipe without a reader tells.
GONE: Final = select.POLLERR | select.POLLHUP


def show_every_letter() -> None:
    """Let stdout and stderr take any text: what their encoding does not have is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_read() -> bool:
    """Tell whether stdout can still be read by anybody, without writing to it.

    A pipe whose reader is gone tells it at once; a write would only tell once there is something.
    """
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return True  # Not of the system, so no reader can go.
    watched = select.poll()
    watched.register(number, GONE)
    return not any(found & GONE for _, found in watched.poll(0))


def flush() -> None:
    """Write out what stdout still holds; raises OSError where that is not possible."""
    if sys.stdout is not None:
        sys.stdout.flush()


def read_no_more() -> None:
    """Let what is left for stdout go nowhere: its reader is gone, or its disk is full."""
    with suppress(AttributeError, OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
