"""Traces: the places that still hold forgotten rows or values of them, and until when.

Each place that this host can reach is searched as it is now, so the answer is the same after the
work as in the plan of it. A place that it cannot reach is named.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from ledger.clock import time_text
from ledger.errors import LedgerError, TopicMissingError
from ledger.forgetting.backups import BackupSearch
from ledger.forgetting.held_places import (
    FOR_GOOD,
    NOT_SEARCHED,
    ROWS,
    VALUES,
    HeldPlace,
    RowsHere,
    Surroundings,
    held_by,
    held_in,
    ranges,
    searched,
    some,
    unread,
)
from ledger.forgetting.held_rows import HeldFile, HeldRows
from ledger.forgetting.records import PUBLISHED_ROWS, TABLE_ROWS, HeldRecord, RecordSearch
from ledger.forgetting.table_files import DELTA, ICEBERG, held_files
from ledger.keys.sealed_rows import key_of
from ledger.log.consumers import registered
from ledger.log.kafka.topic_settings import SETTINGS
from ledger.log.port import Topic
from ledger.log.trim_notes import TrimNote, read_trim_note
from ledger.reads.amounts import amount
from ledger.reads.port import Reads, TableRow

DAY_MS: Final = 24 * 60 * 60 * 1000
SEGMENT_MS: Final = 7 * DAY_MS
"""Kafka's own default of the time after which a segment takes no more records."""

PUBLISHER: Final = "publisher"
NOTIFIER: Final = "notifier"
REPLACED: Final = "newer ones replace them, and RocksDB has written its files anew"
KEEPS_ROWS: Final = {
    "follower": FOR_GOOD,
    "feeder": FOR_GOOD,
    PUBLISHER: "the publisher has read on, and RocksDB has written its files anew",
    NOTIFIER: REPLACED,
}
"""The roles with rows, and until when their rows keep values."""


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
    yield from BackupSearch(search, reads.identity().ledger).all_of(around)
    yield from of_table_files(held, row, around)
    for store in around.stores:
        yield from searched(f"rows of the {store.role}", str(store.folder), of_rows(search, store))
    yield from searched("rows of other processes", around.ledger, of_others(around))
    for folder in around.asides:
        until = "it is removed by hand, or looked through there: no process reads it any more"
        yield HeldPlace("folder set aside", NOT_SEARCHED, str(folder), until)


