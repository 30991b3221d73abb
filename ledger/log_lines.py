"""The lines that parts of the program log about their work; structlog is loaded at the first one.

Loading it takes longer than most commands run, and most commands log nothing. The process decides
where lines go: the command line says so by `set_up_at_first`, any other program by structlog's own
`configure`.
"""

import sys
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

_waiting: list[Callable[[], None]] = []
"""The set-up that waits for the first line, if any."""

_setting_up = Lock()
"""Two threads may log the first line: the second one waits for the set-up."""


class LogLines:
    """The logger of one part of the program, by its name; its methods are those of structlog."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, level: str) -> Any:
        return getattr(_logger(self._name), level)


def set_up_at_first(set_up: Callable[[], None]) -> None:
    """Call `set_up` before the first line, or now if structlog is loaded already."""
    _waiting[:] = [set_up]
    if "structlog" in sys.modules:
        _set_up()


def is_set_up() -> bool:
    """Return whether the process decided where its lines go."""
    if _waiting:
        return True
    loaded = sys.modules.get("structlog")
    return loaded is not None and bool(loaded.is_configured())


@cache
def _logger(name: str) -> Any:
    """Return structlog's logger, which follows each later change of the set-up."""
    import structlog  # noqa: PLC0415 - loaded at the first line

    _set_up()
    return structlog.get_logger(name)


def _set_up() -> None:
    with _setting_up:
        if _waiting:
            _waiting[0]()
            _waiting.clear()
