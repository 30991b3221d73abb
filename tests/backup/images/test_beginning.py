"""Each process that begins with nothing on a trimmed log begins with an image."""

import shutil
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.backup.images.manifest import PUBLICATION, ROWS
from ledger.backup.images.reading import verified
from ledger.backup.images.starting import BY_TRIM, NO_IMAGES, StartImages
from ledger.backup.place import FolderPlace
from ledger.config.settings import Genesis
from ledger.errors import LogTrimmedError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter, digest
from ledger.log.consumers import registered
from ledger.log.port import Topic
from ledger.log.replay import Replay
from ledger.log.trimmed import start_of
from ledger.sequencer.sequencer import Sequencer
from ledger.testing import FixedClock
from projections.cache.following import FollowedEntries
from projections.delta.publisher import DeltaPublisher, PublisherState
from projections.fold.fold import Fold
from projections.fold.follower import Follower, follow, rebuild
from projections.fold.registering import Registration
from projections.images.beginning import open_begun
from projections.images.stored import stored_section
from projections.store.rocks_reader import RocksReader
from tests.backup.benches import NEVER, Step, backed_up, commit, folder, grow, stray, zombie
from tests.backup.images.benches import (
    STEPS,
    Host,
    begun_of,
    follow_to_end,
    followed_at,
    imaged,
    trim,
)
from tests.projections.digests import digest as rows_digest
from tests.projections.filing import commit as commit_files
from tests.projections.followed import PATIENT
from tests.projections.test_delta_kept_state import run
from tests.projections.test_delta_log_writer import content
from tests.projections.test_delta_publication import Lake
from tests.projections.test_delta_publisher import two_tables

