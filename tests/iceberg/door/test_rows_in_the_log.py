"""Tables with rows in the log, at the door: a load and a commit put the rows into files first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from ledger.client import Ledger
from ledger.errors import AccessDeniedError
from ledger.reads.port import Reads
from ledger.testing import InMemoryLedger
from projections.web.iceberg.lake import FLUSHES
from tests.iceberg.door.doors import Door, MemorySource, answering
from tests.iceberg.door.test_clients import catalog, table_of

TABLE = "namespaces/db/tables/t"
ROWS = [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]
AWAY = (503, "ServiceUnavailableException")


def append(ledger: Ledger) -> None:
    """Append rows that lie in the log."""
    ledger.append("db.t", ROWS)
    assert blocks(ledger) > 0


def blocks(ledger: Ledger) -> int:
    return sum(each.blocks for each in ledger.reads().blocks(ledger.table("db.t").table))


@pytest.fixture
def filled(door: Door) -> Door:
    """Return a door to a ledger with one table, whose rows lie in the log."""
    door.ledger.create_table(
        "db.t", [("id", "bigint"), ("name", "string")], properties={"lakeledger.inline": "on"}
    )
    append(door.ledger)
    return door


class RacedLedger:
    """A client beside which others append to the table, before each of its first commits."""

    def __init__(self, ledger: Ledger, race: Callable[[], None], races: int) -> None:
        self._ledger, self._race, self.left = ledger, race, races

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def run(self, work: Callable[[Any], Any], *given: Any, **more: Any) -> Any:
        def raced(txn: Any) -> Any:
            done = work(txn)
            if self.left:
                self.left -= 1
                self._race()
            return done

        return self._ledger.run(raced, *given, **more)


class RacedSource(MemorySource):
    """Connects to a ledger in memory; other clients append to the table during its flushes."""

    def __init__(self, memory: InMemoryLedger, warehouse: Path, races: int) -> None:
        super().__init__(memory, warehouse)
        self._others, self._races = memory.connect(), races

    def connect(self, reads: Reads, user: str | None) -> Ledger:
        ledger = super().connect(reads, user)
        return cast(Ledger, RacedLedger(ledger, lambda: append(self._others), self._races))


class DeniedSource(MemorySource):
    """Connects to a ledger in memory to which it may not write."""

    def connect(self, reads: Reads, user: str | None) -> Ledger:  # noqa: ARG002 - a source's
        """Refuse every client."""
        raise AccessDeniedError("the user may not write", topic="commands", right="WRITE")


@contextmanager
def raced(memory: InMemoryLedger, folder: Path, races: int) -> Iterator[Door]:
    """Answer while others append to the table at so many flushes."""
    with answering(memory, folder, source=RacedSource(memory, folder, races)) as door:
        yield door


def test_a_load_puts_the_rows_into_files(filled: Door) -> None:
    found = catalog(filled).load_table("db.t").scan().to_arrow().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == ROWS
    assert blocks(filled.ledger) == 0
    assert filled.ask(TABLE).status == 200
    newest = filled.ledger.reads().version_row(filled.ledger.table("db.t").table)
    assert newest is not None
    assert newest.operation == "FLUSH"


def test_a_load_beside_an_append_shows_the_flush_before_it(
    filled: Door, memory: InMemoryLedger, tmp_path: Path
) -> None:
    with raced(memory, tmp_path, 1) as door:
        found = catalog(door).load_table("db.t").scan().to_arrow()
        assert found.num_rows == 4
        assert filled.ledger.scan("db.t").count() == 4


def test_a_load_is_put_off_while_rows_come_again_and_again(
    filled: Door, memory: InMemoryLedger, tmp_path: Path
) -> None:
    with raced(memory, tmp_path, 99) as door:
        answer = door.ask(TABLE)
        assert answer.error == AWAY
        assert answer.headers["retry-after"] == "1"
        assert "rows in the log" in answer.form["error"]["message"]
        assert filled.ledger.scan("db.t").count() == 2 + 2 * FLUSHES


def test_a_pinned_catalog_refuses_a_position_with_rows_in_the_log(filled: Door) -> None:
    position = filled.ledger.reads().position()
    assert filled.ask(TABLE).status == 200
    answer = filled.ask(f"/v1/main@{position}/{TABLE}")
    assert answer.error == (400, "BadRequestException")
    assert "OPTIMIZE" in answer.form["error"]["message"]


def test_a_catalog_that_may_not_write_says_what_helps(
    filled: Door, memory: InMemoryLedger, tmp_path: Path
) -> None:
    with answering(memory, tmp_path, source=DeniedSource(memory, tmp_path)) as door:
        answer = door.ask(TABLE)
        assert answer.error == (400, "BadRequestException")
        assert "OPTIMIZE" in answer.form["error"]["message"]
    assert blocks(filled.ledger) > 0


def test_a_catalog_without_the_key_of_encrypted_rows_says_so(
    door: Door, memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger = memory.connect(keys=tmp_path / "keys", warehouse=tmp_path)
    properties = {"lakeledger.inline": "on", "lakeledger.inline.encrypted": "true"}
    ledger.create_table("db.t", [("id", "bigint"), ("name", "string")], properties=properties)
    append(ledger)
    table = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
    for answer in (door.ask(TABLE), door.post(TABLE, table)):
        assert answer.error == (400, "BadRequestException")
        assert "key" in answer.form["error"]["message"]
    ledger.run(lambda txn: txn.flush("db.t"))
    assert door.ask(TABLE).status == 200


def test_a_client_writes_to_a_table_with_rows_in_the_log(filled: Door) -> None:
    table = catalog(filled).load_table("db.t")
    append(filled.ledger)
    table.append(table_of([{"id": 3, "name": "eve"}]))
    assert filled.ledger.scan("db.t").count() == 5
    append(filled.ledger)
    table = catalog(filled).load_table("db.t")
    table.delete("id = 1")
    found = catalog(filled).load_table("db.t").scan().to_arrow()["id"].to_pylist()
    assert sorted(found) == [2, 2, 2, 3]


def test_a_scan_of_a_loaded_snapshot_is_planned_after_later_appends(filled: Door) -> None:
    first = filled.ask(TABLE).form["metadata"]["current-snapshot-id"]
    append(filled.ledger)
    second = filled.ask(TABLE).form["metadata"]["current-snapshot-id"]
    append(filled.ledger)
    for snapshot, files in ((first, 1), (second, 2)):
        plan = filled.post(f"{TABLE}/plan", {"snapshot-id": snapshot})
        assert len(plan.form["file-scan-tasks"]) == files
    assert blocks(filled.ledger) == 1


def test_a_commit_is_refused_as_a_conflict_while_rows_come_again_and_again(
    filled: Door, memory: InMemoryLedger, tmp_path: Path
) -> None:
    """Clients load the table again then, and try again."""
    table = catalog(filled).load_table("db.t")
    append(filled.ledger)
    request = {
        "requirements": [{"type": "assert-table-uuid", "uuid": str(table.metadata.table_uuid)}],
        "updates": [{"action": "set-properties", "updates": {"owner": "ada"}}],
    }
    with raced(memory, tmp_path, 99) as door:
        assert door.post(TABLE, request).error == (409, "CommitFailedException")
    assert filled.post(TABLE, request).status == 200
