"""CREATE and ALTER TABLE: a new definition is checked before it is sent."""

from ledger.core.commands import CreateTable, TableDefinition
from ledger.core.events.events import TableCreated
from ledger.definitions.client_reads import View
from ledger.definitions.definitions import Change, TableChanges, changed_definition
from ledger.definitions.given import check_arrow
from ledger.definitions.names import TableLike, created_row
from ledger.definitions.views import check_view
from ledger.properties.column_mapping import is_mapped_by_name, is_published
from ledger.properties.column_values import generation_of, has_values, identity_of
from ledger.properties.delta_readers import warn_of_readers
from ledger.properties.known_properties import adds_constraints, check_properties
from ledger.properties.names_in_files import mapped_as_written
from ledger.reads.port import Reads, TableRow
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
        definition = published_as_written(work.view.reads(), row, definition)
    # A table that was changed since the txn opened is refused as a conflict.
    if row.changed <= work.opened or row.creator == work.id:
        work.files.check_alter(row.name, row.definition, definition)
        definition = checked_definition(row.name, row, definition, work.view)
        if adds_constraints(row.definition, definition):
            check_rows(work, number, row.definition, definition)
    return work.alter(row, definition, operation, read_at)


def published_as_written(reads: Reads, row: TableRow, after: TableDefinition) -> TableDefinition:
    """Return a new definition by which readers of Delta find the columns in all live files.

    Raises UnreadableTableError for a table that is published from now on, with files in which they
    would not.
    """
    made = mapped_as_written(reads, row, after)
    if is_published(made) and not is_published(row.definition) and is_mapped_by_name(made):
        check_arrow()
        from ledger.statements.columns import published_names  # noqa: PLC0415 - loads Arrow

        published_names.check_published(reads, row, made)
    return made


def checked_definition(
    name: str, row: TableRow | None, after: TableDefinition, view: View
) -> TableDefinition:
    """Return a definition as it is sent, and warn of readers of Delta that it locks out.

    New columns have their value in older files. `row` is the table as it is, None for a new one.
    Raises ValueError for a property, a constraint or a default, and SettingsError for the latter
    two without the extra `arrow`.
    """
    before = None if row is None else row.definition
    check_view(name, after)
    check_properties(name, before, after)
    check_constraints(name, before, after, view.zone)
    made = settled_columns(name, before, after, view.zone)
    warn_of_readers(name, row, made, view.reads)
    return made


def settled_columns(
    name: str, before: TableDefinition | None, after: TableDefinition, zone: str
) -> TableDefinition:
    """Return a definition whose columns have the values that a writer or a reader needs.

    Raises ValueError for a column whose values are not computed here, and SettingsError for one
    without the extra `arrow`.
    """
    known = [] if before is None else list(before.columns)
    if known == list(after.columns) or not any(map(has_values, (*known, *after.columns))):
        return after
    check_arrow()
    from ledger.statements.columns.defaults import with_initials  # noqa: PLC0415 - loads Arrow
    from ledger.statements.columns.generated import check_generated  # noqa: PLC0415 - as above
    from ledger.statements.columns.identity import with_marks  # noqa: PLC0415 - as above

    check_listed(name, after)
    check_generated(name, before, after, zone)
    return with_marks(name, before, with_initials(name, before, after, zone))


def check_listed(name: str, definition: TableDefinition) -> None:
    """Raise ValueError for columns whose values other writers of a table would not compute."""
    if definition.kind != "external" and definition.layout != "directories":
        return
    for column in definition.columns:
        if generation_of(column) or identity_of(column) is not None:
            raise ValueError(
                f"column {column.name} of table {name} cannot be computed, because the rows of the "
                "table lie in folders: other writers put rows there as they are, while a table of "
                "layout listed names each file"
            )
