"""A cache of one ledger's log beside the rows of another: no answer is made of both."""

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event as Signal

import pytest

from ledger.cli.roles.cache import keep
from ledger.config.settings import CacheSettings
from ledger.errors import SettingsError
from ledger.reads.metadata import Bounds, MetadataAnswer, ReadAt
from projections.cache.entries.rows import RowEntries
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, RowMetadataStore
from projections.queries import StoreReads
from tests.driver import CATALOG
from tests.projections.cached import altered_to, listed, location
from tests.projections.followed import Followed

OWN, OTHER = "v1", "elsewhere"


@pytest.fixture
def domain() -> Followed:
    found = Followed()
    altered_to(OWN, found)
    found.follow()
    return found


@pytest.fixture
def other() -> Followed:
    """Return a domain of another ledger, with a table of the same name and id."""
    found = Followed(ledger="0badcafe")
    altered_to(OTHER, found)
    found.follow()
    return found


@pytest.fixture
def cache(domain: Followed, other: Followed) -> Iterator[MetadataCache]:
    entries = FollowedEntries(domain.log).start()
    with closing(MetadataCache(entries, RowMetadataStore(other.rows), CATALOG)) as found:
        while entries.is_loading():
            entries.advance(1.0)
        yield found


def lists_of(domain: Followed) -> ReadLists:
    return ReadLists(Reopened(lambda: StoreReads(domain.reader)))


ASKS: list[Callable[[MetadataCache], object]] = [
    lambda cache: cache.read("no such table", listed("1:")),
    lambda cache: cache.read("t", listed("1:"), policy="latest"),
    lambda cache: cache.read("t", listed("1:"), max_lag_ms=0),
    lambda cache: cache.sampler.verify(),
    lambda cache: cache.sampler.tidy(),
]


@pytest.mark.parametrize("asks", ASKS)
def test_whatever_takes_the_store_is_refused_with_the_names_of_both_ledgers(
    cache: MetadataCache, asks: Callable[[MetadataCache], object]
) -> None:
    with pytest.raises(SettingsError, match=r"0badcafe.* is one of ledger demo \(5f3a9c1e"):
        asks(cache)


def test_the_entries_still_answer(cache: MetadataCache) -> None:
    answer: MetadataAnswer = cache.read("t", listed("1:"))

    assert (location(answer), answer.source) == (OWN, "cache")


def test_lists_of_the_other_are_refused(cache: MetadataCache, other: Followed) -> None:
    process = CacheProcess(cache, lists_of(other))

    with pytest.raises(SettingsError):
        process.metadata_at(ReadAt("t"), Bounds(max_wait_ms=0))


def test_entries_of_rows_of_two_stores_are_refused_too(domain: Followed, other: Followed) -> None:
    cache = MetadataCache(RowEntries(domain.rows), RowMetadataStore(other.rows), CATALOG)
    with closing(cache), pytest.raises(SettingsError):
        cache.read("no such table", listed("1:"))


def test_its_process_ends(domain: Followed, other: Followed) -> None:
    """A process that was set up so does not run on, but says which settings are wrong."""
    entries = FollowedEntries(domain.log).start_loading()
    cache = MetadataCache(entries, RowMetadataStore(other.rows), CATALOG)
    process = CacheProcess(cache, lists_of(other))

    with pytest.raises(SettingsError, match="LAKELEDGER_STORE"):
        keep(process, CacheSettings(http="127.0.0.1:0"), Signal())
