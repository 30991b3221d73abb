"""The status of a metadata cache: its entries, its answers by source, and its mismatches.

Also the port of a cache: in this process, or in another one behind a URL.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ledger.reads.metadata import (
    AT_HAND,
    Bounds,
    Metadata,
    MetadataAnswer,
    MetadataReads,
    ReadAt,
    Reason,
    Source,
)
from ledger.reads.rows import Identity


class ReadCount(NamedTuple):
    """The number of reads answered from one source for one reason."""

    source: Source
    reason: Reason
    number: int


class CacheStatus(NamedTuple):
    """A cache as of now; counts are since its process began.

    `ledger` is None until its rows are read. `is_loading` = the cache does not answer yet. The lag
    is None if unknown: in records of the log, and in ms since its last event, 0 at the end of the
    log. `entries` are the tables whose objects are held, in `versions` and about `bytes`.
    `fills_kept` answers of the store became entries. `cut` versions were dropped below the cleanup
    watermark. `timeouts` of the `waits` for the log were in vain. The sampler compared `compared`
    tables.
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
    """An object of a table with different answers of cache and store at one position."""

    table: int
    what: str
    cached: Metadata | None
    stored: Metadata | None


class VerifiedCache(NamedTuple):
    """The result of a comparison of cache and store."""

    compared: int
    mismatches: Sequence[MismatchRow]


class CacheReads(MetadataReads, Protocol):
    """A cache as a port; threads may share it."""

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> MetadataAnswer:
        """Return the metadata for a reader with the list of a position, or of now.

        Raises UnknownTableError, LimitExceededError for a position without a list, and as
        `metadata`.
        """
        ...

    def position(self) -> int:
        """Return the applied position."""
        ...

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`.

        Raises ReaderBehindError after `timeout_ms`.
        """
        ...

    def status(self) -> CacheStatus:
        """Return the entries, the lag, and the answers by source, as of now."""
        ...

    def verify(self, tables: int) -> VerifiedCache:
        """Compare some of the tables held with the store."""
        ...

    def close(self) -> None:
        """Close the cache or its connection."""
        ...
