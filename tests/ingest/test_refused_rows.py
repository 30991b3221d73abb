"""A record whose row the table refuses is bad by itself, and the others go on."""

from collections.abc import Sequence
from typing import Any

import pytest

from ledger.errors import RoleEndedError, SettingsError
from tests.ingest.benches import IngestBench
from tests.ingest.test_ingest import KEPT

TOPIC: dict[str, Any] = {"topic": "t", "table": "db.t", **KEPT}
EPOCH = {"columns": {"x": {"field": "x", "form": "epoch_ms"}}}
UNIQUE = {"lakeledger.key": "x", "lakeledger.unique": "true"}
GENERATED = "INT GENERATED ALWAYS AS (x + 1)"


def constraint(text: str) -> dict[str, str]:
    return {"delta.constraints.c": text}


def ingested(
    bench: IngestBench,
    table: list[tuple[str, str]],
    values: Sequence[bytes | None],
    *,
    record_key: bytes | None = None,
    properties: dict[str, str] | None = None,
    partition_columns: tuple[str, ...] = (),
    **mapping: Any,
) -> dict[int, str]:
    """Let records come, and return the reasons of the bad ones by their offsets."""
    bench.ledger.create_table(
        "db.t", table, properties=properties or {}, partition_columns=[*partition_columns]
    )
    bench.topics.create("t")
    ingest, _ = bench.process({**TOPIC, **mapping})
    for value in values:
        bench.topics.put("t", value, record_key)
    bench.drain(ingest)
    return {row["offset"]: row["reason"] for row in bench.rows("db.bad", "offset")}


@pytest.mark.parametrize(
    ("columns", "records", "given", "why"),
    [
        (
            [("x", "TIMESTAMP")],
            (b'{"x": "2024-01-01T00:00:00Z"}', b'{"x": "0001-01-01T00:00:00+14:00"}'),
            {},
            "years 1 to 9999",
        ),
        ([("x", "TIMESTAMP")], (b'{"x": 1}', b'{"x": 253402300800000}'), EPOCH, "years 1 to 9999"),
        ([("x", "ARRAY<VARCHAR(2)>")], (b'{"x": ["ab"]}', b'{"x": ["abc"]}'), {}, "varchar(2)"),
        (
            [("x", "STRUCT<a: VARCHAR(2)>")],
            (b'{"x": {"a": "ab"}}', b'{"x": {"a": "abc"}}'),
            {},
            "varchar(2)",
        ),
        (
            [("x", "INT"), ("y", "INT DEFAULT 5")],
            (b'{"a": 9}', b'{"a": 1}'),
            {"columns": {"x": "a"}, "properties": constraint("x > y")},
            "constraint c (x > y)",
        ),
        (
            [("x", "INT"), ("y", "INT")],
            (b'{"a": 9}', b'{"a": 1}'),
            {"columns": {"x": "a"}, "properties": constraint("x > 5 AND y IS NULL")},
            "constraint c (x > 5 AND y IS NULL)",
        ),
        (
            [("x", "INT"), ("y", GENERATED)],
            (b'{"x": 9}', b'{"x": 1}'),
            {"properties": constraint("y > 5")},
            "constraint c (y > 5)",
        ),
        (
            [("x", "INT")],
            (b'{"x": 1}', b'{"x": 0}'),
            {"properties": constraint("10 / x > 1")},
            "cannot be computed",
        ),
        ([("x", "INT"), ("y", GENERATED)], (b'{"x": 9}', b'{"x": 2147483647}'), {}, "be computed"),
        (
            [("x", "INT"), ("y", "INT NOT NULL GENERATED ALWAYS AS (x + 1)")],
            (b'{"x": 9}', b'{"x": null}'),
            {},
            "column y is NOT NULL",
        ),
        (
            [("x", "INT"), ("p", "STRING NOT NULL")],
            (b'{"x": 9, "p": "a"}', b'{"x": 1, "p": ""}'),
            {"partition_columns": ("p",)},
            "column p is NOT NULL",
        ),
        ([("x", "INT")], (b'{"x": 9}', b'{"x": 9}'), {"properties": UNIQUE}, "its key already"),
        (
            [("x", "INT")],
            (b'{"x": 9}', b'{"x": 9, "y": ' + b"[" * 3000 + b"]" * 3000 + b"}"),
            {},
            "recursion",
        ),
    ],
)
def test_a_record_whose_row_the_table_refuses_is_bad_and_the_others_go_on(
    bench: IngestBench,
    columns: list[tuple[str, str]],
    records: tuple[bytes, bytes],
    given: dict[str, Any],
    why: str,
) -> None:
    good, bad = records
    others = [good] if "properties" in given and given["properties"] is UNIQUE else [good, good]
    found = ingested(bench, columns, [*others, bad, bad, b"x"], **given)

    last = len(others)
    assert list(found) == [last, last + 1, last + 2]
    assert why in found[last]
    assert bench.ledger.scan("db.t").count() == len(others)


