"""Published logs behind a cut: readers see what the ledger holds, and nothing that it lost."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.core.decide.cut import SeenBeforeCut
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.properties.column_mapping import PUBLISH
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from ledger.recovery.witnesses import Witness
from ledger.testing import InMemoryLedger
from projections.delta.actions.log_state import INTERVAL
from projections.delta.log.log_folder import LogFolder, version_file
from projections.delta.log.log_marks import mark_of
from projections.delta.publisher import DeltaPublisher, PublisherState
from projections.delta.table_cursor import PAUSE_MAX_S
from projections.delta.verify import verify_log
from tests.conformance.case_ledger import ManualClock
from tests.tables.delta_readers import READERS

deltalake = pytest.importorskip("deltalake")

BUSY, IDLE, GONE = "db.busy", "db.idle", "db.gone"
KEPT = 4
LOST = 6


class Cut:
    """A ledger of published tables whose log lost its end and was cut.

    `busy` lost its last versions. `idle` too, but no witness knows of them. `gone` is lost whole.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.clock = folder, MemoryLog(), ManualClock()
        with InMemoryLedger(log=self.log) as memory:
            ledger = memory.connect()
            for name in (BUSY, IDLE):
                self.create(ledger, name)
                self.fill(ledger, name, range(KEPT))
            kept = self.log.ends(Topic.EVENTS)[1]
            self.fill(ledger, BUSY, range(KEPT, KEPT + LOST))
            self.fill(ledger, IDLE, range(KEPT, KEPT + 1))
            self.create(ledger, GONE)
            self.fill(ledger, GONE, range(2))
            self.publish()
            last = ledger.token.position
        with self.log.changed:
            self.log.cut(Topic.EVENTS, kept)
        seen = SeenBeforeCut(last, 1, 40, 4, {1: (KEPT + LOST, KEPT + LOST)})
        found = survey(
            self.log, None, margin=0, listens_s=0.01, others=[Witness("rows elsewhere", seen)]
        )
        self.position = append_cut(self.log, found, "trial").control.position

    def create(self, ledger: Ledger, name: str) -> None:
        """Create a published table with a checkpoint at every third version."""
        properties = {PUBLISH: "delta", INTERVAL: "3"}
        ledger.create_table(
            name, [("id", "bigint")], location=self.folder / name, properties=properties
        )

    def fill(self, ledger: Ledger, name: str, numbers: range) -> None:
        for number in numbers:
            ledger.append(name, [{"id": number}])

    def publish(self, state: Path | None = None) -> DeltaPublisher:
        publisher = DeltaPublisher(self.log, state=PublisherState(state), clock=self.clock)
        stop = Signal()
        publisher.run(stop, stop.set)
        return publisher

    def read(self, name: str) -> list[int]:
        """Return the rows that another reader finds."""
        found = deltalake.DeltaTable(self.folder / name).to_pyarrow_table()["id"].to_pylist()
        return sorted(found)

    def aside(self, name: str) -> list[str]:
        place = self.folder / name / "_delta_log" / f"_lost_by_cut_{self.position}"
        return sorted(each.name for each in place.iterdir()) if place.exists() else []


@pytest.fixture
def cut(tmp_path: Path) -> Cut:
    """Return published tables behind a cut, which no publisher has read."""
    return Cut(tmp_path)


def test_readers_see_what_is_left(cut: Cut) -> None:
    assert (len(cut.read(BUSY)), len(cut.read(IDLE))) == (KEPT + LOST, KEPT + 1)
    publisher = cut.publish()

    assert not publisher.stopped
    assert cut.read(IDLE) == list(range(KEPT))
    assert cut.aside(IDLE) == [version_file(KEPT + 1)]
    assert [each for each in cut.aside(BUSY) if each.endswith(".json")] == [
        version_file(each) for each in range(KEPT + 1, KEPT + LOST + 1)
    ]
    assert "_last_checkpoint" in cut.aside(BUSY)
    with InMemoryLedger(log=cut.log) as memory:
        ledger = memory.connect()
        ledger.append(BUSY, [{"id": 100}])
        cut.create(ledger, GONE)
        ledger.append(GONE, [{"id": 100}])
        assert not cut.publish().stopped
        for name, rows in ((BUSY, [*range(KEPT), 100]), (IDLE, [*range(KEPT)]), (GONE, [100])):
            assert cut.read(name) == rows == sorted(ledger.scan(name).to_arrow()["id"].to_pylist())
            (row,) = [table for table in ledger.tables() if table.name == name]
            assert verify_log(Replay(cut.log), row.table).is_clean
    before = cut.aside(BUSY), cut.aside(GONE)
    assert len(before[1]) == 3
    cut.publish()
    assert (cut.aside(BUSY), cut.aside(GONE)) == before


