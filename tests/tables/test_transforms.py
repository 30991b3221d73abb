"""Tables divided by transforms: reads, statements, conflicts and published logs."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from shutil import copyfile
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from ledger.arrow.transformed import transformed
from ledger.client import Ledger
from ledger.core.partitions.transforms import parse_transform, transforms_of
from ledger.core.predicates.types import parse_type
from ledger.errors import ConflictError, RefusedError
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from tests.tables.published_lake import PUBLISHED, PublishedLake

COLUMNS = [
    *(("id", "bigint"), ("at", "timestamp"), ("name", "string"), ("price", "decimal(9,2)")),
    ("kind", "string"),
]
DIVISIONS = [
    [],
    ["days(at)"],
    ["bucket(3, id)", "months(at)"],
    ["truncate(2, name)"],
    ["kind", "years(at)"],
    ["truncate(500, price)", "hours(at)"],
    ["truncate(7, id)", "bucket(2, name)", "bucket(2, at)"],
]
BOTH = ("plain", "divided")
STATEMENTS = ["append", "append", "undivided", "delete", "update", "optimize", "divide"]
MOVED = {"at": "TIMESTAMP'2026-01-03 12:00:00Z'", "id": "id + 1"}
BEGIN = datetime(2025, 12, 30, tzinfo=UTC)


def rows_from(first: int, count: int) -> list[dict[str, Any]]:
    """Return rows with NULLs, empty texts, and times around the end of a year."""
    return [
        {
            "id": None if number % 11 == 10 else number - 20,
            "at": None if number % 13 == 12 else BEGIN + timedelta(hours=5 * number),
            "name": [None, "", "a", "ab", "abc", "abd", "\u20ac\u20ac\u20ac"][number % 7],
            "kind": [None, "x", "y"][number % 3],
            "price": None if number % 9 == 8 else Decimal(number * 37 - 400).scaleb(-2),
        }
        for number in range(first, first + count)
    ]


def drawn_condition(draw: random.Random) -> str:
    """Return a condition on the columns that tables are divided by."""
    day = (BEGIN + timedelta(hours=draw.randrange(300))).strftime("%Y-%m-%d %H:%M:%SZ")
    sign = draw.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"])
    parts = [
        f"at {sign} TIMESTAMP'{day}'",
        f"id {sign} {draw.randrange(-25, 50)}",
        f"id {sign} {draw.randrange(-25, 50)}.5",
        f"name {sign} '{draw.choice(['', 'a', 'ab', 'abc', 'b'])}'",
        f"price {sign} {Decimal(draw.randrange(-900, 900)).scaleb(-2)}",
        f"id IN ({draw.randrange(30)}, {draw.randrange(30)}, NULL)",
        draw.choice(["name", "at", "id", "price"]) + draw.choice([" IS NULL", " IS NOT NULL"]),
        f"at >= DATE'{day[:10]}'",
        f"{draw.randrange(30)} {sign} id",
        f"NOT (id {sign} {draw.randrange(30)})",
    ]
    one, two = draw.sample(parts, 2)
    return draw.choice([one, f"{one} AND {two}", f"({one}) OR ({two})"])


def done(ledger: Ledger, name: str, kind: str, rows: list[dict[str, Any]], where: str) -> None:
    """Run one statement on a table."""
    match kind:
        case "append":
            ledger.append(name, rows)
        case "undivided":
            append_undivided(ledger, name, rows)
        case "delete":
            ledger.delete(name, where)
        case "update":
            ledger.update(name, MOVED, where)
        case "optimize":
            ledger.optimize(name)


def append_undivided(ledger: Ledger, name: str, rows: list[dict[str, Any]]) -> None:
    """Append rows in one file without partition values, if transforms alone divide the table."""
    definition = ledger.table(name).definition
    if len(transforms_of(definition)) < len(definition.partition_columns):
        ledger.append(name, rows)
        return
    place, side = Path(definition.location), f"side.v{ledger.table(name).version}"
    columns = [(each.name, each.type) for each in definition.columns]
    ledger.create_table(side, columns, location=place.parent / side)
    ledger.append(side, rows)
    place.mkdir(exist_ok=True)
    for file in ledger.read(side).files:
        path = f"{side}.parquet"
        copyfile(place.parent / side / file.path, place / path)
        with ledger.transaction() as txn:
            txn.add_files(name, [AddFile(path, (), file.size, file.modified, stats=file.stats)])
    ledger.drop_table(side)


def scanned(ledger: Ledger, table: str, where: str | None = None) -> list[str]:
    return sorted(map(repr, ledger.scan(table, where=where).to_arrow().to_pylist()))


@pytest.mark.parametrize("seed", range(12))
def test_a_divided_table_has_the_rows_of_an_undivided_one(
    ledger: Ledger, tmp_path: Path, seed: int
) -> None:
    """Statements, changes of the division and conditions do the same to both."""
    draw = random.Random(seed)  # noqa: S311 - draws of a test
    properties = draw.choice([{}, {"lakeledger.rows": "marks"}])
    for name, by in (("plain", []), ("divided", draw.choice(DIVISIONS[1:]))):
        ledger.create_table(
            name, COLUMNS, partition_columns=by, location=tmp_path / name, properties=properties
        )

    for number in range(14):
        kind, where = draw.choice(STATEMENTS), drawn_condition(draw)
        rows = rows_from(25 * number, draw.randrange(1, 25))
        for name in BOTH:
            done(ledger, name, kind, rows, where)
        if kind == "divide":
            ledger.alter_table("divided", partition_columns=draw.choice(DIVISIONS))
        assert scanned(ledger, "divided") == scanned(ledger, "plain")
        for _ in range(5):
            where = drawn_condition(draw)
            assert scanned(ledger, "divided", where) == scanned(ledger, "plain", where), where
    version = draw.randrange(1, ledger.table("plain").version + 1)
    before = scanned(ledger, "divided")
    ledger.restore("divided", version=min(version, ledger.table("divided").version))
    ledger.restore("divided", version=ledger.table("divided").version - 1)
    assert scanned(ledger, "divided") == before


def test_a_condition_finds_the_files_of_its_results(ledger: Ledger, tmp_path: Path) -> None:
    by = ["days(at)", "bucket(8, id)"]
    ledger.create_table("t", COLUMNS, partition_columns=by, location=tmp_path / "t")
    ledger.append("t", [each for each in rows_from(0, 80) if None not in each.values()])
    every = ledger.read("t").files
    assert {len(each.partition) for each in every} == {2}

    def found(where: str) -> set[tuple[str | None, ...]]:
        return {tuple(each.partition) for each in ledger.read("t", where).files}

    assert {day for day, _ in found("at >= TIMESTAMP'2026-01-14 23:00:00Z'")} == {
        day for day, _ in (each.partition for each in every) if str(day) >= "2026-01-14"
    }
    transform = parse_transform("bucket(8, id)")
    assert transform is not None
    assert {bucket for _, bucket in found("id = 7")} == {transform.of_text("7", "bigint")}
    assert found("id = 7.5 OR id <> 3") == {tuple(each.partition) for each in every}


MEETINGS = [
    ("at < TIMESTAMP'2026-01-01 00:00:00Z'", "2026-02-01", 5, False),
    ("at >= TIMESTAMP'2026-01-31 22:00:00Z'", "2026-02-01", 5, True),
    ("at = TIMESTAMP'2026-02-01 03:00:00Z'", "2026-02-01", 5, True),
    ("at = TIMESTAMP'2026-01-31 23:00:00Z'", "2026-02-01", 5, False),
    ("at IS NULL", "2026-02-01", 5, False),
    ("length(name) = 1", "2026-02-01", 5, True),
    ("id = 6 AND at IS NOT NULL", "2026-02-01", 5, False),
    ("id = 5", "2026-02-01", 5, True),
    ("id > 5", "2026-02-01", 5, True),
]


@pytest.mark.parametrize(("where", "day", "number", "is_met"), MEETINGS)
def test_statements_conflict_with_new_rows_where_both_may_meet(
    ledger: Ledger, tmp_path: Path, where: str, day: str, number: int, *, is_met: bool
) -> None:
    """Buckets of 5 and 6 differ, and so do days: only what may be one row conflicts."""
    level = {"delta.isolationLevel": "Serializable"}
    by = ["days(at)", "bucket(8, id)"]
    ledger.create_table(
        "t", COLUMNS, partition_columns=by, location=tmp_path / "t", properties=level
    )
    ledger.append("t", [{"id": 6, "at": BEGIN, "name": "a", "price": None}])
    new = {"id": number, "at": datetime.fromisoformat(f"{day}T03:00:00+00:00"), "name": "n"}
    txn = ledger.begin()
    txn.read("t", where)
    txn.insert("t", [{"id": 1, "at": None, "name": None}])
    ledger.append("t", [new])
    if is_met:
        with pytest.raises(ConflictError):
            txn.commit()
    else:
        txn.commit()


def test_a_wrong_division_is_refused(ledger: Ledger) -> None:
    for by in (["days(name)"], ["hours(nothing)"], ["bucket(4, price2)"]):
        with pytest.raises(RefusedError, match="must be of a column"):
            ledger.create_table("bad", COLUMNS, partition_columns=by)
    ledger.create_table("t", COLUMNS, partition_columns=["days(at)"])
    with pytest.raises(RefusedError, match="must be of a column"):
        ledger.alter_table("t", columns=[("id", "bigint"), ("name", "string")])


def test_wider_columns_find_rows_of_before(ledger: Ledger, tmp_path: Path) -> None:
    """A bucket of a wider decimal is another one, so older files are found by no bucket."""
    columns = [("id", "int"), ("price", "decimal(9,2)")]
    by = ["bucket(64, price)", "bucket(64, id)"]
    ledger.create_table("t", columns, partition_columns=by, location=tmp_path / "t")
    rows = [{"id": at, "price": Decimal(at)} for at in range(8)]
    ledger.append("t", rows)
    ledger.alter_table("t", columns=[("id", "bigint"), ("price", "decimal(9,2)")])
    assert len(ledger.read("t", "id = 3").files) == 1
    ledger.alter_table("t", columns=[("id", "bigint"), ("price", "decimal(14,4)")])
    ledger.append("t", rows)
    for where in ("price = 3", "price IN (3.00, 77)", "id = 3"):
        assert ledger.scan("t", where=where).to_arrow().num_rows == 2, where
    txn = ledger.begin()
    txn.delete("t", "price = 3.0")
    txn.commit()
    assert ledger.scan("t").to_arrow().num_rows == 14


def test_a_published_table_has_no_transforms(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    """Delta's readers find all rows, by the partition columns that Delta knows."""
    lake = PublishedLake(memory, ledger, tmp_path)
    place, by = tmp_path / "t", ["days(at)", "kind", "bucket(2, id)"]
    ledger.create_table("t", COLUMNS, partition_columns=by, location=place, properties=PUBLISHED)
    ledger.append("t", rows_from(0, 30))
    ledger.delete("t", "id = 3")
    ledger.alter_table("t", partition_columns=["kind", "months(at)"])
    ledger.append("t", rows_from(30, 10))
    lake.note()
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check() == 1
    assert DeltaTable(place).metadata().partition_columns == ["kind"]


