"""B1: a follower that begins with an image, against one that reads the events from the first on.

The log is in memory, so that reading it costs neither side anything; rows and backup are on the
disk. Processor time of all threads is compared: other processes share the machine. The rows of both
are compared, and a later image is taken to see how much of it is new.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event as Signal
from typing import Final

from ledger.backup.images.manifest import ROWS, ImageManifest
from ledger.backup.images.reading import verified
from ledger.backup.images.starting import NO_IMAGES, StartImages
from ledger.backup.images.taking import TakenImage, take_image
from ledger.backup.place import FolderPlace
from ledger.backup.taking import take
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from projections.fold.follower import Follower
from projections.images.beginning import open_begun
from projections.images.stored import stored_section
from projections.store.rocks_reader import RocksReader
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.driver import Driver, write
from tests.projections.digests import digest

EVENTS: Final = 1_000_000
TABLES: Final = 20
# Of the image; the events are read once, which takes minutes.
ROUNDS: Final = 3
NEVER: Final = Signal()


def measure(_broker: Broker) -> list[Figure]:
    """Return B1 and what images cost, for a million events."""
    return measured(EVENTS)


def measured(events: int) -> list[Figure]:
    """Return the seconds to rows of so many events, to an image of them, and its bytes."""
    history = History(events)
    with tempfile.TemporaryDirectory() as folder, collected_as_in_a_role():
        return figures(history, Path(folder))


class History:
    """A history that grows: txns that commit an insert into one of some tables."""

    def __init__(self, events: int) -> None:
        self._driver = Driver(name="images")
        self._session = self._driver.open_session()
        self._tables = [
            self._driver.create_table(self._session, f"db.t{number}") for number in range(TABLES)
        ]
        self.grow(events)

    @property
    def log(self) -> MemoryLog:
        return self._driver.log

    def grow(self, events: int) -> None:
        """Let the log have so many events."""
        driver = self._driver
        while len(driver.records) < events:
            for table in self._tables:
                driver.commit(self._session, driver.open_txn(self._session), write(table))
            driver.events.clear()


def figures(history: History, folder: Path) -> list[Figure]:
    """Return the figures of a history, with rows and backup in a folder."""
    log, place = history.log, FolderPlace(folder / "backup")
    events = len(log.topics[Topic.EVENTS].records)
    whole_s = seconds(lambda: followed(log, folder / "whole", NO_IMAGES))
    take(log, place, {}, stop=NEVER)
    first = list[TakenImage]()
    taken_s = seconds(lambda: first.append(imaged(place, folder / "whole")))
    images = StartImages(place.path, is_asked=True)
    rounds = [
        (seconds(lambda: followed(log, folder / str(number), images)), whole_s)  # noqa: B023
        for number in range(ROUNDS)
    ]
    with RocksReader.open(folder / "whole") as one, RocksReader.open(folder / "0") as other:
        assert digest(one) == digest(other), "the rows differ"
    image = first[0].image
    assert image is not None
    read_s = seconds(lambda: verified(place, image))
    history.grow(events + events // 100)
    followed(log, folder / "whole", NO_IMAGES)
    take(log, place, {}, stop=NEVER)
    later = imaged(place, folder / "whole")
    share = later.written / (later.written + later.shared)
    what = f"{events} events, {image.sections[ROWS].rows} rows"
    return [
        against("B1", "s", rounds, f"from an image : from the events; {what}"),
        Figure("B1-take", round(taken_s, 2), "s", note="to take the first image"),
        Figure("B1-verify", round(read_s, 2), "s", note="to read and compare it"),
        Figure("B1-bytes", round(size_of(image) / events, 1), "bytes", note="of it for each event"),
        Figure("B1-next", round(share, 3), "", note="new files of an image after 1% more events"),
    ]


def followed(log: MemoryLog, root: Path, images: StartImages) -> None:
    """Bring the rows at a path to the end of a log, with a checkpoint there."""
    with open_begun(log, root, images) as rows:
        follower = Follower(log, rows)
        follower.catch_up(NEVER)
        follower.fold.store_checkpoint()


def imaged(place: FolderPlace, root: Path) -> TakenImage:
    """Take an image of the rows at a path."""
    with stored_section(root, ROWS) as stored:
        assert stored is not None
        return take_image(place, [stored], stop=NEVER)


def size_of(image: ImageManifest) -> int:
    """Return the bytes of the files of an image."""
    return sum(file.size for file in image.sections[ROWS].files)


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    began_s = time.process_time()
    run()
    return time.process_time() - began_s
