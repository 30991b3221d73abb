"""Room and copies of a ledger on this host: what its disks have left, and its last backup.

A backup leaves its note beside the rows of its host, as the one place that `lakeledger status` and
the follower there both know. A host without rows has no note.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Final, NamedTuple

from ledger.config.address import Address
from ledger.config.config import load
from ledger.config.private import write_private
from ledger.definitions.locations import as_stored, is_of_a_disk
from ledger.machine.folder import BROKER

NOTE: Final = ".backup.json"
"""What follows the name of the folder of rows in the name of the note."""
WAREHOUSE: Final = "warehouse"


class DiskRoom(NamedTuple):
    """A place of the ledger, and the bytes that its disk has left and has in all."""

    what: str
    path: str
    free: int
    size: int


class LastBackup(NamedTuple):
    """The last backup that was taken on this host; `at` is in milliseconds."""

    path: str
    at: int
    position: int

    def age_s(self) -> float:
        """Return for how long it is the last one."""
        return max(0.0, time.time() - self.at / 1000)


class HostPlaces(NamedTuple):
    """Where a ledger keeps data on this host: rows, "" = none, and its warehouse, "" = unknown."""

    store: Path | None = None
    warehouse: str = ""

    def disks(self) -> list[DiskRoom]:
        """Return the room of each place that is on a disk of this host."""
        places = dict[str, Path]()
        if self.store is not None:
            places["rows"] = self.store
            broker, own = self.store.parent / BROKER, self.store.parent / WAREHOUSE
            places |= {BROKER: broker} if broker.is_dir() else {}
            places |= {WAREHOUSE: own} if own.is_dir() else {}
        if self.warehouse and is_of_a_disk(self.warehouse):
            places[WAREHOUSE] = Path(as_stored(self.warehouse))
        return [room for what, path in places.items() if (room := room_of(what, path)) is not None]

    def note_backup(self, path: str, position: int) -> None:
        """Note a backup that was taken now; raises OSError if the note cannot be written."""
        if self.store is None or not self.store.parent.is_dir():
            return
        taken = LastBackup(path, time.time_ns() // 1_000_000, position)
        fresh = self.store.with_name(f".{self.store.name}{NOTE}")
        write_private(fresh, json.dumps(taken._asdict()) + "\n")
        fresh.replace(self.store.with_name(f"{self.store.name}{NOTE}"))

    def last_backup(self) -> LastBackup | None:
        """Return the last backup, None if no note can be read."""
        if self.store is None:
            return None
        try:
            note = self.store.with_name(f"{self.store.name}{NOTE}").read_text(encoding="utf-8")
            return LastBackup(**json.loads(note))
        except (OSError, ValueError, TypeError):
            return None


NO_PLACES: Final = HostPlaces()


def places_of(address: Address) -> HostPlaces:
    """Return where the ledger at an address keeps data on this host."""
    return HostPlaces(address.store, load().settings.warehouse or address.warehouse)


def room_of(what: str, path: Path) -> DiskRoom | None:
    """Return the room of the disk of a folder that may not exist yet, None if it is not known."""
    there = next((folder for folder in (path, *path.parents) if folder.exists()), None)
    if there is None:
        return None
    try:
        total, _, free = shutil.disk_usage(there)
    except OSError:
        return None
    return DiskRoom(what, str(path), free, total)
