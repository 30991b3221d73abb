"""Defaults: of rows that leave a column out, and of files that are older than a column."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.core.commands import Column
from ledger.definitions.definitions import table_definition
from ledger.properties.column_values import comment_of, default_of
from ledger.testing import InMemoryLedger

NAME = "db.t"
OLD = [("id", "bigint")]
MOMENT = datetime(2020, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)

# The declaration of a column, and its value in older rows.
DEFAULTS: dict[str, Any] = {
    "int DEFAULT 5": 5,
    "tinyint DEFAULT -3": -3,
    "bigint NOT NULL DEFAULT 9007199254740993": 9007199254740993,
    "double DEFAULT 0.1": 0.1,
    "float DEFAULT 0.1": 0.10000000149011612,
    "double DEFAULT CAST('Infinity' AS DOUBLE)": math.inf,
    "decimal(10,2) DEFAULT 1.5": Decimal("1.50"),
    "decimal(38,18) DEFAULT 1": Decimal("1.000000000000000000"),
    "string DEFAULT ''": "",
    "string DEFAULT 'it''s DEFAULT'": "it's DEFAULT",
    "string DEFAULT 'it\\'s' 'DEFAULT'": "it'sDEFAULT",
    "char(3) DEFAULT 'a'": "a  ",
    "varchar(3) DEFAULT 'abc'": "abc",
    "boolean DEFAULT false": False,
    "date DEFAULT DATE'2024-01-31'": date(2024, 1, 31),
    "timestamp DEFAULT TIMESTAMP'2020-02-29 12:00:00.123456'": MOMENT,
    "timestamp_ntz DEFAULT TIMESTAMP_NTZ'2020-02-29 12:00:00.123456'": MOMENT.replace(tzinfo=None),
    "int DEFAULT NULL": None,
}
REFUSED = {
    "int DEFAULT 'x'": "must be int, got .* of type string",
    "int DEFAULT rand()": "not supported on rows",
    "int DEFAULT id + 1": "has no column id",
    "tinyint DEFAULT 1000": "which is not computed here",
    "array<int> DEFAULT array(1)": "not supported on rows",
    "int DEFAULT": "must be declared by a type",
    "int PRIMARY KEY": "must be declared by a type",
    "int NOT NULL": "must stay without NOT NULL",
    "binary DEFAULT X'01'": "default X'01'",
}


def read(ledger: Ledger, *columns: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ledger.scan(NAME, columns=columns or None).to_arrow().to_pylist()
    return sorted(found, key=repr)


@pytest.fixture
def table(ledger: Ledger, tmp_path: Path) -> Ledger:
    """Return a client of a table with one old row."""
    ledger.create_table(NAME, OLD, location=tmp_path)
    ledger.append(NAME, [{"id": 1}])
    return ledger


@pytest.mark.parametrize("declared", DEFAULTS)
def test_older_rows_have_the_default_that_a_column_is_added_with(
    table: Ledger, declared: str
) -> None:
    table.alter_table(NAME, columns=[*OLD, ("c", declared)])
    table.append(NAME, [{"id": 2}])
    assert [row["c"] for row in read(table)] == [DEFAULTS[declared]] * 2


@pytest.mark.parametrize("declared", REFUSED)
def test_a_default_that_no_writer_could_obey_is_refused_by_name(
    table: Ledger, declared: str
) -> None:
    with pytest.raises(ValueError, match=REFUSED[declared]):
        table.alter_table(NAME, columns=[*OLD, ("c", declared)])
    assert [column.name for column in table.table(NAME).definition.columns] == ["id"]


def test_a_later_default_is_for_new_rows_only(table: Ledger) -> None:
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT 5")])
    table.append(NAME, [{"id": 2}])
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT 6")])
    table.append(NAME, [{"id": 3}])
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT NULL")])
    table.append(NAME, [{"id": 4}, {"id": 5, "c": 9}])
    assert [row["c"] for row in read(table)] == [5, 5, 6, None, 9]
    assert json.loads(table.table(NAME).definition.columns[1].metadata) == {
        "lakeledger.initialDefault": "5"
    }


def test_a_renamed_and_a_wider_column_keeps_the_value_of_older_rows(table: Ledger) -> None:
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT 5")])

    def renamed(columns: list[Column]) -> list[Column]:
        return [columns[0], columns[1]._replace(name="d", type="bigint")]

    table.alter_table(NAME, lambda then: then._replace(columns=renamed(list(then.columns))))
    assert read(table) == [{"id": 1, "d": 5}]
    table.alter_table(NAME, columns=OLD)
    table.alter_table(NAME, columns=[*OLD, ("d", "int")])
    assert read(table) == [{"id": 1, "d": None}]


def test_every_statement_gives_the_default_to_rows_that_leave_a_column_out(table: Ledger) -> None:
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT 5"), ("s", "string")])
    on = "target.id = source.id"
    with table.transaction() as txn:
        txn.insert(NAME, [{"id": 2, "s": "x"}])
        txn.insert(NAME, [{"id": 3, "n": 1}], evolve=True)
        txn.overwrite(NAME, [{"id": 2, "s": "y"}], "id = 2")
        txn.update(NAME, {"c": 7}, "id = 1")
        txn.merge(NAME, [{"id": 1}, {"id": 9}], on, when_not_matched_insert={"id": "source.id"})
    assert read(table, "id", "c") == [
        {"id": id_, "c": value} for id_, value in ((1, 7), (2, 5), (3, 5), (9, 5))
    ]
    table.update(NAME, {"c": "default", "s": "DEFAULT"}, "id = 1")
    table.merge(NAME, [{"id": 2}], on, when_matched_update={"c": "DEFAULT"})
    assert read(table, "c", "s") == [{"c": 5, "s": "y"}] + [{"c": 5, "s": None}] * 3


def test_a_column_of_the_name_default_is_no_default(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_table(NAME, [("default", "int"), ("c", "int DEFAULT 5")], location=tmp_path)
    ledger.append(NAME, [{"default": 1}])
    ledger.update(NAME, {"c": "default"})
    assert read(ledger) == [{"default": 1, "c": 1}]


def test_the_present_time_is_the_time_of_the_statement(ledger: Ledger, tmp_path: Path) -> None:
    columns = [*OLD, ("at", "timestamp DEFAULT current_timestamp()"), ("d", "date DEFAULT now()")]
    before = datetime.now(UTC)
    ledger.create_table(NAME, columns, location=tmp_path)
    ledger.append(NAME, [{"id": 1}, {"id": 2}])
    after = datetime.now(UTC)
    one, two = read(ledger)
    assert before <= one["at"] == two["at"] <= after
    assert before.date() <= one["d"] <= after.date()


def test_a_default_of_another_engine_that_is_not_computed_is_named(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.create_table(NAME, [*OLD, ("c", "int")], location=tmp_path)
    odd = Column("c", "int", nullable=True, id=2, metadata='{"CURRENT_DEFAULT": "uuid()"}')
    with pytest.raises(ValueError, match=r"has the default uuid\(\), which is not computed here"):
        ledger.alter_table(NAME, lambda then: then._replace(columns=[then.columns[0], odd]))


def test_optimize_and_restore_write_the_value_of_older_rows(table: Ledger) -> None:
    table.alter_table(NAME, columns=[*OLD, ("c", "int DEFAULT 5")])
    table.append(NAME, [{"id": 2}])
    version = table.table(NAME).version
    table.delete(NAME, "c = 5")
    table.restore(NAME, version=version)
    assert read(table) == [{"id": 1, "c": 5}, {"id": 2, "c": 5}]
    table.optimize(NAME)
    assert len(table.read(NAME)) == 1
    assert read(table) == [{"id": 1, "c": 5}, {"id": 2, "c": 5}]
    rows = table.changes(NAME, after=0).rows().read_all().to_pylist()
    assert {row["c"] for row in rows} == {5}


def test_a_published_table_gets_no_column_whose_older_rows_delta_could_not_show(
    table: Ledger, tmp_path: Path
) -> None:
    table.create_table(
        "db.published",
        [*OLD, ("c", "int DEFAULT 5")],
        location=tmp_path / "published",
        properties={"lakeledger.publish": "delta"},
    )
    wanted = [*OLD, ("c", "int"), ("d", "int DEFAULT 6")]
    with pytest.raises(ValueError, match=r"column d cannot be added .* published as Delta"):
        table.alter_table("db.published", columns=wanted)
    table.alter_table("db.published", columns=[*OLD, ("c", "int"), ("d", "int")])
    table.alter_table("db.published", columns=wanted)
    table.append("db.published", [{"id": 1}])
    assert table.scan("db.published").to_arrow().to_pylist() == [{"id": 1, "c": 5, "d": 6}]


CONDITIONS = ("c {} {}", "NOT c {} {}", "{1} {0} c", "c IS NULL OR c {} {}", "c IN ({1}, NULL)")
VALUES = [
    *(("int", number) for number in ("5", "-1", "NULL")),
    *(("double", number) for number in ("0.1", "CAST('NaN' AS DOUBLE)", "-0.0e0")),
    *(("string", text) for text in ("''", "'a'", f"'{'b' * 40}'")),
    *(("decimal(5,2)", number) for number in ("1.25", "0")),
    ("date", "DATE'2024-01-31'"),
    ("timestamp", "TIMESTAMP'2020-02-29 12:00:00.999999'"),
    ("boolean", "true"),
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(VALUES), st.data())
def test_no_older_row_is_lost_by_a_condition_on_its_default(
    kind: tuple[str, str], data: st.DataObject
) -> None:
    type_, sql = kind
    others = [value for name, value in VALUES if name == type_]
    symbol = data.draw(st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=>"]))
    literal = data.draw(st.sampled_from(others))
    where = data.draw(st.sampled_from(CONDITIONS)).format(symbol, literal)
    with InMemoryLedger() as memory, TemporaryDirectory() as folder:
        ledger = memory.connect(warehouse=folder)
        ledger.create_table(NAME, OLD)
        ledger.append(NAME, [{"id": 1}])
        ledger.alter_table(NAME, columns=[*OLD, ("c", f"{type_} DEFAULT {sql}")])
        pruned = ledger.scan(NAME, where).count()
        # A file of its own values has the same bounds.
        ledger.update(NAME, {"id": 2})
        assert pruned == ledger.scan(NAME, where).count()


@pytest.mark.parametrize(
    ("declared", "words", "default"),
    [
        ("int COMMENT 'the key'", "the key", ""),
        ("int NOT NULL comment 'it''s'", "it's", ""),
        ("int DEFAULT 5 COMMENT 'five'", "five", "5"),
        ("string DEFAULT 'a COMMENT ''b'''", "", "'a COMMENT ''b'''"),
        ("struct<comment: string> COMMENT ''", "", ""),
    ],
)
def test_a_declaration_may_end_with_words(declared: str, words: str, default: str) -> None:
    (column,) = table_definition([("c", declared)]).columns

    assert (comment_of(column), default_of(column)) == (words, default)


def test_words_without_quotes_are_refused() -> None:
    with pytest.raises(ValueError, match="COMMENT '<words>'"):
        table_definition([("c", "int COMMENT five")])