def test_versions_that_could_not_be_set_aside_at_the_cut_are_set_aside_later(cut: Cut) -> None:
    log = cut.folder / IDLE / "_delta_log"
    in_the_way = log / f"_lost_by_cut_{cut.position}"
    in_the_way.write_text("in the way")
    publisher, stop, rounds = DeltaPublisher(cut.log, clock=cut.clock), Signal(), []

    def caught_up() -> None:
        rounds.append(cut.read(IDLE))
        if len(rounds) == 1:
            in_the_way.unlink()
        cut.clock.elapsed_s += PAUSE_MAX_S
        if len(rounds) == 3:
            stop.set()

    publisher.run(stop, caught_up)
    assert (rounds[0], rounds[-1]) == ([*range(KEPT + 1)], [*range(KEPT)])


def test_a_restart_sets_aside_what_came_back(cut: Cut, tmp_path: Path) -> None:
    state = tmp_path / "state"
    cut.publish(state)
    log = cut.folder / IDLE / "_delta_log"
    name = version_file(KEPT + 1)
    (log / name).write_bytes((log / f"_lost_by_cut_{cut.position}" / name).read_bytes())
    assert not cut.publish(state).stopped
    assert cut.read(IDLE) == [*range(KEPT)]


@pytest.mark.parametrize("mark", ["ledger", "position", "none"])
def test_what_is_not_lost_stays(cut: Cut, mark: str) -> None:
    """A version of another ledger, of a position outside the gap, or without a mark stays."""
    file = cut.folder / IDLE / "_delta_log" / version_file(KEPT + 1)
    lines = file.read_text().splitlines()
    info = json.loads(lines[0])
    own = info["commitInfo"]["lakeledger"]
    own |= {"ledger": "another"} if mark == "ledger" else {"position": cut.position + 1}
    if mark == "none":
        del info["commitInfo"]["lakeledger"]
    text = "\n".join([json.dumps(info), *lines[1:]]) + "\n"
    file.write_text(text)
    cut.publish()
    assert file.read_text() == text
    assert (mark_of(file.read_bytes()) is None) is (mark == "none")


def test_a_cured_log_goes_on_in_the_same_publisher(tmp_path: Path) -> None:
    clock, log = ManualClock(), MemoryLog()
    with InMemoryLedger(log=log) as memory:
        ledger = memory.connect()
        place = tmp_path / "t"
        ledger.create_table("t", [("id", "int")], location=place, properties={PUBLISH: "delta"})
        ledger.append("t", [{"id": 1}])
        foreign = place / "_delta_log" / version_file(1)
        foreign.parent.mkdir()
        foreign.write_text("{}\n")
        publisher, stop, seen = DeltaPublisher(log, clock=clock), Signal(), []

        def caught_up() -> None:
            seen.append(len(publisher.stopped_now()))
            if len(seen) == 1:
                LogFolder(str(place)).set_aside(foreign.name)
            clock.elapsed_s += PAUSE_MAX_S
            if len(seen) == 3:
                stop.set()

        publisher.run(stop, caught_up)
    assert (seen[0], seen[-1]) == (1, 0)
    assert deltalake.DeltaTable(place).to_pyarrow_table()["id"].to_pylist() == [1]


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_versions_that_never_were(cut: Cut, read: Callable[[str, int], pa.Table]) -> None:
    """One version and its checkpoint stand above lost ones; readers begin there, and travel."""
    held = deltalake.DeltaTable(cut.folder / BUSY, version=KEPT)
    cut.publish()
    with InMemoryLedger(log=cut.log) as memory:
        ledger = memory.connect()
        ledger.append(BUSY, [{"id": 100}])
        newest = ledger.table(BUSY).version
        assert newest > KEPT + LOST
        assert not cut.publish().stopped
    log = cut.folder / BUSY / "_delta_log"
    there = sorted(int(each.stem) for each in log.glob("*.json"))
    assert there == [*range(KEPT + 1), newest - 1, newest]
    folder = str(cut.folder / BUSY)
    for version, rows in ((newest, [*range(KEPT), 100]), (newest - 1, range(KEPT)), (2, [0, 1])):
        assert sorted(read(folder, version)["id"].to_pylist()) == [*rows]
    held.update_incremental()
    assert held.version() == newest
    assert sorted(held.to_pyarrow_table()["id"].to_pylist()) == [*range(KEPT), 100]
    assert not cut.publish().stopped
