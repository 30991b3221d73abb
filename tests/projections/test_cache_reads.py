"""The cache for readers: over rows in memory and on disk, and fed by the log in this process."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from ledger.core.events.events import TxnCommitted
from ledger.core.limits import NUMBER_MAX
from ledger.core.lists.text import ID_MAX
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.errors import ReaderBehindError
from ledger.reads.metadata import MetadataAnswer, Read, TableMetadata
from projections.cache.entries.rows import RowEntries
from projections.cache.fold import VERSIONS_MAX
from projections.cache.ports import EntryRead
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from tests.conformance.case_ledger import ManualClock
from tests.projections.cache_history import Played, Reader, as_told, drawn, told, wanted
from tests.projections.cached import STATS, Cached, entries_of, listed, location, made
from tests.projections.followed import Followed

LONG_MS = 30_000


def test_a_list_is_answered(cached: Cached) -> None:
    cached.alter("v1")
    position = cached.catch_up()

    assert cached.read("1:") == ("v1", "cache", "hit")
    assert cached.read("0:") == ("v0", "cache", "hit_old_version")
    assert cached.cache.read("t", listed("1:")).position == position


@pytest.mark.parametrize("odd", [{"own_txn": -1}, {"token": -1}, {"table_id": 2**63}], ids=str)
def test_what_can_be_none_is_refused_by_its_name(cached: Cached, odd: dict[str, int]) -> None:
    asked: dict[str, Any] = {"own_txn": 1, "token": 1, **odd}
    ((name, number),) = odd.items()

    with pytest.raises(ValueError, match=f"{name} is {number}; it is a number from 0"):
        cached.cache.read("t", listed("1:"), **asked)

    assert not cached.cache.counts


def test_what_came_since_an_answer_is_not_waited_for(cached: Cached) -> None:
    before = cached.cache.entries.position()
    cached.alter("v1")
    cached.catch_up()
    began_s = monotonic()
    cached.cache.entries.advance(LONG_MS / 1000, before)

    assert monotonic() - began_s < LONG_MS / 2000


def test_statistics_are_read_alone_as_of_the_same_lists(cached: Cached) -> None:
    cached.alter("v1")
    cached.catch_up()

    new = cached.cache.read(cached.table, listed("1:"), what=STATS)
    old = cached.cache.read(cached.table, listed("0:"), what=STATS)
    table = cached.cache.read(cached.table, listed("1:")).value

    assert (new.value, old.value) == ("stats of v1", "stats of v0")
    assert isinstance(table, TableMetadata)
    assert table.definition.properties == ()


def test_an_open_change_keeps_nobody_waiting(cached: Cached) -> None:
    txn = cached.domain.open_txn(cached.session)
    cached.alter("v1", txn=txn)
    cached.catch_up()

    assert cached.read("1:1") == ("v0", "cache", "hit")
    assert cached.read("0:") == ("v0", "cache", "hit")


def test_a_txn_sees_its_own_changes(cached: Cached) -> None:
    txn = cached.domain.open_txn(cached.session)
    token = cached.alter("v1", txn=txn)
    cached.catch_up()

    assert cached.read("1:", own_txn=txn, token=token) == ("v1", "cache", "hit")
    assert cached.read("1:", own_txn=txn) == ("v1", "store", "token")
    assert cached.read("1:1") == ("v0", "cache", "hit")


def test_a_txn_is_told_nothing_older_than_its_list(cached: Cached) -> None:
    behind = cached.domain.head.position
    cached.alter("v1")
    txn = cached.domain.open_txn(cached.session)
    cached.domain.allocate(cached.session, [txn], [cached.table])
    with pytest.raises(ReaderBehindError) as error:
        cached.read("2:", own_txn=txn, max_wait_ms=0)
    cached.domain.follow()

    assert error.value.applied == behind
    assert cached.read("2:", own_txn=txn) == ("v1", "store", "token")


def test_an_aborted_change_is_never_seen(cached: Cached) -> None:
    txn = cached.domain.open_txn(cached.session)
    cached.alter("v1", txn=txn)
    cached.catch_up()
    cached.read("1:1")
    cached.domain.abort(cached.session, txn)
    cached.catch_up()
    aborted = cached.read("1:1")
    cached.domain.tidy()
    cached.catch_up()

    assert aborted == ("v0", "cache", "hit")
    assert cached.read("1:") == ("v0", "cache", "hit")


def test_a_name_is_no_identity(cached: Cached) -> None:
    cached.domain.drop_table(cached.session, cached.table)
    other = cached.domain.create_table(cached.session, "T", made=made("other"))
    cached.catch_up()

    assert cached.read("0:", table_id=other) == ("other", "cache", "hit")
    assert cached.read("0:") == ("other", "cache", "hit")
    assert cached.read("0:", table_id=cached.table)[:2] == (None, "store")


@pytest.mark.parametrize(
    ("name", "ids"),
    [("nowhere", "0:"), ("nowhere", None), ("a\0b", "0:"), ("a\0b", None), ("a\0b", "7:")],
)
def test_absence_is_told_by_the_store(cached: Cached, name: str, ids: str | None) -> None:
    """What the cache does not know is looked for in the store, and not found there either.

    What no table can be called is not waited for.
    """
    answer = cached.cache.read(name, listed(ids))

    assert (answer.value, answer.source, answer.reason) == (None, "store", "absent")


def test_the_list_of_another_table_is_refused_by_name(cached: Cached) -> None:
    of_another = ValidWriteIdList("lake.other", 0, (), (), None)

    with pytest.raises(ValueError, match=r"a list of table lake\.t, got a list of lake\.other"):
        cached.cache.read("t", of_another)
    assert not cached.cache.fills
    assert cached.cache.read("nowhere", of_another).reason == "absent"
    for own in ("t", "lake.t", "LAKE.T"):
        answer = cached.cache.read("t", ValidWriteIdList(own, 0, (), (), None))
        assert location(answer) == "v0", own
    assert location(cached.cache.read("t", of_another, table_id=cached.table)) == "v0"
    assert location(cached.cache.read(cached.table, of_another)) == "v0"


def test_a_list_of_everything_is_for_the_store(cached: Cached) -> None:
    """A list that makes every id valid proves nothing; it is answered at once, with the newest."""
    cached.alter("v1")
    cached.catch_up()

    assert cached.read(f"{ID_MAX}:", max_wait_ms=LONG_MS) == ("v1", "store", "ahead_of_cache")


@pytest.mark.parametrize("max_wait_ms", [LONG_MS, NUMBER_MAX])
def test_a_reader_that_is_ahead_is_waited_for(cached: Cached, max_wait_ms: int) -> None:
    """Who saw more of the log than the cache gets its answer from the cache once that is there.

    That holds for a wait longer than any lock takes, too.
    """
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(cached.read, "1:", max_wait_ms=max_wait_ms)
        cached.alter("v1")
        cached.domain.follow()

        assert reading.result(LONG_MS / 1000) == ("v1", "cache", "hit")


def test_a_caller_with_ids_in_arrays_asks_with_what_is_in_them(cached: Cached) -> None:
    np = pytest.importorskip("numpy")
    asked = Read("t", listed("0:"), np.int64(cached.table))
    for answer in cached.cache.metadata([asked, asked._replace(table=np.int64(cached.table))]):
        assert isinstance(answer.value, TableMetadata)
        assert type(answer.value.table) is int


def test_nobody_is_told_what_is_too_old(cached: Cached) -> None:
    behind = cached.domain.head.position

    with pytest.raises(ReaderBehindError) as list_error:
        cached.read("7:", max_wait_ms=20)
    with pytest.raises(ReaderBehindError) as token_error:
        cached.read("0:", token=behind + 5, max_wait_ms=20)

    assert list_error.value.applied == token_error.value.applied == behind
    assert (list_error.value.wanted, token_error.value.wanted) == (behind + 1, behind + 5)


def test_who_waited_long_enough_did_not_wait_in_vain(cached: Cached) -> None:
    """A wait is in vain if its time runs out, not if the store knows no such object either."""
    ahead = cached.domain.head.position + 1
    with pytest.raises(ReaderBehindError):
        cached.read("0:", token=ahead, max_wait_ms=20)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(
            cached.cache.read, "t", listed("0:"), what="none", token=ahead, max_wait_ms=LONG_MS
        )
        cached.alter("v1")
        cached.domain.follow()
        assert reading.result(LONG_MS / 1000).reason == "absent"

    assert cached.cache.waits.timeouts == 1


def test_several_tables_are_read_at_one_position(cached: Cached) -> None:
    other = cached.domain.create_table(cached.session, "u", made=made("u0"))
    cached.alter("v1")
    position = cached.catch_up()
    there = [Read("t", listed("1:")), Read(other, listed("0:"))]

    hits = cached.cache.metadata(there)
    misses = cached.cache.metadata([*there, Read("nowhere", None)])

    assert [location(hit) for hit in hits] == ["v1", "u0"]
    assert {(hit.source, hit.position) for hit in hits} == {("cache", position)}
    assert [location(miss) for miss in misses] == ["v1", "u0", None]
    assert {(miss.source, miss.position) for miss in misses} == {("store", position)}


@pytest.mark.parametrize("kind", ["rows", "log", "topic"])
def test_tables_without_reads_are_let_go(in_memory: Followed, kind: str) -> None:
    entries = entries_of(kind, in_memory, bytes_max=5_000)
    cached = Cached(in_memory, entries, ManualClock())
    names = [f"t{n}" for n in range(30)]
    tables = [in_memory.create_table(cached.session, name, made=made(name)) for name in names]
    cached.catch_up()

    twice = [cached.cache.read(table, listed("0:")) for table in (*tables, *tables)]
    cached.cache.close()

    assert [location(each) for each in twice] == names * 2
    assert 0 < entries.tables.bytes_used <= 5_000
    assert entries.tables.evictions > 20


def test_a_long_history_is_not_all_kept(cached: Cached) -> None:
    for n in range(1, VERSIONS_MAX + 20):
        cached.alter(f"v{n}")
    cached.catch_up()
    newest = VERSIONS_MAX + 19

    assert cached.read(f"{newest}:") == (f"v{newest}", "cache", "hit")
    assert cached.read("20:") == ("v20", "cache", "hit_old_version")
    assert cached.read("19:") == ("v19", "store", "before_floor")


@pytest.mark.parametrize(
    ("changes", "hwm", "found"),
    [
        pytest.param("r" + VERSIONS_MAX * "a", 65, ("t0", "v64"), id="a rename, then alters"),
        pytest.param("a" + VERSIONS_MAX * "r", 2, ("t64", "v0"), id="an alter, then renames"),
        pytest.param("ar" + VERSIONS_MAX * "a", 2, ("t1", "v0"), id="an old reader"),
        pytest.param(2 * VERSIONS_MAX * "a", 66, ("t", "v64"), id="alters alone"),
        pytest.param("a" + 2 * VERSIONS_MAX * "r", 1, ("t128", "first"), id="renames alone"),
        pytest.param(2 * VERSIONS_MAX * "w", 2, ("t0", "first"), id="renames with write ids"),
    ],
)
def test_no_name_or_version_is_passed_over_between_two_reads(
    cached: Cached, changes: str, hwm: int, found: tuple[str, str]
) -> None:
    cached.alter("first")
    cached.catch_up()
    cached.read("1:")
    for n, change in enumerate(changes):
        if change == "a":
            cached.alter(f"v{n}")
            continue
        txn = cached.domain.open_txn(cached.session) if change == "w" else 0
        cached.domain.rename_table(cached.session, cached.table, f"t{n}", txn=txn)
        if txn:
            cached.domain.commit(cached.session, txn)
    cached.catch_up()
    answer = cached.cache.read(cached.table, listed(f"{hwm}:"))

    assert isinstance(answer.value, TableMetadata)
    assert (answer.value.name, answer.value.definition.location) == found
    assert cached.cache.sampler.verify() == []


def test_cache_and_store_agree(cached: Cached) -> None:
    for n in range(10):
        txn = cached.domain.open_txn(cached.session)
        cached.alter(f"v{n}", txn=txn)
        cached.domain.commit(cached.session, txn)
        cached.domain.rename_table(cached.session, cached.table, f"t{n}")
    cached.catch_up()
    cached.cache.read(cached.table, listed("10:"))

    assert cached.cache.entries.held()
    assert cached.cache.sampler.verify() == []


def test_most_reads_are_hits(cached: Cached) -> None:
    for n in range(1, 31):
        txn = cached.domain.open_txn(cached.session)
        cached.alter(f"v{n}", txn=txn)
        cached.catch_up()
        cached.read(f"{n}:{n}")
        body = cached.domain.commit(cached.session, txn).body
        assert isinstance(body, TxnCommitted)
        cached.catch_up()
        cached.read(f"{n}:")
        cached.read(f"{n // 2}:")

    assert cached.cache.counts.total() == 90
    assert cached.cache.hit_ratio() == 1.0


class Lying(RowEntries):
    """Entries that tell everyone the same."""

    def read_many(self, wanted: Sequence[EntryRead]) -> list[MetadataAnswer]:
        return [answer._replace(value="made up") for answer in super().read_many(wanted)]


def test_what_differs_is_found() -> None:
    cached = Cached(followed := Followed(), Lying(followed.reader), ManualClock())
    cached.read("0:")

    found = cached.cache.sampler.verify()

    assert [(each.wanted.table, each.cached) for each in found] == [(cached.table, "made up")]
    assert cached.cache.sampler.mismatches == found


@pytest.mark.parametrize("seed", range(6))
def test_entries_of_rows_follow_the_rows(seed: int) -> None:
    """Law 12 for entries made of rows and kept while the rows go on."""
    history, wrong = drawn(seed), list[Reader]()
    store = MemoryStore()
    fold = Fold.load(store, history.driver.log)
    entries = RowEntries(store.reader(), bytes_max=4_000)
    for position, record in enumerate(history.driver.records, 1):
        fold.feed([record])
        entries.advance(0.0)
        readers = [reader for reader in history.readers if reader.position <= position]
        wrong += [reader for reader in readers if not is_right(history, entries, reader, position)]

    assert wrong == []


def is_right(history: Played, entries: RowEntries, reader: Reader, position: int) -> bool:
    """Tell whether a reader is told by the entries what it should be, or sent on."""
    answer = entries.read_many([wanted(reader)])[0]
    right = told(history, reader, "table", range(1, position + 1))
    return answer.value is None or as_told(answer.value) == right
