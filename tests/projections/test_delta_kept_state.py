"""The kept state of a publisher: a restart costs what is new, and no byte depends on the state."""

import shutil
from collections.abc import Collection
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.events.events import Body
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from projections.delta.actions.log_state import INTERVAL
from projections.delta.kept_rows import FORMAT
from projections.delta.log.log_folder import LAST_CHECKPOINT, version_file
from projections.delta.publication import Publication
from projections.delta.published_log import DeltaVersion, Outcome
from projections.delta.publisher import DeltaPublisher, PublisherState
from projections.fold.fold import Fold
from projections.rows.applied import Applied
from projections.store.batch import LateChange
from projections.store.memory import MemoryStore
from projections.store.rocks_store import RocksStore
from tests.core.histories import Step
from tests.projections.filing import commit, filings
from tests.projections.followed import PATIENT
from tests.projections.published import outcomes, played, published
from tests.projections.test_delta_log_writer import content
from tests.projections.test_delta_publication import BY_DAY, Lake
from tests.projections.test_delta_publisher import two_tables


class CountedLog(MemoryLog):
    """A log in memory that notes where the events are read from."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__()
        self.topics, self.changed = log.topics, log.changed
        self.read_from: list[int] = []

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        if topic is Topic.EVENTS:
            self.read_from.append(offset)
        return super().reader(topic, offset)


def run(lake: Lake, folder: Path) -> tuple[DeltaPublisher, int]:
    """Publish a log up to its end with a kept state; return from where the events were read."""
    log, stop = CountedLog(lake.log), Signal()
    publisher = DeltaPublisher(log, state=PublisherState(folder))
    publisher.run(stop, stop.set)
    return publisher, min(log.read_from)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a domain with two published tables, one with a checkpoint at every second version."""
    made = two_tables(tmp_path)
    definition = made.state.tables.by_id[made.table].definition
    made.alter(published(definition, **{INTERVAL: "2"}))
    for each in "abc":
        commit(made, made.session, made.table, [each])
    return made


def undisturbed(lake: Lake, folder: Path) -> dict[str, Any]:
    """Return what a publisher without a state writes, in the place of what is there."""
    kept = {name: content(folder / name) for name in "ab"}
    for name in "ab":
        shutil.rmtree(folder / name)
    publisher, stop = DeltaPublisher(lake.log), Signal()
    publisher.run(stop, stop.set)
    found = {name: content(folder / name) for name in "ab"}
    assert kept == found
    return found


def test_restart_reads_what_is_new(lake: Lake, tmp_path: Path) -> None:
    first, began = run(lake, tmp_path / "state")
    assert (began, first.checkpointed) == (0, lake.head.position)
    before = lake.log.ends(Topic.EVENTS)[1]
    for _ in range(2):
        commit(lake, lake.session, lake.table, ["d"], ["a"])
    second, began = run(lake, tmp_path / "state")

    assert (began, second.written, second.stopped) == (before - 1, 2, {})
    assert second.position == second.checkpointed == lake.head.position
    assert undisturbed(lake, tmp_path)


