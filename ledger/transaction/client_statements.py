"""Statements of a client: each is a txn of its own.

If an earlier commit wins, the statement is repeated from a new read, as `Ledger.run` does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ledger.definitions.names import TableLike
from ledger.expressions.build import Expression
from ledger.session.receipt import Receipt, Token
from ledger.tracing import verb
from ledger.transaction.client_txns import LedgerTxns
from ledger.transaction.transaction import Transaction
from ledger.work.merge_clauses import Assigned, MergeClause

if TYPE_CHECKING:
    from datetime import datetime


class LedgerStatements(LedgerTxns):
    """The part of a client that changes rows.

    Every method returns the receipt of its commit, whose `rows` count what it changed. `level` is
    as for `begin`; the rest is as for the method of `Transaction` with the same name.
    """

    @verb
    def overwrite(
        self,
        table: TableLike,
        rows: Any,
        where: str | Expression | None = None,
        *,
        evolve: bool = False,
        level: str | None = None,
    ) -> Receipt:
        """Put rows in the place of all rows, or of those that fulfil a condition."""
        return self._commit_of(lambda txn: txn.overwrite(table, rows, where, evolve=evolve), level)

    @verb
    def delete(
        self, table: TableLike, where: str | Expression | None = None, *, level: str | None = None
    ) -> Receipt:
        """Delete the rows that fulfil a condition, or all rows."""
        return self._commit_of(lambda txn: txn.delete(table, where), level)

    @verb
    def update(
        self,
        table: TableLike,
        changes: Mapping[str, Any],
        where: str | Expression | None = None,
        *,
        level: str | None = None,
    ) -> Receipt:
        """Give columns new values in the rows that fulfil a condition, or in all rows."""
        return self._commit_of(lambda txn: txn.update(table, changes, where), level)

    @verb
    def merge(
        self,
        table: TableLike,
        source: Any,
        on: str | Expression,
        *,
        when_matched_update: Assigned = None,
        when_matched_delete: str | Expression | bool = False,
        when_not_matched_insert: Assigned = None,
        when_not_matched_by_source_delete: str | Expression | bool = False,
        clauses: Sequence[MergeClause] = (),
        level: str | None = None,
    ) -> Receipt:
        """Change the rows of a table by the rows of a source."""
        return self._commit_of(
            lambda txn: txn.merge(
                table,
                source,
                on,
                when_matched_update=when_matched_update,
                when_matched_delete=when_matched_delete,
                when_not_matched_insert=when_not_matched_insert,
                when_not_matched_by_source_delete=when_not_matched_by_source_delete,
                clauses=clauses,
            ),
            level,
        )

    @verb
    def optimize(
        self,
        table: TableLike,
        where: str | Expression | None = None,
        *,
        target_bytes: int = 256 << 20,
        sort_by: Sequence[str] = (),
        level: str | None = None,
    ) -> Receipt:
        """Put the rows of small files, and of files with deleted rows, into larger files."""
        return self._commit_of(
            lambda txn: txn.optimize(table, where, target_bytes=target_bytes, sort_by=sort_by),
            level,
        )

    @verb
    def restore(
        self,
        table: TableLike,
        *,
        version: int | None = None,
        position: Token | int | None = None,
        at: "datetime | str | None" = None,
        level: str | None = None,
    ) -> Receipt:
        """Give a table the columns and the rows that it had at a version, a position or a time."""
        return self._commit_of(
            lambda txn: txn.restore(table, version=version, position=position, at=at), level
        )

    def _commit_of(self, work: Callable[[Transaction], object], level: str | None) -> Receipt:
        """Return the receipt of work in a txn of its own."""
        receipts: list[Receipt] = []
        self.run(work, level=level, on_commit=receipts.append)
        return receipts[-1]
