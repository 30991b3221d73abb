"""A cache hit is a short walk: one look-up, and a comparison of lists."""

from contextlib import closing
from functools import partial
from typing import Final

from ledger.reads.metadata import Read
from projections.cache.entries.rows import RowEntries
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.store import Reopened
from projections.queries import StoreReads
from tests.conformance.case_ledger import ManualClock
from tests.projections.cached import Cached, listed
from tests.projections.followed import Followed
from tests.walk import calls_of

CALLS_MAX: Final = 40
CALLS_OF_ROWS_MAX: Final = 52


def test_a_hit_is_a_short_walk() -> None:
    domain = Followed()
    with closing(FollowedEntries(domain.log).start()) as entries:
        cached = Cached(domain, entries, ManualClock())
        process = CacheProcess(cached.cache, ReadLists(Reopened(lambda: StoreReads(domain.reader))))
        process.wait(domain.head.position, 10_000)
        read = Read("t", listed("0"))
        process.metadata([read])

        answers, calls = calls_of(partial(process.metadata, [read]))

    assert answers[0].source == "cache"
    assert sum(calls.values()) <= CALLS_MAX, calls.most_common(200)


def test_whether_an_entry_is_up_to_date_is_asked_of_its_rows_once_for_each_position() -> None:
    domain = Followed()
    cached = Cached(domain, RowEntries(domain.reader, refresh_s=60.0), ManualClock())
    cached.cache.entries.advance(0.0)
    read = Read(cached.table, listed("0"))
    cached.cache.metadata([read])

    answers, calls = calls_of(partial(cached.cache.metadata, [read]))

    assert answers[0].source == "cache"
    assert sum(calls.values()) <= CALLS_OF_ROWS_MAX, calls.most_common(200)
