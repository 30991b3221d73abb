"""What the tests of images share: a host with rows, a backup of it, and logs that are trimmed."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.backup.images.manifest import PUBLICATION, ROWS, ImageManifest
from ledger.backup.images.reading import newest_image
from ledger.backup.images.rows_file import CutRule
from ledger.backup.images.taking import IMAGES_KEPT, TakenImage, take_image
from ledger.backup.place import BackupPlace, FolderPlace
from ledger.core.commands import TrimLog
from ledger.core.events.events import LogTrimmed
from ledger.log.memory import MemoryLog
from ledger.log.port import Log, Topic
from ledger.log.trimmed import TrimMark, write_trim_mark
from ledger.trimming.survey import found_in
from projections.fold.follower import Follower
from projections.images.stored import stored_section
from projections.store.port import RowStore
from projections.store.rocks_store import RocksStore
from tests.backup.benches import NEVER, Step, abort, backed_up, commit, cut_log, session_of
from tests.driver import Driver

# So small that a few rows are several files.
SMALL: Final = CutRule(mask=3, least_bytes=200, most_bytes=2_000)
# None of these counts offsets by the records that are left.
STEPS: Final[tuple[Step, ...]] = (Driver.open_session, abort, commit, Driver.fence, cut_log)


def follow_to_end(log: Log, store: RowStore) -> RowStore:
    """Follow a log to its present end, with a checkpoint there."""
    follower = Follower(log, store)
    follower.catch_up(NEVER)
    follower.fold.store_checkpoint()
    return store


def followed_at(log: Log, root: Path) -> None:
    """Bring the rows at a path to the end of a log."""
    with RocksStore.open(root) as store:
        follow_to_end(log, store)


def imaged(
    place: BackupPlace,
    rows: Path | None = None,
    publication: Path | None = None,
    *,
    kept: int = IMAGES_KEPT,
    without: Sequence[str] = (),
    stop: Signal = NEVER,
) -> TakenImage:
    """Take an image of the rows at paths, in small files."""
    with ExitStack() as held:
        sections = {ROWS: rows, PUBLICATION: publication}
        stored = [
            held.enter_context(stored_section(root, name))
            for name, root in sections.items()
            if root is not None
        ]
        found = [each for each in stored if each is not None]
        assert len(found) == len(stored)
        return take_image(place, found, stop=stop, kept=kept, without=without, rule=SMALL)


class Host:
    """A domain, its rows in a RocksDB at `root`, and a backup of both at `place`."""

    def __init__(self, folder: Path, *, ledger: str = "ledger-1") -> None:
        self.folder = folder
        self.root, self.place = folder / "store", FolderPlace(folder / "backup")
        self.driver = Driver(ledger=ledger)

    @property
    def log(self) -> MemoryLog:
        return self.driver.log

    def back_up(self) -> ImageManifest:
        """Follow, and take events and image."""
        followed_at(self.log, self.root)
        backed_up(self.log, self.folder / "backup")
        taken = imaged(self.place, self.root)
        assert taken.image is not None
        return taken.image

    def back_up_on(self) -> None:
        """Follow, and take events and image beside what is there."""
        followed_at(self.log, self.root)
        backed_up(self.log, self.folder / "backup")
        imaged(self.place, self.root)

    def image(self) -> ImageManifest:
        """Return the newest image."""
        found = newest_image(self.place)
        assert found is not None
        return found

    def names(self) -> set[str]:
        """Return the names of all files of the backup but the lock."""
        return {each.name for each in (self.folder / "backup").iterdir()} - {".lock"}

    def trim(self, below: int | None = None) -> TrimMark:
        """Trim the log below a position, by default as far as the newest image allows."""
        return trim(self.driver, self.place, self.image(), below)


def trim(
    driver: Driver, place: BackupPlace, image: ImageManifest, below: int | None = None
) -> TrimMark:
    """Trim a log below a position: the event, the mark, and then the records go."""
    wanted = image.checkpoint if below is None else below
    asks = driver.asks(session_of(driver))
    command = TrimLog(*asks, wanted, place.path, image.checkpoint, image.digest, "room")
    event = driver.ask(command)
    assert isinstance(event.body, LogTrimmed)
    at = event.control.position
    head, offset = found_in(driver.log, wanted, lambda _done, _end: None)
    created = driver.state.genesis
    assert created is not None
    topic = driver.log.topic_id(Topic.EVENTS)
    mark = TrimMark(
        topic, wanted, offset, head, created, place.path, image.checkpoint, at, image.proofs
    )
    write_trim_mark(driver.log, 0, mark)
    driver.log.remove_below(Topic.EVENTS, offset)
    return mark


def begun_of(log: MemoryLog) -> int:
    """Return the first offset that a log has."""
    return log.ends(Topic.EVENTS)[0]
