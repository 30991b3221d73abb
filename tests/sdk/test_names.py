"""Which table a name means to a client and to its txns, and what becomes of tables."""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest

from ledger.client import Ledger
from ledger.core.commands import Column, Property
from ledger.definitions.names import TableLike
from ledger.errors import (
    CommandInvalidError,
    MetadataChangedException,
    ProtocolChangedException,
    SettingsError,
    TableExistsError,
    UnknownTableError,
)
from ledger.log.lossy import LossyLog
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger


@pytest.fixture
def blind(log: LossyLog, memory: InMemoryLedger) -> Iterator[Ledger]:
    assert memory.log is log
    with Ledger.connect(log=log) as ledger:
        yield ledger


def test_definition(ledger: Ledger) -> None:
    """A table is as it was described: columns numbered from 1, properties by key."""
    made = ledger.create_table(
        "flights",
        [("day", "date"), Column("tail", "string", nullable=False, id=9)],
        partition_columns=["day"],
        layout="directories",
        location="file:///lake/flights",
        properties={"owner": "ada", "delta.appendOnly": "true"},
    )

    assert made == ledger.table("FLIGHTS")
    assert list(made.definition.columns) == [
        Column("day", "date", nullable=True, id=1),
        Column("tail", "string", nullable=False, id=9),
    ]
    assert list(made.definition.properties) == [
        Property("delta.appendOnly", "true"),
        Property("owner", "ada"),
    ]


def test_own_names_without_reads(blind: Ledger) -> None:
    flights = blind.create_table("flights")

    with blind.transaction() as txn:
        assert txn.write_id("Flights") == 1

    assert txn.receipt is not None
    assert list(txn.receipt.tables) == [flights.table]


