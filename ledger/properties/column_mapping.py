"""Column mapping of published tables: a column keeps its name in files when its name changes.

Delta's readers look for a column of a file by name. A change that renames or drops a column of a
published table therefore maps its columns by name: files written before have the old names, and so
have the files written from then on. A new column of a mapped table gets a name of its own in files,
as a dropped column may have had the plain one.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import (
    COLUMN_ID,
    MAPPING_MODE,
    PHYSICAL_NAME,
    column_metadata,
    properties,
)
from ledger.core.state.traits import known_key
from ledger.properties.field_ids import fields_of, ids_in, lost_field, with_fields, with_names
from ledger.properties.field_ids import names_in_files as names_of_fields

PUBLISH: Final = "lakeledger.publish"
"""The property that publishes a table; its value is `delta`."""

HIGHEST_ID: Final = "delta.columnMapping.maxColumnId"
HIGHEST_ID_DIGITS: Final = 18
"""No id has more digits; a longer number may not fit 64 bits."""

UNMAPPED: Final = "none"


def is_published(definition: TableDefinition) -> bool:
    """Return whether a definition says that its table is published as Delta."""
    return any(
        each.key.lower() == PUBLISH and each.value.lower() == "delta"
        for each in definition.properties
    )


def is_mapped(definition: TableDefinition) -> bool:
    """Return whether files may have other column names than the table."""
    return properties(definition).get(MAPPING_MODE, UNMAPPED) != UNMAPPED


def is_mapped_by_name(definition: TableDefinition) -> bool:
    """Return whether readers of Delta find columns in files by names that the definition says."""
    return properties(definition).get(MAPPING_MODE) == "name"


def mapped(before: TableDefinition, after: TableDefinition) -> TableDefinition:
    """Return a changed definition with the mapping that its published log needs."""
    needs_names = is_published(after) and loses_names(before, after)
    if not after.columns or not (is_mapped(after) or needs_names):
        return after
    known = {column.id: physical_name(column) for column in before.columns if column.id}
    return with_mapping(before, after, known)


def with_mapping(
    before: TableDefinition, after: TableDefinition, known: Mapping[int, str]
) -> TableDefinition:
    """Return a definition whose columns have names in files; `known` has those so far by id."""
    fields = {
        number: name
        for column in before.columns
        for number, name in names_of_fields(fields_of(column))
    }
    columns = [
        with_fields(with_physical_name(column, known), with_names(fields_of(column), fields))
        for column in after.columns
    ]
    found = properties(after)
    if not is_mapped(after):
        highest = max(highest_id(before), highest_id(after))
        found = {key: each for key, each in found.items() if not is_highest_id(key)}
        found |= {MAPPING_MODE: "name", HIGHEST_ID: str(highest)}
    made = [Property(*item) for item in sorted(found.items())]
    return after._replace(columns=columns, properties=made)


def columns_as_then(now: TableDefinition, then: TableDefinition) -> list[Column]:
    """Return the columns of an earlier definition, with the names in files that they have now.

    A column that the table has no more keeps the name that it had in the files of that time.
    """
    if not is_mapped(now):
        return list(then.columns)
    known = {column.id: physical_name(column) for column in (*then.columns, *now.columns)}
    columns = [without_physical_name(column) for column in then.columns]
    return [with_physical_name(column, known) for column in columns]


def loses_names(before: TableDefinition, after: TableDefinition) -> bool:
    """Return whether a change renames or drops a column, or a field within one."""
    names = {column.id: column.name for column in after.columns}
    if any(column.id and names.get(column.id) != column.name for column in before.columns):
        return True
    columns = {column.id: column for column in after.columns}
    return any(lost_field(column, columns[column.id]) for column in before.columns if column.id)


def physical_name(column: Column) -> str:
    """Return the name of a column in files."""
    return str(column_metadata(column).get(PHYSICAL_NAME, column.name))


def with_physical_name(column: Column, known: Mapping[int, str]) -> Column:
    """Return a column with its id and its name in files; `known` has the names so far by id."""
    metadata: dict[str, Any] = dict(column_metadata(column))
    if PHYSICAL_NAME in metadata:
        return column
    metadata[PHYSICAL_NAME] = known.get(column.id) or new_name()
    metadata[COLUMN_ID] = column.id
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False)
    return column._replace(metadata=text)


def without_physical_name(column: Column) -> Column:
    """Return a column whose name in files is not said."""
    metadata = column_metadata(column)
    if PHYSICAL_NAME not in metadata:
        return column
    kept = {key: value for key, value in metadata.items() if key != PHYSICAL_NAME}
    return column._replace(metadata=json.dumps(kept, sort_keys=True, ensure_ascii=False))


def new_name() -> str:
    """Return a name in files that no column ever had."""
    return f"col-{uuid4()}"


def highest_id(definition: TableDefinition) -> int:
    """Return the highest id of a present or remembered column or field, 0 without any."""
    remembered = [
        int(value)
        for key, value in definition.properties
        if is_highest_id(key) and value.isdecimal() and len(value) <= HIGHEST_ID_DIGITS
    ]
    return max((highest_held(definition.columns), *remembered))


def highest_held(columns: Sequence[Column]) -> int:
    """Return the highest id of columns and of the fields within them, 0 without any."""
    inner = [number for column in columns for number, _ in ids_in(fields_of(column))]
    return max((*(column.id for column in columns), *inner), default=0)


def is_highest_id(key: str) -> bool:
    """Return whether a property is the one that remembers the highest id."""
    return known_key(key) == known_key(HIGHEST_ID)
