"""Which files a read returns, and of when."""

from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.expressions import col
from ledger.testing import InMemoryLedger
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_retries import HASTY


@pytest.fixture
def table(ledger: Ledger) -> int:
    """Create the table of flights and return its id."""
    return create_flights(ledger).table


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (None, ["day1", "day2"]),
        ("day = 1", ["day1"]),
        ("day = 1 AND tail = 'N14228'", ["day1"]),
        ("tail = 'N14228'", ["day1", "day2"]),
        ("day = 1 AND tail = 'a' OR day = 2 AND tail = 'b'", ["day1", "day2"]),
        ("day > 2", []),
        (col("day").isin(2, 3), ["day2"]),
    ],
)
def test_read(ledger: Ledger, table: int, where: str, found: list[str]) -> None:
    """A read returns the files whose partition may hold rows of the condition, in and out of a txn.

    What the table is and where it was read come with them.
    """
    outside = ledger.read(TABLE, where)
    with ledger.transaction() as txn:
        inside = txn.read(TABLE, where)

    assert [found, found] == [outside.paths, [each.path for each in inside]]
    assert (len(found), txn.opened) == (len(inside), inside.position)
    assert table == outside.table.table


def test_read_earlier(ledger: Ledger, table: int) -> None:
    """A table can be read at a version, at a position, and with a token."""
    created = ledger.reads().versions(table, 9)[-1]
    then = ledger.token
    ledger.append(TABLE, [of_day(3)])

    read = [
        ledger.read(TABLE, **place)
        for place in (
            {"version": created.version},
            {"version": 1},
            {"position": then.position},
            {"position": then},
        )
    ]

    assert [len(each) for each in read] == [0, 2, 2, 2]
    assert created.position == read[0].position
    assert {then.position} == {each.position for each in read[1:]}


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ({"version": 9}, errors.UnknownVersionError, "has no version 9"),
        ({"version": 1, "position": 5}, ValueError, "not of both"),
        ({"position": 10**6}, errors.ReaderBehindError, "was not reached"),
    ],
)
def test_read_nowhere(
    memory: InMemoryLedger, table: int, place: Any, error: type[Exception], said: str
) -> None:
    """A read of what is not there says so."""
    hasty = memory.connect(settings=HASTY)

    with pytest.raises(error, match=said):
        hasty.read(table, **place)


def test_txn_reads_its_snapshot(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """A txn reads what was committed when it opened, without its own changes, unless told so."""
    txn = ledger.begin()
    memory.connect().append(table, [of_day(3)])
    txn.add_files(TABLE, [of_day(4)])

    assert txn.read(TABLE).paths == ["day1", "day2"]
    assert txn.read(TABLE, position=ledger.read(TABLE).position).paths == ["day1", "day2", "day3"]
