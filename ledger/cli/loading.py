"""Ctrl-C while the command line loads, before there is anything to end."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code of a command that Ctrl-C ended, as in shells."""


@contextmanager
def ended_at_once() -> Iterator[None]:
    """End the process at Ctrl-C at once, instead of raising KeyboardInterrupt.

    Some modules lose an exception that comes while they load: modules made by Cython do, and so
    does the lock of an import. Then the command would go on. An existing handler of Ctrl-C stays,
    and so does the setting to ignore it.
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
