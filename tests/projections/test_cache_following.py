"""Entries fed by the log: where they begin, what they keep of the store's answers, how they end."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from threading import Event as Signal
from threading import enumerate as threads
from time import monotonic

import pytest

from ledger.core.commands import TableDefinition
from ledger.core.events.events import CatalogCreated
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.memory import MemoryLog, MemoryLogReader
from ledger.log.port import Topic
from ledger.reads.metadata import MetadataAnswer, TableMetadata
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows_as_entries import store_answer
from projections.cache.following import FollowedEntries
from projections.cache.ports import EntryRead
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from tests.demo.metastores.tagged_entries import TaggedEntries
from tests.driver import CATALOG
from tests.projections.followed import Followed
from tests.projections.publishing import SharedLog

NO_IDS = ValidWriteIdList("t", 0, (), (), None)
FIRST_ID = ValidWriteIdList("t", 1, (), (), None)
WAIT_S = 10.0
PAUSE_S = 0.02


def made(word: str) -> TableDefinition:
    return TableDefinition("managed", "listed", word, (), (), ())


class Begun:
    """A table altered by a txn, and a cache that began at a checkpoint after it."""

    def __init__(self) -> None:
        self.domain = Followed()
        self.session = self.domain.open_session()
        self.table = self.domain.create_table(self.session, "t", made=made("v0"))
        self.domain.alter_table(self.session, self.table, made("v1"), "ALTER")
        self.txn = self.domain.open_txn(self.session)
        self.domain.alter_table(self.session, self.table, made("v2"), "ALTER", txn=self.txn)
        writer = CheckpointWriter(self.domain.log.writer(Topic.CHECKPOINTS), 0)
        offset = len(self.domain.records)
        writer.write(Checkpoint(self.domain.state, self.domain.head, offset))
        others = set(threads())
        self.entries = FollowedEntries(self.domain.log).start()
        self.threads = set(threads()) - others
        store = RowMetadataStore(self.domain.rows)
        self.cache = MetadataCache(self.entries, store, CATALOG)

    def read(self, ids: ValidWriteIdList) -> tuple[str, str, str]:
        answer: MetadataAnswer = self.cache.read("t", ids, max_wait_ms=round(WAIT_S * 1000))
        assert isinstance(answer.value, TableMetadata)
        return answer.value.definition.location, answer.source, answer.reason


@pytest.fixture
def begun() -> Iterator[Begun]:
    found = Begun()
    yield found
    found.cache.close()


def test_a_checkpoint_is_a_beginning(begun: Begun) -> None:
    before = begun.read(FIRST_ID)
    begun.domain.commit(begun.session, begun.txn)
    begun.domain.follow()

    assert before == ("v1", "cache", "hit")
    assert begun.read(ValidWriteIdList("t", 2, (), (), None)) == ("v2", "cache", "hit")
    assert begun.read(FIRST_ID) == ("v1", "cache", "hit_old_version")


def test_what_a_checkpoint_brings_is_held(begun: Begun) -> None:
    held = [(each.table, each.ids) for each in begun.entries.held()]

    assert held == [(begun.table, ReaderIds(1, ()))]
    assert begun.entries.lengths() == {begun.table: 1}


def test_older_readers_are_answered_by_the_store_once(begun: Begun) -> None:
    assert begun.read(NO_IDS) == ("v0", "store", "before_floor")
    assert begun.read(NO_IDS) == ("v0", "cache", "hit")
    assert begun.read(FIRST_ID) == ("v1", "cache", "hit")
    assert begun.cache.fills == {True: 1}


def test_nobody_is_answered_on_the_way(begun: Begun) -> None:
    resumed = Checkpoint(begun.domain.state, begun.domain.head, len(begun.domain.records))
    entries = FollowedEntries(begun.domain.log)
    entries.begin(resumed, resumed.offset + 1)

    answers = entries.read_many([EntryRead(None, ReaderIds(1, ()), begun.table)] * 2)

    assert [(answer.value, answer.reason) for answer in answers] == [(None, "ahead_of_cache")] * 2


@pytest.mark.parametrize(("ahead", "behind"), [(0, 0), (1, 1)], ids=["at the end", "on the way"])
def test_who_has_seen_all_there_is_waits(begun: Begun, ahead: int, behind: int) -> None:
    offset = len(begun.domain.records)
    resumed = Checkpoint(begun.domain.state, begun.domain.head, offset)
    entries = begun.entries
    if ahead:
        entries = FollowedEntries(begun.domain.log)
        entries.begin(resumed, offset + ahead)
    while not ahead and entries.is_loading():
        entries.advance(WAIT_S)
    began_s = monotonic()
    entries.advance(PAUSE_S, entries.position() - behind)

    assert monotonic() - began_s >= PAUSE_S


def test_who_waits_hears_of_an_event_told_beforehand() -> None:
    domain = Followed()
    session = domain.open_session()
    end = len(domain.records)
    resumed = deepcopy(Checkpoint(domain.state, domain.head, end))
    entries = TaggedEntries(domain.log)
    entries.begin(resumed, end)
    began_s = monotonic()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(entries.advance, WAIT_S)
        while not waiting.done():
            domain.open_txn(session)
            entries.apply(domain.events[-1])

    assert monotonic() - began_s < WAIT_S


def test_a_read_after_the_log_was_damaged_fails_at_once(begun: Begun) -> None:
    began_s = monotonic()
    begun.domain.append(b"no record of a ledger")

    with pytest.raises(LogDamagedError):
        begun.entries.advance(WAIT_S)
    with pytest.raises(LogDamagedError):
        begun.read(FIRST_ID)
    for thread in begun.threads:
        thread.join(WAIT_S)
    assert not begun.threads & set(threads())
    assert monotonic() - began_s < WAIT_S


def test_nothing_runs_on_once_closed(begun: Begun) -> None:
    assert begun.threads
    begun.cache.close()

    assert not begun.threads & set(threads())


class Faulty(SharedLog):
    """A log whose records are read with a fault of the program, one topic or another."""

    def __init__(self, log: MemoryLog, topic: Topic) -> None:
        super().__init__(log)
        self._faulty = topic

    def reader(self, topic: Topic, offset: int) -> MemoryLogReader:
        if topic is self._faulty:
            raise ZeroDivisionError("a fault")
        return super().reader(topic, offset)


@pytest.mark.parametrize("topic", [Topic.CHECKPOINTS, Topic.EVENTS])
def test_a_fault_ends_it(begun: Begun, topic: Topic) -> None:
    with closing(FollowedEntries(Faulty(begun.domain.log, topic))) as entries:
        entries.start_loading()
        with pytest.raises(ZeroDivisionError):
            advanced(entries)

        assert entries.problem() == "a fault"


def advanced(entries: FollowedEntries) -> None:
    """Look after entries as their process does, until they have come to the end of the log."""
    until_s = monotonic() + WAIT_S
    while entries.is_loading() and monotonic() < until_s:
        entries.check()
        entries.advance(0.01)


class AwayOnce(SharedLog):
    """A log whose broker does not say where the events end when it is asked for the third time.

    It is asked at the start, before events are read, and when a fence stands among them.
    """

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log)
        self.asked = 0

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        self.asked += topic is Topic.EVENTS
        if topic is Topic.EVENTS and self.asked == len(("start", "open", "fence")):
            raise LogUnavailableError("the broker is away")
        return super().ends(topic, timeout_s)


def test_a_broker_away_for_a_moment_takes_nothing_from_events_read(begun: Begun) -> None:
    begun.domain.commit(begun.session, begun.txn)
    begun.domain.fence()
    begun.domain.open_session()
    log = AwayOnce(begun.domain.log)

    with closing(FollowedEntries(log)) as entries:
        entries.start_loading()
        advanced(entries)
        answer = entries.read_many([EntryRead(None, ReaderIds(2, ()), begun.table)])[0]

        assert isinstance(answer.value, TableMetadata)
        assert answer.value.definition.location == "v2"
        assert entries.position() == begun.domain.state.position


class Switched(SharedLog):
    """A log whose broker does not answer while it is said to be away; `missed` tells who asked."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log)
        self.is_away = False
        self.missed = Signal()

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        if self.is_away:
            self.missed.set()
            raise LogUnavailableError("the broker is away")
        return super().ends(topic, timeout_s)


