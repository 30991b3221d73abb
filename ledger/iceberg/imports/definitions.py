"""The definition of an imported table as of one of its snapshots.

Columns keep Iceberg's ids. Properties are the present ones of the table: its metadata does not say
what they were before. A property that the ledger would obey as its own is left out. So is a sort
order, a key or a spec that the ledger cannot keep, as no row depends on it; the report names it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import MAPPING_MODE
from ledger.errors import CommandInvalidError, IncompatibleError
from ledger.iceberg.imports.stored_columns import (
    StoredColumn,
    agree,
    are_names_sure,
    has_ids,
    names_by_id,
    numbered_alike,
    numbered_by,
    table_columns,
    without_unknown,
)
from ledger.iceberg.partitioning import PARTITION_FIELDS, partition_columns_of
from ledger.iceberg.schemas import FORMAT_VERSION, columns_of, key_text
from ledger.iceberg.sort_orders import sort_properties
from ledger.iceberg.table_metadata import IcebergMetadata
from ledger.iceberg.types import NoIcebergTypeError, required_parts
from ledger.properties.column_lists import KEY, check_lists
from ledger.properties.column_mapping import (
    HIGHEST_ID,
    highest_held,
    is_mapped,
    physical_name,
    with_physical_name,
)
from ledger.properties.field_ids import fields_of, with_fields, with_names
from ledger.properties.field_ids import names_in_files as names_of_fields

TABLE_UUID: Final = "iceberg.table-uuid"
NAME_MAPPING: Final = "schema.name-mapping.default"
OWN_PREFIXES: Final = ("delta.", "lakeledger.", "iceberg.")
BY_ID: Final = "id"
NO_SPEC: Final = -1
"""Stands for a spec in the version of files that the ledger keeps without partition values."""


class MadeDefinition(NamedTuple):
    """A definition, and what of the Iceberg table it leaves out, with the reason."""

    definition: TableDefinition
    left_out: Mapping[str, str]


class SourceDefinitions:
    """Makes definitions of one table from its metadata."""

    def __init__(self, metadata: IcebergMetadata) -> None:
        self._metadata = metadata

    def schema_of(self, schema: int | None) -> Mapping[str, Any]:
        """Return a schema by its id, the present one for None."""
        return self._metadata.schemas[self._metadata.schema if schema is None else schema]

    def of(self, schema: int | None, spec: int, before: TableDefinition | None) -> MadeDefinition:
        """Return the definition under a schema and a spec; `before` is what the table was.

        Raises IncompatibleError for a column that the ledger cannot have.
        """
        given = self.schema_of(schema)
        try:
            columns = columns_of(given, before.columns if before is not None else ())
        except NoIcebergTypeError as error:
            raise IncompatibleError(
                f"the Iceberg table at {self._metadata.location} cannot be imported: {error}"
            ) from error
        check_different(columns)
        left_out = dict.fromkeys(self._metadata.other_refs, "only the main branch is imported")
        for name in required_parts(given, ""):
            left_out[f"{name} required"] = "elements of lists and values of maps may be NULL here"
        found = self._properties(left_out)
        divided, fields = self._divided_by(spec, given, left_out)
        if fields:
            found[PARTITION_FIELDS] = fields
        made = TableDefinition("managed", "listed", self._metadata.location, columns, divided, [])
        for key, value in self._lists(given, left_out).items():
            trial = made._replace(properties=[Property(key, value)])
            try:
                check_lists("", trial)
            except (ValueError, CommandInvalidError) as error:
                left_out[key] = str(error)
            else:
                found[key] = value
        made = made._replace(properties=[Property(*each) for each in sorted(found.items())])
        if before is not None and is_mapped(before):
            made = with_names_in_files(made, names_in_files_of(before))
        return MadeDefinition(made, left_out)

    def _properties(self, left_out: dict[str, str]) -> dict[str, str]:
        metadata = self._metadata
        found = {TABLE_UUID: metadata.uuid}
        if metadata.format > 2:  # noqa: PLR2004 - format 2 is what the absence says
            found[FORMAT_VERSION] = str(metadata.format)
            left_out["row ids"] = "the ledger numbers rows anew"
        for key, value in metadata.properties.items():
            if key.lower().startswith(OWN_PREFIXES) or not key:
                left_out[key] = "the ledger has properties of its own with such names"
            else:
                found[key] = value
        return found

    def _divided_by(
        self, spec: int, schema: Mapping[str, Any], left_out: dict[str, str]
    ) -> tuple[list[str], str]:
        if spec == NO_SPEC or not self._metadata.specs[spec].get("fields"):
            return [], ""
        try:
            return partition_columns_of(self._metadata.specs[spec], schema)
        except NoIcebergTypeError as error:
            left_out[f"partition spec {spec}"] = str(error)
            return [], ""

    def _lists(self, schema: Mapping[str, Any], left_out: dict[str, str]) -> dict[str, str]:
        """Return the key and the order of the table, as far as the schema has their columns."""
        found: dict[str, str] = {}
        try:
            if key := key_text(schema):
                found[KEY] = key
        except NoIcebergTypeError as error:
            left_out["identifier-field-ids"] = str(error)
        order = self._metadata.orders.get(self._metadata.order, {})
        try:
            if order.get("fields"):
                found |= sort_properties(order, schema)
        except (NoIcebergTypeError, ValueError) as error:
            left_out[f"sort order {self._metadata.order}"] = str(error)
        return found

    def fitted(
        self, definition: TableDefinition, files: Mapping[str, Sequence[StoredColumn]]
    ) -> TableDefinition:
        """Return a definition by which the columns of all these new files are found.

        If names and ids of a file say different things, the columns of the table go by ids from
        then on. Raises IncompatibleError for a file without ids whose names are not sure.
        """
        mapped = is_mapped(definition)
        table = table_columns(definition.columns, is_mapped=mapped)
        known = names_in_files_of(definition)
        called = dict(known) if mapped else {}
        is_odd = False
        for path, given in files.items():
            file = given if has_ids(given) else without_unknown(self._numbered(path, given))
            is_odd = is_odd or not agree(file, table)
            if file is given:
                continue
            for number, name in names_by_id(file):
                if called.setdefault(number, name) != name:
                    raise IncompatibleError(
                        f"file {path} has no field ids, and calls column {number} {name}, which "
                        f"other files call {called[number]}: write one of them anew"
                    )
        if mapped or not is_odd:
            return definition
        return with_names_in_files(definition, known | called)

    def ids_in(self, path: str, file: Sequence[StoredColumn]) -> set[int]:
        """Return the ids of the columns that a file has; raises as `fitted`."""
        return {each.id for each in (file if has_ids(file) else self._numbered(path, file))}

    def _numbered(self, path: str, file: Sequence[StoredColumn]) -> Sequence[StoredColumn]:
        """Return the columns of a file without ids with ids; raises IncompatibleError."""
        text = self._metadata.properties.get(NAME_MAPPING)
        if text is not None:
            try:
                return numbered_by(file, json.loads(text))
            except (ValueError, TypeError, RecursionError) as error:
                raise IncompatibleError(
                    f"the property {NAME_MAPPING} must be a name mapping: {error}"
                ) from error
        schemas = [
            table_columns(columns_of(each), is_mapped=False)
            for each in self._metadata.schemas.values()
        ]
        if not are_names_sure(schemas):
            raise IncompatibleError(
                f"file {path} has no field ids, and names of columns have changed: set the "
                f"property {NAME_MAPPING} of the Iceberg table, or write the file anew"
            )
        return numbered_alike(file, [column for schema in schemas for column in schema])


def check_different(columns: Sequence[Column]) -> None:
    """Raise IncompatibleError for columns whose names differ in case only."""
    seen: dict[str, str] = {}
    for column in columns:
        other = seen.setdefault(column.name.lower(), column.name)
        if other is not column.name:
            raise IncompatibleError(
                f"columns {other} and {column.name} differ in case only or not at all, and names "
                "of columns are one in any case. Rename one of them in the Iceberg table"
            )


def names_in_files_of(definition: TableDefinition) -> dict[int, str]:
    """Return the names in files of all columns and fields of a definition, by id."""
    found = {column.id: physical_name(column) for column in definition.columns}
    for column in definition.columns:
        found.update(names_of_fields(fields_of(column)))
    return found


def with_names_in_files(definition: TableDefinition, known: Mapping[int, str]) -> TableDefinition:
    """Return a definition whose columns are found by id, and by these names in files without ids.

    A new column gets its own name, unless another column has it in files.
    """
    taken = {known[each.id].lower(): each.id for each in definition.columns if each.id in known}
    names = dict(known)
    for column in definition.columns:
        if column.id not in names:
            is_free = taken.setdefault(column.name.lower(), column.id) == column.id
            names[column.id] = column.name if is_free else f"{column.name}-{column.id}"
    columns = [
        with_fields(with_physical_name(each, names), with_names(fields_of(each), names))
        for each in definition.columns
    ]
    found = {each.key: each.value for each in definition.properties}
    found[MAPPING_MODE] = BY_ID
    found[HIGHEST_ID] = str(highest_held(columns))
    made = [Property(*each) for each in sorted(found.items())]
    return definition._replace(columns=columns, properties=made)
