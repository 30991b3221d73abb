"""Delta tables that the ledger takes over and gives back, as `deltalake` finds them."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.schema import ADOPTED
from ledger.errors import ConflictError
from ledger.log.replay import Replay
from ledger.properties.column_mapping import PUBLISH
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger
from projections.delta.adopting import LogOwner, NotAdoptableError, publish_table
from projections.delta.publisher import DeltaPublisher
from projections.delta.verify import verify_log
from tests.tables.delta_readers import with_delta

pa = pytest.importorskip("pyarrow")
deltalake = pytest.importorskip("deltalake")

NAME = "db.trips"


class Taking:
    """A ledger in memory with the import of a Delta table, which is taken over or given back."""

    def __init__(self, memory: InMemoryLedger, path: Path) -> None:
        self.memory = memory
        self.path = path
        self.ledger: Ledger = memory.connect()
        self.owner = LogOwner(self.ledger, memory.log)

    @property
    def row(self) -> TableRow:
        found = self.ledger.reads().table_named(self.ledger.catalog, NAME)
        assert found is not None
        return found

    def make(self) -> None:
        """Make a Delta table of four versions, with a partition that holds NULL."""
        deltalake.write_deltalake(self.path, rows(1, 2, None), partition_by=["day"])
        self.append(3)
        deltalake.DeltaTable(self.path).delete("id = 2")
        self.append(4)

    def append(self, *days: int | None) -> None:
        """Append to the Delta table as an old writer does."""
        deltalake.write_deltalake(self.path, rows(*days), mode="append")

    def take(self) -> None:
        import_delta(self.ledger, self.path, NAME)

    def insert(self, number: int) -> None:
        with self.ledger.transaction() as txn:
            txn.insert(NAME, [{"id": number, "day": number}])

    def publish(self) -> DeltaPublisher:
        publisher, stop = DeltaPublisher(self.memory.log), Signal()
        publisher.run(stop, stop.set)
        return publisher

    def read(self, version: int | None = None) -> list[int]:
        """Return the rows that the old reader finds."""
        table = deltalake.DeltaTable(self.path, version=version)
        found: list[int] = table.to_pyarrow_table()["id"].to_pylist()
        return sorted(found)

    def scan(self) -> list[int]:
        found: list[int] = self.ledger.scan(NAME).to_arrow()["id"].to_pylist()
        return sorted(found)

    def log_file(self, version: int) -> Path:
        return self.path / "_delta_log" / f"{version:020}.json"

    def actions(self, version: int) -> dict[str, Any]:
        lines = self.log_file(version).read_text().splitlines()
        return {key: each for line in lines for key, each in json.loads(line).items()}


def rows(*days: int | None) -> Any:
    return pa.table(
        {"id": pa.array([9 if day is None else day for day in days]), "day": pa.array(days)}
    )


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Taking]:
    """Return an imported table that is not adopted yet."""
    with InMemoryLedger() as memory:
        taking = Taking(memory, tmp_path / "trips of a year")
        taking.make()
        taking.take()
        yield taking


def test_version_numbers_go_on(taking: Taking) -> None:
    before = deltalake.DeltaTable(taking.path)
    found = taking.owner.adopt(taking.row)

    assert (found.imported.delta_version, found.log) == (3, (4, 1, ""))
    assert before.version() == 3
    before.update_incremental()
    assert before.version() == 4
    assert before.metadata().id == deltalake.DeltaTable(taking.path, version=0).metadata().id
    taking.insert(5)
    taking.ledger.run(lambda txn: txn.delete(NAME, "id = 9"))
    publisher = taking.publish()
    assert (publisher.written, dict(publisher.stopped)) == (2, {})
    assert [taking.read(each) for each in range(7)] == [
        [1, 2, 9],
        [1, 2, 3, 9],
        [1, 3, 9],
        *[[1, 3, 4, 9]] * 2,
        [1, 3, 4, 5, 9],
        [1, 3, 4, 5],
    ]
    assert taking.read() == taking.scan()
    assert verify_log(Replay(taking.memory.log), taking.row.table).is_clean
    assert taking.publish().written == 0


def test_a_checkpoint_of_an_adopted_log_has_the_files_of_both_times(taking: Taking) -> None:
    taking.owner.adopt(taking.row)
    taking.ledger.alter_table(NAME, properties={"delta.checkpointInterval": "3"})
    taking.insert(5)
    taking.insert(6)
    assert not taking.publish().stopped
    for version in range(6):
        taking.log_file(version).unlink()

    assert deltalake.DeltaTable(taking.path).version() == 7
    assert taking.read(6) == [1, 3, 4, 5, 9]
    assert taking.read() == taking.scan() == [1, 3, 4, 5, 6, 9]
    released = taking.owner.release(taking.row)
    assert (released.newest, released.written, released.stopped) == (8, 1, "")
    taking.append(7)
    assert taking.read() == [1, 3, 4, 5, 6, 7, 9]


def test_publisher_without_retention_goes_on(taking: Taking) -> None:
    taking.owner.adopt(taking.row)
    taking.ledger.alter_table(NAME, properties={"delta.checkpointInterval": "3"})
    taking.insert(5)
    taking.publish()
    for version in range(6):
        taking.log_file(version).unlink()
    taking.insert(6)
    assert not taking.publish().stopped
    assert taking.read() == taking.scan()


def test_an_old_writer_is_refused_from_adoption_to_release(taking: Taking) -> None:
    taking.append(5)
    assert taking.owner.adopt(taking.row).imported.delta_version == 4
    table = deltalake.DeltaTable(taking.path)
    for write in (partial(taking.append, 6), partial(table.delete, "id = 1")):
        with pytest.raises(deltalake.exceptions.DeltaError, match="lakeledger"):
            write()
    taking.insert(7)
    released = taking.owner.release(taking.row)

    assert (released.newest, released.stopped) == (7, "")
    assert set(taking.actions(7)["protocol"]["writerFeatures"]) == {"appendOnly", "invariants"}
    assert "delta.enableInCommitTimestamps" not in taking.actions(7)["metaData"]["configuration"]
    taking.append(8)
    deltalake.DeltaTable(taking.path).delete("id = 1")
    assert taking.read() == [3, 4, 5, 7, 8, 9]
    assert taking.publish().written == 0


def test_duckdb_reads_an_adopted_table_and_writes_once_it_is_released(taking: Taking) -> None:
    taking.owner.adopt(taking.row)
    duckdb = with_delta()
    rows = duckdb.execute("SELECT id FROM delta_scan(?)", [str(taking.path)]).fetchall()
    assert sorted(rows) == [(each,) for each in taking.scan()]
    for is_released in (False, True):
        duckdb.execute(f"ATTACH '{taking.path}' AS trips (TYPE delta)")
        with nullcontext() if is_released else pytest.raises(Exception, match="lakeledger"):
            duckdb.execute("INSERT INTO trips VALUES (7, 7)")
        duckdb.execute("DETACH trips")
        if not is_released:
            taking.owner.release(taking.row)
    assert taking.read() == [1, 3, 4, 7, 9]


def test_log_whose_beginning_is_gone(taking: Taking) -> None:
    """A Delta table without its early versions keeps its numbers: version 0 here is another one."""
    folder = taking.path.parent / "later"
    taking.path.rename(folder)
    taking.path = folder
    deltalake.DeltaTable(folder).create_checkpoint()
    for version in range(3):
        taking.log_file(version).unlink()
    import_delta(taking.ledger, folder, "db.later")
    row = taking.ledger.reads().table_named(taking.ledger.catalog, "db.later")
    assert row is not None
    found = taking.owner.adopt(row)

    assert (row.version, found.log.newest) == (0, 4)
    metadata = taking.actions(4)["metaData"]
    assert metadata["configuration"]["delta.inCommitTimestampEnablementVersion"] == "4"
    assert taking.read() == [1, 3, 4, 9]


def test_commit_between_import_and_adoption(taking: Taking) -> None:
    def late(done: int, end: int) -> None:
        # The events are read once before the table is altered, and once behind that.
        if done == end and not taking.log_file(4).exists():
            taking.append(5)

    found = taking.owner._replace(progress=late).adopt(taking.row)

    assert (found.log.newest, found.log.written) == (-1, 0)
    assert f"{4:020}.json" in found.log.stopped
    assert "WRITE by delta-rs" in found.log.stopped
    assert taking.read() == [1, 3, 4, 5, 9]


def test_a_writer_that_ignores_the_protocol_is_found_and_named(taking: Taking) -> None:
    taking.owner.adopt(taking.row)
    foreign = {"commitInfo": {"operation": "DELETE", "engineInfo": "old one"}}
    taking.log_file(5).write_text(json.dumps(foreign) + "\n")
    taking.insert(5)
    (stopped,) = taking.publish().stopped.values()

    assert (stopped.name, stopped.version) == (NAME, 5)
    assert "DELETE by old one" in stopped.reason


def test_an_import_following_or_not_ends_once_its_table_is_adopted(taking: Taking) -> None:
    stop, done = Signal(), []

    def progress(version: int, _newest: int) -> None:
        done.append(version)
        if len(done) == 1:
            taking.owner.adopt(taking.row)

    taking.append(5)
    with pytest.raises(ConflictError, match="adopted"):
        import_delta(
            taking.ledger, taking.path, NAME, follow=True, stop=stop, poll_s=0, progress=progress
        )
    with pytest.raises(ConflictError, match="adopted"):
        taking.take()
    assert taking.read() == taking.scan() == [1, 3, 4, 5, 9]


def test_own_times_go_on(taking: Taking) -> None:
    first = taking.log_file(4)
    metadata = {**taking.actions(0)["metaData"]}
    begun = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "4",
        "delta.inCommitTimestampEnablementTimestamp": "1700000000000",
    }
    features = ["appendOnly", "inCommitTimestamp", "invariants"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    said = [
        {"commitInfo": {"inCommitTimestamp": 1700000000000, "timestamp": 1700000000000}},
        {"protocol": protocol},
        {"metaData": {**metadata, "configuration": begun}},
    ]
    first.write_text("".join(f"{json.dumps(each)}\n" for each in said))
    taking.owner.adopt(taking.row)
    taking.owner.release(taking.row)

    assert taking.actions(5)["metaData"]["configuration"] == begun
    assert "metaData" not in taking.actions(6)
    assert taking.actions(6)["protocol"]["writerFeatures"] == features


def test_a_table_that_no_log_can_go_on_for_is_refused(taking: Taking, tmp_path: Path) -> None:
    ledger, owner = taking.ledger, taking.owner
    with pytest.raises(NotAdoptableError, match="not published"):
        owner.release(taking.row)
    taking.insert(5)
    before = taking.row
    with pytest.raises(NotAdoptableError, match="written here too"):
        owner.adopt(before)
    assert taking.row == before

    location = str(tmp_path / "own")
    ledger.create_table("own", [("id", "bigint")], location=location)
    own = ledger.reads().table_named(ledger.catalog, "own")
    assert own is not None
    with pytest.raises(NotAdoptableError, match="not imported"):
        owner.adopt(own)
    ledger.alter_table("own", properties={PUBLISH: "delta"})
    own = ledger.reads().table(own.table)
    assert own is not None
    with pytest.raises(NotAdoptableError, match="published already"):
        owner.adopt(own)
    owner.release(own)
    assert deltalake.DeltaTable(location).version() == 2


@pytest.mark.parametrize("spelling", ["folder", "link", "another ledger", "another ledger's link"])
def test_one_log_has_one_owner(taking: Taking, tmp_path: Path, spelling: str) -> None:
    place = taking.path
    if spelling.endswith("link"):
        place = tmp_path / "linked"
        place.symlink_to(taking.path)
    with InMemoryLedger() as elsewhere:
        is_own = not spelling.startswith("another")
        ledger = taking.ledger if is_own else elsewhere.connect()
        log = taking.memory.log if is_own else elsewhere.log
        import_delta(ledger, place, "db.again")
        taking.owner.adopt(taking.row)
        taking.insert(5)
        taking.publish()
        row = ledger.reads().table_named(ledger.catalog, "db.again")
        assert row is not None
        with pytest.raises(NotAdoptableError, match=r"owner|belongs to table"):
            LogOwner(ledger, log).adopt(row)
        assert ledger.reads().table_named(ledger.catalog, "db.again") == row
        if not is_own:
            ledger.create_table("db.over", [("id", "bigint")], location=place)
            over = ledger.reads().table_named(ledger.catalog, "db.over")
            assert over is not None
            assert "belongs to table" in publish_table(ledger, over)
        taking.owner.release(taking.row)
        assert LogOwner(ledger, log).adopt(row).log.stopped == ""
        ledger.append("db.again", [{"id": 6, "day": 6}])
        publisher, stop = DeltaPublisher(log), Signal()
        publisher.run(stop, stop.set)
        assert not publisher.stopped
    assert taking.read() == [1, 3, 4, 5, 6, 9]


def test_the_log_of_a_table_that_was_dropped_is_free_to_be_adopted_again(taking: Taking) -> None:
    taking.owner.adopt(taking.row)
    taking.ledger.drop_table(NAME)
    taking.take()
    assert taking.owner.adopt(taking.row).log.stopped == ""
    taking.insert(5)
    assert not taking.publish().stopped
    assert taking.read() == taking.scan() == [1, 3, 4, 5, 9]


def test_future_times_are_refused(taking: Taking) -> None:
    """Times of versions rise, so a version from the future must pass first."""
    taking.log_file(4).write_text('{"commitInfo":{"timestamp":99999999999999}}\n')
    with pytest.raises(NotAdoptableError, match="99999999999999"):
        taking.owner.adopt(taking.row)


def test_table_that_no_log_can_have(taking: Taking) -> None:
    metadata = taking.actions(0)["metaData"]
    fields = json.loads(metadata["schemaString"])["fields"]
    odd = {"name": "odd", "type": "interval day", "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [*fields, odd]})
    said = {"metaData": {**metadata, "schemaString": schema}}
    taking.log_file(4).write_text(f"{json.dumps(said)}\n")
    with pytest.raises(NotAdoptableError, match="interval day"):
        taking.owner.adopt(taking.row)
    assert taking.row.version == 4


def test_a_value_that_no_adoption_has_set_stops_the_table_by_name(taking: Taking) -> None:
    taking.ledger.alter_table(NAME, properties={PUBLISH: "delta", ADOPTED: "odd"})
    (stopped,) = taking.publish().stopped.values()
    assert ADOPTED in stopped.reason
