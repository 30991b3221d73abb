"""ALTER TABLE within a txn: the new definition is checked before it is sent."""

from ledger.definitions.definitions import Change, TableChanges, changed
from ledger.definitions.names import TableLike
from ledger.properties.delta_readers import warn_of_readers
from ledger.properties.known_properties import adds_constraints, check_properties
from ledger.properties.names_in_files import mapped_as_written
from ledger.session.receipt import Receipt
from ledger.snapshot.as_of import known_row
from ledger.statements.new_constraints import check_constraints, check_rows
from ledger.work.unit_of_work import Work


def alter(
    work: Work,
    table: TableLike,
    change: Change | None,
    operation: str = "",
    *,
    changes: TableChanges | None = None,
    read_at: int = 0,
) -> Receipt:
    """Alter a table by a change that was planned at a position, 0 = the txn's snapshot.

    Raises as `Transaction.alter_table`.
    """
    number = work.names.number(table)
    row = work.names.own(number) or known_row(work.view.reads(), number)
    definition = changed(row.definition, change, **(changes or {}))
    if row.creator != work.id:
        definition = mapped_as_written(work.view.reads(), row, definition)
    # A table that was changed since the txn opened is refused as a conflict.
    if row.changed <= work.opened or row.creator == work.id:
        work.files.check_alter(row.name, row.definition, definition)
        check_properties(row.name, row.definition, definition)
        check_constraints(row.name, row.definition, definition, work.view.zone)
        warn_of_readers(row.name, row, definition, work.view.reads)
        if adds_constraints(row.definition, definition):
            check_rows(work, number, row.definition, definition)
    return work.alter(row, definition, operation, read_at)