def of_rows(search: RecordSearch, store: RowsHere) -> Iterator[HeldPlace]:
    """Yield a store whose rows have a value, or whose files have one in rows that are deleted."""
    kinds = PUBLISHED_ROWS if store.role == PUBLISHER else TABLE_ROWS
    kept = KEEPS_ROWS[store.role]
    if holds := held_in(search, store.rows(), kinds):
        until = (
            kept
            if kept != FOR_GOOD
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


def of_data_files(reads: Reads, row: TableRow, held: HeldRows, kept_by: str) -> Iterator[HeldPlace]:
    """Yield the stored files with rows, the live blocks, and the files that no commit named."""
    mark = reads.table_mark(row.table)
    for file in held.files:
        if file.file.rows:
            if file.is_live and not key_of(file.file):
                taken = "lakeledger table forget takes them from readers, and the log keeps them"
                until = (
                    f"lakeledger table undrop {row.table}, then {taken}" if row.dropped else taken
                )
                yield HeldPlace("rows in the log", ROWS, file.file.path, until)
            continue
        yield HeldPlace(
            "data file", ROWS, file.file.path, until_gone(file, row, mark.open, kept_by)
        )
    sealed = Counter(name for file in held.files if (name := key_of(file.file)) is not None)
    for name, count in sealed.items():
        where = f"{amount(count, 'block')}, also in topics, archives, images and rows"
        drop = f"lakeledger table keys drop {row.table}"
        drop = drop if row.dropped else "lakeledger table forget, or table keys drop"
        until = f"their key {name.text} is dropped: {drop}"
        yield HeldPlace("encrypted rows in the log", ROWS, where, until)
    if held.unknown:
        until = "a vacuum deletes them, once no writer can commit them any more"
        where = f"{amount(len(held.unknown), 'file')} that no commit named: {some(held.unknown)}"
        yield HeldPlace("data files", NOT_SEARCHED, where, until)


def vacuum_of(row: TableRow) -> str:
    """Return the command that deletes the files of a table that was dropped."""
    return f"lakeledger table vacuum {row.table} --older-than 0"


def until_gone(file: HeldFile, row: TableRow, holder: object, kept_by: str) -> str:
    """Return until when a data file with rows is there."""
    if kept_by:
        return kept_by
    deleting = vacuum_of(row) if row.dropped else "lakeledger table forget"
    if file.is_live and not row.dropped:
        return f"{deleting} writes it anew"
    if holder is not None:
        opened = getattr(holder, "opened", 0)
        who = f"txn {getattr(holder, 'txn', 0)} of {getattr(holder, 'user', '')}"
        if opened < (file.file.removed or row.dropped):
            return f"open {who} ends, then {deleting} deletes it"
    return f"{deleting} deletes it"


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
            where, until = places_in(topic, found), until_left(topic, found, around)
            yield HeldPlace(place, held_by(found), where, until)


def places_in(topic: Topic, found: Sequence[HeldRecord]) -> str:
    """Return where in a topic records are: by positions, else by offsets."""
    if topic in {Topic.EVENTS, Topic.CHECKPOINTS}:
        return f"positions {ranges(each.position for each in found)}"
    return f"offsets {ranges(each.offset for each in found)}"


def until_left(topic: Topic, found: Sequence[HeldRecord], around: Surroundings) -> str:
    """Return until when records are in a topic."""
    last = max(found)
    match topic:
        case Topic.EVENTS:
            return until_trimmed(found, around)
        case Topic.COMMANDS:
            kept_ms = int(SETTINGS[topic]["retention.ms"])
            at = time_text(last.at + kept_ms + SEGMENT_MS)
            return f"its retention of 7 days after their segment is closed: {at} at the latest"
        case Topic.CHECKPOINTS:
            return "newer checkpoints are without them, and the topic is compacted"
    return "newer records of their keys, and the compaction of the topic"


def until_trimmed(found: Sequence[HeldRecord], around: Surroundings) -> str:
    """Return until when events are in the log: by the policy of trims, if there is one."""
    note: TrimNote | None = None
    with suppress(LedgerError):
        note = read_trim_note(around.log)
    kept = around.keep_days or (None if note is None else note.keep_days)
    below = max(each.position for each in found) + 1
    by_hand = f"lakeledger log trim --below {below} or later"
    if kept is None:
        return f"a trim: {by_hand}"
    due = time_text(max(each.at for each in found) + round(kept * DAY_MS))
    text = f"a trim by log.keep_days, which is {kept:g}: after {due}, or {by_hand}"
    if note is None:
        return f"{text}. The policy has not tried yet"
    tried = f"{text}. The policy last tried at {time_text(note.at)}"
    return f"{tried} and waits: {note.why}" if note.why else tried


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
        what = "published Delta log" if folder == DELTA else "Iceberg metadata"
        where = f"{row.definition.location}/{folder}"
        yield from searched(
            what, where, of_folder(held, row, HeldPlace(what, VALUES, where, until))
        )


def of_folder(held: HeldRows, row: TableRow, said: HeldPlace) -> Iterator[HeldPlace]:
    """Yield a folder beside the data of a table as it is `said`, if files in it have a value."""
    folder = said.where.rpartition("/")[2]
    found = held_files(held.values, row.definition, folder)
    if names := [path.partition("/")[2] for path in found]:
        yield said._replace(where=f"{said.where}: {some(names)}")


def of_others(around: Surroundings) -> Iterator[HeldPlace]:
    """Yield the processes with rows that are not on this host; raises as `registered`."""
    consumers = registered(around.log)
    if consumers is None:
        until = "the ledger has a topic in which its processes say where they are: lakeledger init"
        yield HeldPlace("rows of other processes", NOT_SEARCHED, around.ledger, until)
    known = {(store.role, store.name) for store in around.stores}
    for each in consumers or ():
        if each.role in KEEPS_ROWS and (each.role, each.name) not in known:
            until = f"{KEEPS_ROWS[each.role]}; search there with the same command"
            yield HeldPlace(
                f"rows of the {each.role}", NOT_SEARCHED, f"{each.name} on {each.host}", until
            )