def test_a_row_whose_key_another_program_wrote_makes_its_record_bad(bench: IngestBench) -> None:
    bench.ledger.create_table("db.t", [("x", "INT")], properties=UNIQUE)
    bench.ledger.append("db.t", [{"x": 9}])
    bench.topics.create("t")
    ingest, _ = bench.process(TOPIC)
    for number in (8, 9, 10, 9):
        bench.topics.put("t", b'{"x": %d}' % number)
    bench.drain(ingest)

    assert [row["x"] for row in bench.rows("db.t", "x")] == [10, 8, 9]
    assert [row["offset"] for row in bench.rows("db.bad", "offset")] == [1, 3]
    assert (ingest.tally.rows["t"], ingest.tally.bad["t"]) == (2, 2)


def test_the_record_before_a_refused_one_counts_for_its_key(bench: IngestBench) -> None:
    """The table refuses the last row of key 1, since names are unique."""
    columns = [("id", "INT"), ("name", "STRING")]
    properties = {"lakeledger.key": "name", "lakeledger.unique": "true"}
    values: list[bytes | None] = [
        b'{"id": 2, "name": "a"}',
        b'{"id": 1, "name": "b"}',
        b'{"id": 1, "name": "a"}',
    ]

    found = ingested(bench, columns, values, properties=properties, key=["id"])

    assert list(found) == [2]
    assert bench.rows("db.t") == [{"id": 1, "name": "b"}, {"id": 2, "name": "a"}]


def test_a_row_that_the_table_refuses_stops_an_ingest_without_a_table_of_bad_records(
    bench: IngestBench,
) -> None:
    bench.ledger.create_table("db.t", [("x", "INT")], properties=UNIQUE)
    bench.topics.create("t")
    ingest, _ = bench.process({"topic": "t", "table": "db.t"})
    for _ in range(2):
        bench.topics.put("t", b'{"x": 9}')
    ingest.gather()

    with pytest.raises(RoleEndedError, match=r"offset 1 does not fit table db\.t"):
        ingest.commit()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (b'"n": 1, "N": 2', "is there twice"),
        (b'"n": null, "N": 2', "is there twice"),
        (b'"": 1', "must not be empty"),
        (b'"a\\nb": 1', "control character"),
        (b'"a\\u0000": 1', "control character"),
        (b'"a\\nb": null', "control character"),
        (b'"a\\"b": 1', "a quote or a backslash"),
        (b'"a\\\\b": null', "a quote or a backslash"),
        (b'"n": [1]', "no plain value"),
    ],
)
def test_a_record_with_a_field_that_cannot_be_a_column_is_bad(
    bench: IngestBench, fields: bytes, why: str
) -> None:
    values = [b'{"x": 1, "m": 2}', b'{"x": 2, ' + fields + b"}", b'{"x": 3, "m": 2}']

    found = ingested(bench, [("x", "INT")], values, new_fields="add")

    assert list(found) == [1]
    assert why in found[1]
    assert bench.rows("db.t", "x") == [{"x": 1, "m": 2}, {"x": 3, "m": 2}]


