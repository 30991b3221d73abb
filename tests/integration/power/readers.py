"""Readers of a ledger that outlive its broker: clients on rows and over HTTP, a cache, a host.

Each has read up to some position before the broker lost power. Behind the cut each goes on, or ends
with a named error.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event as Signal
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.log.kafka.log import KafkaLog
from ledger.machine.endpoints import ANY_PORT, Endpoint
from ledger.reads.port import Reads
from ledger.reads.remote.http import HttpReads
from projections.cache.following import FollowedEntries
from projections.fold.follower import Follower
from projections.queries import open_reads
from projections.store.rocks_store import RocksStore
from projections.web.roles.follower import read_pages
from projections.web.server.server import WebServer

PATIENCE_S: Final = 40.0
TIMEOUT_S: Final = 20.0
LAG_MAX_S: Final = 10.0


class Where(NamedTuple):
    """A ledger on a broker, and the folder of a host that follows it."""

    bootstrap: str
    ledger: str
    folder: Path

    @property
    def store(self) -> Path:
        """The rows of the host."""
        return self.folder / "store"

    @property
    def options(self) -> str:
        """The options by which a command finds it."""
        return f" --bootstrap {self.bootstrap} --ledger {self.ledger}"

    def log(self) -> KafkaLog:
        return KafkaLog(self.bootstrap, self.ledger)

    def connect(self, application: str, reads: Reads) -> Ledger:
        """Return a client."""
        return Ledger.connect(
            self.bootstrap,
            self.ledger,
            reads=reads,
            application=application,
            timeout_s=TIMEOUT_S,
            # Clients of one process that are connected alike would hear the log together.
            client={"client.id": application},
        )


class FollowerThread:
    """A follower of a host, until it is told to end, or ends by itself."""

    def __init__(self, where: Where, store: Path, *, rebuild: bool = False) -> None:
        self.error: BaseException | None = None
        self._stop = Signal()
        self.store = store
        self._where, self._rebuild = where, rebuild
        self._thread = threading.Thread(target=self._run, name=f"follower of {store}", daemon=True)
        self._thread.start()

    def has_ended(self, wait_s: float) -> bool:
        """Tell whether it ends by itself in time."""
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Let it end."""
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        try:
            make = RocksStore.rebuild if self._rebuild else RocksStore.open
            with closing(self._where.log()) as log, make(self.store) as rows:
                Follower(log, rows, caught_up=rows.publish).run(self._stop)
        except BaseException as error:  # noqa: BLE001 - shown to whoever looks
            self.error = error


class RowsServer:
    """Rows over HTTP, at one port however often it is started."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._endpoint = ANY_PORT
        self._server: WebServer | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://{self._endpoint}"

    def start(self) -> None:
        pages = read_pages(lambda: open_reads(self._store), lambda: None, lag_max_s=LAG_MAX_S)
        self._server = WebServer.start(pages, self._endpoint)
        self._endpoint = Endpoint.parse(self._server.url.removeprefix("http://"))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


class OldReaders:
    """All that has read a ledger up to its end, and reads again behind a cut."""

    def __init__(self, where: Where, server: RowsServer) -> None:
        self._own = ExitStack()
        self._rows = self._own.enter_context(closing(open_reads(where.store)))
        self._http = self._own.enter_context(closing(HttpReads(server.url)))
        self.on_rows = self._own.enter_context(where.connect("rows", self._rows))
        self.over_http = self._own.enter_context(where.connect("http", self._http))
        self._cache_log = self._own.enter_context(closing(where.log()))
        self.cache = self._own.enter_context(closing(FollowedEntries(self._cache_log).start()))
        self.host = FollowerThread(where, where.folder / "elsewhere")
        self._own.callback(self.host.close)

    def read_to(self, position: int) -> None:
        """Let each read up to a position, of which each knows afterwards."""
        for client in (self.on_rows, self.over_http):
            client.wait(position, PATIENCE_S)
            client.snapshot()
        while self.cache.position() < position:
            self.cache.advance(PATIENCE_S)

    def errors(self, position: int) -> dict[str, BaseException | None]:
        """Let each read to `position`; return by its name what ended it, None if nothing did."""
        return {
            "client on rows": tried(lambda: self.on_rows.wait(position, PATIENCE_S)),
            "client over HTTP": tried(lambda: self.over_http.wait(position, PATIENCE_S)),
            "cache": tried(lambda: self._cache_to(position)),
            "rows of another host": self._host_to(position),
        }

    def close(self) -> None:
        """Let go of all of them."""
        self._own.close()

    def _cache_to(self, position: int) -> None:
        before = -1
        while self.cache.position() < position and before != self.cache.position():
            before = self.cache.position()
            self.cache.advance(PATIENCE_S)
        assert self.cache.position() >= position, "the cache did not go on, nor say why"

    def _host_to(self, position: int) -> BaseException | None:
        waited = 0.0
        with closing(open_reads(self.host.store)) as reads:
            while waited < PATIENCE_S and reads.position() < position:
                if self.host.has_ended(0.2):
                    return self.host.error
                waited += 0.2
            assert reads.position() >= position, "the follower did not go on, nor ended"
        return None


def tried(read: Callable[[], object]) -> LedgerError | None:
    """Return the error that a read ends with, None if it ends well."""
    try:
        read()
    except LedgerError as error:
        return error
    return None
