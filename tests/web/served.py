"""A server in this process, over the rows of a domain, and ways to ask it."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final, NamedTuple

import urllib3
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route
from urllib3 import HTTPHeaderDict

from ledger.config.settings import UNLOCKED, WebSettings
from ledger.machine.endpoints import ANY_PORT
from ledger.machine.room import NO_PLACES, HostPlaces
from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.web_login import WebLogin
from projections.fold.follower import Follower
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.web.roles.follower import read_pages
from projections.web.roles.log_seen import Seen, unseen
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.server import WebServer
from tests.projections.followed import Followed

LAG_MAX_S: Final = 10.0

NO_LOGIN: Final = WebLogin()

OpenReads = Callable[[], Reads]


class Answer(NamedTuple):
    """What a server said."""

    status: int
    data: bytes

    @property
    def form(self) -> Any:
        return json.loads(self.data)

    @property
    def error(self) -> tuple[int, str]:
        """Return the status and the name of the error."""
        return self.status, self.form["error"]


class Served:
    """A server: its URL, a client of it, and plain requests."""

    def __init__(
        self, server: WebServer, login: WebLogin = NO_LOGIN, routes: Sequence[Route] = ()
    ) -> None:
        self.server = server
        self.routes: Sequence[Route] = routes
        self.url = server.url
        self.reads = HttpReads(server.url, login=login)
        trusted = login.pool_settings(server.url)
        self._http = urllib3.PoolManager(retries=False, timeout=30.0, **trusted)

    def ask(self, path: str, method: str = "GET", body: bytes | None = None) -> Answer:
        found = self._http.request(method, self.url + path, body=body)
        return Answer(found.status, found.data)

    def ask_with(self, path: str, headers: Mapping[str, str]) -> tuple[Answer, HTTPHeaderDict]:
        found = self._http.request("GET", self.url + path, headers=headers)
        return Answer(found.status, found.data), found.headers

    def close(self) -> None:
        """End the server, and its clients."""
        self._http.clear()
        self.reads.close()
        self.server.close()


@contextmanager
def serving(
    open_reads: OpenReads,
    follower: Follower | None = None,
    *,
    lag_max_s: float = LAG_MAX_S,
    limits: WebLimits = LIMITS,
    hosts: Collection[str] = (),
    processes: Sequence[str] = (),
    places: HostPlaces = NO_PLACES,
    reads_rows: bool = False,
    doors: WebSettings = UNLOCKED,
    login: WebLogin = NO_LOGIN,
    seen: Seen = unseen,
) -> Iterator[Served]:
    """Serve reads while the block runs."""
    pages = read_pages(
        open_reads,
        lambda: follower,
        lag_max_s=lag_max_s,
        limits=limits,
        processes=processes,
        places=places,
        reads_rows=reads_rows,
        seen=seen,
    )
    server = WebServer.start(pages, ANY_PORT, hosts=hosts, doors=doors)
    routes = [route for route in pages.app.routes if isinstance(route, Route)]
    with closing(Served(server, login, routes)) as served:
        yield served


def rows_in(domain: Followed) -> OpenReads:
    """Return a way to read the rows of a domain, each time with a reader of its own."""
    store = domain.reader
    assert isinstance(store, MemoryStore)
    return lambda: StoreReads(store.reader())


def samples(served: Served) -> dict[str, float]:
    """Return the metrics by name and labels."""
    text = served.ask("/metrics").data.decode()
    return {
        " ".join([sample.name, *sorted(sample.labels.values())]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
