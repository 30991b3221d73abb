"""The protocol of the catalog from Python's side: no Spark is needed to ask and to be answered."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.log.memory import MemoryLog
from ledger.testing import InMemoryLedger, LossyLog, Topic
from spark_sink.catalog import questions
from spark_sink.catalog.questions import ANSWERS, Catalogs
from spark_sink.catalog.write.constraints import condition_of
from tests.conditions import wire_of

SALES = "db.sales"


class Asker:
    """Spark's side of the protocol."""

    def __init__(self, ledger: Ledger) -> None:
        self.catalogs = Catalogs()
        self.catalogs.attach("ledger", ledger)

    def said(self, word: str, **asked: Any) -> dict[str, Any]:
        asked = {"catalog": "ledger", "txn": "", **asked}
        found: dict[str, Any] = json.loads(self.catalogs.apply(word, json.dumps(asked)))
        return found

    def ask(self, word: str, **asked: Any) -> Any:
        """Return the answer to a question that is not refused."""
        return self.said(word, **asked)["answer"]

    def write(self, txn: str, mode: str, rows: Any, name: str = "0", **more: Any) -> None:
        """Write rows into partition x as Spark does, and say so."""
        table = self.ask("table", table=SALES, txn=txn)
        about = {"id": table["id"], "position": table["position"], "txn": txn, "mode": mode}
        staged = self.ask("stage", **about)
        path = f"p=x/{staged['writer']}-0123456789abcdef-{name}.parquet"
        place = Path(staged["folder"].removeprefix("file:"), path)
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(rows), place)
        self.ask("wrote", **about, write=staged["write"], files=[path], where=[], **more)


@pytest.fixture
def asker(memory: InMemoryLedger, tmp_path: Path) -> Asker:
    """Return Spark's side, with a table."""
    asker = Asker(memory.connect(warehouse=str(tmp_path)))
    columns = [
        {"name": "id", "type": "int", "nullable": True, "metadata": "{}"},
        {"name": "p", "type": "string", "nullable": True, "metadata": '{"comment": "where"}'},
    ]
    asker.ask("create", table=SALES, columns=columns, partition=["p"], properties={})
    return asker


def files(asker: Asker, txn: str = "", where: str = "") -> Any:
    table = asker.ask("table", table=SALES, txn=txn)
    trees = [json.loads(wire_of(where))] if where else []
    return asker.ask("files", id=table["id"], position=table["position"], where=trees, txn=txn)


def test_every_word_is_described() -> None:
    assert questions.__doc__ is not None
    words = {
        word.strip("` ")
        for line in questions.__doc__.splitlines()
        if line.startswith("| ")
        for word in line.split("|")[1].split(",")
    }
    assert words - {"Word", "---"} == {*ANSWERS, *questions.OF_NO_CATALOG}


def test_a_table_is_answered_with_its_columns_as_sql_and_json(asker: Asker) -> None:
    found = asker.ask("table", table=SALES)
    assert (found["name"], found["partition"], found["pinned"]) == (SALES, ["p"], False)
    assert [(each["name"], each["type"]) for each in found["columns"]] == [
        ("id", "int"),
        ("p", "string"),
    ]
    assert json.loads(found["columns"][1]["metadata"]) == {"comment": "where"}
    assert asker.ask("tables", name="db") == ["sales"]
    assert asker.ask("namespaces", name="") == ["db"]


def test_a_write_in_a_txn(asker: Asker) -> None:
    txn = asker.ask("begin")
    asker.write(txn, "append", {"id": pa.array([1, 2], pa.int32())})
    assert files(asker)["paths"] == []
    assert files(asker, txn)["values"] == [["x"]]
    asker.ask("commit", txn=txn)
    asker.ask("close", txn=txn)
    found = files(asker)
    assert (found["groups"], found["group_of"], found["value_of"]) == ([[["id", ""]]], [0], [0])
    assert files(asker, where="(p = 'y')")["paths"] == []
    assert files(asker, where="(id > 7)")["paths"] == []
    assert files(asker, where="(id > 1)")["paths"] == found["paths"]


def test_rows_that_spark_did_not_check(asker: Asker, tmp_path: Path) -> None:
    """A table that got a constraint after Spark looked it up takes no rows that break it."""
    table = asker.ask("table", table=SALES)
    added = {"kind": "AddConstraint", "type": "Check", "name": "C", "condition": "(id > 0) IS TRUE"}
    about = {"table": SALES, "columns": table["columns"], "position": table["position"]}
    altered = asker.ask("alter", **about, changes=[added])
    assert altered["constraints"] == [{"name": "c", "condition": "id > 0"}]
    for checked in ([], [{"name": "c", "condition": "id > 1"}]):
        txn = asker.ask("begin")
        with pytest.raises(KeyError, match="answer"):
            asker.write(txn, "append", {"id": [None]}, constraints=checked)
        asker.ask("abort", txn=txn)
        assert list(tmp_path.rglob("*.parquet")) == []
        txn = asker.ask("begin")
        asker.write(txn, "append", {"id": [1]}, constraints=checked)
        asker.ask("abort", txn=txn)
    # Spark says that it has checked these rows.
    asker.write(asker.ask("begin"), "append", {"id": [0]}, constraints=altered["constraints"])


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("x > 0", "x > 0"),
        ("(x > 0) IS TRUE", "x > 0"),
        ("(x > 0) AND (y > 0) IS TRUE", "(x > 0) AND (y > 0) IS TRUE"),
        ("((x > 0) AND (y > 0)) IS TRUE", "(x > 0) AND (y > 0)"),
        ("(s = ')') IS TRUE", "s = ')'"),
    ],
)
def test_conditions_as_they_were_given(text: str, condition: str) -> None:
    assert condition_of(text) == condition


