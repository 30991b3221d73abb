"""A lake whose tables are altered at a pace, and readers with lists of any age: what caches meet.

Sequencer, follower and writer are processes of their own. The writer's sessions alter tables in
txns that stay open for a moment; some are aborted. Half of the readers are new: they have the list
of now. The others are read-only txns, which keep the list of their begin as long as they are held.
"""

import multiprocessing
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import cycle
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from threading import Event as Signal
from time import monotonic
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.state.domain import DomainState
from ledger.log.kafka.log import KafkaLog
from ledger.machine.kafka.broker import Broker
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from ledger.transaction.transaction import Transaction
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.queries import open_reads
from projections.store.rocks_reader import RocksReader
from tests.benchmarks.stores import READY_S, opened
from tests.benchmarks.waiting import within
from tests.demo.metastores.tagged_entries import CacheFold, TaggedEntries

SESSIONS: Final = 10
OPEN_S: Final = 0.1
# An odd number: each of a session's two tables has its turn.
ABORTED_EACH: Final = 9
COLUMNS: Final = [(f"c{number}", "bigint") for number in range(10)]
# A reader comes so often, and one of those that are held reads so often.
ARRIVE_S: Final = 0.25
READ_S: Final = 0.002
# Processes of their own, as writers are: a fork would have no client of Kafka.
SPAWN: Final = multiprocessing.get_context("spawn")

MakeFold = Callable[[DomainState], CacheFold]


class Lake(NamedTuple):
    """A ledger that is up, its follower's store, and the ids of its tables."""

    bootstrap: str
    ledger: str
    store: Path
    client: Ledger
    tables: Sequence[int]


class Span(NamedTuple):
    """How old lists get, and for how many seconds it is measured once they have that age."""

    held_s: float
    seconds: float


class Reading(NamedTuple):
    """A table, the list of who reads it, whether that is of now, and whether it is measured yet."""

    table: int
    write_ids: ValidWriteIdList
    is_new: bool
    counts: bool


class Job(NamedTuple):
    """What the writer does: alter these tables, so many in a second."""

    bootstrap: str
    ledger: str
    store: Path
    tables: Sequence[int]
    rate: float


class Told(NamedTuple):
    """What the writer and its maker tell each other; `altered` counts the txns that ended."""

    ready: Event
    stop: Event
    altered: "Synchronized[int]"


@contextmanager
def altered_lake(broker: Broker, name: str) -> Iterator[Lake]:
    """Run a sequencer and a follower, and yield a lake with two tables for each session."""
    with tempfile.TemporaryDirectory() as home:
        settings = UpSettings(
            ledger=name, home=Path(home), bootstrap=broker.bootstrap, sequencers=1
        )
        store = settings.folder / "store"
        with (
            running(settings),
            closing(opened(store)) as reads,
            Ledger.connect(broker.bootstrap, name, reads=reads) as client,
        ):
            names = [f"db.t{number}" for number in range(2 * SESSIONS)]
            tables = [client.create_table(each, COLUMNS).table for each in names]
            yield Lake(broker.bootstrap, name, store, client, tables)


@contextmanager
def altering(lake: Lake, rate: float) -> Iterator[Callable[[], float]]:
    """Let a process alter tables at a rate; yield what tells how many a second there really are."""
    told = Told(SPAWN.Event(), SPAWN.Event(), SPAWN.Value("q"))
    job = Job(lake.bootstrap, lake.ledger, lake.store, lake.tables, rate)
    writer = SPAWN.Process(target=write, args=(job, told), daemon=True)
    writer.start()
    try:
        assert told.ready.wait(READY_S), "the writer has not connected in time"
        began_s = monotonic()
        yield lambda: told.altered.value / (monotonic() - began_s)
    finally:
        told.stop.set()
        writer.join(READY_S)
    assert writer.exitcode == 0, f"the writer ended with {writer.exitcode}"


def write(job: Job, told: Told) -> None:
    """Be the writer: let each session alter two tables in turn, until told to stop."""
    with ExitStack() as held, ThreadPoolExecutor(SESSIONS) as threads:
        reads = held.enter_context(closing(open_reads(job.store)))
        clients = [
            held.enter_context(Ledger.connect(job.bootstrap, job.ledger, reads=reads))
            for _ in range(SESSIONS)
        ]
        told.ready.set()
        begin_s, every_s = monotonic(), SESSIONS / job.rate
        done = [
            threads.submit(
                alter,
                client,
                job.tables[number::SESSIONS],
                (begin_s + every_s * number / SESSIONS, every_s),
                told,
            )
            for number, client in enumerate(clients)
        ]
        for each in done:
            each.result()


def alter(client: Ledger, tables: Sequence[int], due: tuple[float, float], told: Told) -> None:
    """Alter tables in turn, from `due`, (a time, seconds until the next), until told to stop."""
    due_s, every_s = due
    for number, table in enumerate(cycle(tables)):
        if told.stop.wait(max(0.0, due_s - monotonic())):
            return
        txn = client.begin()
        txn.alter_table(table, properties={"altered": str(number)})
        told.stop.wait(OPEN_S)
        if number % ABORTED_EACH == ABORTED_EACH - 1:
            txn.abort("not wanted", ())
        else:
            txn.commit()
        with told.altered.get_lock():
            told.altered.value += 1
        due_s += every_s


@contextmanager
def following(lake: Lake, fold: MakeFold) -> Iterator[MetadataCache]:
    """Yield a cache that follows the log in this process, as soon as it answers."""
    with ExitStack() as held:
        log = held.enter_context(closing(KafkaLog(lake.bootstrap, lake.ledger)))
        entries = TaggedEntries(log, fold=fold).start()
        rows = RowMetadataStore(RocksReader.open(lake.store))
        cache = MetadataCache(entries, rows, lake.client.catalog)
        held.enter_context(closing(cache))
        for _ in within(READY_S, "a cache comes to the end of the log"):
            if not entries.is_loading():
                break
            entries.advance(0.1)
        yield cache


def readings(lake: Lake, span: Span) -> Iterator[Reading]:
    """Yield in turn what somebody new reads and what one of the readers of any age does.

    Of those one begins every `ARRIVE_S` and stays for `span.held_s`; once the first are that old,
    readings count.
    """
    source, never = Random(0), Signal()  # noqa: S311 - which reader comes next is no secret
    held: deque[tuple[float, Transaction]] = deque()
    count_from_s = monotonic() + span.held_s
    while (now_s := monotonic()) < count_from_s + span.seconds:
        if not held or now_s - held[-1][0] >= ARRIVE_S:
            held.append((now_s, lake.client.begin("read_only")))
        while now_s - held[0][0] > span.held_s:
            held.popleft()[1].commit()
        table = source.choice(lake.tables)
        reads, counts = lake.client.reads(), now_s >= count_from_s
        newest = reads.write_ids_at(table)
        yield Reading(table, newest, True, counts)  # noqa: FBT003
        older = source.choice(held)[1].valid_write_ids(table)
        yield Reading(table, older, False, counts)  # noqa: FBT003
        never.wait(READ_S)
    for _, reader in held:
        reader.commit()
