"""Random histories of SQL equal plain computations, and the same verbs of the SDK."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from zoneinfo import ZoneInfo

import pytest

from ledger.errors import ConflictError
from ledger.reads.port import VersionRow
from spark_sink import Lake
from tests.spark_sink.catalog.histories import (
    COLUMNS,
    Row,
    Statement,
    any_shared,
    any_statement,
    insert,
)
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
PARTITIONS = ((), ("p",), ("p", "v"), ("v",), ("ts",))
STATEMENTS = 10
FEW = range(3)
MANY = range(3, 103)
MORE = range(3, 303)


@pytest.fixture
def zoned(lake: Lake) -> Iterator[Lake]:
    """Return the catalog; the session's time zone is set back after the test."""
    yield lake
    lake.spark.conf.set("spark.sql.session.timeZone", "UTC")


def create(lake: Lake, name: str, partition: tuple[str, ...]) -> None:
    inside = f" PARTITIONED BY ({', '.join(partition)})" if partition else ""
    done(lake, f"CREATE TABLE ledger.{name} ({COLUMNS}){inside}")


def content(lake: Lake, name: str, version: int | None = None) -> list[tuple[object, ...]]:
    at = "" if version is None else f" VERSION AS OF {version}"
    return rows(lake, f"SELECT id, v, p, unix_seconds(ts) FROM ledger.{name}{at}")


def ordered(found: list[Row]) -> list[Row]:
    return sorted(found, key=repr)


def play(lake: Lake, seed: int) -> None:
    """Play statements on two tables, alone or several in one txn, and compare every version."""
    random = Random(seed)
    names = ("db.a", "db.b")
    model: dict[str, list[Row]] = {name: [] for name in names}
    then: dict[tuple[str, int], list[Row]] = {}
    for name in names:
        create(lake, name, random.choice(PARTITIONS))
    said = []
    for _ in range(STATEMENTS):
        zone = random.choice(ZONES)
        lake.spark.conf.set("spark.sql.session.timeZone", zone)
        some = [
            (random.choice(names), any_statement(random)) for _ in range(random.choice([1, 1, 3]))
        ]
        said += [(zone, each.sql.format(t=f"ledger.{name}")) for name, each in some]
        if len(some) == 1:
            done(lake, said[-1][1])
        else:
            with lake.transaction():
                done(lake, *(sql for _, sql in said[-len(some) :]))
        for name, each in some:
            model[name] = each.apply(model[name], ZoneInfo(zone))
        for name in names:
            assert content(lake, name) == ordered(model[name]), said
            then[name, lake.ledger.table(name).version] = list(model[name])
    for (name, version), expected in then.items():
        assert content(lake, name, version) == ordered(expected), (name, version, said)
        found = lake.ledger.scan(name, version=version).to_arrow().num_rows
        assert found == len(expected)


@pytest.mark.parametrize("seed", FEW)
def test_histories(zoned: Lake, seed: int) -> None:
    """Every version of every table has the rows of a plain computation."""
    play(zoned, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE)
def test_many_histories(zoned: Lake, seed: int) -> None:
    """As `test_histories`, with many seeds."""
    play(zoned, seed)


def footprint(lake: Lake, version: VersionRow) -> object:
    """Return what a version read and wrote, without the names of files."""
    found = lake.ledger.reads().file_changes(version.table, version.version, version.version, 1000)
    parts = {(each.added, tuple(each.file.partition), each.data_change) for each in found}
    return version.operation, version.blind, sorted(parts, key=repr)


def laid_out(lake: Lake, name: str) -> object:
    """Return how many rows the files of each partition have."""
    found = lake.ledger.read(name).files
    return sorted((repr(each.partition), json.loads(each.stats)["numRecords"]) for each in found)


def lay_out_alike(lake: Lake, names: Sequence[str]) -> None:
    """Give tables with the same rows the same files: a later statement rewrites what it meets."""
    if laid_out(lake, names[0]) != laid_out(lake, names[1]):
        for name in names:
            with lake.ledger.transaction() as txn:
                txn.optimize(name)
        assert laid_out(lake, names[0]) == laid_out(lake, names[1])


def compare(lake: Lake, seed: int) -> None:
    """Play statements as SQL on one table and as verbs on another, and compare the footprints."""
    random = Random(seed)
    partition = random.choice(PARTITIONS[:4])
    names = ("db.sql", "db.verbs")
    for name in names:
        create(lake, name, partition)
    said = []
    for _ in range(STATEMENTS):
        each = any_shared(random)
        said.append(each.sql)
        assert each.verb is not None
        done(lake, each.sql.format(t="ledger.db.sql"))
        with lake.ledger.transaction() as txn:
            each.verb(txn, "db.verbs")
        assert content(lake, "db.sql") == content(lake, "db.verbs"), said
        lay_out_alike(lake, names)
    reads = lake.ledger.reads()
    made = [
        [
            footprint(lake, version)
            for version in reads.versions(reads_of(lake, name), 100)
            if version.operation != "OPTIMIZE"
        ]
        for name in names
    ]
    assert made[0] == made[1], said


def reads_of(lake: Lake, name: str) -> int:
    return lake.ledger.table(name).table


@pytest.mark.parametrize("seed", FEW)
def test_footprints(lake: Lake, seed: int) -> None:
    """SQL and verbs name the same operations, partitions and changes of data."""
    compare(lake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_footprints(lake: Lake, seed: int) -> None:
    """As `test_footprints`, with many seeds."""
    compare(lake, seed)


def outcome_of_sql(lake: Lake, name: str, each: Statement, other: Statement) -> str:
    """Return how a statement ends if another commit comes between its plan and its end."""
    try:
        with lake.transaction():
            done(lake, each.sql.format(t=f"ledger.{name}"))
            commit(lake, name, other)
    except ConflictError as error:
        return type(error).__name__
    return "committed"


def outcome_of_verbs(lake: Lake, name: str, each: Statement, other: Statement) -> str:
    """Return how the verb of a statement ends in the same race."""
    assert each.verb is not None
    try:
        with lake.ledger.transaction() as txn:
            each.verb(txn, name)
            commit(lake, name, other)
    except ConflictError as error:
        return type(error).__name__
    return "committed"


def commit(lake: Lake, name: str, other: Statement) -> None:
    assert other.verb is not None
    with lake.ledger.transaction() as txn:
        other.verb(txn, name)


def race(lake: Lake, seed: int) -> None:
    """Let the same race be run by SQL and by verbs."""
    random = Random(seed)
    partition, start = random.choice(PARTITIONS[:4]), insert(random)
    names = ("db.sql", "db.verbs")
    for name in names:
        create(lake, name, partition)
        commit(lake, name, start)
    for _ in range(STATEMENTS // 2):
        each, other = any_shared(random), any_shared(random)
        ends = [
            outcome_of_sql(lake, "db.sql", each, other),
            outcome_of_verbs(lake, "db.verbs", each, other),
        ]
        assert ends[0] == ends[1], (partition, each.sql, other.sql)
        assert content(lake, "db.sql") == content(lake, "db.verbs")
        lay_out_alike(lake, names)


@pytest.mark.parametrize("seed", FEW)
def test_races(lake: Lake, seed: int) -> None:
    """SQL wins and loses exactly where the verbs do."""
    race(lake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_races(lake: Lake, seed: int) -> None:
    """As `test_races`, with many seeds."""
    race(lake, seed)
