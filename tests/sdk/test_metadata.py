"""Metadata of tables as clients and their txns see it, by their own changes and by others'."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.definitions import changed_definition, table_definition
from ledger.definitions.names import TableLike
from ledger.errors import UnknownTableError
from ledger.reads.metadata import TableMetadata
from ledger.testing import InMemoryLedger
from tests.sdk.conftest import IMPATIENT

TABLE = "db.flights"
STATS = {"object.stats:delay": "mean 7"}


@pytest.fixture(autouse=True)
def table(ledger: Ledger) -> int:
    made = ledger.create_table(TABLE, [("day", "int")], location="v0", properties=STATS)
    return made.table


def moved(definition: TableDefinition) -> TableDefinition:
    return changed_definition(definition, location="v1")


def place(found: TableMetadata) -> str:
    return found.definition.location


def stats_of(ledger: Ledger, table: TableLike, **options: ValidWriteIdList) -> str:
    """Return the statistics of a table, as a reader of a list sees them."""
    return ledger.metadata_object(table, "stats:delay", write_ids=options["write_ids"])


def test_a_client_sees_its_own_change_at_once(ledger: Ledger, table: int) -> None:
    ledger.alter_table(TABLE, moved)

    found = ledger.metadata(TABLE)

    assert found == TableMetadata(table, "main", TABLE, found.definition)
    assert (place(found), found.definition.properties) == ("v1", ())
    assert ledger.metadata_object(table, "stats:delay") == "mean 7"


@pytest.mark.parametrize(
    "change", [moved, table_definition([("day", "int")], location="v1", properties=STATS)]
)
def test_a_txn_sees_its_own_change(
    ledger: Ledger, change: TableDefinition | type[TableDefinition]
) -> None:
    with ledger.transaction() as txn:
        txn.alter_table(TABLE, change)
        own, others = txn.metadata(TABLE), ledger.metadata(TABLE)

        stats = txn.metadata_object(TABLE, "stats:delay")

    assert (place(own), place(others), stats) == ("v1", "v0", "mean 7")
    assert place(ledger.metadata(TABLE)) == "v1"


def test_a_txn_sees_all_its_changes(ledger: Ledger) -> None:
    txn = ledger.begin()
    txn.alter_table(TABLE, moved)
    txn.alter_table(TABLE, properties={"owner": "etl"})
    txn.rename_table(TABLE, "db.delays")
    created = txn.create_table(TABLE, location="new")

    found = txn.metadata("db.delays")

    assert (found.name, place(found), dict(found.definition.properties)) == (
        "db.delays",
        "v1",
        {"owner": "etl"},
    )
    assert place(txn.metadata(TABLE)) == place(txn.metadata(created.table)) == "new"


def test_a_txn_keeps_its_snapshot(ledger: Ledger, memory: InMemoryLedger) -> None:
    reader, writer = ledger.begin("read_only"), ledger.begin()
    writer.write_id(TABLE)
    memory.connect(settings=IMPATIENT).alter_table(TABLE, moved)

    assert place(reader.metadata(TABLE)) == place(writer.metadata(TABLE)) == "v0"
    assert place(ledger.begin().metadata(TABLE)) == "v1"


def test_a_list_is_read(ledger: Ledger) -> None:
    held = ledger.begin("read_only").valid_write_ids(TABLE)
    ledger.alter_table(TABLE, moved)

    assert place(ledger.metadata(TABLE, write_ids=held)) == "v0"


@pytest.mark.parametrize("name", [TABLE, TABLE.upper(), f"main.{TABLE}", None])
def test_a_list_of_the_table(ledger: Ledger, name: str | None) -> None:
    held = replace(ledger.begin("read_only").valid_write_ids(TABLE), table=name)

    assert place(ledger.metadata(TABLE, write_ids=held)) == "v0"


@pytest.mark.parametrize("what", [Ledger.metadata, stats_of])
def test_a_list_of_another_table(ledger: Ledger, what: Callable[..., object]) -> None:
    number = ledger.table(TABLE).table
    held = ledger.begin("read_only").valid_write_ids(TABLE)
    ledger.rename_table(TABLE, "db.routes")

    with pytest.raises(
        ValueError, match=r"a list of table main\.db\.routes, got a list of main\.db\.flights"
    ):
        what(ledger, "db.routes", write_ids=held)
    assert what(ledger, number, write_ids=held)


def test_an_aborted_change_is_gone(ledger: Ledger) -> None:
    txn = ledger.begin()
    txn.alter_table(TABLE, moved)
    txn.abort()

    assert place(ledger.metadata(TABLE)) == place(ledger.begin().metadata(TABLE)) == "v0"


def test_an_external_table_has_no_snapshot(ledger: Ledger) -> None:
    ledger.create_table("db.raw", kind="external", location="v0")
    before = ledger.begin()
    ledger.alter_table("db.raw", moved)
    own = ledger.begin()
    own.alter_table("db.raw", lambda found: changed_definition(found, location="v2"))

    assert place(before.metadata("db.raw")) == "v1"
    assert place(own.metadata("db.raw")) == "v2"
    assert place(ledger.metadata("db.raw")) == "v1"


def test_the_token_of_a_receipt_shows_its_write(ledger: Ledger, memory: InMemoryLedger) -> None:
    token = ledger.alter_table(TABLE, moved).token

    assert place(memory.connect().metadata(TABLE, token=str(token))) == "v1"
    assert place(memory.connect().metadata(TABLE, token=token)) == "v1"


@pytest.mark.parametrize("what", ["stats:none", "table:"])
def test_a_part_that_is_not_there_is_told_by_name(ledger: Ledger, table: int, what: str) -> None:
    with pytest.raises(UnknownTableError, match=f"object '{what}' of table {table}"):
        ledger.metadata_object(TABLE, what)


@pytest.mark.parametrize("what", ["table", "", "name"])
def test_the_table_itself_is_no_object_of_it(ledger: Ledger, what: str) -> None:
    with pytest.raises(ValueError, match="an object of a table must look like"):
        ledger.metadata_object(TABLE, what)


def test_a_dropped_table_is_gone_for_readers_of_now(ledger: Ledger, table: int) -> None:
    ledger.drop_table(table)

    with pytest.raises(UnknownTableError):
        ledger.metadata(TABLE)
    with pytest.raises(UnknownTableError, match=f"table {table} does not exist"):
        ledger.metadata(table)
