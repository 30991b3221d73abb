"""Commands over the rows of tables, against a whole ledger of this machine."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.machine.exit_codes import ExitCode
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from ledger.reads.remote.http import HttpReads
from projections.queries import open_reads
from tests.command_line import invoked

pytestmark = pytest.mark.kafka
TABLE = "db.visits"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path_factory.mktemp("home"))) as up:
        yield up


def test_a_table_from_rows_to_vacuum(up: Running, tmp_path: Path) -> None:
    """Rows are queried, put into larger files, followed by their changes, and cleaned up."""
    assert up.address.store is not None
    home = str(up.address.store.parent.parent)

    def run(*arguments: str) -> list[Any]:
        done = invoked(*arguments, "--output", "json", LAKELEDGER_HOME=home)
        assert done.exit_code == ExitCode.DONE, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    with (
        closing(open_reads(up.address.store)) as reads,
        Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
    ):
        columns = [("id", "bigint"), ("page", "string")]
        ledger.create_table(TABLE, columns, location=str(tmp_path))
        for number in range(3):
            with ledger.transaction() as txn:
                txn.insert(TABLE, [{"id": number, "page": "a"}])
        with ledger.transaction() as txn:
            txn.update(TABLE, {"page": "'b'"}, "id = 2")

    assert run("table", "optimize", TABLE) == [{"table": TABLE, "removed": 3, "added": 1}]
    query = "SELECT page, count(*) AS n FROM db.visits GROUP BY ALL ORDER BY ALL"
    assert run("sql", query) == [{"page": "a", "n": 2}, {"page": "b", "n": 1}]
    changed = run("table", "changes", TABLE, "--rows", "--after", "3")
    assert [(each["_change_type"], each["page"]) for each in changed] == [
        ("update_preimage", "a"),
        ("update_postimage", "b"),
    ]
    (cleaned,) = run("table", "vacuum", TABLE, "--older-than", "0", "--yes")
    assert [each["why"] for each in cleaned["files"]] == ["released"] * 4
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert run("sql", query) == [{"page": "a", "n": 2}, {"page": "b", "n": 1}]
    with (
        closing(open_reads(up.address.store)) as reads,
        Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
    ):
        dropped = ledger.drop_table(cleaned["id"])
        ledger.wait(dropped.position)
    for all_or_one in (["--all"], [TABLE], [str(cleaned["id"])]):
        (waits,) = run("table", "vacuum", *all_or_one, "--older-than", "0", "--dry-run")
        assert len(waits["files"]) == 1, all_or_one
    (gone,) = run("table", "vacuum", "--all", "--older-than", "0", "--yes")
    assert gone["files"] == waits["files"]
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_delta_table_taken_over_and_given_back(up: Running, tmp_path: Path) -> None:
    """A Delta table is imported, adopted, compared with its log, cured, and released."""
    deltalake = pytest.importorskip("deltalake")
    pa = pytest.importorskip("pyarrow")
    assert up.address.store is not None
    home = str(up.address.store.parent.parent)

    def run(*arguments: str, code: ExitCode = ExitCode.DONE) -> Any:
        done = invoked(*arguments, "--output", "json", LAKELEDGER_HOME=home)
        assert done.exit_code == code, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    deltalake.write_deltalake(tmp_path, pa.table({"id": [1, 2]}))
    run("import", "delta", str(tmp_path), "--table", "db.old")
    (adopted,) = run("table", "adopt", "db.old")
    assert (adopted["delta_version"], adopted["newest"], adopted["stopped"]) == (0, 1, "")
    run("table", "adopt", "db.old", code=ExitCode.FAILED)

    foreign = tmp_path / "_delta_log" / f"{2:020}.json"
    foreign.write_text('{"commitInfo":{"operation":"WRITE"}}\n')
    (found,) = run("table", "verify", "db.old", code=ExitCode.FAILED)
    assert [(each["version"], each["finding"]) for each in found["findings"]] == [(2, "foreign")]
    run("table", "verify", "db.old", "--publish", code=ExitCode.USAGE)
    (found,) = run("table", "verify", "db.old", "--publish", "--yes")
    assert (found["compared"], found["findings"]) == (1, [])

    (released,) = run("table", "release", "db.old")
    assert (released["newest"], released["written"]) == (2, 1)
    deltalake.write_deltalake(tmp_path, pa.table({"id": [3]}), mode="append")
    assert deltalake.DeltaTable(tmp_path).version() == 3


def test_up_with_a_publisher(tmp_path: Path) -> None:
    """A publisher of `up` publishes, is shown by `status`, and ends with the others."""
    deltalake = pytest.importorskip("deltalake")
    home = tmp_path / "home"
    with running(UpSettings(home=home, with_publisher=True)) as up:
        assert up.address.store is not None
        with (
            closing(open_reads(up.address.store)) as reads,
            Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
        ):
            ledger.create_table(
                TABLE,
                [("id", "bigint")],
                location=str(tmp_path / "visits"),
                properties={"lakeledger.publish": "delta"},
            )
            with ledger.transaction() as txn:
                txn.insert(TABLE, [{"id": 1}])
            written = ledger.token.position
        with closing(HttpReads(str(up.address.publisher_url))) as publisher:
            publisher.wait(written, 10_000)
        done = invoked("status", "--output", "json", LAKELEDGER_HOME=str(home))
        status = json.loads(done.stdout)["publisher"]
        assert (status["tables"], status["stopped"], status["is_caught_up"]) == (1, [], True)
        assert deltalake.DeltaTable(tmp_path / "visits").to_pyarrow_table().to_pylist() == [
            {"id": 1}
        ]
        assert "publisher" in up.roles()
