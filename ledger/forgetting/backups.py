"""What the known backups hold of forgotten rows, and what a trim left on the broker's disk.

The records that a trim took are known from the archive alone: the broker shows them to no reader,
and has them in its files until it deletes their segments.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ledger.backup.contents import manifest_of_ledger, parts
from ledger.backup.images.manifest import PUBLICATION, image_names, read_image
from ledger.backup.images.reading import checkpoint_row, rows_of
from ledger.backup.place import BackupPlace, open_place
from ledger.backup.s3_urls import without_login
from ledger.errors import LedgerError
from ledger.forgetting.held_places import (
    FOR_GOOD,
    NOT_SEARCHED,
    ROWS,
    VALUES,
    HeldPlace,
    Surroundings,
    held_by,
    held_in,
    ranges,
    searched,
    unread,
)
from ledger.forgetting.records import PUBLISHED_ROWS, TABLE_ROWS, HeldRecord, RecordSearch
from ledger.log.port import Topic
from ledger.log.trimmed import TrimMark, read_trim_mark

ARCHIVE = "archive"
TRIMMED = "trimmed records"


class BackupSearch:
    """A search of backups of the ledger with an id; it keeps which of their events were found.

    Attributes:
        reached: the last position of all events that were searched.
    """

    def __init__(self, search: RecordSearch, ledger: str) -> None:
        self._search, self._ledger = search, ledger
        self._found: dict[int, HeldRecord] = {}
        self.reached = 0

    def all_of(self, around: Surroundings) -> Iterator[HeldPlace]:
        """Yield what all known backups hold, and what is left of trimmed events."""
        seen = set[str]()
        for path in around.backups:
            try:
                place = open_place(path)
            except LedgerError as problem:
                yield unread("backup", without_login(path), problem)
                continue
            if place.path not in seen:
                seen.add(place.path)
                yield from searched("backup", place.path, self.in_backup(place))
        mark = None
        try:
            mark = read_trim_mark(around.log)
        except LedgerError as problem:
            yield unread("backup", "the backup that the last trim names", problem)
        if mark is not None:
            yield from self.left_by(mark, around)

    def in_backup(self, place: BackupPlace) -> Iterator[HeldPlace]:
        """Yield what the events and the images of a backup hold.

        Raises BackupError for a place without a backup of this ledger, and as its readers.
        """
        manifest = manifest_of_ledger(place, self._ledger)
        records = (each for part in parts(place, manifest) for each in part.records)
        held = self._search.held_events((r.offset, r.timestamp, r.value) for r in records)
        found = list(held)
        self._found |= {each.position: each for each in found}
        self.reached = max(self.reached, manifest.reached.head.position)
        if found:
            where = f"{place.path}, positions {ranges(each.position for each in found)}"
            until = f"{FOR_GOOD}: an archive keeps all events from the first one on"
            yield HeldPlace(ARCHIVE, held_by(found), where, until)
        for name in image_names(place):
            yield from self.in_image(place, name)

    def in_image(self, place: BackupPlace, name: str) -> Iterator[HeldPlace]:
        """Yield an image whose rows have a value."""
        image = read_image(place, name)
        said = {
            held_in(self._search, rows, PUBLISHED_ROWS if part == PUBLICATION else TABLE_ROWS)
            for part in image.sections
            for rows in (*rows_of(place, image, part), [checkpoint_row(place, image, part)])
        }
        if holds := next((each for each in (ROWS, VALUES) if each in said), ""):
            until = f"{FOR_GOOD}: later images have the rows of the history too"
            yield HeldPlace("image", holds, f"{place.path}/{name}", until)

    def left_by(self, mark: TrimMark, around: Surroundings) -> Iterator[HeldPlace]:
        """Yield the records that a trim took, as long as the broker's segments may have them.

        Without the archive of the trim it is not known which of them have a value.
        """
        first = first_kept(around, mark)
        gone = [each for each in self._found.values() if each.position < mark.below]
        until = (
            "the broker deletes their segments: some minutes after they are closed, by segment.ms "
            "or segment.bytes, and hold nothing but trimmed records"
        )
        where = "the broker's files of topic events, positions"
        if gone and (first is None or any(each.offset >= first for each in gone)):
            yield HeldPlace(
                TRIMMED, held_by(gone), f"{where} {ranges(e.position for e in gone)}", until
            )
        if self.reached < mark.below - 1 and (first is None or first < mark.offset):
            where = f"{where} below {mark.below}: see the backup {mark.archive}"
            yield HeldPlace(TRIMMED, NOT_SEARCHED, where, until)


def first_kept(around: Surroundings, mark: TrimMark) -> int | None:
    """Return the first offset in the files of a broker of this host, None for another broker."""
    folder = None if around.topics is None else around.topics / f"{around.ledger}.{Topic.EVENTS}-0"
    if folder is None or not folder.is_dir():
        return None
    return min(offsets_of(folder.glob("*.log*")), default=mark.offset)


def offsets_of(segments: Iterable[Path]) -> Iterator[int]:
    """Yield the first offset of each file of a segment, also of one that is being deleted."""
    return (int(each.name[:20]) for each in segments)