def test_new_fields_of_two_records_that_differ_by_case_are_one_column(bench: IngestBench) -> None:
    values: list[bytes | None] = [b'{"x": 1, "n": 2}', b'{"x": 2, "N": 3}']

    found = ingested(bench, [("x", "INT")], values, new_fields="add")

    assert list(found) == [1]
    assert bench.rows("db.t", "x") == [{"x": 1, "n": 2}]


@pytest.mark.parametrize("batches", [1, 2, 3])
def test_a_row_does_not_depend_on_where_batches_end(bench: IngestBench, batches: int) -> None:
    """A tombstone and a new row, or an update, leave nothing of the row that was there."""
    columns = [("id", "INT"), ("a", "INT"), ("b", "INT DEFAULT 5"), ("c", "INT")]
    columns.append(("d", "INT GENERATED ALWAYS AS (b + 1)"))
    bench.ledger.create_table("db.t", columns)
    before = {"a": 0, "b": 99, "c": 98}
    bench.ledger.append("db.t", [{"id": number, **before} for number in (1, 2, 3)])
    bench.topics.create("t")
    ingest, _ = bench.process({**TOPIC, "key": ["id"], "columns": {"id": "id", "a": "a"}})
    records = [(None, b"1"), (b'{"id": 1, "a": 7}', b"1"), (b'{"id": 2, "a": 7}', b"2")]
    for at, (value, key) in enumerate(records):
        bench.topics.put("t", value, key)
        if at < batches - 1:
            bench.drain(ingest)
    bench.drain(ingest)

    new = {"a": 7, "b": 5, "c": None, "d": 6}
    kept = {"id": 3, **before, "d": 100}
    assert bench.rows("db.t") == [{"id": 1, **new}, {"id": 2, **new}, kept]


@pytest.mark.parametrize("kind", ["ARRAY<INT>", "MAP<STRING,INT>", "STRUCT<a: INT>"])
def test_a_key_of_several_values_is_refused(bench: IngestBench, kind: str) -> None:
    with pytest.raises(SettingsError, match="key column x must have one value"):
        ingested(bench, [("x", kind), ("n", "INT")], [], key=["x"])


@pytest.mark.parametrize(
    ("kind", "value", "key", "left"),
    [
        ("CHAR(3)", b'{"id": "a", "n": 1}', b'"a"', []),
        ("STRING NOT NULL", b'{"id": "", "n": 1}', b'""', [1, 2]),
    ],
)
def test_a_key_is_compared_as_the_table_stores_it(
    bench: IngestBench, kind: str, value: bytes, key: bytes, left: list[int]
) -> None:
    """CHAR is padded, and an empty text in a partition column is NULL, which equals no key."""
    by = ["id"] if left else []
    columns = [("id", kind.replace(" NOT NULL", "")), ("n", "INT")]
    bench.ledger.create_table("db.t", columns, partition_columns=by)
    bench.topics.create("t")
    ingest, _ = bench.process({**TOPIC, "key": ["id"]})
    for each in (value, value.replace(b"1", b"2"), None):
        bench.topics.put("t", each, key)
        bench.drain(ingest)

    assert bench.rows("db.t") == []
    assert [row["offset"] for row in bench.rows("db.bad", "offset")] == ([0, 1, 2] if left else [])