PATIENCE_S = 20.0


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host whose log begins at the checkpoint of its image, with events behind it."""
    made = Host(tmp_path)
    grow(made.driver, [commit] * 8)
    made.back_up()
    grow(made.driver, [commit] * 3)
    made.trim()
    assert begun_of(made.log)
    return made


def test_a_follower_begins_with_an_image_and_publishes_its_rows_at_once(
    host: Host, tmp_path: Path
) -> None:
    root, stop, started = tmp_path / "new", Signal(), list[Follower]()
    thread = Thread(target=follow, args=(host.log, root, stop), kwargs={"started": started.append})
    thread.start()
    until_s = monotonic() + PATIENCE_S
    while not (started and started[0].is_caught_up) and monotonic() < until_s:
        thread.join(0.01)
    with RocksReader.open(root) as rows:
        followed_at(host.log, host.root)
        with RocksReader.open(host.root) as whole:
            assert rows_digest(rows) == rows_digest(whole)
    stop.set()
    thread.join(PATIENCE_S)
    assert started[0].fold.tally.events.total() == host.driver.head.position - host.image().position


def test_rows_are_made_anew_from_an_image(host: Host) -> None:
    followed_at(host.log, host.root)
    with RocksReader.open(host.root) as rows:
        before = rows_digest(rows)
    rebuild(host.log, host.root, NEVER)
    with RocksReader.open(host.root) as rows:
        assert rows_digest(rows) == before


def test_without_an_image_the_error_names_the_backup_and_the_option(
    host: Host, tmp_path: Path
) -> None:
    for images in (NO_IMAGES, StartImages(str(tmp_path / "nowhere"))):
        with pytest.raises(LogTrimmedError, match=host.place.path) as refused:
            follow(host.log, tmp_path / "new", Signal(), images=images)
        assert "--image" in str(refused.value)


def test_another_place_than_the_one_of_the_trim(host: Host, tmp_path: Path) -> None:
    (tmp_path / "backup").rename(tmp_path / "moved")
    with pytest.raises(LogTrimmedError, match=r"log\.archive"):
        open_begun(host.log, tmp_path / "new", BY_TRIM)
    with open_begun(host.log, tmp_path / "new", StartImages(str(tmp_path / "moved"))) as rows:
        follow_to_end(host.log, rows)


def test_the_log_is_held_while_an_image_is_looked_for(host: Host, tmp_path: Path) -> None:
    entry = Registration(host.log, "follower", "new", FixedClock())
    with pytest.raises(LogTrimmedError):
        open_begun(host.log, tmp_path / "new", StartImages(str(tmp_path)), hold=entry.hold)
    (said,) = registered(host.log) or []
    assert said.position == start_of(host.log).head.position > 0


def test_rows_that_are_there_go_on(host: Host) -> None:
    """No image is looked for."""
    with open_begun(host.log, host.root, StartImages("gs://no/place", is_asked=True)) as rows:
        assert Fold.load(rows, host.log).position == host.image().position


def test_a_cache_begins_with_the_checkpoint_of_an_image(host: Host) -> None:
    with closing(FollowedEntries(host.log).start()) as entries:
        until_s = monotonic() + PATIENCE_S
        while entries.is_loading() and monotonic() < until_s:
            entries.advance(0.1)
        assert entries.position() == host.driver.head.position
        assert len(entries.lengths()) == len(host.driver.state.tables.by_id)
    with pytest.raises(LogTrimmedError), closing(closed(host)) as entries:
        entries.advance(PATIENCE_S)


def closed(host: Host) -> FollowedEntries:
    return FollowedEntries(host.log, images=NO_IMAGES).start_loading()


def test_a_sequencer_begins_with_the_checkpoint_of_an_image(host: Host) -> None:
    log, driver = host.log, host.driver
    with closing(Sequencer(log, Genesis("demo"), clock=FixedClock())) as sequencer:
        assert sequencer.state.position == host.image().checkpoint
        sequencer.step(0.0)
        found = digest(sequencer.state, sequencer.acceptor.head)
        assert found == digest(driver.state, driver.head)
    with pytest.raises(LogTrimmedError, match=host.place.path):
        Sequencer(log, Genesis("demo"), clock=FixedClock(), images=NO_IMAGES)


def test_a_checkpoint_of_the_topic_goes_before_an_image(host: Host) -> None:
    log, driver = host.log, host.driver
    writer = CheckpointWriter(log.writer(Topic.CHECKPOINTS), 0)
    end = log.ends(Topic.EVENTS)[1]
    writer.write(Checkpoint(driver.state, driver.head, end))
    with closing(Sequencer(log, Genesis("demo"), clock=FixedClock(), images=NO_IMAGES)) as found:
        assert found.state.position == driver.head.position


def test_a_checkpoint_from_before_the_trim_does_not_count(tmp_path: Path) -> None:
    host = Host(tmp_path)
    driver = host.driver
    writer = CheckpointWriter(host.log.writer(Topic.CHECKPOINTS), 0)
    writer.write(Checkpoint(driver.state, driver.head, len(driver.records)))
    grow(driver, [commit] * 4)
    host.back_up()
    host.trim()
    with closing(Sequencer(host.log, Genesis("demo"), clock=FixedClock())) as found:
        assert found.state.position == host.image().checkpoint


class Published:
    """A lake with two published tables, its publisher's rows, and an image of them; trimmed."""

    def __init__(self, folder: Path) -> None:
        self.lake: Lake = two_tables(folder)
        self.state, self.place = folder / "state", FolderPlace(folder / "backup")
        run(self.lake, self.state)
        backed_up(self.lake.log, folder / "backup")
        found = imaged(self.place, publication=self.state).image
        assert found is not None
        self.image = found
        self.commit("y")
        trim(self.lake, self.place, found)

    def commit(self, file: str) -> None:
        commit_files(self.lake, self.lake.session, self.lake.table, [file])


@pytest.fixture
def published(tmp_path: Path) -> Published:
    return Published(tmp_path)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_publisher_begins_with_its_own_section(
    published: Published, tmp_path: Path, *, is_kept: bool
) -> None:
    lake, stop = published.lake, Signal()
    state = PublisherState(tmp_path / "new" if is_kept else None)
    publisher = DeltaPublisher(lake.log, state=state)
    publisher.run(stop, stop.set)
    assert (publisher.written, publisher.stopped) == (1, {})
    assert publisher.position == lake.head.position
    found = {name: content(tmp_path / name) for name in "ab"}
    # A publisher that went on with its own rows finds all of it written, with the same bytes.
    again, _ = run(lake, published.state)
    assert again.written == 0
    assert {name: content(tmp_path / name) for name in "ab"} == found


