"""Traces: the places that still hold forgotten rows or values of them, and until when.

Each place that this host can reach is searched as it is now, so the answer is the same after the
work as in the plan of it. A place that it cannot reach is named.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ledger.backup.contents import manifest_in, parts
from ledger.backup.images.manifest import PUBLICATION, image_names, read_image
from ledger.backup.images.reading import checkpoint_row, rows_of
from ledger.backup.manifest import read_manifest
from ledger.backup.place import BackupPlace
from ledger.clock import time_text
from ledger.errors import LedgerError, TopicMissingError
from ledger.forgetting.held_rows import HeldFile, HeldRows
from ledger.forgetting.records import PUBLISHED_ROWS, TABLE_ROWS, HeldRecord, RecordSearch
from ledger.forgetting.table_files import DELTA, ICEBERG, held_files
from ledger.keys.folder import KeyFolder
from ledger.keys.sealed_rows import key_of
from ledger.log.consumers import Consumer, registered
from ledger.log.kafka.topic_settings import SETTINGS
from ledger.log.port import Log, Topic
from ledger.log.trimmed import read_trim_mark
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow

ROWS: Final = "rows"
VALUES: Final = "values"
NOT_SEARCHED: Final = "not searched"
FOR_GOOD: Final = "for good"
SEGMENT_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Kafka's own default of the time after which a segment takes no more records."""

PUBLISHER: Final = "publisher"
KEEPS_ROWS: Final = frozenset({"follower", "feeder", PUBLISHER})
SHOWN_MAX: Final = 12

Row = tuple[bytes, bytes]


class HeldPlace(NamedTuple):
    """A place that holds rows or values, where in it, and until when or until what happens."""

    place: str
    holds: str
    where: str
    until: str


class RowsHere(NamedTuple):
    """A store of rows on this host: its role, its folder, and how its rows are read.

    `name` is the one under which its process is registered.
    """

    role: str
    name: str
    folder: Path
    rows: Callable[[], Iterator[Row]]


class Surroundings(NamedTuple):
    """What may be searched besides the table: all that is known of the ledger on this host.

    `topics` is the folder of the broker's logs if the broker is here, `backups` are the known ones,
    `keys` the keys of encrypted rows.
    """

    log: Log
    ledger: str
    backups: Sequence[BackupPlace] = ()
    stores: Sequence[RowsHere] = ()
    topics: Path | None = None
    retention_h: float = 0.0
    keys: KeyFolder | None = None


def traces(
    reads: Reads, row: TableRow, held: HeldRows, around: Surroundings, kept_by: str = ""
) -> Iterator[HeldPlace]:
    """Yield all places that hold a row or a value; `kept_by` says why old files are still there."""
    blocks = [each.file.path for each in held.files if each.file.rows and not key_of(each.file)]
    keys = {} if around.keys is None else around.keys.names(row.table)
    erased = {name for name, status in keys.items() if status == "dropped"}
    search = RecordSearch(held.values, row.table, blocks, erased)
    yield from of_data_files(reads, row, held, kept_by)
    yield from of_topics(search, around)
    for place in around.backups:
        yield from searched("backup", place.path, of_backup(search, place, around))
    yield from of_table_files(held, row, around)
    for store in around.stores:
        yield from searched(f"rows of the {store.role}", str(store.folder), of_rows(search, store))
    yield from of_others(registered(around.log) or (), around.stores)


def searched(place: str, where: str, found: Iterator[HeldPlace]) -> Iterator[HeldPlace]:
    """Yield what is found in a place; one that cannot be read is named, with why."""
    try:
        yield from found
    except LedgerError as problem:
        yield unread(place, where, problem)


def unread(place: str, where: str, problem: LedgerError) -> HeldPlace:
    """Return a place that cannot be read."""
    return HeldPlace(place, NOT_SEARCHED, where, f"it can be read: {problem}")


