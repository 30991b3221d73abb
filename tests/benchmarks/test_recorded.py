"""Recorded workloads: every kind of statement is understood, and replayed by its files."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.session.receipt import Receipt
from tests.benchmarks.workloads.recorded import (
    BUCKETS,
    Statement,
    WorkloadError,
    kind_of,
    name_in,
    recordings,
)
from tests.benchmarks.workloads.replay import load
from tests.benchmarks.workloads.statements import Work
from tests.tables.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]
SHARED = Path(__file__).parents[3] / "shared" / "workloads" / "lst_bench_runs.jsonl"
TABLE = "web_sales"


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("INSERT INTO", "insert"),
        ("insert  into", "insert"),
        ("INSERT OVERWRITE TABLE", "overwrite"),
        ("MERGE INTO", "merge"),
        ("DELETE FROM", "delete"),
        ("UPDATE", "update"),
        ("OPTIMIZE", "optimize"),
        ("CALL", "optimize"),
        ("ALTER TABLE", "alter"),
        ("SELECT", "select"),
        ("WITH", "select"),
        ("CREATE TABLE", None),
        ("CREATE VIEW", None),
        ("DROP VIEW IF EXISTS", None),
        ("VACUUM", None),
    ],
)
def test_kinds(operation: str, kind: str | None) -> None:
    """Statements of every format are of a kind, or change no data."""
    assert kind_of(operation) == kind


@pytest.mark.parametrize("operation", ["EXPLODE", "", "INSERTED", "CALLS"])
def test_a_statement_that_is_not_known_ends_the_replay(operation: str) -> None:
    with pytest.raises(WorkloadError, match="is not known; known are INSERT INTO"):
        kind_of(operation)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("web_sales", "web_sales"),
        ("web_sales')", "web_sales"),
        ("table => 'tpcds.web_sales')", "tpcds.web_sales"),
        ("crv_${stream_num}", "stream_num"),
    ],
)
def test_a_name_is_found_where_a_recording_cut_it_out_of_a_call(text: str, name: str) -> None:
    assert name_in(text) == name


def recorded(tmp_path: Path, *operations: str) -> Path:
    """Write a recorded run of one table that is loaded once and then sees these statements."""
    writes = [[float(at), 1.0, each, TABLE, "f"] for at, each in enumerate(operations, start=1)]
    run: dict[str, Any] = {
        "workload": "w",
        "format": "hudi",
        "phases": [{"write_statements": [[0.0, 1.0, "INSERT INTO", TABLE, "f"], *writes]}],
    }
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(run), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("operation", "committed"),
    [
        ("INSERT OVERWRITE", ("WRITE", 3, 6)),
        ("MERGE INTO", ("MERGE", 6, 6)),
        ("DELETE FROM", ("DELETE", 6, 6)),
        ("UPDATE", ("UPDATE", 6, 6)),
        ("CALL", ("OPTIMIZE", 5, 10)),
        ("ALTER TABLE", ("SET TBLPROPERTIES", 0, 0)),
        ("SELECT", ("WRITE", 3, 0)),
    ],
)
def test_replay(
    ledger: Ledger, tmp_path: Path, operation: str, committed: tuple[str, int, int]
) -> None:
    """Each kind of statement commits what it would write; a query commits no version."""
    (recording,) = recordings(recorded(tmp_path, operation))
    load(ledger, recording)
    receipts: list[Receipt] = []
    (statement,) = recording.writes
    ledger.run(Work(statement, "s0.0"), on_commit=receipts.append)

    newest = ledger.reads().versions(ledger.table(TABLE).table, 1)[0]
    assert len(receipts) == 1
    assert (newest.operation, newest.adds, newest.removes) == committed


@pytest.mark.skipif(not SHARED.exists(), reason="the recorded runs are not on this machine")
def test_every_published_run_is_understood_and_optimizes_the_tables_that_it_loads() -> None:
    found = recordings(SHARED)

    assert len(found) == 8
    for each in found:
        loaded = {statement.table for statement in each.load}
        assert {statement.table for statement in each.writes} <= loaded
    assert isinstance(found[0].writes[0], Statement)
    assert BUCKETS == 16
