"""The table of a writer: rows that fit its newest definition, and commits of several appends.

A commit that another one met has done nothing, and is repeated for the table as it is then. Nothing
else is repeated here: a commit without an answer may be done.
"""

from collections.abc import Sequence
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import metadata_kind
from ledger.definitions.names import TableLike, TableStanding, unknown_table
from ledger.errors import LedgerError
from ledger.files.data_files import BLOCKS_BYTES
from ledger.properties.known_properties import asks_for_unique
from ledger.session.receipt import Receipt
from ledger.snapshot.as_of import known_row
from ledger.tables.appending import AppendTarget, GivenRows
from ledger.tracing import verb

if TYPE_CHECKING:
    from ledger.transaction.client_files import LedgerFiles
    from ledger.transaction.transaction import Transaction

ATTEMPTS: Final = 10


class WrittenTable:
    """The table of one writer; `client` is the ledger that commits.

    Threads may share it.
    """

    def __init__(self, client: "LedgerFiles", table: TableLike) -> None:
        self._client = client
        self._names, self._view = client._names, client._view  # noqa: SLF001 - of this package
        self._number = self._names.number(table)
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
        self._client._channel.check()  # noqa: SLF001 - of this package
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
        fitted = [batch for part in parts for batch in part.fit(target)]
        if asks_for_unique(target.row.definition):
            return self._insert(parts)
        if len(parts) > 1:
            fitted = [pa.Table.from_batches(fitted, target.schema.arrow).combine_chunks()]
        standing = TableStanding(self._number, target.row, known.position)
        receipt = self._client._append_fitted(standing, target, fitted)  # noqa: SLF001 - as above
        with self._turn:
            if self._known is known:
                # A change of the table up to this commit would have refused it.
                self._known = known._replace(position=receipt.position)
        return receipt

    def _insert(self, parts: Sequence[GivenRows]) -> Receipt:
        """Insert appends in one txn, which reads the keys that are there."""
        receipts: list[Receipt] = []

        def work(txn: "Transaction") -> None:
            for _, alike in groupby((part.given for part in parts), lambda rows: rows.schema):
                txn.insert(self._number, pa.concat_tables(alike))

        self._client.run(work, on_commit=receipts.append)
        return receipts[-1]

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
