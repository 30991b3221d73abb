"""The manifest: the ledger of a backup, its last position, and its files.

It is one JSON file, written anew after each data file. Only files in it belong to the backup; a
data file without an entry is the remainder of a killed run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple, Self

from ledger.backup.errors import BackupDamagedError
from ledger.backup.place import BackupPlace
from ledger.core.acceptance import LogHead, head_form, head_from
from ledger.errors import IncompatibleError

NAME: Final = "backup.json"
FORMAT: Final = 1
DIGEST_BYTES: Final = 16
NO_DIGEST: Final = bytes(DIGEST_BYTES)
LENGTH_BYTES: Final = 4


class DataFile(NamedTuple):
    """One data file: its positions and offsets, and the checksum of its bytes.

    `size` is the size of the file, `content` the size of the keys and values in it.
    """

    name: str
    first_position: int
    last_position: int
    first_offset: int
    end_offset: int
    records: int
    content: int
    size: int
    sha256: str


class BackupReached(NamedTuple):
    """The end of the records that were taken.

    `head` is the position and chain of the log. `counted`, `counted_end` and `counted_digest` are
    the number of records up to the last one that counted, the offset after it and their digest;
    `records`, `end_offset` and `digest` are the same of all records.
    """

    head: LogHead
    counted: int
    counted_end: int
    counted_digest: bytes
    records: int
    end_offset: int
    digest: bytes


NOTHING: Final = BackupReached(LogHead(), 0, 0, NO_DIGEST, 0, 0, NO_DIGEST)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The ledger and the last position of a backup.

    `events_topic` is the broker's id of the topic that was read last. `topics` are the copies and
    settings of the topics at that time, by the last part of their names.
    """

    ledger: str
    name: str
    domain: int
    events_topic: str
    topics: Mapping[str, Mapping[str, Any]]
    reached: BackupReached
    files: tuple[DataFile, ...]

    def with_files(self, files: tuple[DataFile, ...], reached: BackupReached, topic: str) -> Self:
        """Return the manifest with more files, read from the topic with this id."""
        return replace(self, files=files, reached=reached, events_topic=topic)

    def write(self, place: BackupPlace) -> None:
        """Put the manifest in place."""
        reached = self.reached
        fields = {
            "format": FORMAT,
            "ledger": self.ledger,
            "name": self.name,
            "domain": self.domain,
            "position": reached.head.position,
            "chain": reached.head.chain.hex(),
            "events_topic": self.events_topic,
            "topics": self.topics,
            "reached": {
                **reached._asdict(),
                "head": head_form(reached.head),
                "counted_digest": reached.counted_digest.hex(),
                "digest": reached.digest.hex(),
            },
            "files": [file._asdict() for file in self.files],
        }
        text = json.dumps({**fields, "sha256": checksum(fields)}, indent=1, sort_keys=True)
        place.write(NAME, text.encode() + b"\n")


def read_manifest(place: BackupPlace) -> Manifest | None:
    """Return the manifest of a backup, None if absent.

    Raises BackupDamagedError if it differs from what was written, IncompatibleError for a later
    format.
    """
    data = place.read(NAME)
    if data is None:
        return None
    try:
        fields = json.loads(data)
        if fields["format"] != FORMAT:
            raise IncompatibleError(
                f"the backup in {place.path} has format {fields['format']}, this version reads "
                f"{FORMAT}; use the version of LakeLedger that wrote it, or a later one"
            )
        if fields.pop("sha256") != checksum(fields):
            raise BackupDamagedError(place.path, NAME, "its own checksum does not fit")
        return manifest_of(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BackupDamagedError(place.path, NAME, f"it is not a manifest ({error!r})") from error


def manifest_of(fields: dict[str, Any]) -> Manifest:
    """Return the manifest of the fields in its JSON."""
    reached = dict(fields["reached"])
    reached["head"] = head_from(reached["head"])
    for name in ("counted_digest", "digest"):
        reached[name] = bytes.fromhex(reached[name])
    return Manifest(
        fields["ledger"],
        fields["name"],
        fields["domain"],
        fields["events_topic"],
        fields["topics"],
        BackupReached(**reached),
        tuple(DataFile(**each) for each in fields["files"]),
    )


def checksum(fields: Mapping[str, Any]) -> str:
    """Return the checksum of the fields, however the JSON is laid out."""
    return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def next_digest(digest: bytes, key: bytes, value: bytes) -> bytes:
    """Return the running digest after a record: over all bytes, also of records that don't count.

    The chain of the log covers neither keys nor records that were passed over.
    """
    length = len(key).to_bytes(LENGTH_BYTES, "big")
    return blake2b(digest + length + key + value, digest_size=DIGEST_BYTES).digest()
