"""A ledger that is led, backed up with images, trimmed, and loses the end of its log."""

from collections.abc import Callable
from pathlib import Path

from ledger.backup.images.starting import BY_TRIM
from ledger.backup.joined import joined_log
from ledger.backup.place import FolderPlace
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.checkpoints import Checkpoint
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.replay import Replay, verify
from ledger.log.trimmed import TrimMark
from ledger.recovery.cutting import append_cut, write_checkpoint
from ledger.recovery.survey import Survey
from ledger.trimming.survey import plan
from ledger.trimming.trimming import carry_out
from projections.images.beginning import log_for, open_begun
from tests.backup.benches import backed_up, restored
from tests.backup.images.benches import follow_to_end, imaged
from tests.recovery.logs import commits, led, surveyed

Remove = Callable[[int], None]


class TrimmedLedger:
    """A ledger in memory with the rows of one host, a backup, and a trim of its log.

    `backup` is the path of the present backup.
    """

    def __init__(self, folder: Path) -> None:
        self.log = MemoryLog()
        self.folder = folder
        self.rows, self.backup = folder / "rows", folder / "backup"
        with led(self.log) as ledger:
            ledger.create_table("planes", layout="directories")
            commits(ledger)

    def grow(self, count: int = 3) -> list[int]:
        """Commit so often, and return the txns."""
        with led(self.log) as ledger:
            return commits(ledger, count=count)

    def back_up(self, *, image: bool = True) -> None:
        """Follow to the end, and take events and an image of the rows."""
        self.follow()
        backed_up(self.log, self.backup)
        if image:
            imaged(FolderPlace(self.backup), self.rows)

    def follow(self) -> None:
        """Bring the rows of the host to the end of the log."""
        with open_begun(self.log, self.rows, BY_TRIM) as store:
            follow_to_end(log_for(store, self.log, BY_TRIM), store)

    def checkpoint(self) -> None:
        """Write a state checkpoint of the end of the log."""
        replay, state = Replay(joined_log(self.log)), DomainState()
        for event in replay:
            evolve(state, event)
        write_checkpoint(self.log, Checkpoint(state, replay.acceptor.head, replay.end))

    def trim(self, below: int | None = None, remove: Remove | None = None) -> TrimMark:
        """Trim below a position, by default below the newest image."""
        place = FolderPlace(self.backup)
        self.checkpoint()
        with led(self.log) as ledger:
            wanted = below or self.image_position()
            return carry_out(
                ledger, self.log, plan(self.log, place, wanted), remove or self.remove, "room"
            )

    def image_position(self) -> int:
        """Return the position from which readers of the newest image need events."""
        found = imaged(FolderPlace(self.backup), self.rows).image
        assert found is not None
        return found.checkpoint

    def remove(self, offset: int) -> None:
        """Remove the events below an offset."""
        self.log.remove_below(Topic.EVENTS, offset)

    def lose(self, records: int) -> None:
        """Lose so many of the last records of the events."""
        self.log.cut(Topic.EVENTS, self.log.ends(Topic.EVENTS)[1] - records)

    def recover(self, backup: Path | None = None) -> Survey:
        """Survey the log beside its rows, and cut it."""
        found = self.surveyed(backup)
        append_cut(self.log, found, "power cut")
        return found

    def surveyed(self, backup: Path | None = None) -> Survey:
        """Survey the log beside its rows."""
        place = FolderPlace(backup) if backup is not None else None
        return surveyed(self.log, self.rows, backup=place)

    def whole_digest(self) -> str:
        """Return the digest of the log and its backup together."""
        return verify(joined_log(self.log)).digest

    def restored(self, *, image: bool = False) -> MemoryLog:
        """Return another cluster's log, restored from a backup up to the present end."""
        self.back_up(image=image)
        log = MemoryLog()
        for topic in Topic:
            log.recreate(topic)
        assert restored(self.backup, log).is_whole
        return log
