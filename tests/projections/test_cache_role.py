"""The process that is a cache: what ends it."""

from collections.abc import Iterable
from threading import Event as Signal
from threading import Timer

import pytest

from ledger.settings import CacheSettings
from projections.cache.ids import ReaderIds
from projections.cache.lists import ReadLists
from projections.cache.source import RowMetadataStore
from projections.cache.starting import StartingEntries
from projections.cache.store import Reopened
from projections.cli.cache_role import Parts, keep
from projections.queries import StoreReads
from tests.driver import CATALOG
from tests.projections.cached import altered_to
from tests.projections.followed import Followed

LONG_S = 30.0


class Faulty(RowMetadataStore):
    """A store in which a fault of the program meets who compares with it."""

    def floors(self, tables: Iterable[int]) -> dict[int, ReaderIds]:  # noqa: ARG002
        """Raise the fault."""
        raise ZeroDivisionError("a fault")


def test_a_fault_of_the_sampler_ends_it() -> None:
    """A cache that nobody compares with its store any more does not run on as if somebody did."""
    domain, stop = Followed(), Signal()
    altered_to("v1", domain)
    lists = ReadLists(Reopened(lambda: StoreReads(domain.reader)))
    parts = Parts(StartingEntries(domain.log).start(), Faulty(domain.rows), lists)
    give_up = Timer(LONG_S, stop.set)
    give_up.start()
    try:
        with pytest.raises(ZeroDivisionError):
            keep(parts, CATALOG, CacheSettings(http="127.0.0.1:0", sample_every_s=0.01), stop)
    finally:
        give_up.cancel()
