"""CREATE and ALTER TABLE: a new definition is checked before it is sent."""

from ledger.core.commands import CreateTable, TableDefinition
from ledger.core.events.events import TableCreated
from ledger.definitions.client_reads import View
from ledger.definitions.definitions import Change, TableChanges, changed_definition
from ledger.definitions.names import TableLike, created_row
from ledger.definitions.views import check_view
from ledger.properties.delta_readers import warn_of_readers
from ledger.properties.known_properties import adds_constraints, check_properties
from ledger.properties.names_in_files import mapped_as_written
from ledger.reads.port import TableRow
from ledger.session.receipt import Receipt
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED
from ledger.snapshot.as_of import known_row
from ledger.statements.new_constraints import check_constraints, check_rows
from ledger.work.unit_of_work import Work


def create(work: Work, name: str, definition: TableDefinition) -> TableRow:
    """Create a table in a txn, which alone sees it until its commit."""
    catalog = work.names.client.catalog
    answer = work.ask(CreateTable(*UNNUMBERED, work.id, 0, catalog, name, definition))
    body = body_as(TableCreated, answer)
    work.note_write_id(body.table, body.write_id)
    row = created_row(answer.control, body)
    work.names.create(row)
    return row


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
    definition = changed_definition(row.definition, change, **(changes or {}))
    if row.creator != work.id:
        definition = mapped_as_written(work.view.reads(), row, definition)
    # A table that was changed since the txn opened is refused as a conflict.
    if row.changed <= work.opened or row.creator == work.id:
        work.files.check_alter(row.name, row.definition, definition)
        check_definition(row.name, row, definition, work.view)
        if adds_constraints(row.definition, definition):
            check_rows(work, number, row.definition, definition)
    return work.alter(row, definition, operation, read_at)


def check_definition(name: str, row: TableRow | None, after: TableDefinition, view: View) -> None:
    """Raise what forbids a table a definition, and warn of readers of Delta that it locks out.

    `row` is the table as it is, None for a new one. Raises ValueError for a property or a
    constraint, and SettingsError for a constraint without the extra `arrow`.
    """
    before = None if row is None else row.definition
    check_view(name, after)
    check_properties(name, before, after)
    check_constraints(name, before, after, view.zone)
    warn_of_readers(name, row, after, view.reads)
