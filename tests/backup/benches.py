"""What the tests of backups share: histories, places that crash, and logs to restore into."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Signal
from typing import Final

from hypothesis import strategies as st

from ledger.backup.contents import manifest_in
from ledger.backup.manifest import Manifest
from ledger.backup.place import FolderPlace
from ledger.backup.restoring import Restore, RestoreOutcome, check_backup, check_empty
from ledger.backup.taking import Taken, take
from ledger.core.decide.cut import beyond, seen_in
from ledger.core.events.events import Resigned
from ledger.core.events.parts import PassedOver
from ledger.log.memory import MemoryLog, MemoryTopic, MemoryWriter
from ledger.log.port import Topic
from tests.core.cutting import cut, filled
from tests.driver import Driver, write

NEVER: Final = Signal()
MARGIN: Final = 3
STRAY: Final = b"what is this"
TOPICS: Final = {"events": {"partitions": 1, "replicas": 1, "settings": {}}}

Step = Callable[[Driver], object]


class Crash(BaseException):
    """The process was killed here."""


def session_of(driver: Driver) -> int:
    sessions = driver.state.sessions.by_number
    found = next((number for number, each in sessions.items() if each.is_open), None)
    return driver.open_session("ada") if found is None else found


def open_txn(driver: Driver) -> int:
    return driver.open_txn(session_of(driver))


def abort(driver: Driver) -> None:
    session = session_of(driver)
    driver.abort(session, driver.open_txn(session))


def commit(driver: Driver) -> None:
    """Create a table, and commit an insert into it."""
    session = session_of(driver)
    table = driver.create_table(session, f"db.t{driver.head.position}")
    driver.commit(session, driver.open_txn(session), write(table))


def zombie(driver: Driver) -> None:
    """Append what does not count."""
    driver.zombie(Resigned("driver"))


def cut_log(driver: Driver, passed: Sequence[PassedOver] = ()) -> None:
    """Cut the log, as after a loss, and take up what was left out."""
    cut(driver, beyond(seen_in(driver.state, driver.head.epoch), MARGIN), passed=passed)
    for _ in filled(driver):
        pass


def stray(driver: Driver) -> None:
    """Append what no sequencer wrote, and cut the log over it."""
    offset = len(driver.records)
    driver.append(STRAY)
    cut_log(driver, [PassedOver(offset, 1)])


STEPS: Final[tuple[Step, ...]] = (
    Driver.open_session,
    open_txn,
    abort,
    commit,
    Driver.fence,
    zombie,
    cut_log,
    stray,
)
HISTORIES: Final = st.lists(st.sampled_from(STEPS), max_size=12)


def grow(driver: Driver, steps: list[Step]) -> None:
    """Let a history go on by steps."""
    for step in steps:
        step(driver)


@contextmanager
def folder() -> Iterator[Path]:
    """Hold an empty folder for the length of a block."""
    with TemporaryDirectory(prefix="lakeledger-backup-") as path:
        yield Path(path)


def backed_up(log: MemoryLog, path: Path, file_bytes: int = 1_000) -> Taken:
    """Take a backup, to the end."""
    return take(log, FolderPlace(path), TOPICS, stop=NEVER, file_bytes=file_bytes)


def restored(path: Path, log: MemoryLog) -> RestoreOutcome:
    """Restore a backup into a log in memory, as into a cluster."""
    place = FolderPlace(path)
    manifest = manifest_in(place)
    ends = {topic: log.ends(topic)[1] for topic in Topic}
    if ends[Topic.EVENTS] < manifest.reached.records:
        check_empty(ends)
    assert check_backup(place, manifest, NEVER)
    return Restore(log, place, manifest).run(NEVER)


def manifest_of(path: Path) -> Manifest:
    return manifest_in(FolderPlace(path))


def content(log: MemoryLog) -> list[tuple[bytes, bytes]]:
    """Return keys and values of all events."""
    return [(record.key, record.value) for record in log.topics[Topic.EVENTS].records]


class CrashingPlace(FolderPlace):
    """A folder whose process is killed once it has done so many steps, or in the middle of one."""

    def __init__(self, path: Path, steps: int) -> None:
        super().__init__(path)
        self._left = steps

    def write(self, name: str, data: bytes) -> None:
        """Write a file; the step in between leaves half of it under its unfinished name."""
        self._step()
        if self._left == 0:
            (self._folder / f".{name}.unfinished").write_bytes(data[: len(data) // 2])
        self._step()
        super().write(name, data)
        self._step()

    def remove(self, name: str) -> None:
        self._step()
        super().remove(name)

    def _step(self) -> None:
        if self._left == 0:
            raise Crash
        self._left -= 1


class CrashingLog(MemoryLog):
    """A log whose writer is killed after so many appends, to whichever topic."""

    def __init__(self, appends: int) -> None:
        super().__init__()
        self.left = appends

    def writer(self, topic: Topic) -> MemoryWriter:
        return CrashingWriter(self, self.topics[topic])


class CrashingWriter(MemoryWriter):
    """Appends until its process is killed."""

    def __init__(self, log: CrashingLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._counted = log

    def append(self, key: bytes, value: bytes) -> None:
        """Append, or be killed before that."""
        if self._counted.left == 0:
            raise Crash
        self._counted.left -= 1
        super().append(key, value)


def another_topic(log: MemoryLog) -> MemoryLog:
    """Return the log with topics that have ids of their own, as those of every cluster."""
    for topic in Topic:
        log.recreate(topic)
    return log
