"""The status of a publisher of Delta logs, and its client over HTTP."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.reads.remote.http_questions import HttpQuestions


class StoppedStatus(NamedTuple):
    """A table that is not published any further: from which Delta version on, and the reason.

    `behind` versions of the table are not in its log. With `is_retried` its storage
    refused a version, and is tried again.
    """

    table: int
    name: str
    version: int
    behind: int
    reason: str
    is_retried: bool = False


class PublisherStatus(NamedTuple):
    """A publisher as of now; counts are since its process began.

    The lag is None if unknown: in records of the log, and in ms since its last event, 0 at the end
    of the log. `lag_versions` are the versions of published tables, of the events read, that no log
    has. `tables` are published, of which the `stopped` ones go no further. `written` versions were
    not there before. Rows in the log wait `waiting_ms` for readers of published logs, 0 if none do.
    """

    position: int
    is_caught_up: bool
    lag_positions: int | None
    lag_ms: int | None
    lag_versions: int
    tables: int
    written: int
    stopped: Sequence[StoppedStatus]
    waiting_ms: int = 0


class HttpPublisher(HttpQuestions):
    """The publisher behind a URL such as `http://host:8184`; threads may share it."""

    def status(self) -> PublisherStatus:
        """Return how it is; raises ReadsUnavailableError if it does not answer."""
        return self._get(PublisherStatus, "/publisher")
