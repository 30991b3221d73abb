"""A storage that refuses versions stops its table until it takes them again, and no longer."""

from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal

import pytest

from ledger.errors import StorageError
from ledger.reads.remote.publisher import StoppedStatus
from projections.delta.actions.metadata_action import FOLDER
from projections.delta.log.log_folder import version_file
from projections.delta.publisher import DeltaPublisher, PublisherState
from projections.delta.table_cursor import PAUSE_MAX_S, PAUSE_S, TableCursor
from tests.conformance.case_ledger import ManualClock
from tests.projections.filing import commit
from tests.projections.published import published, versions
from tests.projections.test_delta_log_writer import content
from tests.projections.test_delta_publisher import run, two_tables

Then = Callable[[DeltaPublisher], None]


class Refused:
    """Two published tables, of which the log of the first lies where a file is in the way."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lake, self.clock = folder, two_tables(folder), ManualClock()
        self.log = folder / "a" / "_delta_log"
        self.log.parent.mkdir()
        self.log.write_text("in the way")

    def publisher(self, state: Path | None = None, **bounds: int) -> DeltaPublisher:
        return DeltaPublisher(
            self.lake.log, clock=self.clock, state=PublisherState(state, **bounds)
        )

    def commit(self, count: int = 1) -> None:
        for _ in range(count):
            commit(self.lake, self.lake.session, self.lake.table, ["y"])

    def check(self) -> None:
        wanted = [
            version for version in versions(self.lake.events) if version.table == self.lake.table
        ]
        for each in wanted:
            found = self.folder / Path(each.folder).name / "_delta_log" / version_file(each.version)
            assert found.read_bytes() == each.data


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Return tables, of which one cannot be written."""
    return Refused(tmp_path)


def step_by_step(publisher: DeltaPublisher, *steps: Then) -> None:
    """Run a publisher; each step is done once it has caught up, and one round after the last."""
    stop, left = Signal(), list(steps)

    def caught_up() -> None:
        if not left:
            stop.set()
            return
        left.pop(0)(publisher)

    publisher.run(stop, caught_up)


def test_goes_on_without_a_restart(refused: Refused) -> None:
    def stopped(publisher: DeltaPublisher) -> None:
        (found,) = publisher.stopped_now()
        assert (found.name, found.version, found.behind, found.is_retried) == ("t", 0, 2, True)
        assert str(refused.log) in found.reason
        assert publisher.written == len(content(refused.folder / "b")) == 2
        refused.commit()
        refused.log.unlink()

    def waits(publisher: DeltaPublisher) -> None:
        assert [each.behind for each in publisher.stopped_now()] == [3]
        refused.clock.elapsed_s += PAUSE_S

    publisher = refused.publisher()
    step_by_step(publisher, stopped, waits, lambda _: None)
    assert (publisher.stopped_now(), publisher.written) == ([], 5)
    refused.check()


def test_a_storage_that_goes_on_refusing_is_tried_ever_more_rarely(refused: Refused) -> None:
    (first, *_) = versions(refused.lake.events)
    cursor, now_s, pauses = TableCursor(first.table), 0.0, list[float]()
    for _ in range(10):
        assert cursor.hold(first, StorageError("full"), now_s) == []
        pauses.append(cursor.due_s - now_s)
        now_s = cursor.due_s
    assert pauses == [1, 2, 4, 8, 16, 32, *[PAUSE_MAX_S] * 4]


def test_too_many_to_wait(refused: Refused) -> None:
    def more(_: DeltaPublisher) -> None:
        refused.commit(5)

    def lift(publisher: DeltaPublisher) -> None:
        assert publisher.stopped_now()[0].behind == 7
        refused.log.unlink()
        refused.clock.elapsed_s += PAUSE_S

    publisher = refused.publisher(waiting_bytes=2000)
    step_by_step(publisher, more, lift, lambda _: refused.commit(), lambda _: None)
    assert publisher.stopped_now() == []
    refused.check()


@pytest.mark.parametrize("is_lifted", [False, True])
def test_a_restart_knows_what_the_storage_lacks(refused: Refused, *, is_lifted: bool) -> None:
    state = refused.folder / "state"
    step_by_step(refused.publisher(state))
    refused.commit()
    if is_lifted:
        refused.log.unlink()
    step_by_step(refused.publisher(state))
    publisher = refused.publisher(state)
    if not is_lifted:
        (found,) = run_once(publisher)
        assert (found.version, found.is_retried) == (0, True)
        refused.log.unlink()
        publisher = refused.publisher(state)
    refused.clock.elapsed_s += PAUSE_S
    step_by_step(publisher, lambda _: None)
    assert publisher.stopped_now() == []
    refused.check()


def run_once(publisher: DeltaPublisher) -> list[StoppedStatus]:
    step_by_step(publisher)
    return publisher.stopped_now()


def test_a_table_published_elsewhere_goes_on_there_at_once(refused: Refused) -> None:
    publisher = refused.publisher()

    def move(_: DeltaPublisher) -> None:
        definition = refused.lake.state.tables.by_id[refused.lake.table].definition
        folder = str(refused.folder / "c")
        refused.lake.alter(published(definition, **{FOLDER: folder}))

    step_by_step(publisher, move, lambda _: None)
    assert publisher.stopped_now() == []
    assert (refused.folder / "c" / "_delta_log" / version_file(2)).exists()
    assert refused.log.is_file()


def test_the_log_of_a_dropped_table_gets_its_last_versions_too(refused: Refused) -> None:
    publisher, log = refused.publisher(), refused.log

    def drop(_: DeltaPublisher) -> None:
        refused.lake.drop_table(refused.lake.session, refused.lake.table)
        log.unlink()
        refused.clock.elapsed_s += PAUSE_S

    step_by_step(publisher, drop, lambda _: None)
    assert publisher.stopped == {}
    refused.check()


def test_troubles_leave_the_bytes_of_an_undisturbed_run(refused: Refused) -> None:
    def lift(_: DeltaPublisher) -> None:
        refused.log.unlink()
        refused.clock.elapsed_s += PAUSE_S

    step_by_step(refused.publisher(), lift, lambda _: None)
    before = content(refused.folder / "a")
    assert run(refused.lake).written == 0
    assert content(refused.folder / "a") == before
