"""What the verbs of a txn share: its work, and a table for one statement."""

from typing import TYPE_CHECKING, Any

from ledger.definitions.given import check_arrow
from ledger.definitions.names import TableLike
from ledger.definitions.time_zones import ZoneLike
from ledger.session.sessions import OfOneProcess
from ledger.work.unit_of_work import Work

if TYPE_CHECKING:
    from ledger.reads.row_counts import ChangedRows
    from ledger.statements.target import StatementTable


class TxnVerbs(OfOneProcess):
    """Verbs of a txn. Each subject has a module: tables, files and rows."""

    _work: Work


def statement_table(
    work: Work,
    table: TableLike,
    verb: str,
    *,
    time_zone: ZoneLike | None = None,
    is_read: bool = False,
) -> "StatementTable":
    """Return a table for one statement, see `Transaction.statement`."""
    check_arrow()
    from ledger.statements.target import StatementTable  # noqa: PLC0415 - loads Arrow

    return StatementTable(work, table, verb, time_zone=time_zone, is_read=is_read)


def inserted(work: Work, table: TableLike, rows: Any, *, evolve: bool = False) -> "ChangedRows":
    """Insert rows that may be read now, see `Transaction.insert`."""
    check_arrow()
    from ledger.statements import inserting  # noqa: PLC0415 - loads Arrow

    return inserting.insert(statement_table(work, table, "insert"), rows, evolve=evolve)
