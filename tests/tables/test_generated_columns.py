"""Generated columns: computed by each writer, and found by conditions on what they are made of."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.errors import ConstraintViolatedError
from ledger.testing import InMemoryLedger

NAME = "db.t"
COLUMNS = [
    ("id", "bigint"),
    ("at", "timestamp"),
    ("day", "date GENERATED ALWAYS AS (CAST(at AS DATE))"),
    ("twice", "bigint GENERATED ALWAYS AS (id * 2)"),
]
START = datetime(2026, 1, 1, tzinfo=UTC)


def read(ledger: Ledger, *columns: str) -> list[tuple[Any, ...]]:
    found = ledger.scan(NAME, columns=columns or None).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.fixture
def table(ledger: Ledger, tmp_path: Path) -> Ledger:
    """Return a client of a table that is partitioned by a generated column."""
    ledger.create_table(NAME, COLUMNS, location=tmp_path, partition_columns=["day"])
    return ledger


def test_every_statement_computes_what_rows_leave_out(table: Ledger) -> None:
    on = "target.id = source.id"
    later = START + timedelta(days=9)
    with table.transaction() as txn:
        txn.insert(NAME, [{"id": 1, "at": START}, {"id": 2}])
        txn.update(NAME, {"id": "id + 10", "at": later}, "id = 1")
        txn.overwrite(NAME, [{"id": 2, "at": START}], "id = 2")
        txn.merge(
            NAME,
            [{"id": 11, "at": START}, {"id": 3, "at": later}],
            on,
            when_matched_update=True,
            when_not_matched_insert=True,
        )
    table.append(NAME, [{"id": None, "at": later}])
    first, last = date(2026, 1, 1), date(2026, 1, 10)
    assert read(table, "id", "day", "twice") == [
        *((11, first, 22), (2, first, 4), (3, last, 6)),
        (None, last, None),
    ]


def test_a_given_value_must_be_the_one_that_is_computed(table: Ledger) -> None:
    table.append(NAME, [{"id": 1, "twice": 2}, {"id": None, "twice": None}])
    said = r"must fulfil the constraint twice \(twice <=> id \* 2\), got a row with id = "
    wrong = {"id": 1, "at": None, "twice": 3}
    on = "target.id = source.id"
    with table.transaction() as txn:
        writes: tuple[Callable[[], Any], ...] = (
            lambda: txn.insert(NAME, [wrong]),
            lambda: txn.insert(NAME, [{"id": 1, "twice": None}]),
            lambda: txn.overwrite(NAME, [wrong]),
            lambda: txn.update(NAME, {"twice": 3}),
            lambda: txn.merge(NAME, [wrong], on, when_matched_update=True),
            lambda: txn.merge(NAME, [wrong | {"id": 5}], on, when_not_matched_insert=True),
        )
        for write in writes:
            with pytest.raises(ConstraintViolatedError, match=said):
                write()
    with pytest.raises(ConstraintViolatedError, match=said):
        table.append(NAME, [wrong])
    assert read(table, "twice") == [(2,), (None,)]


REFUSED = {
    "bigint GENERATED ALWAYS AS (rand())": "not supported on rows",
    "date GENERATED ALWAYS AS (current_date())": "which is not computed here",
    "bigint GENERATED ALWAYS AS (twice)": "no column twice.* not generated",
    "bigint GENERATED ALWAYS AS (c)": "no column c",
    "bigint GENERATED ALWAYS AS (nope)": "no column nope",
    "int GENERATED ALWAYS AS ('x')": "must be int, got",
    "varchar(3) GENERATED ALWAYS AS ('x')": "must be STRING",
    "bigint GENERATED ALWAYS AS id": "must be declared by a type",
}


@pytest.mark.parametrize("declared", REFUSED)
def test_an_expression_without_one_value_for_each_row_is_refused(
    ledger: Ledger, tmp_path: Path, declared: str
) -> None:
    with pytest.raises(ValueError, match=REFUSED[declared]):
        ledger.create_table(NAME, [*COLUMNS, ("c", declared)], location=tmp_path)


def test_a_table_with_rows_keeps_the_columns_that_an_expression_names(table: Ledger) -> None:
    plain = [("id", "bigint"), ("at", "timestamp"), ("day", "date"), ("twice", "bigint")]
    said = r"column id of table db.t must stay as it is, .* twice \(id \* 2\)"
    for columns in (plain[1:], [("id", "decimal(20,0)"), *plain[1:]]):
        with pytest.raises(ValueError, match=said):
            table.alter_table(NAME, columns=columns)
    with pytest.raises(ValueError, match=r"column n of table .* cannot become a generated"):
        table.alter_table(NAME, columns=[*plain, ("n", "bigint GENERATED ALWAYS AS (id)")])
    table.alter_table(NAME, columns=plain[:3])
    table.alter_table(NAME, columns=plain[1:3])


def test_a_table_whose_rows_lie_in_folders_computes_no_columns(
    ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"column twice of table .* cannot be computed"):
        ledger.create_table(NAME, [COLUMNS[0], COLUMNS[3]], location=tmp_path, layout="directories")


def test_a_constraint_looks_at_the_computed_value(table: Ledger) -> None:
    table.alter_table(NAME, properties={"delta.constraints.small": "twice < 10"})
    table.append(NAME, [{"id": 4}])
    with pytest.raises(ConstraintViolatedError, match="twice = 10"):
        table.append(NAME, [{"id": 5}])


HOURS = (0, 5, 23, 24, 30, 8759, 8760)
FORMS = (
    "at = {}",
    "at < {}",
    "{} <= at",
    "at > {}",
    "at IN ({}, NULL)",
    "at BETWEEN {} AND {}",
    "at <=> {} OR id = 3",
    "NOT (at < {})",
    "at <> {}",
)
ZONES = ("UTC", "Pacific/Kiritimati", "America/Los_Angeles")


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["CAST(at AS DATE)", "year(at)"]),
    st.sampled_from(["timestamp", "timestamp_ntz", "date"]),
    st.sampled_from(ZONES),
    st.sampled_from(ZONES),
)
def test_no_row_is_lost_by_a_condition_on_the_source_of_a_partition(
    expression: str, kind: str, writer: str, reader: str
) -> None:
    type_ = "int" if expression.startswith("year") else "date"
    part = f"{type_} GENERATED ALWAYS AS ({expression})"
    plain = [("id", "bigint"), ("at", kind)]
    times = [START + timedelta(hours=hours) for hours in HOURS]
    values: dict[str, list[Any]] = {
        "timestamp": times,
        "timestamp_ntz": [each.replace(tzinfo=None) for each in times],
        "date": [each.date() for each in times],
    }
    rows = [{"id": at, "at": value} for at, value in enumerate([*values[kind], None])]
    with InMemoryLedger() as memory, TemporaryDirectory() as folder:
        own = memory.connect(warehouse=folder, time_zone=writer)
        own.create_table(NAME, [*plain, ("part", part)], partition_columns=["part"])
        own.create_table("db.plain", plain)
        own.append(NAME, rows)
        own.append("db.plain", rows)
        other = memory.connect(warehouse=folder, time_zone=reader)
        for form in FORMS:
            for at in ("2026-01-01 05:00:00", "2026-01-02 00:00:00", "2027-01-01 00:00:00"):
                literal = f"DATE'{at[:10]}'" if kind == "date" else f"{kind}'{at}'"
                where = form.format(literal, literal)
                assert other.scan(NAME, where).count() == other.scan("db.plain", where).count()


def test_a_condition_on_a_time_reads_the_partitions_of_its_days(table: Ledger) -> None:
    table.append(NAME, [{"id": at, "at": START + timedelta(days=at)} for at in range(10)])
    noon = "TIMESTAMP'2026-01-05 12:00:00'"
    days = {
        f"at = {noon}": 3,  # A writer in another zone may have it in the day before or behind.
        f"at >= {noon} AND at < TIMESTAMP'2026-01-06 12:00:00'": 4,
        f"at < {noon}": 6,
        f"id = 1 OR at = {noon}": 10,
    }
    assert {where: len(table.read(NAME, where)) for where in days} == days
