"""How many commands each verb sends: every one is a round trip to the sequencer."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.core.commands import CoarseWrite, TableWrite
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic, records_between
from ledger.log.wire.codec import decode_command
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.tables.lake import Lake

ROW = {"id": 3, "name": "c"}
COLUMNS = [("id", "bigint"), ("name", "string")]
TXN = ["OpenTxn", "CommitTxn"]
ALONE = ["CommitTxn"]


@pytest.fixture
def log() -> LossyLog:
    return LossyLog()


@pytest.fixture
def ledger(log: LossyLog, tmp_path: Path) -> Iterator[Ledger]:
    """Return a client of a table with rows, whose session is open."""
    with InMemoryLedger(log=log) as memory, memory.connect() as ledger:
        Lake(ledger, tmp_path).create("t", COLUMNS)
        ledger.append("t", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
        yield ledger


def sent(log: LossyLog, act: Callable[[], object]) -> list[str]:
    """Return the commands that an act sends, without heartbeats."""
    _, before = log.ends(Topic.COMMANDS)
    act()
    records = records_between(log, Topic.COMMANDS, before, log.ends(Topic.COMMANDS)[1])
    kinds = [type(decode_command(record.value)).__name__ for record in records]
    return [kind for kind in kinds if kind != "Heartbeat"]


def in_txn(ledger: Ledger, act: Callable[[Transaction], object]) -> Callable[[], object]:
    def within() -> None:
        with ledger.begin() as txn:
            act(txn)

    return within


def whole(ledger: Ledger) -> TableWrite:
    written = CoarseWrite("table", "", "insert")
    return TableWrite(ledger.table("t").table, ledger.token.position, [written])


@pytest.mark.parametrize(
    ("act", "commands"),
    [
        (lambda each: each.append("t", [ROW]), ALONE),
        (lambda each: each.append("t", pa.table({"id": [3], "name": ["c"]})), ALONE),
        (
            lambda each: each.append("t", [ROW | {"more": 1}], evolve=True),
            ["OpenTxn", "AlterTable", "CommitTxn"],
        ),
        (lambda each: each.commit_once([whole(each)]), ALONE),
        (lambda each: each.create_table("u", COLUMNS), ["CreateTable"]),
        (lambda each: each.alter_table("t", properties={"a": "b"}), ["AlterTable"]),
        (lambda each: each.rename_table("t", "u"), ["RenameTable"]),
        (lambda each: each.drop_table("t"), ["DropTable"]),
        (lambda each: each.scan("t", "id = 1").to_arrow(), []),
        (lambda each: each.sql("SELECT * FROM t").to_arrow(), []),
        (lambda each: list(each.changes("t", after=0)), []),
    ],
)
def test_a_verb_outside_a_txn_is_one_command_or_none_if_it_only_reads(
    ledger: Ledger, log: LossyLog, act: Callable[[Ledger], object], commands: list[str]
) -> None:
    assert sent(log, lambda: act(ledger)) == commands


@pytest.mark.parametrize(
    ("act", "commands"),
    [
        (lambda txn: txn.scan("t", "id = 1").to_arrow(), TXN),
        (lambda txn: txn.insert("t", [ROW]), TXN),
        (lambda txn: txn.overwrite("t", [ROW]), TXN),
        (lambda txn: txn.delete("t", "id = 1"), TXN),
        (lambda txn: txn.update("t", {"name": "'x'"}, "id = 1"), TXN),
        (lambda txn: txn.optimize("t"), TXN),
        (lambda txn: txn.write_id("t"), ["OpenTxn", "AllocateWriteIds", "CommitTxn"]),
        (
            lambda txn: txn.insert("t", [ROW | {"m": 1}], evolve=True),
            ["OpenTxn", "AlterTable", "CommitTxn"],
        ),
    ],
)
def test_a_txn_of_one_statement_is_opened_and_committed_and_nothing_else_is_asked(
    ledger: Ledger, log: LossyLog, act: Callable[[Transaction], object], commands: list[str]
) -> None:
    assert sent(log, in_txn(ledger, act)) == commands
