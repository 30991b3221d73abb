"""Serving: the pages over the store of a follower, as its process runs them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from ledger.config.settings import UNLOCKED, FollowerSettings, WebSettings, hosts_of
from ledger.machine.endpoints import Endpoint
from ledger.reads.port import Reads
from projections.fold.follower import Follower
from projections.queries import StoreReads
from projections.store.rocks import RocksLimits
from projections.store.rocks_reader import RocksReader
from projections.web.answers.questions import QUESTIONS
from projections.web.answers.registry import registry_routes
from projections.web.answers.unity import UNITY_QUESTIONS
from projections.web.app import WebPages
from projections.web.pages.serving import page_routes
from projections.web.roles.health import Followed, FollowerHealth
from projections.web.roles.metrics import FollowerCollector, Metrics
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.readers import Readers
from projections.web.server.server import WebServer
from projections.web.server.waiting import PositionWaiting

# There are several readers in one process; the operating system caches files for all of them.
ROCKS_LIMITS: Final = RocksLimits(block_cache_bytes=16 << 20)


def serve_store(
    store: Path,
    followers: Sequence[Follower],
    settings: FollowerSettings,
    doors: WebSettings = UNLOCKED,
) -> WebServer:
    """Answer reads of the store at a path, with health and metrics of its follower.

    The rows are read as in any other process of the host, as secondaries of their writer. So an
    answer shows whole batches, and costs the fold only its share of this process.
    Raises SettingsError if the server cannot listen at the configured address.
    """
    endpoint = Endpoint.parse(settings.http)
    readers: Readers[Reads] = Readers(partial(open_rows, store))
    pages = read_pages(
        readers,
        lambda: followers[0] if followers else None,
        lag_max_s=settings.lag_max_s,
        processes=hosts_of(settings.processes),
    )
    return WebServer.start(pages, endpoint, hosts=hosts_of(settings.hosts), doors=doors)


def read_pages(
    readers: Readers[Reads],
    followed: Followed,
    *,
    lag_max_s: float,
    limits: WebLimits = LIMITS,
    processes: Sequence[str] = (),
) -> WebPages[Reads]:
    """Return the pages of a read model; `followed` returns the follower of these rows.

    `processes` are the URLs of other processes whose health a page shows.
    """
    health = FollowerHealth(PositionWaiting(readers), followed, lag_max_s=lag_max_s)
    questions = (*QUESTIONS, *UNITY_QUESTIONS)
    metrics = Metrics(FollowerCollector(followed))
    pages = WebPages(readers, questions, health, metrics, limits, beside=registry_routes())
    pages.add_routes(page_routes(pages, processes))
    return pages


def open_rows(store: Path) -> StoreReads:
    """Return one reader of the store; raises StoreMissingError before it exists."""
    return StoreReads(RocksReader.open(store, limits=ROCKS_LIMITS))
