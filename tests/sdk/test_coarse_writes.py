"""Writes of whole units, as Hive's clients declare them: which of them meet."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import ConcurrentDeleteDeleteException

LOSES = pytest.raises(ConcurrentDeleteDeleteException)


@pytest.mark.parametrize(
    ("loser", "end"),
    [
        ({"partition": "day=2"}, nullcontext()),
        ({"partition": "day=1"}, LOSES),
        ({"whole_table": True}, LOSES),
    ],
)
def test_changes_of_different_partitions_do_not_meet(
    ledger: Ledger, loser: dict[str, Any], end: AbstractContextManager[object]
) -> None:
    ledger.create_table("flights", [("day", "int"), ("tail", "string")], partition_columns=["day"])
    first, second = ledger.begin_many(2)
    first.wrote("flights", "update", "day=1")
    second.wrote("flights", "update", **loser)
    first.commit()

    with end:
        second.commit()


def test_an_update_of_a_partitioned_table_says_of_which_partition(ledger: Ledger) -> None:
    ledger.create_table("flights", [("day", "int")], partition_columns=["day"])
    txn = ledger.begin()

    with pytest.raises(ValueError, match="partitioned by day"):
        txn.wrote("flights", "update")
    with pytest.raises(ValueError, match="not both"):
        txn.wrote("flights", "delete", "day=1", whole_table=True)
    with pytest.raises(ValueError, match="merge"):
        txn.wrote("flights", "merge")  # type: ignore[arg-type]
    txn.wrote("flights", "insert")
    txn.commit()


def test_partition_of_an_unpartitioned_table(ledger: Ledger) -> None:
    """A table without partitions has none to name: who did would meet nobody."""
    ledger.create_table("flights", [("day", "int")])

    with pytest.raises(ValueError, match="flights is not partitioned"):
        ledger.begin().wrote("flights", "update", "day=1")


def test_table_without_columns(ledger: Ledger) -> None:
    """Of a table without columns nobody knows the partitions: a change of it meets those of any."""
    ledger.create_table("flights")
    first, second = ledger.begin_many(2)
    first.wrote("flights", "update", "day=1")
    second.wrote("flights", "update")
    first.commit()

    with LOSES:
        second.commit()
