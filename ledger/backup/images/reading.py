"""Reading an image: its rows, file by file, each compared with its checksum before a row is used.

An image is compared with the events of its backup too: the chains at its position and at the one
of its checkpoint must be those of the events.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from operator import ge, itemgetter
from typing import TYPE_CHECKING, Final

from ledger.backup.contents import manifest_in, not_there, opened_file
from ledger.backup.errors import ImageDamagedError, ImageForeignError
from ledger.backup.images.manifest import (
    ROWS,
    ImageManifest,
    ImageSection,
    RowsFile,
    digest_over,
    image_names,
    read_image,
)
from ledger.backup.images.rows_file import Row, digest_of, open_rows_file
from ledger.backup.manifest import NAME, Manifest
from ledger.backup.place import BackupPlace
from ledger.log.trimmed import SectionProof

if TYPE_CHECKING:
    from ledger.log.checkpoints import Checkpoint

Progress = Callable[[int, int], None]
NO_PROGRESS: Final[Progress] = lambda _done, _end: None  # noqa: E731 - a default


def newest_image(place: BackupPlace, section: str = ROWS) -> ImageManifest | None:
    """Return the newest image with a section, None if the backup has none.

    Raises BackupError for a place without a backup, and as `read_image`.
    """
    names = image_names(place)
    if not names and place.read(NAME) is None:
        raise not_there(place)
    for name in names:
        image = read_image(place, name)
        if section in image.sections:
            return image
    return None


def rows_of(
    place: BackupPlace, image: ImageManifest, section: str = ROWS, *, is_compared: bool = False
) -> Iterator[list[Row]]:
    """Yield the rows of a section in order of keys, those of a file at a time.

    The row of the checkpoint is not among them. Raises ImageDamagedError at the first file that is
    not what was written, so use no row before the end. With `is_compared` the digest of the rows of
    each file is compared too; the checksum of its bytes always is.
    """
    found = image.sections[section]
    files = found.files
    if (sum(file.rows for file in files), digest_over(files)) != (found.rows, found.digest):
        raise ImageDamagedError(
            place.path,
            image.file,
            f"the files of section {section} are not those that were written: one is missing, or "
            "they are out of order",
        )
    last = b""
    for file in files:
        rows = opened_rows(place, image, file)
        keys = [last, *map(itemgetter(0), rows)]
        if any(map(ge, keys, islice(keys, 1, None))):
            raise ImageDamagedError(
                place.path, file.name, f"the rows of section {section} are out of order there"
            )
        if is_compared and digest_of(rows) != file.digest:
            raise other_digest(place, file)
        last = keys[-1]
        yield rows


def other_digest(place: BackupPlace, file: RowsFile) -> ImageDamagedError:
    """Return the error for rows that do not have the digest of their file."""
    return ImageDamagedError(
        place.path, file.name, "its rows have another digest than those that were written"
    )


def check_proved(
    place: BackupPlace, image: ImageManifest, section: str, proofs: Iterable[SectionProof]
) -> None:
    """Compare the digests of a section with those that a trim verified, if it is the same image.

    Rows of a later position, or a later checkpoint, are not compared. Raises ImageDamagedError.
    """
    found = image.sections[section]
    for each in proofs:
        if each.section != section or each.position != found.position:
            continue
        checkpoint = found.checkpoint
        has_other_state = (
            checkpoint.position == each.checkpoint
            and checkpoint.file.digest != each.checkpoint_digest
        )
        if found.digest.hex() != each.digest or has_other_state:
            raise ImageDamagedError(
                place.path,
                image.file,
                f"section {section} has another digest than the trim of the log verified",
            )


def opened_rows(place: BackupPlace, image: ImageManifest, file: RowsFile) -> list[Row]:
    """Return the rows of a file; raises ImageDamagedError if it differs from what was written."""
    data = place.read(file.name)
    if data is None:
        raise ImageDamagedError(place.path, file.name, "the file is missing")
    found = sha256(data).hexdigest()
    if found != file.sha256:
        raise ImageDamagedError(place.path, file.name, what_it_is(data, found, image, file))
    try:
        rows = open_rows_file(data)
    except ValueError as error:
        raise ImageDamagedError(place.path, file.name, str(error)) from error
    if len(rows) != file.rows:
        raise ImageDamagedError(
            place.path, file.name, f"it holds {len(rows)} rows, {file.rows} were written"
        )
    return rows


def what_it_is(data: bytes, found: str, image: ImageManifest, file: RowsFile) -> str:
    """Return what the bytes under the name of a file seem to be instead."""
    for section in image.sections.values():
        for other in (*section.files, section.checkpoint.file):
            if other.sha256 == found:
                return f"it holds the bytes of {other.name}"
    if len(data) != file.size:
        return f"it has {len(data)} bytes, {file.size} were written"
    return f"its bytes are not those that were written (sha256 {found}, wanted {file.sha256})"


def checkpoint_row(place: BackupPlace, image: ImageManifest, section: str = ROWS) -> Row:
    """Return the row of the state checkpoint; raises ImageDamagedError."""
    file = image.sections[section].checkpoint.file
    rows = opened_rows(place, image, file)
    if digest_of(rows) != file.digest:
        raise other_digest(place, file)
    if len(rows) != 1:
        raise ImageDamagedError(
            place.path, file.name, f"it must hold one row, the checkpoint, and holds {len(rows)}"
        )
    return rows[0]


def checkpoint_of(place: BackupPlace, image: ImageManifest, section: str = ROWS) -> "Checkpoint":
    """Return the state checkpoint of a section.

    Raises ImageDamagedError if it is not the one that the manifest names, ImageForeignError for the
    state of another ledger, IncompatibleError for a checkpoint of a later version.
    """
    from ledger.log.checkpoints import load  # noqa: PLC0415 - most readers need only the rows

    named = image.sections[section].checkpoint
    found = load(checkpoint_row(place, image, section)[1])
    if (found.head.position, found.head.chain, found.offset) != named[:3]:
        raise ImageDamagedError(
            place.path,
            named.file.name,
            f"it is the checkpoint of position {found.head.position}, and {image.file} names "
            f"{named.position}",
        )
    created = found.state.genesis
    if created is None or created.ledger != image.ledger:
        of = "no ledger" if created is None else f"ledger {created.ledger}"
        raise ImageForeignError(
            f"the checkpoint of the image {image.file} in {place.path} is of {of}, and the image "
            f"of {image.ledger}. Take an image again with: lakeledger backup {place.path}"
        )
    return found


def verified(
    place: BackupPlace, image: ImageManifest, progress: Progress = NO_PROGRESS
) -> Mapping[str, int]:
    """Read all of an image, and compare it with the events of its backup.

    Returns how many rows each section has. Raises ImageDamagedError at the first file that differs
    from what was written, ImageForeignError if image and events are not of one log, and as the
    readers of a backup.
    """
    check_covered(place, manifest_in(place), image)
    end = sum(each.rows for each in image.sections.values())
    done, counted = 0, dict.fromkeys(image.sections, 0)
    for section in image.sections:
        checkpoint_of(place, image, section)
        for rows in rows_of(place, image, section, is_compared=True):
            done += len(rows)
            counted[section] += len(rows)
            progress(done, end)
    return counted


def check_covered(place: BackupPlace, archive: Manifest, image: ImageManifest) -> None:
    """Compare the places of an image in the log with the events; raises as `verified`."""
    if image.ledger != archive.ledger:
        raise ImageForeignError(
            f"the image {image.file} in {place.path} is of ledger {image.ledger}, and the events "
            f"beside it are of {archive.ledger}. Remove the image, and take one again with: "
            f"lakeledger backup {place.path}"
        )
    wanted = [each for section in image.sections.values() for each in places_of(section)]
    found = chains_at(place, archive, {position for position, _ in wanted})
    for position, chain in sorted(wanted):
        if found.get(position) != chain:
            has = found[position].hex() if position in found else "no event"
            raise ImageForeignError(
                f"the image {image.file} in {place.path} is of a log with chain {chain.hex()} at "
                f"position {position}, and the events beside it have {has} there. Remove the "
                f"image, and take one again with: lakeledger backup {place.path}"
            )


def places_of(section: ImageSection) -> list[tuple[int, bytes]]:
    """Return the positions that a section names, with their chains."""
    checkpoint = section.checkpoint
    return [(section.position, section.chain), (checkpoint.position, checkpoint.chain)]


def chains_at(
    place: BackupPlace, archive: Manifest, positions: Collection[int]
) -> dict[int, bytes]:
    """Return the chain of the log behind each position that the events of a backup have.

    Only the files with these positions are read. Raises BackupDamagedError.
    """
    found: dict[int, bytes] = {}
    for file in archive.files:
        inside = {
            each for each in positions if file.first_position <= each <= file.last_position
        } - found.keys()
        if inside:
            for record in opened_file(place, archive, file).records:
                if record.position in inside:
                    found.setdefault(record.position, record.chain)
    return found
