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
    Column("at", "timestamp", nullable=True, id=5),
    Column("ratio", "double", nullable=True, id=6),
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


WORDS = {
    "years(at)": "year",
    "months(at) DESC": "month",
    "day(at) NULLS LAST": "day",
    "hours(at)": "hour",
    "bucket(16, id) DESC NULLS FIRST": "bucket[16]",
    "truncate(3, `odd name`) ASC NULLS LAST": "truncate[3]",
}


@pytest.mark.parametrize("key", WORDS)
def test_an_order_by_a_transform_is_icebergs_transform(key: str) -> None:
    order = f"{key}, id"
    served = order_json(table(order), 2)
    made = sort_properties(served, SCHEMA)

    assert served["fields"][0]["transform"] == WORDS[key]
    assert [each[:3] + each[4:] for each in keys_in(SORT, made[SORT])] == [
        each[:3] + each[4:] for each in keys_in(SORT, order)
    ]
    assert order_json(table(made[SORT]), 2) == served
    theirs = SortOrder.model_validate(served)
    assert [str(each.transform) for each in theirs.fields] == [WORDS[key], "identity"]


def test_one_column_may_be_ordered_by_several_transforms() -> None:
    served = order_json(table("days(at), bucket(4, at) DESC, at"), 1)
    assert keys_in(SORT, sort_properties(served, SCHEMA)[SORT]) == keys_in(
        SORT, "days(at) ASC NULLS FIRST, bucket(4, at) DESC NULLS LAST, at ASC NULLS FIRST"
    )


def test_a_table_without_an_order_has_the_order_zero() -> None:
    assert order_json(table(""), 7) == {"order-id": 0, "fields": []}
    assert sort_properties({"order-id": 0, "fields": []}, SCHEMA) == {}
    assert SortOrder.model_validate(order_json(table(""), 7)).is_unsorted


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"transform": "zorder"}, "order by the column itself"),
        ({"transform": "bucket[0]"}, "order by the column itself"),
        ({"transform": "bucket"}, "order by the column itself"),
        ({"transform": "day"}, "no day of id, whose type is bigint"),
        ({"transform": "bucket[4]", "source-id": 6}, r"no bucket\[4\] of ratio"),
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
