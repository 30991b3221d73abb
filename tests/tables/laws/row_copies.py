"""Copies of a log with marks: whatever the rows and the published logs are made of, they agree.

Rows are folded at once, in parts with restarts from a checkpoint, and from a restored backup. Delta
logs are published beside the writers and again from nothing. A log that lost its end is cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from shutil import rmtree

from ledger.client import Ledger
from ledger.core.decide.cut import SeenBeforeCut, beyond, seen_in
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.checkpoints import digest as state_digest
from ledger.log.checkpoints import dump, load
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.log.replay import Replay, verify
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from ledger.recovery.witnesses import Witness
from ledger.testing import InMemoryLedger
from projections.delta.verify import verify_log
from projections.fold.fold import Fold
from projections.rows import keys
from projections.store.memory import MemoryStore
from projections.store.port import KEYS_END, RowReader
from projections.store.rocks_store import RocksStore
from tests.backup.benches import another_topic, backed_up, content, restored
from tests.tables.laws.drawing import ID
from tests.tables.laws.row_history import RowHistory
from tests.tables.laws.statements import Delete, Insert, Statement, Update
from tests.tables.laws.terms import column, compared, literal
from tests.tables.laws.test_histories import check_scan
from tests.tables.published_lake import publish

MARGIN = 5
LOG = "_delta_log"
OF_THE_LOG = {keys.LOG, keys.CHECKPOINT}
Rows = Mapping[bytes, bytes]


def check_copies(history: RowHistory, log: MemoryLog, folder: Path) -> None:
    """Assert that rows, states and published logs are the same from every copy of a log at rest."""
    whole = folded(log)
    check_parts(history.rng, log, whole, folder / "rows")
    check_checkpoint(history.rng, log)
    shown = published(history, log)
    again = backup(log, folder / "backup")
    assert folded(again) == whole
    check_restored(history, again)
    if shown:
        assert republished(history, log) == shown
        assert republished(history, again) == shown


def folded(log: MemoryLog, records: Sequence[Record] = ()) -> Rows:
    """Return the rows of a log, or of some of its records, that are read at once."""
    store = MemoryStore()
    Fold.load(store, log).feed(records or records_of(log))
    return rows_in(store)


def rows_in(store: RowReader) -> Rows:
    """Return all rows but those that say which log was read, and how far."""
    return {key: value for key, value in store.scan(b"", KEYS_END) if key not in OF_THE_LOG}


def records_of(log: MemoryLog) -> Sequence[Record]:
    with closing(log.reader(Topic.EVENTS, 0)) as reader:
        return reader.read(log.ends(Topic.EVENTS)[1], 1.0)


def check_parts(rng: Random, log: MemoryLog, whole: Rows, folder: Path) -> None:
    """Assert that rows on disk are the same, fed in parts, with a restart after some of them."""
    records = records_of(log)
    at = 0
    while at < len(records):
        with RocksStore.open(folder) as store:
            fold = Fold.load(store, log)
            for part in parts(rng, records[fold.offset :]):
                fold.feed(part)
                if rng.random() < 0.5:
                    fold.store_checkpoint()
                if rng.random() < 0.15:
                    break
            at = fold.offset
    with RocksStore.open(folder) as store:
        assert rows_in(store) == whole


def parts(rng: Random, records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    at = 0
    while at < len(records):
        size = rng.randint(1, 60)
        yield records[at : at + size]
        at += size


def check_checkpoint(rng: Random, log: MemoryLog) -> None:
    """Assert that a state which is loaded from its bytes becomes the state of the whole log."""
    replay, state = Replay(log), DomainState()
    for event in replay:
        evolve(state, event)
        if rng.random() < 0.1:
            state = load(dump(state, replay.acceptor.head.copy(), 0)).state
    head = replay.acceptor.head
    assert state_digest(state, head) == verify(log).digest, "a state from checkpoints"


def backup(log: MemoryLog, folder: Path) -> MemoryLog:
    """Return the log that is restored from a backup."""
    folder.mkdir()
    backed_up(log, folder, 20_000)
    again = another_topic(MemoryLog())
    restored(folder, again)
    assert content(again) == content(log)
    assert verify(again) == verify(log)
    return again


def check_restored(history: RowHistory, log: MemoryLog) -> None:
    """Assert that a ledger over another log shows the versions that the history made."""
    copy = another_topic(MemoryLog())
    copy.topics = log.topics
    with InMemoryLedger(log=copy) as memory:
        ledger = memory.connect()
        for name, versions in history.versions.items():
            for version, seen in list(versions.items())[-3:]:
                check_scan(ledger, name, seen.model, version=version)


def published(history: RowHistory, log: MemoryLog) -> Mapping[str, bytes]:
    """Return the published files of a history that was published beside its writers."""
    if not history.is_published:
        return {}
    assert publish(log).stopped == {}
    return published_files(history)


def published_files(history: RowHistory) -> Mapping[str, bytes]:
    """Return all that lies in the folders of the tables but their data files, by path."""
    root = history.folder
    files = (each for each in root.rglob("*") if each.is_file())
    kept = (each for each in files if each.suffix != ".parquet" or LOG in each.parts)
    return {str(each.relative_to(root)): each.read_bytes() for each in kept}


def republished(history: RowHistory, log: MemoryLog) -> Mapping[str, bytes]:
    """Return what is published from nothing."""
    for name in published_files(history):
        (history.folder / name).unlink()
    for each in list(history.folder.rglob(LOG)):
        rmtree(each)
    return published(history, log)


def check_cut(history: RowHistory, log: MemoryLog) -> None:
    """Cut a log in its second half, and go on: what is left is as it was, and rows agree."""
    end = log.ends(Topic.EVENTS)[1]
    kept = history.rng.randint(end // 2, end - 1)
    state, epoch = DomainState(), 0
    for event in Replay(log):
        evolve(state, event)
        epoch = max(epoch, event.control.epoch)
    seen = beyond(seen_in(state, epoch), MARGIN)
    with log.changed:
        log.cut(Topic.EVENTS, kept)
    last = cut_end(log, seen)
    with InMemoryLedger(log=log) as memory:
        ledger = memory.connect()
        for name, versions in history.versions.items():
            left = {at: each for at, each in versions.items() if each.position <= last}
            for version, each in left.items():
                check_scan(ledger, name, each.model, version=version)
            if left:
                go_on(history, ledger, name, max(left))
        check_tables(history, ledger, log)


def cut_end(log: MemoryLog, seen: SeenBeforeCut) -> int:
    """Append a cut, and return the position of the last event that the log has kept."""
    last = verify(log).head.position
    found = survey(log, None, margin=0, listens_s=0.01, others=[Witness("rows elsewhere", seen)])
    append_cut(log, found, "trial")
    return last


def go_on(history: RowHistory, ledger: Ledger, name: str, version: int) -> None:
    """Change a table behind the cut, beside the model of its last version that is left."""
    world = {name: history.versions[name][version].model.copy()}
    one = column(ID)
    (row,) = history.new_rows(world[name])[:1]
    steps: list[Statement] = [
        Insert(name, [row], "dicts"),
        Update(name, {ID: -1}, compared("=", one, literal(3))),
        Delete(name, compared("=", one, literal(5))),
    ]
    for made in steps:
        with ledger.transaction() as txn:
            made.run(txn, world)
        made.apply(world)
        check_scan(ledger, name, world[name])


def check_tables(history: RowHistory, ledger: Ledger, log: MemoryLog) -> None:
    """Assert that rows made anew are the rows that were there, and the Delta logs are clean."""
    store = MemoryStore()
    fold, records = Fold.load(store, log), records_of(log)
    for part in parts(history.rng, records):
        fold.feed(part)
    assert rows_in(store) == folded(log, records)
    if history.is_published:
        assert publish(log).stopped == {}
        for row in ledger.tables():
            assert verify_log(Replay(log), row.table).is_clean