def test_a_publisher_whose_rows_end_before_the_log_begins(
    published: Published, tmp_path: Path
) -> None:
    lake = published.lake
    run(lake, tmp_path / "other")
    for file in "pqr":
        published.commit(file)
    run(lake, published.state)
    backed_up(lake.log, tmp_path / "backup")
    image = imaged(published.place, publication=published.state).image
    assert image is not None
    trim(lake, published.place, image)
    publisher, begun = run(lake, tmp_path / "other")
    assert publisher.position == lake.head.position
    assert begun >= begun_of(lake.log)


def test_a_published_log_that_is_gone_is_written_from_the_archive(
    published: Published, tmp_path: Path
) -> None:
    """The publisher needs the events from the first one on, and most are in the backup only."""
    lake = published.lake
    run(lake, published.state)
    before = {name: content(tmp_path / name) for name in "ab"}
    shutil.rmtree(tmp_path / "a" / "_delta_log")
    assert run(lake, published.state)[0].stopped == {}
    assert {name: content(tmp_path / name) for name in "ab"} == before
    (tmp_path / "backup" / "backup.json").unlink()
    shutil.rmtree(tmp_path / "a" / "_delta_log")
    with pytest.raises(LogTrimmedError, match="there is no backup"):
        run(lake, published.state)


@PATIENT
@given(
    st.lists(st.sampled_from([*STEPS, zombie, stray]), max_size=8),
    st.lists(st.sampled_from([*STEPS, zombie]), max_size=8),
)
def test_all_events_of_a_trimmed_log(before: list[Step], after: list[Step]) -> None:
    with folder() as path:
        host = Host(path)
        grow(host.driver, [commit, *before])
        host.back_up()
        grow(host.driver, after)
        expected = list(Replay(host.log))
        host.trim()
        found = list(Replay(BY_TRIM.whole(host.log)))
        assert found[: len(expected)] == expected
        assert found == host.driver.events


def test_without_an_image_a_publisher_says_so(published: Published) -> None:
    stop = Signal()
    with pytest.raises(LogTrimmedError, match="--image"):
        DeltaPublisher(published.lake.log, images=NO_IMAGES).run(stop, stop.set)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_publisher_that_is_new_on_a_trimmed_log_reads_the_archive(
    tmp_path: Path, *, is_kept: bool
) -> None:
    """No image has rows of a publisher where none ran before the trim."""
    lake = two_tables(tmp_path)
    place, rows = FolderPlace(tmp_path / "backup"), tmp_path / "rows"
    followed_at(lake.log, rows)
    backed_up(lake.log, tmp_path / "backup")
    image = imaged(place, rows).image
    assert image is not None
    commit_files(lake, lake.session, lake.table, ["y"])
    trim(lake, place, image)
    stop, state = Signal(), PublisherState(tmp_path / "new" if is_kept else None)
    publisher = DeltaPublisher(lake.log, state=state)
    publisher.run(stop, stop.set)
    assert (publisher.position, publisher.stopped) == (lake.head.position, {})
    assert publisher.written == 5
    assert run(lake, tmp_path / "new")[0].written == 0


def test_an_image_takes_over_the_sections_of_other_hosts(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    place, rows = FolderPlace(tmp_path / "backup"), tmp_path / "rows"
    run(lake, tmp_path / "state")
    backed_up(lake.log, tmp_path / "backup")
    imaged(place, publication=tmp_path / "state")
    commit_files(lake, lake.session, lake.table, ["y"])
    followed_at(lake.log, rows)
    backed_up(lake.log, tmp_path / "backup")
    both = imaged(place, rows).image
    assert both is not None
    assert set(both.sections) == {ROWS, PUBLICATION}
    assert both.checkpoint == both.sections[PUBLICATION].position < both.position
    verified(place, both)
    alone = imaged(place, rows, without=[PUBLICATION], kept=1).image
    assert alone is not None
    assert set(alone.sections) == {ROWS}
    assert alone.checkpoint == alone.position
    with stored_section(tmp_path / "state", PUBLICATION) as stored:
        assert stored is not None
    names = {each.name for each in (tmp_path / "backup").glob("rows-*")}
    assert names == alone.named()
