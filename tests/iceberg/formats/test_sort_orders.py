"""Sort orders: what the ledger obeys is served, and what it does not obey is refused."""

from typing import Any

import pytest
from pyiceberg.table.sorting import SortOrder

from ledger.core.commands import Column, Property, TableDefinition
from ledger.iceberg.schemas import schema_json
from ledger.iceberg.sort_orders import order_json, sort_properties
from ledger.iceberg.types import NoIcebergTypeError
from ledger.properties.column_lists import SORT, keys_in

FIELDS = '{"lakeledger.fields": {"x": {"id": 4}}}'
COLUMNS = [
    Column("id", "bigint", nullable=True, id=1),
    Column("odd name", "string", nullable=True, id=2),
    Column("place", "struct<x:int>", nullable=True, id=3, metadata=FIELDS),
]


def table(order: str) -> TableDefinition:
    given = [Property(SORT, order)] if order else []
    return TableDefinition("managed", "listed", "/t", COLUMNS, [], given)


SCHEMA = schema_json(table(""), 0)


@pytest.mark.parametrize(
    "order",
    [
        *("id", "id DESC", "ID asc NULLS LAST", "`odd name` DESC NULLS FIRST, id"),
        "id NULLS FIRST, `odd name` NULLS LAST",
    ],
)
def test_an_order_comes_back_with_the_same_meaning(order: str) -> None:
    served = order_json(table(order), 3)
    made = sort_properties(served, SCHEMA)
    before, after = (keys_in(SORT, text) for text in (order, made[SORT]))

    assert [each[1:3] for each in after] == [each[1:3] for each in before]
    assert [each.column.lower() for each in after] == [each.column.lower() for each in before]
    assert order_json(table(made[SORT]), 3) == served
    theirs = SortOrder.model_validate(served)
    assert theirs.order_id == 3
    assert [each.source_id for each in theirs.fields] == [
        1 if each.column.lower() == "id" else 2 for each in before
    ]
    assert [str(each.null_order.value) == "nulls-first" for each in theirs.fields] == [
        each.has_nulls_first for each in before
    ]


def test_a_table_without_an_order_has_the_order_zero() -> None:
    assert order_json(table(""), 7) == {"order-id": 0, "fields": []}
    assert sort_properties({"order-id": 0, "fields": []}, SCHEMA) == {}
    assert SortOrder.model_validate(order_json(table(""), 7)).is_unsorted


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"transform": "bucket[4]"}, "order by the column itself"),
        ({"transform": "day"}, "order by the column itself"),
        ({"transform": None}, "order by the column itself"),
        ({"source-id": 4}, "field within a column"),
        ({"source-id": 3}, "orders no rows by place"),
        ({"source-id": None, "source-ids": [1, 2]}, "by their ids"),
        ({"direction": "up"}, "direction and null-order"),
        ({"null-order": None}, "direction and null-order"),
    ],
)
def test_an_order_that_is_not_obeyed_is_refused_by_name(
    changes: dict[str, Any], reason: str
) -> None:
    (field,) = order_json(table("id"), 1)["fields"]
    with pytest.raises(NoIcebergTypeError, match=reason):
        sort_properties({"order-id": 1, "fields": [field | changes]}, SCHEMA)


@pytest.mark.parametrize("order", [{}, {"fields": 5}, {"fields": [5]}, {"fields": None}])
def test_an_odd_order_is_refused(order: Any) -> None:
    with pytest.raises(NoIcebergTypeError):
        sort_properties(order, SCHEMA)
    (field,) = order_json(table("id"), 1)["fields"]
    with pytest.raises(NoIcebergTypeError, match="each column once"):
        sort_properties({"order-id": 1, "fields": [field, field]}, SCHEMA)
