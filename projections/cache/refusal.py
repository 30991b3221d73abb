"""Refusal: a log that refuses its reader, which then keeps trying, and the log lines about it."""

from typing import Final

import structlog

from ledger.errors import LogRefusedError, LogUnavailableError

log_lines: Final = structlog.get_logger("lakeledger.cache")


class Refusal:
    """Why the log cannot be read now, set by the thread that reads; any thread may look.

    A broker that is away comes back by itself, and the lag shows it. A refusal stays until an
    operator ends it.
    """

    def __init__(self) -> None:
        self.now: LogRefusedError | None = None

    def note(self, error: LogUnavailableError) -> None:
        """Record why the log could not be read; a refusal is logged once."""
        if not isinstance(error, LogRefusedError):
            return
        if self.now is None:
            log_lines.warning("the log is refused", error=type(error).__name__, why=str(error))
        self.now = error

    def clear(self) -> None:
        """Record that the log was read."""
        if self.now is not None:
            log_lines.info("the log can be read")
            self.now = None
