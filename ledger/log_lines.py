"""The lines that parts of the program log about their work; structlog is loaded at the first one.

Loading it takes longer than most commands run, and most commands log nothing. The command line says
by `set_up_at_first` where lines go, any other program by structlog's own `configure`. Standard
output belongs to the program: a line that would go there goes to standard error. A program that
configured nothing gets warnings and errors, as by Python's own logging.

With debugging on, each part that a command passes logs a line about it under one name: the client
that sends it, the sequencer that decides it, the follower that makes rows of its event.
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Final

DEBUG: Final = "LAKELEDGER_DEBUG"
"""The variable by which `--debug` reaches the processes that a command starts."""

ROLE: Final = "LAKELEDGER_ROLE"
"""The variable by which the supervisor names a role; each line of its process has the name."""

QUIET: Final = frozenset({"debug", "info"})
"""The levels of lines that only a program asks for which says where lines go."""

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


class CommandLines:
    """Lines about single commands and their events; `are_on` = this process is debugged.

    A command has one name in all of them: its session, a dot, and its number in the session. A line
    has what the program bound by `structlog.contextvars` too, such as the id of its own trace.
    """

    def __init__(self, name: str) -> None:
        self.are_on = is_debugged()
        self._lines = LogLines(name)

    def send(self, session: int, n: int, command: object) -> None:
        """Log that a command goes to the log."""
        self._lines.debug("sent", command=f"{session}.{n}", kind=type(command).__name__)

    def note(self, said: str, event: tuple[Any, object]) -> None:
        """Log what was done with an event, its control and body."""
        control, body = event
        self._lines.debug(
            said,
            command=f"{control.session}.{control.n}" if control.session else None,
            kind=type(body).__name__,
            position=control.position,
            txn=control.txn,
        )


def is_debugged() -> bool:
    """Return whether to log more, to show tracebacks and stacks, and to check states."""
    return DEBUG in os.environ


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
    return structlog.wrap_logger(BesideOutput(name))


class BesideOutput:
    """Where the lines of one part go: as structlog is configured, but never to standard output."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, level: str) -> Any:
        import structlog  # noqa: PLC0415 - loaded at the first line

        if level in QUIET and not structlog.is_configured() and not is_debugged():
            return say_nothing
        factory = structlog.get_config()["logger_factory"]
        made = factory(self._name)
        # A factory that was given no file prints to the standard output of its first import.
        if getattr(factory, "_file", factory) is None or is_output(getattr(made, "_file", None)):
            made = structlog.PrintLogger(sys.stderr)
        return getattr(made, level)


def say_nothing(*_: Any, **__: Any) -> None:
    """Log no line."""


def is_output(file: Any) -> bool:
    """Tell whether a file is standard output, as text or as bytes."""
    outputs = [each for each in (sys.stdout, sys.__stdout__) if each is not None]
    return any(file in (output, getattr(output, "buffer", output)) for output in outputs)


def _set_up() -> None:
    with _setting_up:
        if _waiting:
            _waiting[0]()
            _waiting.clear()