def test_a_lost_state_costs_a_restart_time_only(lake: Lake, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run(lake, state)
    for each in state.rglob("*"):
        if each.is_file():
            each.write_bytes(b"no rows")
    commit(lake, lake.session, lake.table, ["d"])
    assert run(lake, state)[1] == 0
    assert run(lake, state)[1] > 0

    with RocksStore.open(state, version=FORMAT):
        assert run(lake, state)[1] == 0
    assert run(lake, state)[1] > 0

    with RocksStore.rebuild(state, version=FORMAT - 1) as former:
        former.publish()
    assert run(lake, state)[1] == 0
    assert run(lake, state)[1] > 0

    shutil.rmtree(state)
    state.write_text("no folder")
    assert run(lake, state)[1] == 0
    assert undisturbed(lake, tmp_path)


def test_a_stale_state_gives_the_same_bytes(lake: Lake, tmp_path: Path) -> None:
    run(lake, tmp_path / "state")
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    length = lake.log.ends(Topic.EVENTS)[1]
    commit(lake, lake.session, lake.table, ["d"])
    run(lake, tmp_path / "state")
    found, began = run(lake, tmp_path / "old")
    assert (began, found.written) == (length - 1, 0)

    other = Lake(BY_DAY._replace(location=str(tmp_path / "other")))
    for _ in range(length):
        commit(other, other.session, other.table, ["x"])
    found, began = run(other, tmp_path / "state")
    assert (began, found.stopped, found.position) == (0, {}, other.head.position)
    assert run(other, tmp_path / "state")[1] > 0
    assert undisturbed(lake, tmp_path)


@pytest.mark.parametrize("newest", [0, 3])
def test_deleted_versions_are_written_again(lake: Lake, tmp_path: Path, newest: int) -> None:
    run(lake, tmp_path / "state")
    log = tmp_path / "a" / "_delta_log"
    for each in log.iterdir():
        if each.name == LAST_CHECKPOINT or int(each.name[:20]) >= newest:
            each.unlink()
    run(lake, tmp_path / "state")
    assert undisturbed(lake, tmp_path)


@pytest.mark.parametrize("name", [version_file(3), LAST_CHECKPOINT])
def test_a_lost_file_of_the_middle_is_written_again(lake: Lake, tmp_path: Path, name: str) -> None:
    run(lake, tmp_path / "state")
    (tmp_path / "a" / "_delta_log" / name).unlink()
    assert run(lake, tmp_path / "state")[1] == 0
    assert run(lake, tmp_path / "state")[1] > 0
    assert undisturbed(lake, tmp_path)


def test_a_foreign_file_stops_its_table_after_a_restart_too(lake: Lake, tmp_path: Path) -> None:
    foreign = tmp_path / "a" / "_delta_log" / version_file(2)
    foreign.parent.mkdir(parents=True)
    foreign.write_text("{}\n")
    (stopped,) = run(lake, tmp_path / "state")[0].stopped.values()
    commit(lake, lake.session, lake.table, ["d"])
    again, began = run(lake, tmp_path / "state")
    assert (list(again.stopped.values()), began > 0) == ([stopped], True)

    foreign.unlink()
    assert run(lake, tmp_path / "state")[0].stopped == {}
    assert undisturbed(lake, tmp_path)


def test_refused_versions_wait_in_the_rows(lake: Lake, tmp_path: Path) -> None:
    in_the_way = tmp_path / "a"
    in_the_way.write_text("no folder")
    run(lake, tmp_path / "state")
    commit(lake, lake.session, lake.table, ["d"])
    again, began = run(lake, tmp_path / "state")
    assert (len(again.stopped), again.written, began > 0) == (1, 0, True)

    in_the_way.unlink()
    last, began = run(lake, tmp_path / "state")
    assert (last.stopped, last.written, began > 0) == ({}, 7, True)
    assert undisturbed(lake, tmp_path)


def outcomes_in_parts(log: MemoryLog, cuts: Collection[int]) -> list[Any]:
    """Return what publications make of a log, of which a new one starts after each cut."""
    store, found = MemoryStore(), list[Any]()

    def loaded() -> Fold:
        publication = Publication.load(store)

        def rows_of(applied: Applied, body: Body) -> list[LateChange]:
            outcomes, rows = publication.take(applied, body)
            found.extend(map(plain, outcomes))
            return rows

        return Fold.load(store, log, rows_of=rows_of)

    fold, records = loaded(), log.topics[Topic.EVENTS].records
    for number, record in enumerate(records):
        fold.feed([record])
        if number in cuts:
            fold.store_checkpoint()
            fold = loaded()
            fold.feed(records[fold.offset : number + 1])
    return found


@given(filings(), st.sets(st.integers(0, 200), max_size=6))
@PATIENT
def test_rows_loaded_anywhere_make_the_same_versions(history: list[Step], cuts: set[int]) -> None:
    writers = played(history)

    assert outcomes_in_parts(writers.log, cuts) == [
        plain(each) for each in outcomes(writers.events)
    ]


def plain(outcome: Outcome) -> Any:
    """Return an outcome without the order of its files in memory."""
    if not isinstance(outcome, DeltaVersion) or outcome.state is None:
        return outcome
    return outcome._replace(state=None), list(outcome.state.actions())
