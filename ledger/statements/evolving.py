"""Evolution: the columns that a table needs for rows that do not fit it as it is.

Columns and fields of structs are added, and types become wider where Delta allows it. Values of
Python have no declared type: they widen a column only if they do not fit it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ledger.arrow.casts import by_name, is_list
from ledger.arrow.python_rows import array_of, columns_of_dicts
from ledger.arrow.schema import TableSchema
from ledger.arrow.types import sql_type
from ledger.core.commands import Column
from ledger.core.conflicts.metadata_diff import NESTED_TYPE, column_metadata
from ledger.properties.type_widening import delta_name, is_wider


def evolved(
    before: Sequence[Column], schema: TableSchema, rows: Any, given: Any = None
) -> Sequence[Column | tuple[str, str]] | None:
    """Return the columns that a table needs for rows of another schema, None for the same ones.

    `given` are the rows as the caller has them. Raises ValueError for a struct of an imported table
    that lacks a field.
    """
    places, values = by_name(rows.names, "rows"), plain_values(given)
    columns: list[Column | tuple[str, str]] = []
    for each in before:
        known, at = schema.find(each.name), places.pop(each.name.lower(), None)
        assert known is not None
        needed = known.type
        if at is not None and known.name not in schema.partition_columns:
            needed = type_for(known.type, rows.field(at).type, values.get(rows.names[at]))
        if needed == known.type:
            columns.append(each)
            continue
        if NESTED_TYPE in column_metadata(each):
            raise ValueError(
                f"column {each.name} of table {schema.name} was imported with fields of its own, "
                f"and the rows need {sql_type(needed)}: change the column with Delta's own tools, "
                "and import the table again"
            )
        columns.append((each.name, sql_type(needed, each.name)))
    for at in places.values():
        field = rows.field(at)
        if not pa.types.is_null(field.type):
            columns.append((field.name, sql_type(field.type, field.name)))
    return None if columns == list(before) else columns


def plain_values(given: Any) -> Mapping[str, Any]:
    """Return the lists of Python values in rows by column, empty for rows with declared types."""
    if isinstance(given, list | tuple) and given and isinstance(given[0], Mapping):
        return columns_of_dicts(given)
    if isinstance(given, Mapping):
        return {name: each for name, each in given.items() if isinstance(each, list | tuple)}
    return {}


def type_for(known: Any, source: Any, values: Any) -> Any:
    """Return the type that a column needs for values of another type."""
    wide = joined(known, source, widens=True)
    if values is None or wide == known:
        return wide
    narrow = joined(known, source, widens=False)
    return next((each for each in (known, narrow) if holds(each, values)), wide)


def holds(type_: Any, values: Any) -> bool:
    """Return whether values of Python fit a type."""
    try:
        array_of(values, type_, "")
    except (TypeError, ValueError):
        return False
    return True


def joined(known: Any, source: Any, *, widens: bool) -> Any:
    """Return a type with the new fields of another, and as wide as that if `widens`."""
    if pa.types.is_struct(known) and pa.types.is_struct(source):
        others = {field.name.lower(): field for field in source}
        fields = [
            field.with_type(joined(field.type, other.type, widens=widens)) if other else field
            for field in known
            for other in [others.pop(field.name.lower(), None)]
        ]
        new = [each for each in others.values() if not pa.types.is_null(each.type)]
        return pa.struct([*fields, *(each.with_nullable(nullable=True) for each in new)])
    if is_list(known) and is_list(source):
        inner = joined(known.value_type, source.value_type, widens=widens)
        return pa.list_(known.value_field.with_type(inner))
    if pa.types.is_map(known) and pa.types.is_map(source):
        inner = joined(known.item_type, source.item_type, widens=widens)
        return pa.map_(known.key_field, known.item_field.with_type(inner))
    return source if widens and is_widening(known, source) else known


def is_widening(before: Any, after: Any) -> bool:
    """Tell whether Delta may change a column of one type into the other, as it loses nothing."""
    return before != after and is_wider(delta_name(sql_type(before)), delta_name(sql_type(after)))