@pytest.mark.parametrize(
    "columns",
    [
        [("z", "INT")],
        [("topic", "STRING"), ("partition", "INT")],
        [
            *(("topic", "STRING"), ("partition", "INT"), ("offset", "INT"), ("at", "TIMESTAMP")),
            *(("key", "BINARY"), ("value", "BINARY"), ("reason", "STRING")),
        ],
        [
            *(("topic", "STRING"), ("partition", "INT"), ("offset", "BIGINT"), ("at", "TIMESTAMP")),
            *(("key", "BINARY"), ("value", "BINARY"), ("reason", "STRING"), ("z", "INT NOT NULL")),
        ],
    ],
)
def test_a_table_that_cannot_hold_bad_records_is_refused_at_once(
    bench: IngestBench, columns: list[tuple[str, str]]
) -> None:
    bench.ledger.create_table("db.t", [("x", "INT")])
    bench.ledger.create_table("db.bad", columns)

    with pytest.raises(SettingsError, match=r"bad_table db\.bad cannot hold bad records"):
        bench.process(TOPIC)


def test_a_table_of_bad_records_may_have_more_columns(bench: IngestBench) -> None:
    bench.ledger.create_table("db.t", [("x", "INT")])
    bench.topics.create("t")
    bench.process(TOPIC)
    row = bench.ledger.table("db.bad")
    bench.ledger.alter_table(row, columns=[*row.definition.columns, ("seen", "BOOLEAN")])
    ingest, _ = bench.process(TOPIC)
    bench.topics.put("t", b"x")
    bench.drain(ingest)

    assert [row["seen"] for row in bench.rows("db.bad", "offset")] == [None]


def test_a_column_may_have_the_name_that_marks_removed_rows(bench: IngestBench) -> None:
    columns = [("id", "INT"), ("lakeledger_deleted", "BOOLEAN")]
    values = [b'{"id": 1, "lakeledger_deleted": true}', b'{"id": 2, "lakeledger_deleted": true}']

    found = ingested(bench, columns, [*values, None], record_key=b"1", key=["id"])

    assert found == {}
    assert bench.rows("db.t") == [{"id": 2, "lakeledger_deleted": True}]


@pytest.mark.parametrize(
    ("properties", "kept"),
    [
        (
            {"lakeledger.inline": "on", "lakeledger.inline.encrypted": "true"},
            {"lakeledger.inline": "on", "lakeledger.inline.encrypted": "true"},
        ),
        ({"lakeledger.statistics.skip": "x"}, {"lakeledger.statistics.skip": "key, value, reason"}),
        ({}, {}),
    ],
)
def test_bad_records_are_as_secret_as_the_rows_of_their_table(
    bench: IngestBench, properties: dict[str, str], kept: dict[str, str]
) -> None:
    found = ingested(bench, [("x", "INT")], [b"x", b'{"x": 1}'], properties=properties)

    has = {each.key: each.value for each in bench.ledger.table("db.bad").definition.properties}
    assert list(found) == [0]
    assert {name: has[name] for name in has if name in properties} == kept


def test_a_clear_table_does_not_take_the_bad_records_of_an_encrypted_one(
    bench: IngestBench,
) -> None:
    ingested(bench, [("x", "INT")], [])
    bench.ledger.alter_table(
        "db.t", properties={"lakeledger.inline": "on", "lakeledger.inline.encrypted": "true"}
    )

    with pytest.raises(SettingsError, match=r"it must have lakeledger\.inline\.encrypted = true"):
        bench.process(TOPIC)


def test_reasons_say_no_values_of_the_record(bench: IngestBench) -> None:
    columns = [("x", "INT"), ("y", GENERATED), ("d", "DECIMAL(3,1)"), ("t", "TIMESTAMP")]
    times: dict[str, Any] = {
        "columns": {"x": "x", "d": "d", "t": {"field": "t", "form": "epoch_s"}}
    }
    values: list[bytes | None] = [
        b'{"x": 2147483647}',
        b'{"x": 77777}',
        b'{"d": "77777"}',
        b'{"t": 9223372036854775777}',
        b'{"x": "77777"}',
        b'{"x": 7777777777}',
    ]

    found = ingested(bench, columns, values, properties=constraint("y < 9"), **times)

    assert list(found) == [0, 1, 2, 3, 4, 5]
    assert not [why for why in found.values() if "7777" in why or "2147483647 +" in why]
