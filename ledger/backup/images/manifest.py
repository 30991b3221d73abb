"""The manifest of an image: its sections, the position of each, and the files of their rows.

It is one JSON file, `image-<position>.json`, written after the files that it names. A file of rows
without an entry is the remainder of a killed run, or of an image that is gone.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

from ledger.backup.errors import ImageDamagedError
from ledger.backup.manifest import checksum
from ledger.backup.place import BackupPlace
from ledger.errors import IncompatibleError
from ledger.log.trimmed import SectionProof

FORMAT: Final = 1
PREFIX: Final = "image-"
SUFFIX: Final = ".json"
ROWS: Final = "rows"
"""The section with the rows of a follower."""
PUBLICATION: Final = "publication"
"""The section with the rows of a publisher."""
DIGEST_BYTES: Final = 32


class RowsFile(NamedTuple):
    """One file of rows: their number, the bytes of keys and values, and the digest of the rows.

    `size` and `sha256` are of the bytes of the file.
    """

    name: str
    rows: int
    content: int
    digest: str
    size: int
    sha256: str


class CheckpointFile(NamedTuple):
    """The row of the state checkpoint, in a file of its own, and the place in the log it has."""

    position: int
    chain: bytes
    offset: int
    file: RowsFile


class ImageSection(NamedTuple):
    """The rows of one store at one position.

    `chain` and `offset` are of the log behind the event at `position`. `format` is the version of
    the form of the rows. `digest` is over all rows but the checkpoint's: the SHA-256 of the digests
    of the files, as hexadecimal digits.
    """

    position: int
    chain: bytes
    offset: int
    format: int
    checkpoint: CheckpointFile
    rows: int
    digest: bytes
    files: tuple[RowsFile, ...]

    def named(self) -> set[str]:
        """Return the names of all files of the section."""
        return {self.checkpoint.file.name, *(file.name for file in self.files)}


@dataclass(frozen=True, slots=True)
class ImageManifest:
    """An image of the rows of a ledger; `topic` is the broker's id of the events topic."""

    ledger: str
    name: str
    topic: str
    sections: Mapping[str, ImageSection]

    @property
    def position(self) -> int:
        """The position of the follower's rows, or of the only rows that there are."""
        first = self.sections.get(ROWS) or next(iter(self.sections.values()))
        return first.position

    @property
    def checkpoint(self) -> int:
        """The position from which on a process that begins with the image reads the log."""
        return min(each.checkpoint.position for each in self.sections.values())

    @property
    def digest(self) -> bytes:
        """The digest of the rows of all sections."""
        found = blake2b(digest_size=DIGEST_BYTES)
        for name, each in sorted(self.sections.items()):
            found.update(f"{name} {each.position} {each.digest.hex()}\n".encode())
        return found.digest()

    @property
    def proofs(self) -> tuple[SectionProof, ...]:
        """What the mark of a trim keeps of the sections."""
        return tuple(
            SectionProof(
                name,
                each.position,
                each.digest.hex(),
                each.checkpoint.position,
                each.checkpoint.file.digest,
            )
            for name, each in sorted(self.sections.items())
        )

    @property
    def file(self) -> str:
        """The name of the manifest."""
        return f"{PREFIX}{self.position:020}{SUFFIX}"

    def named(self) -> set[str]:
        """Return the names of all files of rows."""
        return set[str]().union(*(each.named() for each in self.sections.values()))

    def write(self, place: BackupPlace) -> None:
        """Put the manifest in place; the files that it names are there."""
        fields = {
            "format": FORMAT,
            "ledger": self.ledger,
            "name": self.name,
            "events_topic": self.topic,
            "position": self.position,
            "sections": {name: form_of(each) for name, each in self.sections.items()},
        }
        text = json.dumps({**fields, "sha256": checksum(fields)}, indent=1, sort_keys=True)
        place.write(self.file, text.encode() + b"\n")


def digest_over(files: Iterable[RowsFile]) -> bytes:
    """Return the digest of all rows in files; it depends on their order."""
    return sha256("".join(file.digest for file in files).encode()).digest()


def form_of(section: ImageSection) -> dict[str, Any]:
    """Return a section as in the JSON of a manifest."""
    checkpoint = section.checkpoint
    return {
        **section._asdict(),
        "chain": section.chain.hex(),
        "digest": section.digest.hex(),
        "checkpoint": {
            **checkpoint._asdict(),
            "chain": checkpoint.chain.hex(),
            "file": checkpoint.file._asdict(),
        },
        "files": [file._asdict() for file in section.files],
    }


def section_from(form: dict[str, Any]) -> ImageSection:
    """Return a section of the JSON of a manifest."""
    found = form["checkpoint"]
    file = RowsFile(**found["file"])
    checkpoint = CheckpointFile(
        found["position"], bytes.fromhex(found["chain"]), found["offset"], file
    )
    return ImageSection(
        form["position"],
        bytes.fromhex(form["chain"]),
        form["offset"],
        form["format"],
        checkpoint,
        form["rows"],
        bytes.fromhex(form["digest"]),
        tuple(RowsFile(**each) for each in form["files"]),
    )


def is_manifest(name: str) -> bool:
    """Return whether a file of a backup is the manifest of an image."""
    return name.startswith(PREFIX) and name.endswith(SUFFIX)


def image_names(place: BackupPlace) -> list[str]:
    """Return the names of the manifests in a backup, of the newest image first."""
    return sorted(filter(is_manifest, place.names()), reverse=True)


def read_image(place: BackupPlace, name: str) -> ImageManifest:
    """Return the image of a manifest.

    Raises ImageDamagedError if it differs from what was written, IncompatibleError for a later
    format.
    """
    data = place.read(name)
    if data is None:
        raise ImageDamagedError(place.path, name, "the file is missing")
    try:
        fields = json.loads(data)
        if fields["format"] != FORMAT:
            raise IncompatibleError(
                f"the image {name} in {place.path} has format {fields['format']}, this version "
                f"reads {FORMAT}; use the version of LakeLedger that wrote it, or a later one"
            )
        if fields.pop("sha256") != checksum(fields):
            raise ImageDamagedError(place.path, name, "its own checksum does not fit")
        sections = {each: section_from(form) for each, form in fields["sections"].items()}
        image = ImageManifest(fields["ledger"], fields["name"], fields["events_topic"], sections)
        if image.file != name:
            raise ImageDamagedError(place.path, name, f"it is the manifest of {image.file}")
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        StopIteration,
    ) as error:
        raise ImageDamagedError(place.path, name, f"it is no manifest ({error!r})") from error
    return image
