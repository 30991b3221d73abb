"""The process that is a cache: what ends it, and what it says of its rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Event as Signal
from threading import Timer

import pytest
from structlog.types import EventDict

from ledger.cli.roles.cache import keep, tell_of_rows
from ledger.config.settings import CacheSettings
from ledger.errors import ReaderBehindError
from projections.cache.entries.ids import ReaderIds
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, RowMetadataStore
from projections.errors import StoreMissingError
from projections.queries import StoreReads
from tests.driver import CATALOG
from tests.projections.cached import altered_to
from tests.projections.followed import Followed

LONG_S = 30.0


class Faulty(RowMetadataStore):
    """A store in which a fault of the program meets who compares with it."""

    def floors(self, tables: Iterable[int]) -> dict[int, ReaderIds]:  # noqa: ARG002
        raise ZeroDivisionError("a fault")


def test_a_fault_of_the_sampler_ends_it() -> None:
    domain, stop = Followed(), Signal()
    altered_to("v1", domain)
    lists = ReadLists(Reopened(lambda: StoreReads(domain.reader)))
    entries = FollowedEntries(domain.log).start_loading()
    process = CacheProcess(MetadataCache(entries, Faulty(domain.rows), CATALOG), lists)
    give_up = Timer(LONG_S, stop.set)
    give_up.start()
    try:
        with pytest.raises(ZeroDivisionError):
            keep(process, CacheSettings(http="127.0.0.1:0", sample_every_s=0.01), stop)
    finally:
        give_up.cancel()


def test_rows_that_cannot_be_read(log_lines: Sequence[EventDict]) -> None:
    told = None
    missing, behind = StoreMissingError(Path("rows")), ReaderBehindError(0, 1, 0)
    for problem in (None, missing, missing, behind, None, None):
        told = tell_of_rows(problem, told)

    assert [(line["event"], line.get("why")) for line in log_lines] == [
        ("rows cannot be read", str(missing)),
        ("rows cannot be read", str(behind)),
        ("rows can be read", None),
    ]
