"""Streams: applications that record their batches in the ledger, and the offsets of their sources.

A stream notes its query, its batch and the offsets beside its progress: see `Transaction.app`. So
the place at which it continues is in the record that holds the rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ledger.reads.port import Reads, TableRow
from ledger.session.receipt import Receipt, TableVersion
from ledger.work.app_notes import AppProgress, note_in, progress_in

OFFSETS: Final = "offsets"
LEDGER_SOURCE: Final = "lakeledger"
"""The key of an offset in a table of this ledger: {"lakeledger": table, "version": number}."""

VERSIONS: Final = 200


class SourceOffset(NamedTuple):
    """How far a batch read one source: `end`, and `latest`, the end of the source then, or None."""

    source: str
    end: Any
    latest: Any = None


class StreamNote(NamedTuple):
    """What a stream notes with a batch: its query, and how far it read its sources."""

    query: str
    name: str
    batch: int
    sources: tuple[SourceOffset, ...]

    @property
    def info(self) -> Mapping[str, Any]:
        """The note as `Transaction.app` takes it."""
        sources = [source._asdict() for source in self.sources]
        return {"query": self.query, "name": self.name, "batch": self.batch, OFFSETS: sources}


class StreamRow(NamedTuple):
    """A stream as the ledger knows it.

    `at` is the time of its last batch in milliseconds. `lag` counts the records, or the commits,
    that its sources had beyond the batch; None = not known.
    """

    application: str
    query: str
    name: str
    batch: int
    at: int
    position: int
    tables: Sequence[TableRow]
    offsets: Any
    lag: int | None


def note_of(info: Mapping[str, Any]) -> StreamNote | None:
    """Return the note of a query, None for the note of another program."""
    query, sources = info.get("query"), info.get(OFFSETS)
    if not isinstance(query, str) or not isinstance(sources, list):
        return None
    found = tuple(
        SourceOffset(str(source.get("source", "")), source.get("end"), source.get("latest"))
        for source in sources
        if isinstance(source, Mapping)
    )
    return StreamNote(query, str(info.get("name") or ""), int(info.get("batch", -1)), found)


def streams_in(reads: Reads, app: str = "") -> Sequence[StreamRow]:
    """Return the streams that recorded batches, or one of them, by application."""
    noted = [each for each in progress_in(reads, app) if OFFSETS in each.info]
    by_app = groupby(sorted(noted, key=attrgetter("app")), attrgetter("app"))
    return [stream_of(reads, list(found)) for _, found in by_app]


def stream_of(reads: Reads, found: Sequence[AppProgress]) -> StreamRow:
    """Return one stream by its progress in all its tables."""
    last = max(found, key=lambda each: (each.version, each.position))
    note = note_of(last.info)
    tables = sorted({each.table.table: each.table for each in found}.items())
    return StreamRow(
        last.app,
        "" if note is None else note.query,
        "" if note is None else note.name,
        last.version,
        last.at,
        last.position,
        [table for _, table in tables],
        last.info[OFFSETS],
        None if note is None else lag_of(reads, note.sources),
    )


def lag_of(reads: Reads, sources: Iterable[SourceOffset]) -> int | None:
    """Return how much sources had beyond their offsets, None if that is not known of one."""
    behind = [behind_in(reads, source) for source in sources]
    known = [each for each in behind if each is not None]
    return sum(known) if len(known) == len(behind) else None


def behind_in(reads: Reads, source: SourceOffset) -> int | None:
    """Return how much a source had beyond its offset; a table of the ledger is looked up now."""
    if isinstance(source.end, Mapping) and LEDGER_SOURCE in source.end:
        newest = reads.version_row(int(source.end[LEDGER_SOURCE]))
        return None if newest is None else max(0, newest.version - int(source.end["version"]))
    return None if source.latest is None else distance(source.end, source.latest)


def distance(end: Any, latest: Any) -> int | None:
    """Return how many records lie between two offsets, None if they are no counts.

    Offsets are numbers, or dicts of them, such as those of Kafka by topic and partition. A
    partition that is not in `end` begins at 0.
    """
    if isinstance(latest, Mapping):
        if end is not None and not isinstance(end, Mapping):
            return None
        inner = [distance((end or {}).get(key), each) for key, each in latest.items()]
        known = [each for each in inner if each is not None]
        return sum(known) if len(known) == len(inner) else None
    if type(latest) is not int or type(end) not in (int, type(None)):
        return None
    return max(0, latest - (end or 0))


def notes_before(reads: Reads, progress: AppProgress) -> Iterator[tuple[StreamNote, int]]:
    """Yield the notes of a stream in a table with their positions, the newest first."""
    newest = reads.version_row(progress.table.table, position=progress.position)
    below = None if newest is None else newest.version + 1
    while below:
        page = reads.versions(progress.table.table, VERSIONS, below=below)
        for each in page:
            note = note_of(note_in(each.info, progress.app))
            if note is not None:
                yield note, each.position
        below = page[-1].version if page else 0


def first_receipt(reads: Reads, receipt: Receipt, tables: Iterable[int]) -> Receipt:
    """Return the receipt of a skipped batch as it was when the batch was applied.

    `tables` are those in which it may have been recorded.
    """
    rows = [reads.version_row(table, position=receipt.position) for table in tables]
    found = [row for row in rows if row is not None and row.position == receipt.position]
    if not found:
        return receipt
    made = {each.table: TableVersion(each.write_id, each.version) for each in found}
    return Receipt(
        found[0].txn,
        receipt.position,
        receipt.at,
        receipt.token,
        made,
        repeated=True,
        skipped=receipt.skipped,
        note=receipt.note,
    )
