"""A restored ledger has the trims of its log too, and it has no pins."""

from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.definitions.client_reads import open_log
from ledger.errors import UnreadableTableError
from ledger.expressions.parse import parse
from ledger.files.rows.blocks import rows_of_block
from ledger.forgetting.forgetting import look
from ledger.log.consumers import pin, registered
from ledger.log.memory import MemoryLog
from ledger.testing import InMemoryLedger
from tests.backup.benches import another_topic, backed_up, restored
from tests.tables.test_trimmed_blocks import trim

NAME = "people"
COLUMNS = [("id", "bigint"), ("name", "string")]


@pytest.fixture
def backups(
    memory: InMemoryLedger, ledger: Ledger, log: MemoryLog, tmp_path: Path
) -> tuple[Path, Path]:
    """Return a backup that ends before a trim of removed rows in the log, and one that has it."""
    before, after = tmp_path / "before", tmp_path / "after"
    made = {"lakeledger.inline": "on"}
    ledger.create_table(NAME, COLUMNS, location=tmp_path / NAME, properties=made)
    ledger.append(NAME, [{"id": 7, "name": "planted Pauline"}])
    ledger.delete(NAME, "id = 7")
    position = ledger.reads().position()
    ledger.append(NAME, [{"id": 8, "name": "later"}])
    backed_up(log, before)
    pin(log, "audit", position, 1)
    trim(memory, position + 1)
    backed_up(log, after)
    return before, after


def test_rows_that_a_trim_took_are_in_a_backup_from_before_it_alone(
    backups: tuple[Path, Path],
) -> None:
    found = []
    for backup in backups:
        log = another_topic(MemoryLog())
        restored(backup, log)
        reads = open_log(log)
        reads.position()
        row = reads.table_named("main", NAME)
        assert row is not None
        (file,) = look(reads, row, parse("id = 7")).files
        found.append(file.rows)
        if not file.rows:
            with pytest.raises(UnreadableTableError):
                rows_of_block(file.file.path, file.file.rows)
    assert found == [1, 0]


def test_pins_are_not_in_a_backup(log: MemoryLog, backups: tuple[Path, Path]) -> None:
    assert [each.name for each in registered(log) or ()] == ["audit"]
    copy = another_topic(MemoryLog())
    restored(backups[1], copy)
    assert registered(copy) == []
