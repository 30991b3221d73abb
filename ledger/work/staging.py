"""Staging: how the footprints of a commit fit into records.

The commit itself holds a small footprint. A footprint with many files or hashes is staged before
the commit, in chunks that the ledger keeps with the open txn. The commit then names their count and
digest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ledger.core.commands import Footprint, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, next_digest
from ledger.core.conflicts.row_changes import (
    NO_ROWS,
    added_bytes,
    mark_bytes,
    moved_bytes,
    weight_of,
)
from ledger.core.limits import (
    FILES_PER_CHUNK,
    FOOTPRINT_BYTES_MAX,
    LIST_CHARS_PER_CHUNK,
    READ_BYTES_PER_CHUNK,
)
from ledger.core.rows.changes import RowChanges
from ledger.errors import StagedWritesDifferError
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, pack
from ledger.work.beside_files import app_bytes, chunks_beside_files, domain_bytes, without_staged
from ledger.work.footprint_writer import FootprintWriter
from ledger.work.writes import DeclaredPart

Send = Callable[[int, int, Footprint], None]
"""Stages a chunk: the table, the number of the chunk, its footprint."""

Files = Sequence[AddFile | RemoveFile]
Item = TypeVar("Item")


class Sent(NamedTuple):
    """How many chunks of a table were staged, and the digest over their files."""

    chunks: int = 0
    digest: bytes = b""


class Staging:
    """Makes the parts of one commit fit; it stages no chunk twice."""

    def __init__(self) -> None:
        self._sent: dict[int, Sent] = {}
        self._whole: set[int] = set()
        # The table and number of the newest chunk sent.
        self._unsure: tuple[int, int] | None = None

    @property
    def has_begun(self) -> bool:
        """Return whether a chunk was sent; from then on the declared writes must not change."""
        return self._unsure is not None

    def fit(self, parts: Iterable[DeclaredPart], send: Send) -> list[TableWrite]:
        """Return the parts of the commit; `send` has staged what is too large.

        Raises as `send` does. A second call goes on after the last chunk.
        """
        room, fitted = FOOTPRINT_BYTES_MAX, []
        for part in parts:
            footprint = None if part.table in self._sent else riding(part, room)
            if footprint is None and part.head is not None:
                footprint = self._stage(part, noted(part.head, part.info), send)
            room -= size_of(footprint) if footprint is not None else 0
            fitted.append(TableWrite(part.table, part.read_at, part.writes, footprint))
        return fitted

    def _stage(self, part: DeclaredPart, head: Footprint, send: Send) -> Footprint:
        if part.table not in self._whole:
            for number, chunk in enumerate(chunks_of(part), start=1):
                if number > self._sent.get(part.table, Sent()).chunks:
                    self._stage_one(part.table, number, chunk, send)
            self._whole.add(part.table)
        chunks, digest = self._sent.get(part.table, Sent())
        return without_staged(head)._replace(staged=chunks, digest=digest)

    def _stage_one(self, table: int, number: int, chunk: Footprint, send: Send) -> None:
        """Stage a chunk; it may be staged already if its first answer was lost."""
        is_unsure = self._unsure == (table, number)
        # Before sending: after a time-out or Ctrl-C the chunk may or may not have arrived.
        self._unsure = table, number
        try:
            send(table, number, chunk)
        except StagedWritesDifferError:
            if not is_unsure:
                raise
        digest = self._sent.get(table, Sent()).digest
        self._sent[table] = Sent(number, next_digest(digest, chunk))


def riding(part: DeclaredPart, room: int) -> Footprint | None:
    """Return the whole footprint of a part if it takes no more than `room` bytes, else None."""
    files = part.writer.files
    if part.head is None or len(part.read_files) > room:
        return None
    if len(files) > FILES_PER_CHUNK or not fits_a_reader(files):
        return None
    found = part.writer.with_files(part.head._replace(read_files=part.read_files), files, part.info)
    if part.rows is not None:
        found = with_row_changes(part.writer, found, part.rows)
    return found if size_of(found) <= room else None


def chunks_of(part: DeclaredPart) -> Iterator[Footprint]:
    """Yield the files and hashes of a part in footprints that each fit one record."""
    hashes = part.read_files
    for at in range(0, len(hashes), READ_BYTES_PER_CHUNK):
        yield EMPTY_FOOTPRINT._replace(read_files=hashes[at : at + READ_BYTES_PER_CHUNK])
    if part.head is not None:
        yield from chunks_beside_files(noted(part.head, part.info))
    if part.rows is not None:
        for rows in row_chunks(part.rows):
            yield with_row_changes(part.writer, EMPTY_FOOTPRINT, rows)
    files = part.writer.files
    for at in range(0, len(files), FILES_PER_CHUNK):
        yield from fitting(part.writer, files[at : at + FILES_PER_CHUNK])


def with_row_changes(writer: FootprintWriter, footprint: Footprint, rows: RowChanges) -> Footprint:
    """Return a footprint with what a part did row by row; marks name the partitions of files."""
    if not rows.marks:
        return footprint._replace(rows=rows)
    known = writer.marked_in()
    has_removes = bool(footprint.removes)
    is_known = known is not None and (not has_removes or bool(footprint.removes_in))
    partitions = list(dict.fromkeys([*footprint.removes_in, *(known or ())])) if is_known else []
    return footprint._replace(rows=rows, removes_in=partitions, data_change=True)


def row_chunks(rows: RowChanges) -> Iterator[RowChanges]:
    """Yield row changes in pieces that each fit one record."""
    for at in range(0, len(rows.scanned), READ_BYTES_PER_CHUNK):
        yield NO_ROWS._replace(scanned=rows.scanned[at : at + READ_BYTES_PER_CHUNK])
    yield from (NO_ROWS._replace(marks=some) for some in pieces(rows.marks, mark_bytes))
    yield from (NO_ROWS._replace(read=some) for some in pieces(rows.read, mark_bytes))
    yield from (NO_ROWS._replace(moved=some) for some in pieces(rows.moved, moved_bytes))
    yield from (NO_ROWS._replace(added=some) for some in pieces(rows.added, added_bytes))


def pieces(every: Sequence[Item], size: Callable[[Item], int]) -> Iterator[Sequence[Item]]:
    """Yield runs of items that each fit one record."""
    some: list[Item] = []
    room = FOOTPRINT_BYTES_MAX // 2
    for each in every:
        room -= size(each)
        if some and room < 0:
            yield some
            some, room = [], FOOTPRINT_BYTES_MAX // 2 - size(each)
        some.append(each)
    if some:
        yield some


def noted(head: Footprint, info: str) -> Footprint:
    """Return a footprint without files that has the info of its commit."""
    return head._replace(files=pack(FileList(info=info))) if info else head


def fitting(writer: FootprintWriter, files: Files) -> Iterator[Footprint]:
    """Yield footprints of these files, halved until they fit; one file alone is not divided."""
    half = len(files) // 2
    found = writer.with_files(EMPTY_FOOTPRINT, files) if fits_a_reader(files) else None
    if not half or (found is not None and size_of(found) <= FOOTPRINT_BYTES_MAX):
        yield found if found is not None else writer.with_files(EMPTY_FOOTPRINT, files)
    else:
        yield from fitting(writer, files[:half])
        yield from fitting(writer, files[half:])


def fits_a_reader(files: Files) -> bool:
    """Return whether readers will unpack a list of these files."""
    return sum(map(chars_of, files)) <= LIST_CHARS_PER_CHUNK


def chars_of(file: AddFile | RemoveFile) -> int:
    """Return how many characters the texts of a file have."""
    texts = (file.path, file.vector, *(file.partition or ()))
    chars = len(file.stats) + len(file.rows) if isinstance(file, AddFile) else 0
    chars += sum(map(len, filter(None, texts)))
    if file.deletion_vector is not None:
        chars += len(file.deletion_vector.place)
    if file.tags:
        chars += sum(len(name) + len(text or "") for name, text in file.tags.items())
    return chars


def size_of(footprint: Footprint) -> int:
    """Return about how many bytes a footprint takes in a record."""
    texts = (*footprint.adds, *footprint.removes_in, *footprint.reads, *footprint.read_apps)
    hashes = len(footprint.read_files) + len(footprint.removes)
    beside = domain_bytes(footprint) + app_bytes(footprint)
    rows = 0 if footprint.rows is None else weight_of(footprint.rows)
    return sum(map(len, map(str.encode, texts))) + beside + hashes + rows + len(footprint.files)
