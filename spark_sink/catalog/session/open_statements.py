"""What a catalog keeps between questions: its ledger, and the txns of running statements."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.reads.row_counts import ChangedRows
from ledger.reads.rows import FileRow
from ledger.session.receipt import Receipt
from ledger.statements.target import StatementTable
from ledger.transaction.transaction import Transaction

Question = Mapping[str, Any]
"""The JSON object of a question."""

ENDED: Final = frozenset({"committed", "aborted"})
BEGUN: Final = "/begun"
"""How the key of a txn ends that BEGIN opened; Session.java knows it too."""

SESSIONS_MAX: Final = 1000
"""Of so many sessions the last statement is remembered."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A question that is answered with no.

    `kind` is a condition of Spark's errors, or the name of an exception that Spark's own catalogs
    raise: NoSuchTable, NoSuchNamespace, TableExists. For these the message is the name.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def unsupported(message: str) -> Refusal:
    """Return the refusal of something that the catalog does not do."""
    return Refusal("LEDGER_UNSUPPORTED", message)


@dataclass(slots=True)
class StagedWrite:
    """A write that Spark has begun: its table, and the position at which that was looked up.

    `is_alone` says that Spark gave it no txn; `execution` is the statement that it is a part of.
    """

    table: StatementTable
    position: int
    is_alone: bool
    execution: str = ""


class LastStatement(NamedTuple):
    """The last statement of a session that changed rows; `rows` is None if it did not count."""

    operation: str
    table: str
    rows: ChangedRows | None


class LastAlone(NamedTuple):
    """The last commit of a statement whose writes have no txn, and the look-up before all."""

    table: int
    looked_up: int
    position: int


@dataclass(slots=True)
class StatementsTxn:
    """A txn of the ledger behind one statement, or behind several.

    Attributes:
        txn: the txn.
        is_shared: whether `transaction` ends it, and not a statement.
        key: how Spark's questions name it, "" if they do not.
        changes: how often its statements changed something.
        error: the error of the ledger that a statement failed with last.
        created: the names that it gave to tables.
        dropped: the names that it took away.
    """

    txn: Transaction
    is_shared: bool = False
    key: str = ""
    changes: int = 0
    error: LedgerError | None = None
    created: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    _files: dict[tuple[int, str, str], FileRow] = field(default_factory=dict)

    def note(self, table: int, paths: Mapping[str, FileRow]) -> None:
        """Note the files that an answer named, by the paths given to Spark."""
        self._files.update(((table, path, file.vector), file) for path, file in paths.items())

    def rename(self, before: str, after: str) -> None:
        """Note a change of names: "" before for a new table, "" after for a dropped one."""
        self.created.discard(before)
        self.dropped |= {before} - {""}
        self.created |= {after} - {""}
        self.dropped.discard(after)
        self.changes += 1

    def file(self, table: int, path: str, vector: str) -> FileRow:
        """Return a file that an answer named, by the id of its deletion vector too, "" for none."""
        return self._files[table, path, vector]

    def abort(self, reason: str) -> None:
        """End the txn without effect, if it has not ended; what fails here hides nothing."""
        if self.txn.status not in ENDED:
            with suppress(LedgerError, ValueError):
                self.txn.abort(reason)


class CatalogState:
    """The state of one catalog; threads may share it.

    Attributes:
        name: the name of the catalog in Spark.
        ledger: the client of its ledger.
    """

    def __init__(self, name: str, ledger: Ledger) -> None:
        self.name = name
        self.ledger = ledger
        self._txns: dict[str, StatementsTxn] = {}
        self._writes: dict[str, tuple[StatementsTxn, StagedWrite]] = {}
        self._last_alone: dict[str, LastAlone] = {}
        self._last: dict[str, LastStatement] = {}
        self._turn = Lock()

    def begin(self, txn: Transaction, *, is_shared: bool = False, end: str = "") -> StatementsTxn:
        """Note a txn that was opened, under a key with some end."""
        found = StatementsTxn(txn, is_shared, f"{self.name}/{txn.id}{end}")
        with self._turn:
            self._txns[found.key] = found
        return found

    def joined(self, asked: Question) -> str:
        """Return the key of the shared txn of this catalog that a question comes from, or ""."""
        key = str(asked.get("joined") or "")
        return key if key.startswith(f"{self.name}/") else ""

    def find(self, asked: Question) -> StatementsTxn | None:
        """Return the txn that a question comes from, None for a question outside a txn.

        Raises Refusal for a txn that has ended.
        """
        key = self.joined(asked) or str(asked.get("txn") or "")
        if not key:
            return None
        found = self._txns.get(key)
        if found is None:
            raise Refusal(
                "LEDGER_TXN_NOT_OPEN",
                f"the txn {key} of this statement is not open: it has ended, or belongs to another "
                "process. Begin another one",
            )
        return found

    def leave(self, key: str) -> StatementsTxn | None:
        """Forget a txn and return it, None if it is not known."""
        with self._turn:
            return self._txns.pop(key, None)

    def note_last(self, session: str, statement: LastStatement | None) -> None:
        """Remember the last statement of a session, None for one that failed."""
        with self._turn:
            self._last.pop(session, None)
            if statement is not None:
                self._last[session] = statement
            if len(self._last) > SESSIONS_MAX:
                self._last.pop(next(iter(self._last)))

    def last(self, session: str) -> LastStatement | None:
        """Return the last statement of a session that changed rows, None before the first."""
        return self._last.get(session)

    def of_key(self, key: str) -> StatementsTxn | None:
        """Return a txn by its key."""
        return self._txns.get(key)

    @contextmanager
    def lend(self, joined: StatementsTxn | None) -> Iterator[Transaction]:
        """Lend the txn that a change joins, or one of its own, which ends with the block."""
        if joined is None:
            with self.ledger.transaction() as txn:
                yield txn
            return
        yield joined.txn
        joined.changes += 1

    def stage(self, txn: StatementsTxn, write: StagedWrite) -> str:
        """Note a write that begins, and return its key."""
        with self._turn:
            key = f"{txn.txn.id}-{len(self._writes)}-{id(write)}"
            self._writes[key] = txn, write
        return key

    def staged(self, key: str) -> StagedWrite | None:
        """Return a write that has begun, None if it is over."""
        found = self._writes.get(key)
        return None if found is None else found[1]

    def unstage(self, key: str) -> tuple[StatementsTxn, StagedWrite] | None:
        """Forget a write that is over and return it, None if that was done before."""
        with self._turn:
            return self._writes.pop(key, None)

    def seen_position(self, write: StagedWrite) -> int:
        """Return the position up to which a write without a txn knows its table.

        A statement with several inserts commits one after the other. They all read the table as it
        was before the statement, so its own earlier commits are no winners over the later ones.
        """
        table = write.table.number
        last = self._last_alone.get(write.execution)
        if last is None or (last.table, last.looked_up) != (table, write.position):
            return write.position
        return last.position

    def note_alone(self, write: StagedWrite, receipt: Receipt) -> None:
        """Note the commit of a write without a txn, if it directly follows what it knew."""
        table, seen = write.table.number, self.seen_position(write)
        if not write.execution or table not in receipt.versions:
            return
        before = self.ledger.reads().version_row(table, position=seen)
        if before is not None and before.version + 1 == receipt.versions[table]:
            last = LastAlone(table, write.position, receipt.position)
            with self._turn:
                self._last_alone = {write.execution: last}
