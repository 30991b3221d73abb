"""A search of every byte of a ledger on this machine for planted values, by no code of the report.

Each file is read as it stands on the disk, and once more as its format has it: record batches of
Kafka, events with their file lists, checkpoints, rows, Parquet with its footers, and Avro.
"""

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq

from ledger.backup.contents import manifest_in, parts
from ledger.backup.images.manifest import image_names, read_image
from ledger.backup.images.reading import checkpoint_row, rows_of
from ledger.backup.place import FolderPlace
from ledger.errors import FileListError
from ledger.iceberg.limits import IcebergFormatError
from ledger.iceberg.manifests import read_manifest, read_manifest_list
from ledger.log.port import Log, Topic, records_between
from ledger.log.wire.codec import UnreadableError, decode_command, decode_event
from ledger.log.wire.file_list import unpack
from projections.images.stored import FORMATS
from projections.store.port import KEYS_END
from projections.store.rocks_reader import RocksReader

BATCH_HEAD: Final = 61
LENGTH_END: Final = 12
CODECS: Final = 7
LISTED: Final = b"L"
INSIDE: Final = 2
"""How many folders lead to the folder of a topic."""

Record = tuple[int, bytes, bytes]
Places = dict[str, set[str]]


class Planted:
    """The values to look for, as text and as the bytes of a number."""

    def __init__(self, texts: Iterable[str], numbers: Iterable[int]) -> None:
        numbers = list(numbers)
        self._tokens = [text.encode() for text in (*texts, *map(str, numbers))]
        self._tokens += [struct.pack("<q", number) for number in numbers]

    def within(self, *values: Any) -> bool:
        """Return whether bytes, or the text of any other value, have one."""
        for value in values:
            data = value if isinstance(value, bytes) else repr(value).encode()
            if any(token in data for token in self._tokens):
                return True
        return False


class Searched(NamedTuple):
    """A ledger on this machine: its folder, its name, and the location of the table.

    `begins` is the first offset that the events topic still has for its readers.
    """

    home: Path
    ledger: str
    table: Path
    begins: int


def every_place(of: Searched, backup: Path, planted: Planted) -> Places:
    """Return the places of a ledger and its backup that have a value, with what they name there."""
    home = of.home
    found: Places = defaultdict(set)
    for path in sorted(each for each in home.rglob("*") if each.is_file()):
        with suppress(FileNotFoundError):
            for place, where in of_file(path, of, planted):
                found[place].add(where)
    for folder, section in (("store", "rows"), ("publisher", "publication")):
        root = home / folder
        if root.is_dir() and any(planted.within(*row) for row in decoded_rows(root, section)):
            found[role_of(folder)].add(str(root))
    for place, where in of_backup(backup, planted):
        found[place].add(where)
    return dict(found)


def of_file(path: Path, of: Searched, planted: Planted) -> Iterator[tuple[str, str]]:
    """Yield the place of a file that has a value, for a topic one for each record."""
    home, ledger, table, begins = of
    inner, data = path.relative_to(home).parts, path.read_bytes()
    if path.is_relative_to(table):
        yield from of_table_file(path, table, data, planted)
    elif inner[0] in {"store", "publisher"}:
        if planted.within(data):
            yield role_of(inner[0]), str(home / inner[0])
    elif ".log" in path.name and len(inner) > INSIDE and inner[2].startswith(f"{ledger}."):
        topic = inner[2].removeprefix(f"{ledger}.").rpartition("-")[0]
        records = list(records_in(data))
        yield from held_records(topic, records, planted, begins)
        rest = b"".join(key + value for _, key, value in records)
        assert planted.within(data) <= planted.within(rest), f"{path} has more than its records"
    elif planted.within(data):
        yield f"file {path}", ""


def role_of(folder: str) -> str:
    return "rows of the follower" if folder == "store" else "rows of the publisher"


def of_table_file(
    path: Path, table: Path, data: bytes, planted: Planted
) -> Iterator[tuple[str, str]]:
    """Yield the place of a file of the table that has a value."""
    name = str(path.relative_to(table))
    if planted.within(data, name, *decoded_file(path, data)):
        if name.startswith("_delta_log/"):
            yield "published Delta log", name.partition("/")[2]
        elif name.startswith("metadata/"):
            yield "Iceberg metadata", name.partition("/")[2]
        else:
            yield "data file", name


def decoded_file(path: Path, data: bytes) -> Iterator[Any]:
    """Yield what a file of a table says to a reader of its format."""
    if path.suffix == ".parquet":
        read = pq.ParquetFile(path)
        yield read.read().to_pylist()
        yield read.metadata.to_dict()
    elif path.suffix == ".avro":
        with suppress(IcebergFormatError):
            yield [(*entry, *bounds_of(entry)) for entry in read_manifest(data).entries]
        with suppress(IcebergFormatError):
            yield read_manifest_list(data)


def bounds_of(entry: Any) -> Iterator[str]:
    for bounds in (entry.lower_bounds, entry.upper_bounds):
        for bound in (bounds or {}).values():
            yield str(int.from_bytes(bound, "little", signed=True))


