"""The names that columns have in the files of a table which is published from now on.

Columns of a table that is not published may have been renamed, or dropped and added again: the
files keep the names of their time. Its first published version maps the columns to these names.
"""

from ledger.core.commands import TableDefinition
from ledger.properties.column_mapping import (
    is_mapped,
    is_published,
    new_name,
    physical_name,
    with_mapping,
)
from ledger.reads.port import Reads, TableRow

NamesById = dict[int, set[str]]


def mapped_as_written(reads: Reads, row: TableRow, after: TableDefinition) -> TableDefinition:
    """Return a new definition of a table with the mapping that its live files need.

    Only a change that switches publication on needs one. A column with several names in files has
    no mapping: the definition is returned as it is, and the publisher names the table.
    """
    is_switched_on = is_published(after) and not is_published(row.definition)
    if not is_switched_on or is_mapped(after) or not after.columns:
        return after
    found = names_in_files(reads, row)
    taken = {name.lower(): number for number, names in found.items() for name in names}
    known: dict[int, str] = {}
    for column in after.columns:
        names = found.get(column.id, set())
        if len(names) > 1:
            return after
        is_free = taken.get(column.name.lower(), column.id) == column.id
        known[column.id] = next(iter(names), column.name if is_free else new_name())
    if all(known[each.id] == each.name for each in after.columns):
        return after
    return with_mapping(row.definition, after, known)


def names_in_files(reads: Reads, row: TableRow) -> NamesById:
    """Return the names of columns in the live files of a table, by id."""
    found: NamesById = {}
    for position in {file.added for file in reads.files(row.table)}:
        then = (reads.definition(row.table, position) if position else None) or row.definition
        for column in then.columns:
            name = physical_name(column) if is_mapped(then) else column.name
            found.setdefault(column.id, set()).add(name)
    return found