def test_an_empty_file_is_dropped(asker: Asker, tmp_path: Path) -> None:
    txn = asker.ask("begin")
    asker.write(txn, "append", {"id": pa.array([], pa.int32())})
    asker.ask("commit", txn=txn)
    assert files(asker)["paths"] == []
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.usefixtures("asker")
def test_a_commit_without_an_answer(memory: InMemoryLedger) -> None:
    assert isinstance(memory.log, MemoryLog)
    log = LossyLog(memory.log)
    impatient = Asker(memory.connect(log=log, settings=ClientSettings(timeout_s=1.0)))
    table = impatient.ask("table", table=SALES)
    about = {"id": table["id"], "position": table["position"], "txn": "", "mode": "append"}
    staged = impatient.ask("stage", **about)
    path = f"p=x/{staged['writer']}-0123456789abcdef-0.parquet"
    place = Path(staged["folder"].removeprefix("file:"), path)
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [1]}), place)
    log.away[Topic.EVENTS] = 10**9
    said = impatient.said("wrote", **about, write=staged["write"], files=[path], where=[])

    assert "may or may not be executed" in said["message"]
    other = memory.connect()
    assert other.scan(SALES).to_arrow().to_pylist() == [{"id": 1, "p": "x"}]


def test_files_that_cannot_be_brought_back(memory: InMemoryLedger, asker: Asker) -> None:
    """A rollback that fails deletes no file: earlier versions name them."""
    ledger = memory.connect()
    ledger.append(SALES, [{"id": 1, "p": "x"}])
    with ledger.transaction() as txn:
        txn.overwrite(SALES, [{"id": 2, "p": "x"}])
    ledger.alter_table(SALES, properties={"delta.appendOnly": "true"})
    said = asker.said("call", name="rollback_to_version", values=[SALES, "1"])

    assert "append" in said["message"]
    assert ledger.scan(SALES, version=1).to_arrow().to_pylist() == [{"id": 1, "p": "x"}]


def test_abort_after_close_never_fails(asker: Asker, tmp_path: Path) -> None:
    txn = asker.ask("begin")
    asker.write(txn, "append", {"id": [1]})
    for word in ("close", "abort", "close", "abort"):
        assert asker.said(word, txn=txn) == {"answer": None}
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("word", "asked", "kind"),
    [
        ("table", {"table": "db.nope"}, "NoSuchTable"),
        ("rename", {"table": "db.nope", "to": "db.other"}, "NoSuchTable"),
        ("table", {"table": SALES, "version": "9"}, "LEDGER_UNKNOWN_VERSION"),
        ("table", {"table": SALES, "txn": "ledger/99"}, "LEDGER_TXN_NOT_OPEN"),
        ("table", {"table": SALES, "catalog": "other"}, "LEDGER_NOT_ATTACHED"),
        ("procedure", {"name": "system.nope"}, "LEDGER_UNSUPPORTED"),
        ("drop_namespace", {"name": "db", "cascade": False}, "SCHEMA_NOT_EMPTY"),
        ("wrote", {"write": "1"}, "LEDGER_UNSUPPORTED"),
    ],
)
def test_refusals(asker: Asker, word: str, asked: dict[str, Any], kind: str) -> None:
    """Each refusal has a kind that Spark's side knows."""
    assert asker.said(word, **asked)["error"] == kind


def test_a_conflict_is_explained(asker: Asker) -> None:
    txn = asker.ask("begin")
    asker.write(txn, "append", {"id": [1]})
    asker.ask("commit", txn=txn)
    first, second = asker.ask("begin"), asker.ask("begin")
    for each in (first, second):
        gone = [[path, ""] for path in files(asker, each, "(id = 1)")["paths"]]
        asker.write(each, "update", {"id": [2]}, removed=gone)
    asker.ask("commit", txn=first)
    found = asker.said("commit", txn=second)
    assert found["error"].startswith("LEDGER_CONFLICT.CONCURRENT_")
    assert "UPDATE" in found["message"]
    assert "p=x" in found["message"] or "partition" in found["message"]


def call(asker: Asker, name: str, *values: str | None) -> list[list[str | None]]:
    asker.ask("procedure", name=f"system.{name}")
    found: list[list[str | None]] = asker.ask("call", name=name, values=list(values))["rows"]
    return found


def test_procedures(asker: Asker) -> None:
    """Each procedure does its work on files, or reports it."""
    for rows in ([1], [2], [3]):
        txn = asker.ask("begin")
        asker.write(txn, "append", {"id": rows}, name=str(rows[0]))
        asker.ask("commit", txn=txn)
    assert [row[2] for row in call(asker, "history", SALES)] == ["WRITE"] * 3 + ["CREATE TABLE"]
    assert call(asker, "optimize", SALES, "p = 'x'", None) == [["3", "1"]]
    assert call(asker, "rollback_to_version", SALES, "2") == [["1", "2"]]
    assert [row[0] for row in call(asker, "changes", SALES, "1", "2")] == ["2"]
    assert len(call(asker, "vacuum", SALES, "0", "true")) == 2
    every = call(asker, "vacuum", None, "0", "true")
    assert len(every) == 2
    assert all(str(row[0]).startswith("/") for row in every)
    assert call(asker, "conflicts", None) == []
    refused = asker.said("call", name="explain_conflict", values=["1"])
    assert "lost no conflict" in refused["message"]
    lost = asker.said("call", name="rollback_to_version", values=[SALES, "77"])
    assert "no version 77" in lost["message"]
