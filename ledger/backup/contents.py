"""The content of a backup: its files in order, each checked before its records are returned.

A file is compared with its entry in the manifest by size and checksum, and its records with the
chain of the log. An error names the file that does not fit, and what it seems to be instead.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from ledger.backup.container import Copied, Opened, open_container
from ledger.backup.errors import BackupDamagedError, BackupError
from ledger.backup.manifest import NAME, NO_DIGEST, DataFile, Manifest, next_digest, read_manifest
from ledger.backup.place import BackupPlace
from ledger.core.acceptance import LogHead
from ledger.errors import LogDamagedError
from ledger.log.acceptor import Acceptor


class Part(NamedTuple):
    """The records of one file; `first` is the number of the first one in the whole backup."""

    first: int
    records: list[Copied]


def manifest_in(place: BackupPlace) -> Manifest:
    """Return the manifest of a backup; raises BackupError without one, else as its reader."""
    found = read_manifest(place)
    if found is None:
        raise not_there(place)
    if not found.files:
        raise BackupError(
            f"the backup in {place.path} was begun and holds no record yet. Run lakeledger backup "
            f"{place.path} again while the ledger is up"
        )
    return found


def not_there(place: BackupPlace) -> BackupError:
    """Return the error for a place without a backup, such as a disk that is not mounted."""
    return BackupError(
        f"there is no backup in {place.path}: it has no {NAME}. Give the path that "
        "lakeledger backup wrote to"
    )


def manifest_of_ledger(place: BackupPlace, ledger: str) -> Manifest:
    """Return the manifest of a backup of the ledger with an id; raises as `manifest_in`."""
    found = manifest_in(place)
    if found.ledger != ledger:
        raise BackupError(
            f"the backup in {place.path} is of ledger {found.ledger}, and this one is {ledger}; "
            "name a backup of this ledger"
        )
    return found


def parts(place: BackupPlace, manifest: Manifest) -> Iterator[Part]:
    """Yield the records of a backup, a file at a time.

    Raises BackupDamagedError at the first file that is not what was written.
    """
    acceptor, digest, number = Acceptor(LogHead()), NO_DIGEST, 0
    for file in manifest.files:
        opened = opened_file(place, manifest, file)
        for record in opened.records:
            judge(place, file, acceptor, record)
            digest = next_digest(digest, record.key, record.value)
        yield Part(number, opened.records)
        number += len(opened.records)
    reached = manifest.reached
    if (acceptor.head, number, digest) != (reached.head, reached.records, reached.digest):
        raise BackupDamagedError(
            place.path,
            NAME,
            f"its files end at position {acceptor.head.position} with chain "
            f"{acceptor.head.chain.hex()}, it names position {reached.head.position} with chain "
            f"{reached.head.chain.hex()}",
        )


def judge(place: BackupPlace, file: DataFile, acceptor: Acceptor, record: Copied) -> None:
    """Move an acceptor past a record; raises BackupDamagedError if the record does not fit.

    A record that no sequencer wrote may be among them, if a later cut passes over it. It changes
    neither position nor chain, and the backup has it so.
    """
    head = acceptor.head
    is_counted = (head.position, head.chain) != (record.position, record.chain)
    try:
        acceptor.take_control(record.value)
    except LogDamagedError as error:
        if is_counted:
            raise BackupDamagedError(place.path, file.name, str(error)) from error
    if (head.position, head.chain) != (record.position, record.chain):
        raise BackupDamagedError(
            place.path,
            file.name,
            f"the record at offset {record.offset} leads to position {head.position}, it says "
            f"{record.position}",
        )


def opened_file(place: BackupPlace, manifest: Manifest, file: DataFile) -> Opened:
    """Return a data file; raises BackupDamagedError if it differs from what was written."""
    data = place.read(file.name)
    if data is None:
        raise BackupDamagedError(place.path, file.name, "the file is missing")
    if sha256(data).hexdigest() != file.sha256:
        raise BackupDamagedError(place.path, file.name, what_it_is(data, manifest, file))
    try:
        return open_container(data)
    except ValueError as error:
        raise BackupDamagedError(place.path, file.name, str(error)) from error


def what_it_is(data: bytes, manifest: Manifest, file: DataFile) -> str:
    """Return what the bytes under the name of a file seem to be instead."""
    found = sha256(data).hexdigest()
    other = next((each for each in manifest.files if each.sha256 == found), None)
    if other is not None:
        return f"it holds the bytes of {other.name}"
    try:
        opened = open_container(data)
    except ValueError:
        opened = None
    if opened is not None and opened.ledger != manifest.ledger:
        return f"it is a file of ledger {opened.ledger}, the backup is of {manifest.ledger}"
    if len(data) != file.size:
        return f"it has {len(data)} bytes, {file.size} were written"
    return f"its bytes are not those that were written (sha256 {found}, wanted {file.sha256})"
