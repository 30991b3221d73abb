"""Encrypted rows in the log: read as others with their key, by no program without it."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from ledger.cli.failures import Stopped
from ledger.cli.tables.keys import keys_of_all, known_keys, needs_of_backup
from ledger.client import Ledger
from ledger.definitions.client_reads import open_log
from ledger.errors import (
    ConflictError,
    DuplicateKeyError,
    RowsErasedError,
    RowsKeyError,
    SettingsError,
)
from ledger.expressions.parse import parse
from ledger.files.rows.blocks import block_of, rows_of_block
from ledger.forgetting.forgetting import forget, look
from ledger.forgetting.held_places import Surroundings
from ledger.forgetting.held_rows import HeldFile, HeldRows
from ledger.forgetting.key_dropping import drop_keys, keys_of, live_blocks
from ledger.forgetting.own_values import OwnValues
from ledger.forgetting.traces import traces
from ledger.keys.folder import KeyFolder
from ledger.keys.keyed_reads import keyed
from ledger.keys.sealed_rows import head_in
from ledger.log.memory import MemoryLog
from ledger.log.wire.file_extras import TRIMMED, is_block, is_sealed
from ledger.log.wire.file_list import AddFile
from ledger.machine.exit_codes import ExitCode
from ledger.properties.known_properties import asks_for_unique
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.backup.benches import another_topic, backed_up, restored
from tests.forgetting.every_byte import Planted, is_in_log
from tests.web.served import serving

COLUMNS = [("id", "bigint"), ("name", "string")]
ENCRYPTED = {"lakeledger.inline": "on", "lakeledger.inline.encrypted": "true"}
MONTH = "2026-05"
PLANTED_ID = 987654321987
PLANTED = Planted(["planted"], [PLANTED_ID])
ROWS = [{"id": 1, "name": "planted Pauline"}, {"id": 2, "name": "planted Quirina"}]


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    """Return a client with keys, and an encrypted table `t`."""
    ledger = memory.connect(keys=tmp_path / "keys")
    ledger.create_table("t", COLUMNS, location=tmp_path / "t", properties=ENCRYPTED)
    return ledger


def rows_of(ledger: Ledger, version: int | None = None) -> list[str]:
    found = ledger.scan("t", version=version).to_arrow().sort_by("id")["name"]
    return [str(name) for name in found.to_pylist()]


def test_rows_are_in_the_log_and_no_value_of_them(
    ledger: Ledger, memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger.append("t", ROWS)
    (file,) = ledger.scan("t").files
    assert is_block(file.path)
    assert is_sealed(file.rows)
    assert json.loads(file.stats) == {"numRecords": 2}
    assert not [*(tmp_path / "t").rglob("*.parquet")]
    assert rows_of(ledger) == ["planted Pauline", "planted Quirina"]
    assert not is_in_log(memory.log, PLANTED)


def failed(ledger: Ledger) -> None:
    """Let statements and programs fail whose errors have values of rows in their messages."""
    twice = [{"id": PLANTED_ID, "name": "planted Tilda"}, {"id": PLANTED_ID, "name": "planted U"}]
    works: list[Callable[[Transaction], object]] = [
        lambda txn: txn.update("t", {"id": "CAST(name AS BIGINT)"}),
        lambda txn: txn.delete("t", "CAST(name AS BIGINT) = 1"),
        lambda txn: txn.scan("t", "CAST(name AS BIGINT) = 1").count(),
        lambda txn: txn.insert("t", [{"id": PLANTED_ID, "name": "planted but too long a name"}]),
        lambda txn: txn.insert("t", [{"id": "planted", "name": "a"}]),
        lambda txn: txn.merge("t", twice, "target.id = source.id", when_matched_update=True),
        lambda txn: int(txn.scan("t").to_arrow()["name"][0].as_py()),
        lambda _: int(ledger.scan("t").to_arrow()["name"][0].as_py()),
    ]
    for work in works:
        with pytest.raises((ValueError, TypeError)) as error:
            ledger.run(work)
        assert PLANTED.within(str(error.value))
    if asks_for_unique(ledger.table("t").definition):
        with pytest.raises(DuplicateKeyError):
            ledger.append("t", [{"id": PLANTED_ID, "name": "planted"}])


def changed(ledger: Ledger) -> None:
    """Change rows by every verb that takes a condition, a key or rows."""
    ledger.append("t", [*ROWS, {"id": PLANTED_ID, "name": "planted Rosa"}])
    ledger.update("t", {"name": "'planted Sofia'"}, "name = 'planted Pauline'")
    ledger.delete("t", f"id = {PLANTED_ID}")
    ledger.merge(
        "t",
        [{"id": PLANTED_ID, "name": "planted Tilda"}, {"id": 2, "name": "planted Ulla"}],
        "target.id = source.id",
        when_matched_update={"name": "source.name"},
        when_not_matched_insert=True,
    )
    ledger.append("t", [{"id": n, "name": f"planted {n}"} for n in range(9_000, 10_100)])
    first, other = ledger.begin(), ledger.begin()
    for txn in (first, other):
        assert txn.scan("t", f"id = {PLANTED_ID}").count() == 1
        txn.update("t", {"name": "'planted Vera'"}, "name = 'planted Ulla'")
    first.commit()
    with pytest.raises(ConflictError):
        other.commit()
    failed(ledger)


@pytest.mark.parametrize("grain", ["marks", "rewrite"])
@pytest.mark.parametrize("key", ["", "id"], ids=["no key", "unique key"])
def test_no_statement_brings_a_value_into_the_log(
    ledger: Ledger, memory: InMemoryLedger, tmp_path: Path, grain: str, key: str
) -> None:
    own = {"lakeledger.rows": grain, "lakeledger.conflictColumns": "id, name"}
    own["delta.constraints.short"] = "length(name) < 25"
    own |= {"lakeledger.key": key, "lakeledger.unique": "true"} if key else {}
    ledger.alter_table("t", properties={**ENCRYPTED, **own})
    changed(ledger)
    assert not is_in_log(memory.log, PLANTED)
    ledger.create_table("clear", COLUMNS, location=tmp_path / "clear", properties=own)
    ledger.append("clear", ROWS)
    assert is_in_log(memory.log, PLANTED)


def test_a_writer_seals_what_it_groups(ledger: Ledger, memory: InMemoryLedger) -> None:
    with ledger.writer("t") as writer:
        for row in ROWS:
            writer.append([row])
    assert all(is_sealed(file.rows) for file in ledger.scan("t").files)
    assert rows_of(ledger) == ["planted Pauline", "planted Quirina"]
    assert not is_in_log(memory.log, PLANTED)


def test_a_txn_reads_its_own_rows_before_they_are_committed(ledger: Ledger) -> None:
    with ledger.begin() as txn:
        txn.insert("t", ROWS)
        txn.update("t", {"name": "'own'"}, "id = 1")
        assert txn.scan("t").to_arrow().sort_by("id")["name"].to_pylist()[0] == "own"


def test_a_client_without_keys_reads_lists_and_no_rows(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    ledger.append("t", ROWS)
    other = memory.connect()
    assert [is_sealed(file.rows) for file in other.scan("t").files] == [True]
    with pytest.raises(RowsKeyError, match="no folder of keys is set"):
        other.scan("t").to_arrow()
    with pytest.raises(RowsKeyError, match="no folder of keys is set"):
        other.delete("t", "id = 1")


def test_a_writer_without_keys_writes_a_file(ledger: Ledger, memory: InMemoryLedger) -> None:
    other = memory.connect()
    other.append("t", ROWS)
    (file,) = other.scan("t").files
    assert not is_block(file.path)
    assert json.loads(file.stats)["minValues"] == {}
    assert not is_in_log(memory.log, PLANTED)
    assert len(rows_of(ledger)) == len(rows_of(other)) == 2


def test_a_writer_with_keys_that_cannot_be_used_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / ledger.id).write_text("in the way")
    with pytest.raises(SettingsError, match="folder of keys"):
        ledger.append("t", ROWS)
    assert not ledger.scan("t").files


def test_a_flush_takes_blocks_of_a_txn_that_then_altered_the_table(ledger: Ledger) -> None:
    with ledger.transaction() as txn:
        txn.insert("t", ROWS[:1])
        txn.alter_table("t", columns=[*COLUMNS, ("more", "int")])
    ledger.append("t", [{**ROWS[1], "more": 5}])
    ledger.run(lambda txn: txn.flush("t"))
    (file,) = ledger.read("t")
    assert not file.rows
    assert rows_of(ledger) == ["planted Pauline", "planted Quirina"]
    assert ledger.scan("t").to_arrow()["more"].to_pylist() == [None, 5]


def test_flushed_rows_are_read_without_keys(ledger: Ledger, memory: InMemoryLedger) -> None:
    ledger.append("t", ROWS)
    ledger.run(lambda txn: txn.flush("t"))
    assert rows_of(memory.connect()) == ["planted Pauline", "planted Quirina"]
    assert not is_in_log(memory.log, PLANTED)


def test_a_flush_reads_blocks_of_other_columns_apart(ledger: Ledger) -> None:
    known = ledger.table("t").definition.columns
    with ledger.begin() as txn:
        txn.insert("t", ROWS)
        txn.alter_table("t", columns=[*known, ("n", "int")])
        txn.insert("t", [{"id": 3, "name": "planted Rosa", "n": 5}])
    assert len(ledger.scan("t").files) == 2
    ledger.run(lambda txn: txn.flush("t"))
    found = ledger.scan("t").to_arrow().sort_by("id")
    assert found["n"].to_pylist() == [None, None, 5]


@pytest.mark.parametrize("verb", ["restore", "undrop"])
def test_rows_that_come_back_are_sealed_anew(ledger: Ledger, verb: str) -> None:
    ledger.append("t", ROWS)
    (former,) = ledger.scan("t").files
    if verb == "restore":
        with ledger.begin() as txn:
            txn.delete("t", "id > 0")
        ledger.run(lambda txn: txn.restore("t", version=1))
    else:
        ledger.drop_table("t")
        ledger.undrop_table("t")
    (file,) = ledger.scan("t").files
    assert is_sealed(file.rows)
    assert file.path != former.path
    assert rows_of(ledger) == ["planted Pauline", "planted Quirina"]


def test_a_key_stays_while_a_live_block_needs_it(ledger: Ledger) -> None:
    ledger.append("t", ROWS)
    row, keys = ledger.table("t"), keys_of(ledger)
    (name,) = live_blocks(ledger.reads(), row)
    (why,) = drop_keys(ledger, row, [name], 0.0).values()
    assert why == "it is needed by 1 live block: lakeledger table flush t"
    assert keys.names(row.table) == {name: "key"}


def test_a_key_stays_while_a_txn_may_commit_rows_under_it(ledger: Ledger) -> None:
    row = ledger.table("t")
    with ledger.begin() as txn:
        txn.insert("t", ROWS)
        (name,) = keys_of(ledger).names(row.table)
        (why,) = drop_keys(ledger, row, [name], 0.0).values()
        assert why.startswith(f"open txn {txn.id} of ")
    assert len(rows_of(ledger)) == 2
    assert keys_of(ledger).names(row.table) == {name: "retired"}


def test_a_dropped_key_erases_former_versions_and_nothing_else(ledger: Ledger) -> None:
    ledger.append("t", ROWS)
    (name,) = live_blocks(ledger.reads(), ledger.table("t"))
    ledger.run(lambda txn: txn.flush("t"))
    assert drop_keys(ledger, ledger.table("t"), [name], 0.0) == {name: ""}
    assert rows_of(ledger) == ["planted Pauline", "planted Quirina"]
    with pytest.raises(RowsErasedError, match="was dropped"):
        rows_of(ledger, version=1)
    assert [change.version for change in ledger.changes("t")] == [0, 1, 2]
    ledger.append("t", ROWS)
    (other,) = live_blocks(ledger.reads(), ledger.table("t"))
    assert other == name._replace(number=2)
    assert len(rows_of(ledger)) == 4


def test_forgotten_rows_go_with_their_key(ledger: Ledger, memory: InMemoryLedger) -> None:
    around = Surroundings(memory.log, ledger.name)
    ledger.append("t", ROWS)
    ledger.update("t", {"name": "'planted Sofia'"}, "id = 1")
    ledger.append("t", [{"id": 3, "name": "planted Tilda"}])
    where, row = parse("id = 1"), ledger.table("t")
    held = look(ledger.reads(), row, where)
    assert {place.place for place in traces(ledger.reads(), row, held, around)} == {
        "encrypted rows in the log"
    }
    done = forget(ledger, row, where, held, grace_s=0.0)
    assert (done.rows, list(done.keys.values())) == (1, [""])
    assert rows_of(ledger) == ["planted Quirina", "planted Tilda"]
    row = ledger.table("t")
    left = look(ledger.reads(), row, where, held.values)
    assert left.files == []
    assert not [*traces(ledger.reads(), row, left, around)]


def test_an_archive_with_erased_blocks_is_named_until_their_key_is_dropped(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    """Rows that a trim took are not there to be looked into, so each of their blocks may count."""
    ledger.append("t", ROWS)
    (file,) = ledger.scan("t").files
    row, values = ledger.table("t"), OwnValues()
    trimmed = HeldFile(file._replace(rows=TRIMMED, removed=9), 0, 0)
    held = HeldRows([trimmed], values, [])
    around = Surroundings(memory.log, ledger.name, keys=ledger.keys)
    found = {place.place: place.holds for place in traces(ledger.reads(), row, held, around)}
    assert found["topic events"] == "rows"
    keys_of(ledger).drop(head_in(file.path, file.rows).name)
    assert not [*traces(ledger.reads(), row, held, around)]


def test_a_server_hands_out_the_sealed_bytes_and_its_client_opens_them(
    ledger: Ledger, memory: InMemoryLedger
) -> None:
    ledger.append("t", ROWS)
    table = ledger.table("t").table
    with serving(lambda: open_log(memory.log)) as served:
        (file,) = served.reads.files(table)
        assert is_sealed(file.rows)
        with pytest.raises(RowsKeyError):
            rows_of_block(file.path, file.rows)
        (file,) = keyed(served.reads, keys_of(ledger).path).files(table)
        assert rows_of_block(file.path, file.rows).num_rows == 2
        (change,) = keyed(served.reads, keys_of(ledger).path).file_changes(table, 0, 9, 9)
        assert rows_of_block(change.file.path, change.file.rows).num_rows == 2


def test_a_restored_ledger_reads_with_the_folder_of_keys_alone(
    ledger: Ledger, memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger.append("t", ROWS)
    assert isinstance(memory.log, MemoryLog)
    backed_up(memory.log, tmp_path / "backup")
    log = another_topic(MemoryLog())
    restored(tmp_path / "backup", log)
    kept = [file.read_bytes() for file in (tmp_path / "backup").iterdir()]
    keys = [file.read_bytes() for file in (tmp_path / "keys").rglob("*.key")]
    assert not any(key in data for key in keys for data in kept)
    with InMemoryLedger(log=log) as again:
        with pytest.raises(RowsKeyError, match="no folder of keys is set"):
            rows_of(again.connect())
        with pytest.raises(RowsKeyError, match="which is not in"):
            rows_of(again.connect(keys=tmp_path / "empty"))
        assert rows_of(again.connect(keys=tmp_path / "keys")) == rows_of(ledger)


def test_rows_in_clear_are_not_taken_for_an_encrypted_table(ledger: Ledger) -> None:
    block = block_of(pa.table({"id": [1], "name": ["planted Pauline"]}))
    file = AddFile("rows:a", size=len(block), rows=block)
    with pytest.raises(ValueError, match="must have its rows encrypted, as table t wants it"):
        ledger.append("t", [file])
    with ledger.begin() as txn, pytest.raises(ValueError, match="must have its rows encrypted"):
        txn.rewrite_files("t", [], [file])
    assert not ledger.scan("t").files


def test_a_drop_waits_for_appends_without_a_txn(ledger: Ledger) -> None:
    row, keys = ledger.table("t"), keys_of(ledger)
    name, _ = keys.newest(row.table, MONTH)
    begun_s = time.monotonic()
    assert drop_keys(ledger, row, [name], 0.5) == {name: ""}
    assert time.monotonic() - begun_s >= 0.5


def test_commands_about_keys_name_a_table_that_is_not_encrypted(ledger: Ledger) -> None:
    ledger.create_table("plain", COLUMNS)
    with pytest.raises(Stopped, match="table plain is not encrypted") as refused:
        known_keys(ledger, ledger.table("plain"))
    assert refused.value.exit_code == ExitCode.FAILED
    assert known_keys(ledger, ledger.table("t")) == {}
    ledger.append("t", ROWS)
    (name,) = live_blocks(ledger.reads(), ledger.table("t"))
    ledger.alter_table("t", unset=["lakeledger.inline.encrypted"])
    assert known_keys(ledger, ledger.table("t")) == {name: "key"}


def test_a_backup_and_a_list_name_the_keys_that_tables_need(ledger: Ledger, tmp_path: Path) -> None:
    inline = {"lakeledger.inline": "on"}
    ledger.create_table("plain", COLUMNS, location=tmp_path / "plain", properties=inline)
    ledger.append("plain", ROWS)
    reads, keys = ledger.reads(), keys_of(ledger)
    assert needs_of_backup(reads, keys) == ({}, "")
    ledger.append("t", ROWS)
    (name,) = live_blocks(ledger.reads(), ledger.table("t"))
    reads = ledger.reads()
    needed, told = needs_of_backup(reads, keys)
    assert needed == {"t": [name.text]}
    assert f"t {name.text}" in told
    elsewhere = KeyFolder(tmp_path / "other", ledger.id)
    assert [*keys_of_all(reads, elsewhere)] == [
        {"table": "t", "key": name.text, "status": "missing", "live_blocks": 1}
    ]
    assert (
        f"These are not in {tmp_path / 'other'}: t {name.text}"
        in needs_of_backup(reads, elsewhere)[1]
    )
    ledger.run(lambda txn: txn.flush("t"))
    keys.drop(name)
    assert needs_of_backup(ledger.reads(), keys) == ({}, "")
    assert [each["status"] for each in keys_of_all(ledger.reads(), keys)] == ["dropped"]
