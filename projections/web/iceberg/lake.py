"""The lake: what all requests share, a ledger as one Iceberg catalog that may be written.

Its rows and its clients are connected when they are needed, and anew after an error of the rows or
of the log: a follower may start later, or make its rows anew.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple, Protocol

from ledger.client import Ledger
from ledger.errors import (
    AccessDeniedError,
    ConflictError,
    LogError,
    LogRewrittenError,
    LogUnavailableError,
    OutcomeUnknownError,
    ReaderBehindError,
    UnreadableTableError,
)
from ledger.reads.port import Reads, TableRow
from projections.errors import StoreError
from projections.iceberg.commits.commits import flush
from projections.iceberg.errors import IcebergRefusal, RowsInLogError, bad_request
from projections.web.iceberg.catalog import SeenCatalog
from projections.web.iceberg.clients import USERS_MAX, UserLedgers
from projections.web.iceberg.ports import ShownTable, ShownTables, TableCommits

WAIT_MS: Final = 10_000
PIN_WAIT_MS: Final = 2_000
FLUSHES: Final = 3
FLUSH_S: Final = 10.0
"""So often, and so long, a load of a table puts its rows of the log into files."""
BROKEN: Final = (StoreError, LogRewrittenError, LogError)
DIGITS_MAX: Final = 18


class LakeParts(NamedTuple):
    """The parts of a lake that belong to one connection: rows, tables, commits, and the ledger.

    `reads` returns the rows at hand, `ledger` its id and `name` its name.
    """

    reads: Reads
    tables: ShownTables
    commits: TableCommits
    ledger: str
    name: str


class LakeSource(Protocol):
    """Connects to a ledger."""

    def open(self, seen: Callable[[], Reads]) -> LakeParts:
        """Return the parts; `seen` returns rows that show each write made here."""

    def connect(self, reads: Reads, user: str | None) -> Ledger:
        """Return a client for a user, which reads the rows at hand."""


class IcebergLake:
    """A ledger as one Iceberg catalog; threads may share it.

    Attributes:
        catalog: the name of the catalog.
        places: the folders and URIs below which tables to register may lie.
    """

    def __init__(
        self,
        source: LakeSource,
        catalog: str,
        users_max: int = USERS_MAX,
        *,
        places: Sequence[str] = (),
    ) -> None:
        self.catalog, self.places = catalog, places
        self._source = source
        self._parts: LakeParts | None = None
        self._turn, self._flushing = Lock(), Lock()
        self._flushed: dict[int, deque[int]] = {}
        self._ledgers = UserLedgers(
            lambda user: source.connect(self.parts().reads, user), users_max
        )

    def parts(self) -> LakeParts:
        """Return the parts of the present connection; raises as connecting does."""
        with self._turn:
            if self._parts is None:
                self._parts = self._source.open(self.reads)
            return self._parts

    def reads(self) -> Reads:
        """Return the rows, once they show each write made here; raises ReaderBehindError."""
        reads = self.parts().reads
        written = self._ledgers.written()
        if written:
            reads.wait(written, WAIT_MS)
        return reads

    def seen(self, position: int | None = None) -> SeenCatalog:
        """Return the catalog now or as of a position; raises IcebergRefusal for an impossible one.

        A position that the rows have not reached is waited for, and then refused.
        """
        reads = self.reads()
        if position is not None:
            self.check_position(reads, position)
        return SeenCatalog(reads, self.catalog, position)

    def check_position(self, reads: Reads, position: int) -> None:
        """Raise IcebergRefusal for a position that the ledger has not."""
        if position < 1:
            raise bad_request(
                f"a position must be 1 or more, got {position}: the log begins with 1"
            )
        try:
            reads.wait(position, PIN_WAIT_MS)
        except ReaderBehindError as behind:
            raise bad_request(
                f"position {position} is not there yet, the newest one is {behind.applied}"
            ) from None

    @contextmanager
    def client(self, user: str | None) -> Iterator[Ledger]:
        """Yield the ledger as a user changes it; raises BusyError if too many do so now."""
        with self._ledgers.of(user) as ledger:
            yield ledger

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Connect anew after a block that meets an error of the rows or of the log.

        A broker that does not answer now is met again without that.
        """
        met = self._parts
        try:
            yield
        except BROKEN as problem:
            if not isinstance(problem, LogUnavailableError) and met is self._parts:
                self.leave()
            raise

    def table(self, row: TableRow) -> ShownTable:
        """Return a table as Iceberg shows it now, with its rows of the log in files.

        The catalog itself flushes it, since no row changes. Raises RowsInLogError, with a status
        that clients try again, if such rows come again and again; and if it may not write, or has
        no key of encrypted rows.
        """
        tables, until_s = self.parts().tables, monotonic() + FLUSH_S
        position, left = None, FLUSHES
        while True:
            try:
                return tables.table(row, position)
            except RowsInLogError as problem:
                if not left or monotonic() >= until_s:
                    why = f"{problem}. Some came again at each of {FLUSHES - left} flushes"
                    raise RowsInLogError(503, "ServiceUnavailableException", why) from problem
                position, left = self._flush(row, problem), left - 1

    def _flush(self, row: TableRow, problem: RowsInLogError) -> int | None:
        """Put rows of the log into files, and return as of when they are there, None if unknown."""
        try:
            with self._flushing, self.client(None) as ledger:
                position = flush(ledger, self.reads(), [row])
                if position is not None:
                    self._flushed.setdefault(row.table, deque(maxlen=FLUSHES)).append(position)
                return position
        except (AccessDeniedError, UnreadableTableError) as error:
            why = f"{problem}. The catalog cannot do it: {error}"
            raise RowsInLogError(problem.code, problem.kind, why) from error
        except (ConflictError, OutcomeUnknownError):
            return None

    def flushed(self, row: TableRow) -> Sequence[int]:
        """Return as of which positions loads showed a table after its last flushes, newest first.

        Snapshots from then are in no later metadata, if rows came into the log meanwhile.
        """
        return tuple(reversed(self._flushed.get(row.table, ())))

    def position(self) -> int:
        """Return the position of the rows."""
        with self.watched():
            return self.parts().reads.position()

    def users(self) -> int:
        """Return how many users have an open ledger."""
        return len(self._ledgers)

    def leave(self) -> None:
        """Let go of the rows and of all ledgers; the next request connects anew."""
        with self._turn:
            left, self._parts = self._parts, None
        self._ledgers.leave()
        if left is not None:
            left.reads.close()

    def close(self) -> None:
        """Let go of everything; the lake may not be used any more."""
        self.leave()


def warehouse_of(name: str, lake: IcebergLake) -> int | None:
    """Return the position in the name of a warehouse, None = now; raises IcebergRefusal.

    A warehouse is the catalog or the ledger by its name, or no name at all.
    """
    known, _, position = name.partition("@")
    names = {"", lake.catalog, lake.parts().name}
    if known not in names:
        raise IcebergRefusal(
            404,
            "NoSuchWarehouseException",
            f"there is no warehouse {known!r}; it must be {lake.catalog!r}, or "
            f"{lake.catalog + '@'!r} and a position",
        )
    return position_in(position) if "@" in name else None


def position_in(text: str) -> int:
    """Return the position that a text is; raises IcebergRefusal."""
    if not (text.isascii() and text.isdigit()) or len(text) > DIGITS_MAX:
        raise bad_request(f"a position must be a whole number, got {text!r}")
    return int(text)
