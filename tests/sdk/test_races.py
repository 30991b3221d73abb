"""Of two sessions that meet in a table, which one wins, by what, and at which level."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.snapshot.reading import TableFiles
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.flights import TABLE, create_flights, of_day


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


class Race(NamedTuple):
    """What a txn reads and does, who comes first, and how its commit ends."""

    plan: Callable[[Transaction], object]
    winner: Callable[[Ledger], object]
    loses_by: type[errors.ConflictError] | None = None
    level: str | None = None


def delete_day(day: int) -> Callable[[Transaction], object]:
    return lambda txn: txn.remove_files(TABLE, txn.read(TABLE, f"day = {day}"))


def append_day(day: int) -> Callable[[Ledger], object]:
    return lambda ledger: ledger.append(TABLE, [of_day(day, "late")])


def in_txn(plan: Callable[[Transaction], object]) -> Callable[[Ledger], object]:
    def win(ledger: Ledger) -> None:
        with ledger.transaction() as txn:
            plan(txn)

    return win


def read_and_add(txn: Transaction) -> None:
    txn.read(TABLE, "day = 1")
    txn.add_files(TABLE, [of_day(1, "derived")])


def compact(txn: Transaction) -> None:
    """Put the rows of the first day into another file."""
    txn.rewrite_files(TABLE, txn.read(TABLE, "day = 1"), [of_day(1, f"big{txn.id}")])


def read_whole_and_add(txn: Transaction) -> None:
    txn.read_whole(TABLE)
    txn.add_files(TABLE, [of_day(9)])


def read_as_whole_and_add(txn: Transaction) -> None:
    txn.read(TABLE, "day = 1", whole=True)
    txn.add_files(TABLE, [of_day(9)])


RACES = {
    "blind append under write-serializable": Race(delete_day(1), append_day(1)),
    "blind append under serializable": Race(
        delete_day(1), append_day(1), errors.ConcurrentAppendException, "serializable"
    ),
    "append elsewhere": Race(delete_day(1), append_day(2), None, "Serializable"),
    "derived append": Race(
        delete_day(1), in_txn(read_and_add), errors.ConcurrentAppendException, "write-serializable"
    ),
    "the same file deleted": Race(
        delete_day(1), in_txn(delete_day(1)), errors.ConcurrentDeleteReadException
    ),
    "another file deleted": Race(delete_day(1), in_txn(delete_day(2)), None, "SERIALIZABLE"),
    "the same file removed unread": Race(
        lambda txn: txn.remove_files(TABLE, ["day1"]),
        in_txn(delete_day(1)),
        errors.ConcurrentDeleteDeleteException,
    ),
    "two compactions": Race(compact, in_txn(compact), errors.ConcurrentDeleteDeleteException),
    "compaction and append": Race(compact, append_day(1), None, "serializable"),
    "delete after compaction": Race(
        delete_day(1), in_txn(compact), errors.ConcurrentAppendException
    ),
    "whole table": Race(
        read_whole_and_add, in_txn(delete_day(2)), errors.ConcurrentDeleteReadException
    ),
    "whole table, read": Race(
        read_as_whole_and_add, in_txn(delete_day(2)), errors.ConcurrentDeleteReadException
    ),
    "one domain": Race(
        lambda txn: txn.set_domain(TABLE, "d", "1"),
        in_txn(lambda txn: txn.set_domain(TABLE, "d", "2")),
        errors.ConcurrentTransactionException,
    ),
    "metadata": Race(
        lambda txn: txn.add_files(TABLE, [of_day(1, "new")]),
        lambda ledger: ledger.alter_table(TABLE, properties={"delta.appendOnly": "true"}),
        errors.MetadataChangedException,
    ),
    "protocol": Race(
        lambda txn: txn.set_protocol(TABLE, 1, 3),
        in_txn(lambda txn: txn.set_protocol(TABLE, 1, 4)),
        errors.ProtocolChangedException,
    ),
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_races(ledger: Ledger, memory: InMemoryLedger, table: int, race: Race) -> None:
    """Of two sessions that meet the one that commits first wins; the other is told how it lost."""
    assert table
    txn = ledger.begin(level=race.level)
    race.plan(txn)
    race.winner(memory.connect())

    with ends_with(race.loses_by):
        txn.commit()

    assert txn.status == ("aborted" if race.loses_by else "committed")


def ends_with(error: type[Exception] | None) -> AbstractContextManager[object]:
    return pytest.raises(error) if error is not None else nullcontext()


@pytest.mark.parametrize("level", [None, "serializable"])
def test_plan_before_the_txn(ledger: Ledger, table: int, level: str | None) -> None:
    """A plan loses to a commit between its read and the txn that builds on it."""
    plan = ledger.read(TABLE, "day = 1")
    in_txn(delete_day(1))(ledger)

    txn = ledger.begin(level=level)
    txn.use(plan)
    txn.remove_files(table, plan)
    with pytest.raises(errors.ConcurrentDeleteReadException) as raised:
        txn.commit()

    assert plan.position == raised.value.evidence.read_at


def test_oldest_read_is_the_base(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    with ledger.transaction() as txn:
        late = txn.read(TABLE, "day = 2", position=ledger.read(TABLE).position)
        early = txn.read(TABLE, "day = 1", version=1)
        txn.add_files(TABLE, [of_day(5)])
        txn.remove_files(TABLE, late, read_at=late.position)

    assert early.position < late.position
    assert early.position == memory.reads.versions(table, 1)[0].read_at


@pytest.mark.parametrize(
    "remove",
    [
        lambda txn, plan: txn.remove_files(TABLE, plan.paths, read_at=plan.position),
        lambda txn, plan: txn.remove_files(TABLE, plan),
        lambda txn, plan: txn.rewrite_files(TABLE, plan, [of_day(1, "big")]),
    ],
    ids=["as said", "as read", "as read to rewrite"],
)
def test_files_that_were_found_outside_the_txn_are_judged_from_where_they_were_found(
    ledger: Ledger, table: int, remove: Callable[[Transaction, TableFiles], None]
) -> None:
    assert table
    plan = ledger.read(TABLE, "day = 1")
    in_txn(delete_day(1))(ledger)

    with pytest.raises(errors.ConcurrentDeleteDeleteException), ledger.transaction() as txn:
        remove(txn, plan)


@pytest.mark.parametrize(
    ("level", "level_of_table", "end"),
    [
        (None, "WriteSerializable", None),
        ("write serializable", "WriteSerializable", None),
        ("Serializable", "WriteSerializable", errors.ConcurrentAppendException),
        (None, "Serializable", errors.ConcurrentAppendException),
    ],
)
def test_a_table_that_was_only_read_is_judged_if_and_only_if_the_level_is_serializable(
    ledger: Ledger,
    memory: InMemoryLedger,
    level: str | None,
    level_of_table: str,
    end: type[Exception] | None,
) -> None:
    create_flights(ledger, level_of_table)
    ledger.create_table("summary")
    txn = ledger.begin(level=level)
    txn.read(TABLE, "day = 1")
    txn.add_files("summary", ["s1"])
    append_day(1)(memory.connect())

    with ends_with(end):
        txn.commit()


def delete_nothing(txn: Transaction) -> None:
    """Read a day without rows, for a DELETE that removes none."""
    txn.read(TABLE, "day = 8")
    txn.operation(TABLE, "DELETE")


@pytest.mark.parametrize("beside", [compact, delete_nothing])
@pytest.mark.parametrize(
    ("level_of_table", "elsewhere", "end"),
    [
        ("Serializable", ["s1"], errors.ConcurrentAppendException),
        ("Serializable", [], None),
        ("WriteSerializable", ["s1"], None),
    ],
)
def test_a_table_that_is_only_rearranged_takes_no_weight_from_other_writes(
    ledger: Ledger,
    beside: Callable[[Transaction], None],
    level_of_table: str,
    elsewhere: list[str],
    end: type[Exception] | None,
) -> None:
    create_flights(ledger, level_of_table)
    ledger.create_table("summary")
    txn = ledger.begin()
    txn.read(TABLE, "day = 1")
    beside(txn)
    if elsewhere:
        txn.add_files("summary", elsewhere)
    append_day(1)(ledger)

    with ends_with(end):
        txn.commit()


def test_file_of_a_table_only_read(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    assert table
    ledger.create_table("summary")
    txn = ledger.begin(level="serializable")
    txn.read(TABLE, "day = 1")
    txn.add_files("summary", ["s1"])
    in_txn(delete_day(1))(memory.connect())

    with pytest.raises(errors.ConcurrentDeleteReadException):
        txn.commit()


@pytest.mark.parametrize(
    "change",
    [
        lambda txn: txn.alter_table(TABLE, properties={"object.stats:delay": "3 of day1"}),
        lambda txn: txn.rename_table(TABLE, "flown"),
        lambda txn: txn.drop_table(TABLE),
    ],
)
def test_who_changes_a_table_by_what_a_file_of_it_said_loses_to_the_removal_of_that_file(
    ledger: Ledger, memory: InMemoryLedger, table: int, change: Callable[[Transaction], object]
) -> None:
    assert table
    txn = ledger.begin()
    txn.read(TABLE, "day = 1")
    change(txn)
    in_txn(delete_day(1))(memory.connect())

    with pytest.raises(errors.ConcurrentDeleteReadException):
        txn.commit()


def test_read_only_txn(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """A read-only txn is right as of its snapshot, whatever comes later."""
    with ledger.transaction("read_only", level="serializable") as txn:
        txn.read(table)
        append_day(1)(memory.connect())

    assert txn.status == "committed"


@pytest.mark.parametrize(
    "write",
    [
        lambda txn: txn.add_files(TABLE, [of_day(3)]),
        lambda txn: txn.remove_files(TABLE, ["day1"]),
        lambda txn: txn.rewrite_files(TABLE, ["day1"], [of_day(1, "big")]),
        lambda txn: txn.set_protocol(TABLE, 1, 2),
        lambda txn: txn.set_domain(TABLE, "clustering"),
        lambda txn: txn.app("stream", 5, tables=[TABLE]),
        lambda txn: txn.wrote(TABLE, "insert"),
    ],
    ids=["adds", "removes", "rewrites", "protocol", "domain", "progress", "coarse"],
)
def test_what_would_write_is_refused_in_a_read_only_txn_at_once_and_leaves_it_as_it_was(
    ledger: Ledger, table: int, write: Callable[[Transaction], object]
) -> None:
    with ledger.transaction("read_only") as txn:
        txn.read(table)
        with pytest.raises(errors.CommandInvalidError, match="read only") as refused:
            write(txn)

    assert refused.value.reason == "TxnReadOnly"
    assert txn.status == "committed"


def test_a_level_that_is_none_is_said_before_a_txn_opens(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match=r"an isolation level must be one of .*, got 'eventual'"):
        ledger.begin(level="eventual")


@pytest.mark.parametrize(
    "change",
    [
        lambda txn, at: txn.remove_files(TABLE, ["day1"], read_at=at),
        lambda txn, at: txn.rewrite_files(TABLE, ["day1"], [of_day(1, "big")], read_at=at),
    ],
    ids=["remove", "rewrite"],
)
def test_who_names_the_position_that_files_were_found_at_meets_those_who_removed_them_since(
    ledger: Ledger, table: int, change: Callable[[Transaction, int], object]
) -> None:
    found_at = ledger.read(table).position
    with ledger.transaction() as winner:
        winner.remove_files(table, ["day1"])
    txn = ledger.begin()
    change(txn, found_at)

    with pytest.raises(errors.ConcurrentDeleteDeleteException, match="to file"):
        txn.commit()


def test_a_whole_table_is_read_as_of_the_snapshot(ledger: Ledger) -> None:
    create_flights(ledger, "Serializable")
    txn = ledger.begin()
    txn.read_whole(TABLE)
    txn.add_files(TABLE, [of_day(1, "derived")])
    txn.commit()

    assert txn.status == "committed"
