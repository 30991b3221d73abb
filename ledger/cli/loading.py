"""Ctrl-C while the command line loads, before there is anything that would have to be ended."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
"""How a command ends at Ctrl-C, as shells tell it."""


@contextmanager
def ended_at_once() -> Iterator[None]:
    """End the process at Ctrl-C where it is, in the place of KeyboardInterrupt.

    Not every module lets an exception out that comes while it loads: those made by Cython lose it,
    as does the lock of an import, and the command went on as if nobody had wanted it to end. Who
    has taken Ctrl-C keeps it, and who was started to ignore it goes on doing so.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
