"""Taking an image: the rows of one or two stores as files, beside the events of a backup.

Files of rows are written first, then the manifest that names them, and only then what no kept
manifest names is removed. So a kill at any step leaves the former image whole, and the next run
removes what is left over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.backup.contents import manifest_in
from ledger.backup.errors import ImageDamagedError, ImageForeignError
from ledger.backup.images.manifest import (
    CheckpointFile,
    ImageManifest,
    ImageSection,
    RowsFile,
    digest_over,
    image_names,
    is_manifest,
    read_image,
)
from ledger.backup.images.reading import NO_PROGRESS, Progress, check_covered
from ledger.backup.images.rows_file import (
    CUT,
    CutRule,
    Row,
    cut_rows,
    digest_of,
    is_rows_file,
    rows_bytes,
    rows_name,
    size_of,
)
from ledger.backup.manifest import Manifest
from ledger.backup.place import BackupPlace
from ledger.errors import IncompatibleError
from ledger.log.checkpoints import load

IMAGES_KEPT: Final = 2
"""How many images a backup keeps: the newest, and the one that a process may be reading."""


class StoredSection(NamedTuple):
    """The rows of a store to take, as of one moment, and the place in the log where they end.

    `rows` returns all rows in order of keys, but the one of the checkpoint; it is called once.
    `about` is roughly how many there are. `topic` is the id of the events topic.
    """

    section: str
    position: int
    chain: bytes
    offset: int
    topic: str
    format: int
    checkpoint: Row
    rows: Callable[[], Iterable[Row]]
    about: int


class TakenImage(NamedTuple):
    """The result of a run: the newest image, None without any, and the files written and shared.

    `is_whole` tells whether the end was reached before a stop.
    """

    image: ImageManifest | None
    written: int
    shared: int
    is_whole: bool


def take_image(
    place: BackupPlace,
    stored: Sequence[StoredSection],
    *,
    stop: Signal,
    without: Iterable[str] = (),
    kept: int = IMAGES_KEPT,
    progress: Progress = NO_PROGRESS,
    rule: CutRule = CUT,
) -> TakenImage:
    """Take an image of stores into a backup whose events go as far as the rows.

    A section that is not `stored`, or whose rows are older than those of the newest image, is taken
    over from that image, unless it is named in `without`. The newest `kept` images stay. Raises
    ImageForeignError for rows of another log than the events of the backup, and as its readers.
    """
    with place.alone():
        archive = manifest_in(place)
        kept_images = readable(place, archive)
        run = _Taking(place, archive, [*kept_images.values()], rule, stop, progress)
        former = next(iter(kept_images.values()), None)
        sections = {} if former is None else dict(former.sections)
        for each in stored:
            run.check(each)
        fresh = [each for each in stored if is_newer(each, sections)]
        end = sum(each.about for each in fresh)
        for each in fresh:
            taken = run.section(each, end)
            if taken is None:
                return TakenImage(former, run.written, run.shared, is_whole=False)
            sections[each.section] = taken
        for name in without:
            sections.pop(name, None)
        if not sections:
            return TakenImage(None, 0, 0, is_whole=True)
        image = ImageManifest(archive.ledger, archive.name, archive.events_topic, sections)
        if image != former:
            check_covered(place, archive, image)
            image.write(place)
        sweep(place, {**kept_images, image.file: image}, kept, archive.ledger)
        return TakenImage(image, run.written, run.shared, is_whole=True)


def readable(place: BackupPlace, archive: Manifest) -> dict[str, ImageManifest]:
    """Return the images of the archive's log in a place by the names of their files, newest first.

    Images of an events topic before a restore are not among them: no process can begin with them.
    """
    found = dict[str, ImageManifest]()
    for name in image_names(place):
        try:
            image = read_image(place, name)
        except (ImageDamagedError, IncompatibleError):
            continue
        if (image.ledger, image.topic) == (archive.ledger, archive.events_topic):
            found[name] = image
    return found


def is_newer(stored: StoredSection, former: Mapping[str, ImageSection]) -> bool:
    """Return whether rows are not older than those of the former image."""
    before = former.get(stored.section)
    return before is None or before.position <= stored.position


def sweep(place: BackupPlace, images: Mapping[str, ImageManifest], kept: int, ledger: str) -> None:
    """Remove all but the newest images, and the files of rows that no image left names.

    Other images of the ledger go too: they are of an events topic before a restore. A damaged
    manifest, or one of a later version, may name any file: then no file of rows goes.
    """
    newest = sorted(images, reverse=True)[:kept]
    names, are_known = place.names(), True
    named = set[str]().union(*(images[name].named() for name in newest))
    for name in {*filter(is_manifest, names)} - {*newest}:
        try:
            image = images.get(name) or read_image(place, name)
        except (ImageDamagedError, IncompatibleError):
            are_known = False
            continue
        if image.ledger == ledger:
            place.remove(name)
        else:
            named |= image.named()
    for name in filter(is_rows_file, names - named if are_known else ()):
        place.remove(name)


class _Taking:
    """One run: cuts the rows of sections into files, and writes those that are not there."""

    def __init__(  # noqa: PLR0917 - each is one part
        self,
        place: BackupPlace,
        archive: Manifest,
        images: Sequence[ImageManifest],
        rule: CutRule,
        stop: Signal,
        progress: Progress,
    ) -> None:
        self.written = self.shared = 0
        self._place = place
        self._archive = archive
        self._rule = rule
        self._stop = stop
        self._progress = progress
        self._done = 0
        names = place.names()
        self._there = {
            file.name: file
            for image in images
            for each in image.sections.values()
            for file in (*each.files, each.checkpoint.file)
            if file.name in names
        }

    def section(self, stored: StoredSection, end: int) -> ImageSection | None:
        """Write the rows of a store, and return the section; None after a stop."""
        checkpoint = self._checkpoint(stored)
        files = list[RowsFile]()
        for rows in cut_rows(stored.rows(), self._rule):
            if self._stop.is_set():
                return None
            self._done += len(rows)
            files.append(self._file(rows))
            self._progress(min(self._done, end), max(self._done, end))
        return ImageSection(
            stored.position,
            stored.chain,
            stored.offset,
            stored.format,
            checkpoint,
            sum(file.rows for file in files),
            digest_over(files),
            tuple(files),
        )

    def check(self, stored: StoredSection) -> None:
        """Raise ImageForeignError for rows that the events of the backup cannot continue."""
        archive = self._archive
        if stored.topic != archive.events_topic:
            raise ImageForeignError(
                f"the {stored.section} to take come from the events topic {stored.topic}, and the "
                f"backup in {self._place.path} from {archive.events_topic}. Take the image on a "
                "host whose rows follow this log"
            )
        if stored.position > archive.reached.head.position:
            raise ImageForeignError(
                f"the {stored.section} to take are of position {stored.position}, and the backup "
                f"in {self._place.path} ends at {archive.reached.head.position}. Take its events "
                "first"
            )

    def _checkpoint(self, stored: StoredSection) -> CheckpointFile:
        found = load(stored.checkpoint[1])
        created = found.state.genesis
        if created is None or created.ledger != self._archive.ledger:
            raise ImageForeignError(
                f"the {stored.section} to take are of another ledger than the backup in "
                f"{self._place.path}, which is of {self._archive.ledger}"
            )
        head = found.head
        return CheckpointFile(
            head.position, head.chain, found.offset, self._file([stored.checkpoint])
        )

    def _file(self, rows: Sequence[Row]) -> RowsFile:
        """Return the entry of a file of rows, which is written unless an image has it."""
        digest = digest_of(rows)
        name = rows_name(digest)
        there = self._there.get(name)
        if there is not None:
            self.shared += 1
            return there
        data = rows_bytes(rows)
        self._place.write(name, data)
        self.written += 1
        entry = RowsFile(
            name, len(rows), size_of(rows), digest, len(data), sha256(data).hexdigest()
        )
        self._there[name] = entry
        return entry
