"""The table of a writer: rows that fit its newest definition, and commits of several appends.

A commit that another one met has done nothing, and is repeated for the table as it is then. Nothing
else is repeated here: a commit without an answer may be done.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import metadata_kind
from ledger.definitions.client_reads import View
from ledger.definitions.names import TableLike, TableNames, TableStanding, unknown_table
from ledger.errors import LedgerError
from ledger.files.data_files import BLOCKS_BYTES
from ledger.properties.known_properties import asks_for_unique
from ledger.session.receipt import Receipt
from ledger.snapshot.as_of import known_row
from ledger.tables.appending import AppendTarget, GivenRows, fitted_together, given_together
from ledger.tracing import verb
from ledger.transaction.transaction import Transaction

ATTEMPTS: Final = 10


class Commits(NamedTuple):
    """How the client of a writer commits: rows in one command, or the work of a txn."""

    append: Callable[[TableStanding, AppendTarget, Sequence[Any]], Receipt]
    run: Callable[[Callable[[Transaction], None]], Receipt]


class WrittenTable:
    """The table of one writer, by the names and reads of its client. Threads may share it."""

    def __init__(self, table: TableLike, names: TableNames, view: View, commits: Commits) -> None:
        self._names, self._view, self._commits = names, view, commits
        self._number = names.number(table)
        self._turn = Lock()
        self._known = self._found()

    @property
    def target(self) -> AppendTarget:
        """What the table asks of rows, by the newest definition that is known here."""
        return self._known.target

    @property
    def name(self) -> str:
        """The name of the table, for messages."""
        return self.target.row.name

    @property
    def bytes_max(self) -> int:
        """The bytes of the rows that are committed together: half a block, whose rest is forms."""
        return (self.target.schema.inline or BLOCKS_BYTES) // 2

    def given(self, rows: Any) -> GivenRows:
        """Return rows that fit the table; raises as `Ledger.append` for others."""
        self._view.at_hand()
        target = self.target
        made = GivenRows(rows, target)
        try:
            made.fit(target)
        except (ValueError, TypeError):
            # They may fit the table as another client has altered it.
            self._look()
            if self.target is target:
                raise
            made.fit(self.target)
        return made

    @verb
    def commit(self, parts: Sequence[GivenRows]) -> Receipt:
        """Commit appends together; raises as `Ledger.append`."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._commit(parts)
            except LedgerError as problem:
                if not problem.retry_anew:
                    raise
                self._look()
        return self._commit(parts)

    def _commit(self, parts: Sequence[GivenRows]) -> Receipt:
        known = self._known
        target = known.target
        fitted = fitted_together(parts, target)
        if asks_for_unique(target.row.definition):
            return self._insert(parts)
        standing = TableStanding(self._number, target.row, known.position)
        receipt = self._commits.append(standing, target, fitted)
        with self._turn:
            if self._known is known:
                # A change of the table up to this commit would have refused it.
                self._known = known._replace(position=receipt.position)
        return receipt

    def _insert(self, parts: Sequence[GivenRows]) -> Receipt:
        """Insert appends in one txn, which reads the keys that are there."""

        def work(txn: Transaction) -> None:
            for rows in given_together(parts):
                txn.insert(self._number, rows)

        return self._commits.run(work)

    def _look(self) -> None:
        """Look the table up again; rows for a former definition no longer fit it."""
        found = self._found()
        with self._turn:
            known = self._known
            if found.position <= known.position:
                return
            if not is_other(known.target.row.definition, found.target.row.definition):
                found = found._replace(target=known.target)
            self._known = found

    def _found(self) -> "KnownTable":
        position, reads = self._view.look()
        row = known_row(reads, self._number)
        if row.dropped:
            raise unknown_table(f"table {row.name} was dropped")
        target = AppendTarget(row, self._view.zone, self._names.identities.take)
        return KnownTable(max(position, row.changed), target)


class KnownTable(NamedTuple):
    """What a table asks of rows, and the newest position at which that is known to hold."""

    position: int
    target: AppendTarget


def is_other(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether a table asks something else of rows; numbers that were taken do not matter."""
    return before != after and metadata_kind(before, after, frozenset()) != "identity"