def held_records(
    topic: str, records: list[Record], planted: Planted, begins: int
) -> Iterator[tuple[str, str]]:
    """Yield the place of each record of a topic that has a value, by its position or offset."""
    chunks: Mapping[bytes, bytes] = {}
    for offset, key, value in records:
        if topic == "events":
            position, said = decoded_event(value)
            if planted.within(key, value, *said):
                place = "topic events" if offset >= begins else "trimmed records"
                yield place, str(position)
        elif topic == "commands":
            if planted.within(key, value, *leaves(decode_command(value))):
                yield f"topic {topic}", str(offset)
        elif topic == "checkpoints":
            chunks = {**chunks, key: value}
            if planted.within(value, *decoded_checkpoint(key, chunks)):
                yield f"topic {topic}", key.decode().split("/")[1]
        elif planted.within(key, value):
            yield f"topic {topic}", str(offset)


def is_in_log(log: Log, planted: Planted) -> bool:
    """Return whether any record of a log has a value, also within lists of files."""
    for topic in Topic:
        first, end = log.ends(topic)
        for record in records_between(log, topic, first, end) if first < end else ():
            inside: list[Any] = []
            if topic is Topic.EVENTS:
                inside = decoded_event(record.value)[1]
            elif topic is Topic.COMMANDS:
                inside = list(leaves(decode_command(record.value)))
            if planted.within(record.key, record.value, *inside):
                return True
    return False


def decoded_event(value: bytes) -> tuple[int, list[Any]]:
    try:
        event = decode_event(value)
    except UnreadableError:
        return 0, []
    return event.control.position, list(leaves(event.body))


def decoded_checkpoint(key: bytes, chunks: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield the state whose last chunk so far has a key."""
    prefix, _, number = key.rpartition(b"/")
    if number.isdigit():
        whole = b"".join(chunks.get(b"%s/%d" % (prefix, at), b"") for at in range(int(number) + 1))
        with suppress(zlib.error):
            yield zlib.decompress(whole)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield all values in a record, and for bytes that are a file list what it lists."""
    if isinstance(tree, tuple | list):
        for each in tree:
            yield from leaves(each)
        return
    yield tree
    if isinstance(tree, bytes) and tree:
        with suppress(FileListError):
            yield unpack(tree)


def decoded_rows(root: Path, section: str) -> Iterator[tuple[Any, ...]]:
    with RocksReader.open(root, version=FORMATS[section]) as reader:
        for key, value in reader.scan(b"", KEYS_END):
            yield decoded_row(key, value)


def decoded_row(key: bytes, value: bytes) -> tuple[Any, ...]:
    """Return a row with what it holds: a list of files. A block stands in a row as it is."""
    return (key, value, *(leaves(value) if key[:1] == LISTED else ()))


def of_backup(backup: Path, planted: Planted) -> Iterator[tuple[str, str]]:
    """Yield the positions and the images of a backup that have a value; each file is raw too."""
    place = FolderPlace(backup)
    if not place.names():
        return
    for part in parts(place, manifest_in(place)):
        for record in part.records:
            position, said = decoded_event(record.value)
            if planted.within(record.value, *said):
                yield "archive", str(position)
    for name in image_names(place):
        if any(planted.within(*decoded_row(*row)) for row in image_rows(place, name)):
            yield "image", name
    for name in sorted(place.names()):
        data = place.read(name) or b""
        if planted.within(data) and not name.startswith(("events", "image", "rows")):
            yield f"file {name}", ""


def image_rows(place: FolderPlace, name: str) -> Iterator[tuple[bytes, bytes]]:
    image = read_image(place, name)
    for section in image.sections:
        for rows in rows_of(place, image, section):
            yield from rows
        yield checkpoint_row(place, image, section)


def records_in(data: bytes) -> Iterator[Record]:
    """Yield the records of a segment of Kafka's log: batches of format 2, not compressed."""
    at = 0
    while at + BATCH_HEAD <= len(data):
        base, length = struct.unpack_from(">qi", data, at)
        end = at + LENGTH_END + length
        if length <= 0 or end > len(data):
            return
        (attributes,) = struct.unpack_from(">h", data, at + 21)
        assert not attributes & CODECS, "the batch is compressed"
        inside = at + BATCH_HEAD
        while inside < end:
            size, inside = varint(data, inside)
            yield record_at(base, data[inside : inside + size])
            inside += size
        at = end


def record_at(base: int, data: bytes) -> Record:
    _, at = varint(data, 1)
    delta, at = varint(data, at)
    key, at = sized(data, at)
    value, at = sized(data, at)
    return base + delta, key, value


def sized(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = varint(data, at)
    return (data[at : at + size], at + size) if size >= 0 else (b"", at)


def varint(data: bytes, at: int) -> tuple[int, int]:
    shift = found = 0
    while True:
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return (found >> 1) ^ -(found & 1), at