def of_rows(search: RecordSearch, store: RowsHere) -> Iterator[HeldPlace]:
    """Yield a store whose rows have a value, or whose files have one in rows that are deleted."""
    is_published = store.role == PUBLISHER
    kinds = PUBLISHED_ROWS if is_published else TABLE_ROWS
    if holds := held_in(search, store.rows(), kinds):
        until = (
            "the publisher has read on, and RocksDB has written its files anew"
            if is_published
            else "the log is trimmed above the commit that removed them from the table"
            if holds == ROWS
            else f"{FOR_GOOD}: rows keep statistics of removed files"
        )
    elif search.values.in_raw(store.folder):
        holds = VALUES
        until = "RocksDB has written its files anew, in which deleted rows are left"
    else:
        return
    yield HeldPlace(f"rows of the {store.role}", holds, str(store.folder), until)


def held_in(search: RecordSearch, rows: Iterable[Row], kinds: bytes) -> str:
    """Return what rows of a store hold, "" for nothing."""
    holds = ""
    for key, value in rows:
        if search.held_row(key, value, kinds):
            if search.is_block(key, value):
                return ROWS
            holds = VALUES
    return holds


def held_by(found: Iterable[HeldRecord]) -> str:
    """Return what records hold."""
    return ROWS if any(each.is_whole for each in found) else VALUES


def of_data_files(reads: Reads, row: TableRow, held: HeldRows, kept_by: str) -> Iterator[HeldPlace]:
    """Yield the stored files with rows, the live blocks, and the files that no commit named."""
    mark = reads.table_mark(row.table)
    for file in held.files:
        if file.file.rows:
            if file.is_live and not key_of(file.file):
                until = "lakeledger table forget takes them from readers, and the log keeps them"
                yield HeldPlace("rows in the log", ROWS, file.file.path, until)
            continue
        yield HeldPlace("data file", ROWS, file.file.path, until_gone(file, mark.open, kept_by))
    sealed = Counter(name for file in held.files if (name := key_of(file.file)) is not None)
    for name, count in sealed.items():
        where = f"{amount(count, 'block')}, also in topics, archives, images and rows"
        until = f"their key {name.text} is dropped: lakeledger table forget, or table keys drop"
        yield HeldPlace("encrypted rows in the log", ROWS, where, until)
    if held.unknown:
        until = "a vacuum deletes them, once no writer can commit them any more"
        where = f"{amount(len(held.unknown), 'file')} that no commit named: {some(held.unknown)}"
        yield HeldPlace("data files", NOT_SEARCHED, where, until)


def until_gone(file: HeldFile, holder: object, kept_by: str) -> str:
    """Return until when a data file with rows is there."""
    if kept_by:
        return kept_by
    if file.is_live:
        return "lakeledger table forget writes it anew"
    if holder is not None:
        opened = getattr(holder, "opened", 0)
        who = f"txn {getattr(holder, 'txn', 0)} of {getattr(holder, 'user', '')}"
        if opened < file.file.removed:
            return f"open {who} ends, then lakeledger table forget deletes it"
    return "lakeledger table forget deletes it"


def of_topics(search: RecordSearch, around: Surroundings) -> Iterator[HeldPlace]:
    """Yield the topics whose records have a value."""
    for topic in Topic:
        place = f"topic {topic}"
        try:
            found = list(search.in_topic(around.log, topic))
        except TopicMissingError:
            continue
        except LedgerError as problem:
            yield unread(place, around.ledger, problem)
            continue
        if found:
            where, until = places_in(topic, found), until_left(topic, found)
            yield HeldPlace(place, held_by(found), where, until)


def places_in(topic: Topic, found: Sequence[HeldRecord]) -> str:
    """Return where in a topic records are: by positions, else by offsets."""
    if topic in {Topic.EVENTS, Topic.CHECKPOINTS}:
        return f"positions {ranges(each.position for each in found)}"
    return f"offsets {ranges(each.offset for each in found)}"


def until_left(topic: Topic, found: Sequence[HeldRecord]) -> str:
    """Return until when records are in a topic."""
    last = max(found)
    match topic:
        case Topic.EVENTS:
            below = max(each.position for each in found) + 1
            return f"a trim: lakeledger log trim --below {below} or later"
        case Topic.COMMANDS:
            kept_ms = int(SETTINGS[topic]["retention.ms"])
            at = time_text(last.at + kept_ms + SEGMENT_MS)
            return f"its retention of 7 days after their segment is closed: {at} at the latest"
        case Topic.CHECKPOINTS:
            return "newer checkpoints are without them, and the topic is compacted"
    return "newer records of their keys, and the compaction of the topic"


