"""Entries with one version that follow the log: what they keep of misses, and events told twice."""

from collections.abc import Iterator
from copy import deepcopy

import pytest

from ledger.log.checkpoints import Checkpoint
from projections.cache.entries.ids import ReaderIds
from projections.cache.ports import Entries
from tests.conformance.case_ledger import ManualClock
from tests.demo.metastores.one_version import OneVersion
from tests.demo.metastores.tagged_entries import TaggedEntries
from tests.projections.cached import Cached, listed, location, made
from tests.projections.followed import Followed

AT_ONCE = {"max_wait_ms": 0}
SMALL = 2_000


def one_version(bytes_max: int) -> Cached:
    domain = Followed()
    entries = TaggedEntries(domain.log, bytes_max=bytes_max, fold=OneVersion).start()
    return Cached(domain, entries, ManualClock())


@pytest.fixture
def cached() -> Iterator[Cached]:
    """Return a domain under entries that have room."""
    found = one_version(1 << 20)
    yield found
    found.cache.close()


def tag(entries: Entries, table: int) -> tuple[int, tuple[int, ...], bool]:
    """Return mark, exceptions and flag of the entry of a table."""
    assert isinstance(entries, TaggedEntries)
    found = entries.tag(table)
    assert found is not None
    assert found.ids is not None
    return found.ids.hwm, found.ids.exceptions(), found.is_committed


def test_open_change_keeps_all_readers_waiting(cached: Cached) -> None:
    txn = cached.domain.open_txn(cached.session)
    cached.alter("v1", txn=txn)
    cached.catch_up()

    assert tag(cached.cache.entries, cached.table) == (1, (), False)
    assert cached.read("1:1", **AT_ONCE) == ("v0", "store", "pending")
    cached.domain.commit(cached.session, txn)
    cached.catch_up()
    assert cached.read("1:", **AT_ONCE) == ("v1", "cache", "hit")
    assert cached.read("0:", **AT_ONCE) == ("v0", "store", "before_floor")


def test_miss_does_not_renew_an_entry(cached: Cached) -> None:
    cached.alter("v1")
    cached.catch_up()

    assert cached.read("0:", **AT_ONCE) == ("v0", "store", "before_floor")
    assert cached.read("1:", **AT_ONCE) == ("v1", "cache", "hit")
    assert cached.cache.fills == {False: 1}


def test_abort_empties_an_entry_and_a_miss_fills_it(cached: Cached) -> None:
    txn = cached.domain.open_txn(cached.session)
    cached.alter("v1", txn=txn)
    cached.domain.abort(cached.session, txn)
    cached.catch_up()

    assert list(cached.cache.entries.held()) == []
    assert cached.read("1:1", **AT_ONCE) == ("v0", "store", "absent")
    assert cached.read("1:1", **AT_ONCE) == ("v0", "cache", "hit")
    assert cached.cache.sampler.verify() == []


def test_there_is_no_history(cached: Cached) -> None:
    for word in ("v1", "v2"):
        cached.alter(word)
    cached.domain.abort(cached.session, cached.domain.open_txn(cached.session))
    cached.catch_up()
    entries = cached.cache.entries

    assert (entries.lengths(), list(entries.aged())) == ({cached.table: 1}, [])
    assert entries.cut({cached.table: ReaderIds(2, ())}) == 0
    assert cached.read("2:", **AT_ONCE) == ("v2", "cache", "hit")


def test_a_list_for_an_external_table(cached: Cached) -> None:
    """It proves nothing, and no position will bring its ids: the store answers at once."""
    cached.domain.create_table(cached.session, "x", made=made("x0", "external"))
    cached.catch_up()

    told = [cached.cache.read("x", listed(ids)) for ids in ("3:", "3:", "0:", None)]
    found = [(location(each), each.source, each.reason) for each in told]

    assert found == [("x0", "store", "incomparable")] * 2 + [("x0", "cache", "hit")] * 2


def test_event_told_beforehand_counts_once() -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    state, head, end = deepcopy((domain.state, domain.head, len(domain.records)))
    entries = TaggedEntries(domain.log, fold=OneVersion)
    entries.begin(Checkpoint(state, head, end), end)
    txn = domain.open_txn(session)

    entries.apply(domain.alter_table(session, table, made("v1"), "ALTER", txn=txn))
    altered = tag(entries, table), entries.position()
    entries.apply(domain.commit(session, txn))
    committed = tag(entries, table), entries.position()
    for event in domain.events[-3:]:
        entries.apply(event)

    assert altered == ((1, (), False), head.position)
    assert committed == ((1, (), True), head.position)
    assert (tag(entries, table), entries.position()) == ((1, (), True), domain.head.position)


def test_tables_read_last_stay_and_others_come_back_by_a_miss() -> None:
    cached = one_version(SMALL)
    names = [f"t{number}" for number in range(9)]
    tables = [cached.domain.create_table(cached.session, name) for name in names]
    cached.catch_up()

    held = [each.table for each in cached.cache.entries.held()]

    assert tables[-1] in held
    assert cached.table not in held
    assert cached.read("0:", **AT_ONCE) == ("v0", "store", "absent")
    assert cached.read("0:", **AT_ONCE) == ("v0", "cache", "hit")
    cached.cache.close()
