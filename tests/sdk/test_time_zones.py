"""Conditions are meant in the time zone that a client names, by it and by who judges it."""

from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from ledger.client import Ledger
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.errors import ConflictError
from ledger.expressions.build import Expression, col
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger

BERLIN = "Europe/Berlin"
# Midnight of New Year in Berlin, and an hour later, which is midnight in UTC.
BEFORE, AFTER = "2023-12-31 23:00:00Z", "2024-01-01 00:00:00Z"
NEW_YEAR = "at < TIMESTAMP '2024-01-01 00:30:00'"


@pytest.fixture
def table(ledger: Ledger) -> str:
    ledger.create_table("t", [("at", "TIMESTAMP"), ("n", "INT")], partition_columns=["at"])
    ledger.append("t", [AddFile(f"{at}.parquet", (at,)) for at in (BEFORE, AFTER)])
    return "t"


def paths(*instants: str) -> list[str]:
    return [f"{instant}.parquet" for instant in instants]


@pytest.mark.parametrize("zone", [BERLIN, "+01:00", ZoneInfo(BERLIN), timezone(timedelta(hours=1))])
def test_a_read_in_a_zone(ledger: Ledger, table: str, zone: ZoneLike) -> None:
    here = ledger.read(table, NEW_YEAR, time_zone=zone)
    assert (here.paths, ledger.read(table, NEW_YEAR).paths) == (paths(BEFORE), paths(BEFORE, AFTER))
    with ledger.transaction("read_only") as txn:
        assert txn.read(table, NEW_YEAR, time_zone=zone).paths == paths(BEFORE)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (NEW_YEAR, paths(BEFORE)),
        (col("at") < col("at").in_zone("UTC"), []),
        ((col("at") == "2024-01-01 00:00:00"), paths(BEFORE)),
        ((col("at") == "2024-01-01 00:00:00").in_zone("UTC"), paths(AFTER)),
        ((col("at") == "2024-01-01 05:00:00").in_zone("Asia/Karachi"), paths(AFTER)),
    ],
)
def test_a_client_means_its_conditions_in_the_zone_of_its_connection(
    memory: InMemoryLedger, table: str, condition: str | Expression, expected: list[str]
) -> None:
    with memory.connect(time_zone=BERLIN) as client:
        assert client.read(table, condition).paths == expected


@pytest.mark.parametrize(("zone", "loses"), [(BERLIN, False), ("UTC", True)])
def test_the_zone_travels(ledger: Ledger, table: str, *, zone: str, loses: bool) -> None:
    """A commit is judged by its reads in their zone: a file of another hour is none of theirs."""
    txn = ledger.begin(level="serializable")
    txn.read(table, NEW_YEAR, time_zone=zone)
    txn.add_files(table, [AddFile("sum.parquet", ("2000-01-01 00:00:00Z",))])
    ledger.append(table, [AddFile("new.parquet", (AFTER,))])
    if loses:
        with pytest.raises(ConflictError):
            txn.commit()
    else:
        txn.commit()


def test_what_is_said_of_rows_in_folders_is_meant_in_a_zone_as_well(ledger: Ledger) -> None:
    columns = [("at", "TIMESTAMP"), ("n", "INT")]
    ledger.create_table("f", columns, partition_columns=["at"], layout="directories")
    txns = [ledger.begin(level="serializable") for _ in range(2)]
    for txn, zone in zip(txns, (BERLIN, "UTC"), strict=True):
        txn.depends_on("f", NEW_YEAR, time_zone=zone)
        txn.wrote("f", "insert", "at=2000-01-01 00%3A00%3A00Z")
    with ledger.transaction() as other:
        other.wrote("f", "insert", "at=2024-01-01 00%3A00%3A00Z")
    txns[0].commit()
    with pytest.raises(ConflictError):
        txns[1].commit()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Europe/Berln", "did you mean 'Europe/Berlin'"),
        ("europe/berlin", "did you mean 'Europe/Berlin'"),
        ("Berlin", "did you mean 'Europe/Berlin'"),
        ("New York", "did you mean 'America/New_York'"),
        ("+19:00", "got '.19:00'$"),
        ("xyzzy", "got 'xyzzy'$"),
    ],
)
def test_a_zone_that_is_not_known_is_refused_wherever_it_is_named_with_the_nearest_that_is(
    memory: InMemoryLedger, ledger: Ledger, table: str, name: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=meant):
        ledger.read(table, NEW_YEAR, time_zone=name)
    with pytest.raises(ValueError, match=meant):
        col("at").in_zone(name)
    with pytest.raises(ValueError, match=meant):
        memory.connect(time_zone=name)


@pytest.mark.parametrize("name", [None, 1, ZoneInfo])
def test_what_is_no_zone_is_told_so(name: object) -> None:
    with pytest.raises(TypeError, match="must be the name of a time zone"):
        zone_named(name)  # type: ignore[arg-type]
