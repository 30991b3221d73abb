"""A cache as a process serves it: what it is asked by those who bring no list."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ledger.errors import ReaderBehindError
from ledger.reads.metadata import Bounds, ReadAt
from ledger.reads.remote.cache import VerifiedCache
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.store import Reopened
from projections.queries import StoreReads
from tests.conformance.case_ledger import ManualClock
from tests.projections.cached import Cached, location, made
from tests.projections.followed import Followed


@pytest.fixture
def cached() -> Iterator[Cached]:
    """Return a cache that follows the log of a domain, beside rows that are written on demand."""
    domain = Followed()
    with closing(FollowedEntries(domain.log).start()) as entries:
        yield Cached(domain, entries, ManualClock())


@pytest.fixture
def process(cached: Cached) -> CacheProcess:
    """Return what is served of it; its lists are those that the rows tell."""
    lists = ReadLists(Reopened(lambda: StoreReads(cached.domain.reader)))
    return CacheProcess(cached.cache, lists)


def test_now_is_no_earlier_than_a_token(cached: Cached, process: CacheProcess) -> None:
    rows_at = cached.domain.head.position
    cached.alter("v1")
    cached.domain.create_table(cached.session, "u", made=made("u0"))
    token = process.wait(cached.domain.head.position, 10_000)

    with pytest.raises(ReaderBehindError) as of_list:
        process.metadata_at(ReadAt("t"), Bounds(token, 1))
    with pytest.raises(ReaderBehindError) as of_name:
        process.metadata_at(ReadAt("u"), Bounds(token, 1))
    cached.domain.follow()

    assert of_list.value.applied == of_name.value.applied == rows_at
    assert location(process.metadata_at(ReadAt("t"), Bounds(token))) == "v1"
    assert location(process.metadata_at(ReadAt("u"), Bounds(token))) == "u0"


@pytest.mark.parametrize("name", ["t", "u"])
def test_a_position_is_waited_for(cached: Cached, process: CacheProcess, name: str) -> None:
    cached.alter("v1")
    cached.domain.create_table(cached.session, "u", made=made("v1"))
    asked = ReadAt(name, position=cached.domain.head.position)
    with pytest.raises(ReaderBehindError, match="was not reached within 1 ms"):
        process.metadata_at(asked, Bounds(max_wait_ms=1))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(process.metadata_at, asked, Bounds(max_wait_ms=10_000))
        cached.domain.follow()

        assert location(reading.result()) == "v1"


def test_what_is_behind_is_not_compared(cached: Cached, process: CacheProcess) -> None:
    cached.alter("v1")
    process.wait(cached.domain.head.position, 10_000)

    assert process.verify(10) == VerifiedCache(0, [])
    cached.domain.follow()
    assert process.verify(10) == VerifiedCache(1, [])
    assert process.status().compared == 1