def test_a_published_table_has_files_of_several_partitions(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    lake = PublishedLake(memory, ledger, tmp_path)
    place, by = tmp_path / "t", ["days(at)", "bucket(2, id)"]
    ledger.create_table("t", COLUMNS, partition_columns=by, location=place, properties=PUBLISHED)
    append_undivided(ledger, "t", rows_from(0, 30))
    ledger.update("t", {"name": "'new'"}, "id = 3")
    append_undivided(ledger, "t", rows_from(30, 10))
    lake.note()
    lake.publish()
    assert lake.publisher.stopped == {}
    assert lake.check() == 1


KINDS: Mapping[str, Sequence[str]] = {
    "bigint": ["bucket(97, a)", "truncate(1000, a)"],
    "tinyint": ["bucket(97, a)", "truncate(10, a)"],
    "string": ["bucket(97, a)", "truncate(3, a)"],
    "decimal(9,2)": ["bucket(97, a)", "truncate(77, a)"],
    "date": ["bucket(97, a)", "years(a)", "months(a)", "days(a)"],
    "timestamp": ["bucket(97, a)", "years(a)", "months(a)", "days(a)", "hours(a)"],
    "timestamp_ntz": ["bucket(97, a)", "hours(a)"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_and_single_values_have_equal_results(kind: str) -> None:
    draw = random.Random(kind)  # noqa: S311 - draws of a test
    instant = datetime(1970, 1, 1)  # noqa: DTZ001 - local time of UTC
    make: Mapping[str, tuple[pa.DataType, Callable[[], Any]]] = {
        "bigint": (pa.int64(), lambda: draw.randrange(-(2**62), 2**62)),
        "tinyint": (pa.int8(), lambda: draw.randrange(-128, 128)),
        "string": (
            pa.string(),
            lambda: "".join(draw.choices("a\xdf\u20ac\U0001f600", k=draw.randrange(6))),
        ),
        "decimal(9,2)": (
            pa.decimal128(9, 2),
            lambda: Decimal(draw.randrange(-(10**8), 10**8)).scaleb(-2),
        ),
        "date": (pa.date32(), lambda: instant.date() + timedelta(draw.randrange(-300000, 300000))),
        "timestamp": (
            pa.timestamp("us", "UTC"),
            lambda: (instant + timedelta(microseconds=draw.randrange(-(10**16), 10**16))).replace(
                tzinfo=UTC
            ),
        ),
        "timestamp_ntz": (
            pa.timestamp("us"),
            lambda: instant + timedelta(microseconds=draw.randrange(-(10**16), 10**16)),
        ),
    }
    type_, value = make[kind]
    values = [*(value() for _ in range(300)), None]
    spark = parse_type(kind)
    assert spark is not None
    for text in KINDS[kind]:
        transform = parse_transform(text)
        assert transform is not None
        found = transformed(pa.array(values, type_), transform, spark).to_pylist()
        spelled = [None if each is None else str(each) for each in values]
        assert found == [transform.of_text(each, kind) for each in spelled], text
