"""What writers of a Delta table recorded of their versions, as an import keeps it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from ledger.client import Ledger
from ledger.core.conflicts.footprints import weight
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.limits import FOOTPRINT_BYTES_MAX, RIDING_BYTES_MAX
from ledger.delta.importer import import_delta
from ledger.delta.schema import COMMENT, DESCRIPTION, TABLE_NAME
from ledger.testing import InMemoryLedger
from ledger.work.staging import size_of
from tests.sdk.delta_logs import (
    PROTOCOL,
    add,
    begin,
    commits,
    info,
    metadata,
    staged,
    write_checkpoint,
    write_log,
)

NAME = "t"
RECORDED: dict[str, Any] = {
    "timestamp": 1_600_000_000_000,
    "inCommitTimestamp": 1_600_000_000_001,
    "userId": "42",
    "userName": "ada@example.org",
    "userMetadata": '{"why": "backfill é"}',
    "operationParameters": {"mode": "Append"},
    "operationMetrics": {"numFiles": "1"},
}


def recorded(ledger: Ledger, version: int) -> Any:
    row = ledger.reads().version_row(ledger.table(NAME).table, version=version)
    assert row is not None
    return json.loads(row.info) if row.info else None


def test_a_version_keeps_what_its_writer_recorded(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [info(**RECORDED), add("a")], [add("b")], [info(**RECORDED)])

    import_delta(ledger, tmp_path, NAME)

    assert [recorded(ledger, each) for each in range(4)] == [None, RECORDED, None, RECORDED]


def test_the_history_of_an_import_says_what_deltalake_says(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(2):
        said = CommitProperties(custom_metadata={"userName": "ada", "run": str(number)})
        rows = pa.table({"id": [number]})
        write_deltalake(tmp_path, rows, mode="append", commit_properties=said)

    import_delta(ledger, tmp_path, NAME)

    for theirs in DeltaTable(tmp_path).history():
        ours = recorded(ledger, theirs["version"])
        assert (ours["timestamp"], ours["run"]) == (theirs["timestamp"], theirs["run"])
        assert ours["userName"] == "ada"
        assert datetime.fromtimestamp(ours["timestamp"] / 1000, UTC).year >= 2026


def test_the_version_of_a_checkpoint_keeps_its_own_file(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, [info(**RECORDED), add("a")], first=3)
    write_checkpoint(tmp_path, f"{3:020}.checkpoint.parquet", [PROTOCOL, metadata(), add("a")])

    import_delta(ledger, tmp_path, NAME)

    assert recorded(ledger, 0) == RECORDED


@pytest.mark.parametrize("files", [1, 11_000])
@pytest.mark.parametrize("letters", [RIDING_BYTES_MAX - 100, 3_000_000])
def test_what_a_writer_recorded_may_be_larger_than_a_record_of_the_log(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, letters: int, files: int
) -> None:
    # Numbers in a row cannot be packed to nothing, as one letter could.
    text = "".join(map(str, range(letters)))[:letters]
    said: dict[str, Any] = {**RECORDED, "userMetadata": text + "é"}
    adds = [add(f"part-{number}") for number in range(files)]
    write_log(tmp_path, begin(), [info(**said), *adds])

    import_delta(ledger, tmp_path, NAME)

    assert recorded(ledger, 1) == said
    assert len(ledger.read(NAME)) == files
    sizes = [size_of(each) for each in (*staged(memory), commits(memory)[-1][1])]
    assert max(sizes) <= FOOTPRINT_BYTES_MAX
    assert weight(commits(memory)[-1][1]) <= FOOTPRINT_BYTES_MAX


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, {COMMENT: "All trips.", TABLE_NAME: "trips"}),
        ({COMMENT: "Own."}, {COMMENT: "Own.", DESCRIPTION: "All trips.", TABLE_NAME: "trips"}),
    ],
)
def test_a_table_keeps_its_name_and_its_description_as_properties(
    ledger: Ledger, tmp_path: Path, configuration: dict[str, str], expected: dict[str, str]
) -> None:
    said = metadata(**configuration)
    said = {"metaData": {**said["metaData"], "name": "trips", "description": "All trips."}}
    write_log(tmp_path, [PROTOCOL, said])

    import_delta(ledger, tmp_path, NAME)

    assert properties(ledger.table(NAME).definition) == expected
