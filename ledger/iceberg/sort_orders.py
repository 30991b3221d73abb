"""Sort orders: the property `lakeledger.sort` of a definition, and Iceberg's JSON of an order.

The ledger orders rows by columns, and by transforms of them. An order by a field within a column,
or by another transform, is refused: its writers would not obey it. What an order says has a place
in the property, so that no second text of it is kept.
"""

from collections.abc import Mapping
from typing import Any, Final

from ledger.core.commands import TableDefinition
from ledger.iceberg.partitioning import IDENTITY, transform_in, word_of
from ledger.iceberg.types import NoIcebergTypeError, fields_in, short, spark_type
from ledger.properties.column_lists import SORT, SortKey, is_fit, list_of

UNSORTED: Final = 0
"""The id of the order of a table without one."""

WAYS: Final[Mapping[str, bool]] = {"asc": False, "desc": True}
NULLS: Final[Mapping[str, bool]] = {"nulls-first": True, "nulls-last": False}


def order_json(definition: TableDefinition, order_id: int) -> dict[str, Any]:
    """Return the order of a table's rows as a sort order; a table without one has the order 0.

    A column without an id, or that is not there, raises NoIcebergTypeError.
    """
    numbers = {column.name.lower(): column.id for column in definition.columns}
    fields = []
    for key in list_of(definition, SORT):
        number = numbers.get(key.column.lower(), 0)
        if not number:
            raise NoIcebergTypeError(f"the order of rows names {key.column}, which has no id")
        fields.append(
            {
                "transform": word_of(key.transform) if key.transform else IDENTITY,
                "source-id": number,
                "direction": "desc" if key.is_descending else "asc",
                "null-order": "nulls-first" if key.has_nulls_first else "nulls-last",
            }
        )
    return {"order-id": order_id if fields else UNSORTED, "fields": fields}


def sort_properties(order: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of a table with an order, none for a table without one.

    Raises NoIcebergTypeError for an order that the ledger does not obey, and says why.
    """
    fields = order.get("fields")
    if not isinstance(fields, list):
        raise NoIcebergTypeError(f"a sort order must have a list of fields, got {short(order)}")
    columns = {field["id"]: field for field in fields_in(schema, "the schema")}
    keys = [sort_key(each if isinstance(each, dict) else {}, columns) for each in fields]
    names = [key.said.lower() for key in keys]
    if len(set(names)) < len(names):
        raise NoIcebergTypeError(f"a sort order must name each column once, got {names}")
    return {SORT: ", ".join(key.text for key in keys)} if keys else {}


def sort_key(field: Mapping[str, Any], columns: Mapping[int, Mapping[str, Any]]) -> SortKey:
    """Return a field of an order as a key; raises NoIcebergTypeError."""
    sources = field.get("source-ids")
    listed = sources[0] if isinstance(sources, list) and len(sources) == 1 else None
    source: Any = field.get("source-id", listed)
    column = columns.get(source) if type(source) is int else None
    if column is None:
        raise NoIcebergTypeError(
            f"a sort order must name columns by their ids, got {short(dict(field))}: the ledger "
            "orders no rows by a field within a column"
        )
    name = str(column["name"])
    word = str(field.get("transform"))
    transform = None if word == IDENTITY else transform_in(word, name)
    if transform is None and word != IDENTITY:
        raise NoIcebergTypeError(
            f"the ledger orders rows by columns and by transforms such as day or bucket[16], got "
            f"{short(field.get('transform'))} of {name}: order by the column itself"
        )
    way, nulls = str(field.get("direction")).lower(), str(field.get("null-order")).lower()
    if way not in WAYS or nulls not in NULLS:
        raise NoIcebergTypeError(f"a sort order must have direction and null-order, for {name}")
    kind = spark_type(column["type"], name)[0]
    if transform is not None and not transform.takes(kind):
        raise NoIcebergTypeError(f"the ledger has no {word} of {name}, whose type is {kind}")
    if not is_fit(SORT, kind):
        raise NoIcebergTypeError(f"the ledger orders no rows by {name} of type {kind}")
    words = f"{way.upper()} {nulls.upper().replace('-', ' ')}"
    return SortKey(name, WAYS[way], NULLS[nulls], words, transform)