def test_later_change_of_another_thread_stays(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    ledger.rename_table("flights", "departures")

    names = ledger._names  # noqa: SLF001 - two threads that meet just so cannot be made to
    names.remember(flights, flights.changed)

    number, row = names.find("departures")
    assert row is not None
    assert (number, row.name) == (flights.table, "departures")


def test_names_of_others_need_reads(blind: Ledger, ledger: Ledger) -> None:
    flights = ledger.create_table("flights")
    txn = blind.begin()

    with pytest.raises(SettingsError, match="LAKELEDGER_STORE"):
        txn.write_id("flights")
    assert txn.write_id(flights.table) == 1


def test_name_taken_by_another_table(ledger: Ledger, memory: InMemoryLedger) -> None:
    old = ledger.create_table("flights")
    other = memory.connect()
    other.rename_table("flights", "old_flights")
    new = other.create_table("flights")

    ledger.begin().write_id("flights")

    written = [(row.table, row.last_write_id) for row in memory.reads.tables()]
    assert written == [(old.table, 0), (new.table, 1)]


def test_a_renamed_table_keeps_its_id_and_its_old_name_means_nothing(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    ledger.rename_table("flights", "voyages")

    assert ledger.table("voyages").table == flights.table
    assert ledger.begin().write_id("voyages") == 1
    with pytest.raises(UnknownTableError, match="no table flights"):
        ledger.begin().write_id("flights")


def test_the_new_name_that_a_client_gave_is_known_to_it_too(blind: Ledger) -> None:
    blind.create_table("flights")

    blind.rename_table("flights", "voyages")

    assert blind.begin().write_id("voyages") == 1


ONE, TWO = [("a", "int")], [("a", "int"), ("b", "int")]


def renamed_at_once(ledger: Ledger, row: TableRow) -> None:
    ledger.rename_table(row, "voyages")
    ledger.alter_table("voyages", properties={"k": "v"})


def renamed_in_a_txn(ledger: Ledger, row: TableRow) -> None:
    with ledger.transaction() as txn:
        txn.rename_table(row, "voyages")
        txn.alter_table("voyages", properties={"k": "v"})


def renamed_before_a_txn(ledger: Ledger, row: TableRow) -> None:
    """Rename a table, known as it once was, and then again in a txn that alters it."""
    ledger.rename_table(row, "trips")
    with ledger.transaction() as txn:
        txn.rename_table("trips", "voyages")
        txn.alter_table("voyages", properties={"k": "v"})


def altered_in_a_txn(ledger: Ledger, row: TableRow) -> None:
    """Alter a table in a txn that renamed it by its id before and names it as it once was."""
    with ledger.transaction() as txn:
        txn.rename_table(row.table, "voyages")
        txn.alter_table(row, properties={"k": "v"})


@pytest.mark.parametrize("who", ["the client", "another client"])
@pytest.mark.parametrize(
    "rename", [renamed_at_once, renamed_in_a_txn, renamed_before_a_txn, altered_in_a_txn]
)
def test_who_renames_a_table_by_an_old_row_changes_its_name_alone(
    ledger: Ledger, memory: InMemoryLedger, rename: Callable[[Ledger, TableRow], object], who: str
) -> None:
    row = ledger.create_table("flights", ONE)
    writer = ledger if who == "the client" else memory.connect()
    writer.alter_table("flights", columns=TWO, partition_columns=["b"])

    rename(ledger, row)

    found = ledger.table("voyages").definition
    assert [column.name for column in found.columns] == ["a", "b"]
    assert (list(found.partition_columns), dict(found.properties)) == (["b"], {"k": "v"})
    with pytest.raises(ValueError, match=r"one partition value per column \(b\)"):
        ledger.append("voyages", ["unpartitioned"])


@pytest.mark.parametrize("named", ["name", "id", "row", "old row"])
def test_rename_after_an_alter(ledger: Ledger, memory: InMemoryLedger, named: str) -> None:
    """What is known of a renamed table is what somebody made of it just before, or nothing."""
    old = ledger.create_table("flights", TWO)
    memory.connect().alter_table("flights", partition_columns=["b"])
    row = memory.reads.table(old.table)
    assert row is not None
    tables: dict[str, TableLike] = {"name": "flights", "id": old.table, "row": row, "old row": old}

    ledger.rename_table(tables[named], "voyages")

    assert ledger.append("voyages", [AddFile("one", ("1",))]).versions == {old.table: 2}
    with ledger.transaction() as txn:
        txn.add_files(old, [AddFile("two", ("1",))])


def test_rename_that_somebody_foils(ledger: Ledger, memory: InMemoryLedger) -> None:
    """A txn that renamed a table loses to who alters it meanwhile: neither undoes the other."""
    row = ledger.create_table("flights", ONE)
    txn = ledger.begin()
    txn.rename_table(row, "voyages")
    memory.connect().alter_table("flights", columns=TWO)

    with pytest.raises(MetadataChangedException):
        txn.commit()

    assert len(ledger.table("flights").definition.columns) == len(TWO)


@pytest.mark.parametrize("client", ["maker", "other", "blind"])
def test_a_txn_knows_what_it_renamed_and_dropped_by_id_also_if_it_never_looked_the_tables_up(
    ledger: Ledger, memory: InMemoryLedger, blind: Ledger, client: str
) -> None:
    tables = [ledger.create_table(name, ONE).table for name in ("flights", "routes", "spare")]
    own = {"maker": ledger, "other": memory.connect(), "blind": blind}[client]
    own.begin().abort()  # So it has seen the tables, if it reads at all.
    memory.reads.wait(ledger.token.position, 10_000)
    with own.transaction() as txn:
        txn.rename_table(tables[0], "voyages")
        txn.drop_table(tables[1])
        ids = txn.write_ids(["voyages", tables[2]])
        if client != "blind":
            for name, freed in (("flights", True), ("routes", True), ("spare", False)):
                with pytest.raises(UnknownTableError) if freed else nullcontext():
                    txn.write_id(name)
            txn.alter_table("voyages", properties={"k": "v"})
        txn.rename_table("voyages", "routes")

    assert ids == [1, 1]
    assert [(table.table, table.name) for table in memory.reads.tables()] == [
        (tables[0], "routes"),
        (tables[2], "spare"),
    ]
    assert own.begin().write_id("routes" if client != "blind" else tables[0]) == 2


def test_a_dropped_table_is_gone_and_a_new_one_of_its_name_is_another_table(ledger: Ledger) -> None:
    flights = ledger.create_table("flights")

    ledger.drop_table("flights")

    with pytest.raises(UnknownTableError):
        ledger.begin().write_id("flights")
    assert ledger.tables() == []
    assert ledger.create_table("flights").table != flights.table


def test_all_tables_of_the_ledger_are_listed(ledger: Ledger, memory: InMemoryLedger) -> None:
    made = [ledger.create_table("flights"), memory.connect().create_table("routes")]
    ledger.wait(made[1].created)

    assert ledger.tables() == made


def test_a_name_that_no_table_has_is_an_error_that_says_where_to_look(ledger: Ledger) -> None:
    with pytest.raises(UnknownTableError, match=r"ledger\.tables\(\)"):
        ledger.table("flights")


def test_a_name_is_given_once(ledger: Ledger) -> None:
    ledger.create_table("flights")

    with pytest.raises(TableExistsError, match="Choose another name"):
        ledger.create_table("Flights")


def test_a_change_of_what_was_changed_since_is_refused(ledger: Ledger) -> None:
    ledger.create_table("flights")
    read_at = ledger.token
    ledger.rename_table("flights", "voyages")

    with pytest.raises(MetadataChangedException, match="repeat the change") as raised:
        ledger.drop_table("voyages", read_at=read_at)

    assert raised.value.explain() == str(raised.value)


def test_a_table_is_of_its_txn_until_it_commits(ledger: Ledger, memory: InMemoryLedger) -> None:
    other = memory.connect()
    with ledger.transaction() as txn:
        made = txn.create_table("flights", [("day", "date")])
        assert txn.write_id("flights") == 1
        assert txn.valid_write_ids("flights").is_valid(1)
        with pytest.raises(UnknownTableError):
            other.table("flights")

    assert (made.creator, made.version) == (txn.id, -1)
    other.wait(ledger.token)
    found = other.table("flights")
    assert (found.table, found.creator, found.version) == (made.table, 0, 0)
    assert ledger.begin().write_id("flights") == 2


def test_a_table_of_a_txn_that_aborted_never_was(ledger: Ledger) -> None:
    txn = ledger.begin()
    txn.create_table("flights")
    txn.abort()

    assert ledger.tables() == []
    with pytest.raises(UnknownTableError):
        ledger.begin().write_id("flights")


def test_names_within_a_txn(ledger: Ledger) -> None:
    flights, routes = ledger.create_table("flights"), ledger.create_table("routes")
    with ledger.transaction() as txn:
        txn.rename_table("flights", "spare")
        txn.rename_table("routes", "flights")
        with pytest.raises(
            UnknownTableError, match="has renamed or dropped the table named routes"
        ):
            txn.write_id("routes")
        txn.rename_table("spare", "routes")
        txn.wrote("routes", "update")
        assert ledger.table("flights").table == flights.table

    assert ledger.table("flights").table == routes.table
    assert ledger.table("routes").table == flights.table


def test_a_txn_that_dropped_a_table_can_no_longer_name_it(ledger: Ledger) -> None:
    old = ledger.create_table("flights")
    with ledger.transaction() as txn:
        txn.drop_table("flights")
        with pytest.raises(UnknownTableError):
            txn.wrote("flights", "insert")
        new = txn.create_table("flights")

    assert ledger.table("flights").table == new.table
    assert new.table != old.table


def test_name_lost_to_another(ledger: Ledger) -> None:
    txn = ledger.begin()
    txn.create_table("flights")
    ledger.create_table("flights")

    with pytest.raises(ProtocolChangedException) as raised:
        txn.commit()

    assert "a change outside a txn: create" in raised.value.explain()


def test_an_external_table_has_no_write_ids(ledger: Ledger) -> None:
    ledger.create_table("flights", kind="external", location="file:///raw/flights")

    with pytest.raises(CommandInvalidError, match="external"):
        ledger.begin().write_id("flights")


def test_an_unknown_catalog_takes_no_tables(log: LossyLog, memory: InMemoryLedger) -> None:
    assert memory.log is log
    with (
        Ledger.connect(log=log, catalog="lake") as ledger,
        pytest.raises(CommandInvalidError, match="Connect with the ledger's own catalog"),
    ):
        ledger.create_table("flights")


def test_dropped_tables_are_forgotten(ledger: Ledger) -> None:
    dropped = ledger.create_table("first")
    before = kept(dropped)
    ledger.drop_table("first")
    ledger.create_table("second")

    assert (before, kept(dropped)) == (1, 0)


def kept(row: TableRow) -> int:
    """Return how often a row is kept beside the position it was given at."""
    return sum(type(referrer) is tuple for referrer in gc.get_referrers(row))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("db.flihgts", "has no table db.flihgts, did you mean db.Flights? ledger.tables()"),
        ("weather", "has no table weather. ledger.tables() lists the tables"),
    ],
)
def test_a_name_nearly_right_is_told_with_a_near_one(ledger: Ledger, name: str, said: str) -> None:
    ledger.create_table("db.Flights")
    for call in (ledger.table, ledger.read, ledger.begin().write_id):
        with pytest.raises(UnknownTableError, match=re.escape(said)):
            call(name)