def of_backup(
    search: RecordSearch, place: BackupPlace, around: Surroundings
) -> Iterator[HeldPlace]:
    """Yield what a backup holds: events and images; and what a trim left on the broker's disk."""
    if read_manifest(place) is None:
        return
    records = (each for part in parts(place, manifest_in(place)) for each in part.records)
    found = list(search.held_events((r.offset, r.timestamp, r.value) for r in records))
    if found:
        where = f"{place.path}, positions {ranges(each.position for each in found)}"
        until = f"{FOR_GOOD}: an archive keeps all events from the first one on"
        yield HeldPlace("archive", held_by(found), where, until)
        yield from left_by_trim(found, around)
    for name in image_names(place):
        image = read_image(place, name)
        said = {
            held_in(search, rows, PUBLISHED_ROWS if part == PUBLICATION else TABLE_ROWS)
            for part in image.sections
            for rows in (*rows_of(place, image, part), [checkpoint_row(place, image, part)])
        }
        if holds := next((each for each in (ROWS, VALUES) if each in said), ""):
            until = f"{FOR_GOOD}: later images have the rows of the history too"
            yield HeldPlace("image", holds, f"{place.path}/{name}", until)


def left_by_trim(found: Iterable[HeldRecord], around: Surroundings) -> Iterator[HeldPlace]:
    """Yield the records that a trim took, as long as the broker's segments may have them."""
    mark = read_trim_mark(around.log)
    if mark is None:
        return
    gone = [each for each in found if each.position < mark.below]
    if not gone:
        return
    folder = None if around.topics is None else around.topics / f"{around.ledger}.{Topic.EVENTS}-0"
    if folder is not None and folder.is_dir():
        first = min((int(each.name[:20]) for each in folder.glob("*.log*")), default=mark.offset)
        if all(each.offset < first for each in gone):
            return
    until = (
        "the broker deletes their segments: some minutes after they are closed, by segment.ms or "
        "segment.bytes, and hold nothing but trimmed records"
    )
    where = f"the broker's files of topic events, positions {ranges(e.position for e in gone)}"
    yield HeldPlace("trimmed records", held_by(gone), where, until)


def of_table_files(held: HeldRows, row: TableRow, around: Surroundings) -> Iterator[HeldPlace]:
    """Yield the files of a published Delta log, and of Iceberg's metadata, that have a value."""
    kept = around.retention_h
    untils = {
        DELTA: f"publisher.retention_h, which is {kept:g} here, and the next checkpoint"
        if kept
        else f"{FOR_GOOD}, while publisher.retention_h is 0 (here)",
        ICEBERG: "64 newer snapshots replace it, and a vacuum then deletes it",
    }
    for folder, until in untils.items():
        names = [path.partition("/")[2] for path in held_files(held.values, row.definition, folder)]
        if names:
            what = "published Delta log" if folder == DELTA else "Iceberg metadata"
            where = f"{row.definition.location}/{folder}: {some(names)}"
            yield HeldPlace(what, VALUES, where, until)


def of_others(consumers: Iterable[Consumer], stores: Sequence[RowsHere]) -> Iterator[HeldPlace]:
    """Yield the processes with rows that are not on this host."""
    known = {(store.role, store.name) for store in stores}
    for each in consumers:
        if each.role in KEEPS_ROWS and (each.role, each.name) not in known:
            until = f"{FOR_GOOD}, as the rows of this host; search there with the same command"
            yield HeldPlace(
                f"rows of the {each.role}", NOT_SEARCHED, f"{each.name} on {each.host}", until
            )


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order as text, those in a row as a range."""
    texts, row = list[str](), list[int]()
    for number in [*sorted(set(numbers)), -1]:
        if row and number != row[-1] + 1:
            texts.append(str(row[0]) if len(row) == 1 else f"{row[0]}..{row[-1]}")
            row = []
        row.append(number)
    return ", ".join(texts)


def some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    rest = len(names) - SHOWN_MAX
    return ", ".join(names[:SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
