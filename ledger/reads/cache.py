"""How a metadata cache is: what it holds, what it answered from where, and what differs.

And the port of a cache that answers: in this process, or in another one behind a URL.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ledger.reads.metadata import (
    AT_HAND,
    Answer,
    Bounds,
    Metadata,
    MetadataReads,
    ReadAt,
    Reason,
    Source,
)
from ledger.reads.rows import Identity


class ReadCount(NamedTuple):
    """How many reads were answered from one source for one reason."""

    source: Source
    reason: Reason
    number: int


class CacheStatus(NamedTuple):
    """A cache as of now; counts are since its process began.

    `ledger` says whose it is, None before its rows do. `is_loading` = nothing is answered from it
    yet. The lag is None where nobody knows it: in records of the log, and in ms since the last
    event it has, 0 at the end of the log. `entries` are the tables whose objects are held, in
    `versions` and about `bytes`. Of the store's answers `fills_kept` became entries. `cut` versions
    were let go behind the cleanup watermark. Of `waits` for the log `timeouts` were in vain. The
    sampler compared `compared` tables.
    """

    ledger: Identity | None
    position: int
    is_loading: bool
    lag_positions: int | None
    lag_ms: int | None
    entries: int
    versions: int
    bytes: int
    bytes_max: int
    evictions: int
    cut: int
    hit_ratio: float
    reads: Sequence[ReadCount]
    fills_kept: int
    fills_dropped: int
    waits: int
    timeouts: int
    compared: int
    mismatches: int


class MismatchRow(NamedTuple):
    """An object of a table of which cache and store told differently at one position."""

    table: int
    what: str
    cached: Metadata | None
    stored: Metadata | None


class Verified(NamedTuple):
    """What a comparison of cache and store found."""

    compared: int
    mismatches: Sequence[MismatchRow]


class CacheReads(MetadataReads, Protocol):
    """A cache that answers; threads may share it."""

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> Answer:
        """Return what a reader with the list of a position, or of now, sees.

        Raises UnknownTableError, LimitExceededError for a position of which no list is left, and as
        `metadata`.
        """
        ...

    def position(self) -> int:
        """Return the position it has applied."""
        ...

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`.

        Raises ReaderBehindError after `timeout_ms`.
        """
        ...

    def status(self) -> CacheStatus:
        """Return how it is."""
        ...

    def verify(self, tables: int) -> Verified:
        """Compare some of the tables held with the store."""
        ...

    def close(self) -> None:
        """Let go of what answers."""
        ...