def test_damage_behind_records_read_again(begun: Begun) -> None:
    begun.domain.zombie(CatalogCreated("late"))
    log = Switched(begun.domain.log)
    with closing(FollowedEntries(log)) as entries:
        entries.start_loading()
        advanced(entries)
        log.is_away = True
        begun.domain.fence()
        begun.domain.open_session()
        begun.domain.append(b"no record of a ledger")
        assert log.missed.wait(WAIT_S)
        log.is_away = False

        with pytest.raises(LogDamagedError):
            entries.advance(WAIT_S, begun.domain.state.position)
        with pytest.raises(LogDamagedError):
            entries.check()


def test_entries_have_no_ledger_before_it_is_created() -> None:
    with closing(FollowedEntries(MemoryLog()).start()) as entries:
        assert entries.identity() is None


def test_the_age_is_that_of_the_last_event(begun: Begun) -> None:
    assert begun.entries.at_ms() == begun.domain.state.at


def come(entries: FollowedEntries, domain: Followed) -> None:
    """Wait until entries have come to the end of the log."""
    while entries.position() < domain.head.position:
        entries.advance(WAIT_S)


def test_whoever_was_not_read_goes_first() -> None:
    domain = Followed()
    session = domain.open_session()
    first, second = (domain.create_table(session, name) for name in "ab")
    reader = [EntryRead(None, ReaderIds(0, ()), table) for table in (first, second)]
    with closing(FollowedEntries(domain.log).start()) as entries:
        come(entries, domain)
        room = entries.tables.bytes_used
    with closing(FollowedEntries(domain.log, bytes_max=room).start()) as entries:
        come(entries, domain)
        entries.read_many(reader[:1])
        third = domain.create_table(session, "c")
        come(entries, domain)
        before = set(entries.tables.tables())
        kept = entries.fill(reader[1], store_answer(domain.rows, reader[1]))

        assert (before, kept) == ({first, third}, True)
        assert set(entries.tables.tables()) == {second, third}


def test_what_was_cut_takes_no_room(begun: Begun) -> None:
    begun.domain.commit(begun.session, begun.txn)
    come(begun.entries, begun.domain)
    before = begun.entries.tables.bytes_used
    gone = begun.entries.cut({begun.table: ReaderIds(2, ())})

    assert (gone, begun.entries.tables.bytes_used < before) == (1, True)
