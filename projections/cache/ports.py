"""The ports of a cache: a read, the store's answer, and what feeds the cache.

Entries answer from memory. They follow the log in this process (`following`) or the rows of another
process (`rows`). Both have a bound on their bytes, and evict the tables that were not read for the
longest time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ledger.reads.lineage import Gap
from ledger.reads.metadata import (
    TABLE,
    Metadata,
    MetadataAnswer,
    Name,
    Objects,
    Read,
    ReadAt,
    described,
)
from ledger.reads.port import Identity
from projections.cache.entries.held import HeldTables
from projections.cache.entries.ids import ReaderIds
from projections.fold.lag import Lag
from projections.fold.registering import Registration


class EntryRead(NamedTuple):
    """A read: an object of the table with a name, an id, or both.

    `ids` is None for a reader without a list. `own_txn` is the txn it reads in, `token` the
    position it must see at least; 0 stands for no txn and no token. A reader sees its own changes
    only with the token of the last of them.
    """

    name: Name | None
    ids: ReaderIds | None
    table: int | None = None
    what: str = TABLE
    own_txn: int = 0
    token: int = 0


class StoreAnswer(NamedTuple):
    """The store's answer about a table for one list, as of its own position.

    `is_settled`: every id valid in the list has ended, except the id of the reader's own txn, so
    the answer to others never changes. `is_current`: the list also holds every id committed up to
    the position. `can_settle`: a later position may end ids of the list.
    """

    position: int
    is_settled: bool
    is_current: bool
    table: int
    name: Name | None
    objects: Objects | None
    can_settle: bool = True

    def value(self, what: str) -> Metadata | None:
        """Return one object of the table, None if there is no such table or object."""
        if self.name is None or self.objects is None or what not in self.objects:
            return None
        return described(self.table, self.name, self.objects, what)


class Entries(Protocol):
    """The entries of a cache; threads may share them. `tables` are the held tables.

    `entry` is their entry among the processes that follow the log, if they have one.

    They may load while their process answers already. `remedy` names the process to check when they
    are behind the log, "" if there is no other one. What an implementation leaves out holds for
    rows that another process writes: they answer from the start, and take in the log by themselves.
    """

    tables: HeldTables
    remedy: str = ""
    entry: Registration | None = None

    def identity(self) -> Identity | None:
        """Return which ledger the entries are of, None while that is not known."""
        ...

    def advance(self, timeout_s: float, beyond: int | None = None) -> None:
        """Catch up, waiting up to `timeout_s` for something new.

        `beyond` is the position of the answers that were not enough: more may have come since.
        """
        ...

    def position(self) -> int:
        """Return the position the entries have reached."""
        ...

    def at_ms(self) -> int:
        """Return the time of the event at that position."""
        ...

    def gaps(self) -> Sequence[Gap]:
        """Return the gaps that cuts left in the log, as far as it was read."""
        ...

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        """Return answers as of one position; an answer without a value must come from the store.

        Raises LogRewrittenError once the log is known to have lost events of earlier answers.
        """
        ...

    def fill(self, wanted: EntryRead, stored: StoreAnswer) -> bool:  # noqa: ARG002
        """Keep the store's answer; return whether it was kept.

        By default it is not: the rows themselves will have the answer later.
        """
        return False

    def held(self) -> Sequence[EntryRead]:
        """Return a read of each table whose objects are held, with its newest list."""
        ...

    def lengths(self) -> Mapping[int, int]:
        """Return how many versions are held of each table."""
        ...

    def aged(self) -> Sequence[int]:
        """Return the tables with history that a cut may drop."""
        ...

    def cut(self, floors: Mapping[int, ReaderIds]) -> int:
        """Drop history that only readers need that do not see all of a table's floor.

        Returns how many versions were dropped.
        """
        ...

    def is_loading(self) -> bool:
        """Return whether they answer no read yet; raises the error that ended them."""
        return False

    def check(self) -> None:
        """Do periodic work, several times a second; raises the error that ended them."""
        return

    def problem(self) -> str:
        """Return why they do not follow the log, "" if they do."""
        return ""

    def lag(self) -> Lag | None:
        """Return how far they are behind the log, None if that is not measured, or not yet."""
        return None

    def close(self) -> None:
        """Release the source of the entries."""
        ...


class Lists(Protocol):
    """The source of lists for readers without one; threads may share it."""

    def identity(self) -> Identity:
        """Return the ledger of the lists; raises ReaderBehindError while it is not known."""
        ...

    def position(self) -> int:
        """Return the position of the newest lists."""
        ...

    def read_at(self, read: ReadAt) -> Read:
        """Return a read with the list of a position, or of now.

        Raises UnknownTableError, and LimitExceededError for a position whose list is not known.
        """
        ...

    def newest(self, tables: int) -> Sequence[Read]:
        """Return a read of some tables as of now, chosen at random."""
        ...
