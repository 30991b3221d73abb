"""The client of reads over HTTP: waits, servers that are away or are something else."""

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Signal
from threading import Semaphore, Thread
from time import monotonic
from typing import Any, Final
from urllib.parse import unquote

import pytest

from ledger.client import Ledger
from ledger.errors import IncompatibleError, ReaderBehindError, ReadsUnavailableError, SettingsError
from ledger.reads.metadata import Bounds, Read, ReadAt
from ledger.reads.port import FileRow, TableRow
from ledger.reads.remote.http import HttpCache, HttpReads
from ledger.reads.remote.http_questions import WAIT_MAX_MS
from ledger.testing import InMemoryLedger
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.store.port import RowReader
from projections.web.server.readers import LONG_THREADS
from tests.core.parts import table_of
from tests.oracle.reads import StateReads
from tests.projections.filing import commit, texts
from tests.projections.followed import Followed
from tests.web.served import rows_in, serving

SOON_MS: Final = 20_000
IN_TIME_S: Final = 10.0
BY_HOUR: Final = table_of(("hour", "string"), by=["hour"])


class Foreign(BaseHTTPRequestHandler):
    """A server that knows nothing of ledgers."""

    def do_GET(self) -> None:
        """Answer with what stands behind the slash: a status, and a text."""
        status, _, text = unquote(self.path).split("/")[1].partition("-")
        self.send_response(int(status))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_line: object) -> None:
        """Say nothing."""


@pytest.fixture
def foreign() -> Iterator[str]:
    """Return the URL of a server of something else."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:8181",
        "ftp://host",
        "http://",
        "http://host?x=1",
        "http://host:99999",
        "http://host:port",
        "http://[::1",
    ],
)
def test_what_is_no_url_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://host:8181.* LAKELEDGER_READS_URL"):
        HttpReads(url)


def test_an_error_without_a_listener_says_where_and_that_it_may_be_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with closing(HttpReads(url)) as reads, pytest.raises(ReadsUnavailableError) as raised:
        reads.position()
    assert url in str(raised.value)
    assert raised.value.retry_unchanged


def test_where_somebody_listens_and_says_nothing_the_time_that_was_given_is_kept() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began_s = monotonic()
        with closing(HttpReads(url, timeout_s=0.2)) as reads, pytest.raises(ReadsUnavailableError):
            reads.position()

    assert monotonic() - began_s < IN_TIME_S


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("404-not here", "status 404: not here"),
        ("404-{}", "status 404"),
        ("503-[]", "status 503"),
        ("302-", "status 302"),
        ('500-{"error":"OSError","message":"m","fields":{}}', "status 500: m"),
    ],
)
def test_another_server(foreign: str, path: str, said: str) -> None:
    """A server that is none of ours is not taken at its word: nothing found is not None."""
    with (
        closing(HttpReads(f"{foreign}/{path}")) as reads,
        pytest.raises(ReadsUnavailableError, match=said),
    ):
        reads.txn(7)


@pytest.mark.parametrize("path", ["200-seven", "200-{}", '200-{"txn":7,"later":1}'])
def test_an_answer_of_another_form_is_told_as_such_not_guessed_at(foreign: str, path: str) -> None:
    with (
        closing(HttpReads(f"{foreign}/{path}")) as reads,
        pytest.raises(IncompatibleError, match="Install the same version"),
    ):
        reads.txn(7)


def test_nothing_is_read_through_a_client_that_was_closed() -> None:
    reads = HttpReads("http://127.0.0.1:1")
    reads.close()
    reads.close()
    with pytest.raises(ReadsUnavailableError):
        reads.position()


def test_wait_ends_with_the_event() -> None:
    domain = Followed(MemoryStore())
    domain.follow()
    here = domain.reads.position()
    with serving(rows_in(domain)) as served, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.reads.wait, here + 1, SOON_MS)
        domain.open_session()
        domain.follow()
        assert waiting.result() == here + 1


class Slow(StoreReads):
    """Reads that do not answer which tables there are before they may."""

    def __init__(self, rows: RowReader, begun: Semaphore, may_go_on: Signal) -> None:
        super().__init__(rows)
        self._begun = begun
        self._may_go_on = may_go_on

    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        self._begun.release()
        self._may_go_on.wait(SOON_MS / 1000)
        return super().tables(include_dropped=include_dropped)


@pytest.mark.parametrize("path", ["/readyz", "/v1/position", "/v1/snapshot"])
def test_health_waits_for_no_read(path: str) -> None:
    store, begun, may_go_on = Followed(MemoryStore()).store, Semaphore(0), Signal()
    assert isinstance(store, MemoryStore)
    with (
        serving(lambda: Slow(store.reader(), begun, may_go_on)) as served,
        ThreadPoolExecutor(9) as pool,
    ):
        reading = [pool.submit(served.ask, "/v1/tables") for _ in range(8)]
        assert all(begun.acquire(timeout=SOON_MS / 1000) for _ in range(LONG_THREADS))
        told = pool.submit(served.ask, path)
        try:
            assert told.result(SOON_MS / 4000).status in {200, 503}
            assert not any(each.done() for each in reading)
        finally:
            may_go_on.set()


def test_waiting_readers_hold_nobody_up() -> None:
    domain = Followed(MemoryStore())
    session = domain.open_session()
    table = domain.create_table(session, "t")
    domain.follow()
    path = f"/v1/metadata?table_id={table}&max_wait_ms={WAIT_MAX_MS}"
    with serving(rows_in(domain)) as served, ThreadPoolExecutor(8) as pool:
        asked = f"{path}&token={domain.head.position + 1}"
        waiting = [pool.submit(served.ask, asked) for _ in range(8)]
        assert [served.ask(path).status for _ in range(3)] == [200] * 3
        assert not any(each.done() for each in waiting)
        domain.rename_table(session, table, "u")
        domain.follow()
        assert {each.result().form["value"]["name"] for each in waiting} == {"u"}


@pytest.mark.parametrize("table", ["table_id=1", "table=created.since"])
def test_waiting_for_a_token_in_vain(table: str) -> None:
    """Who waited is told for how long, and for what, be it a table to come."""
    domain = Followed(MemoryStore())
    domain.create_table(domain.open_session(), "t")
    domain.follow()
    with serving(rows_in(domain)) as served:
        answer = served.ask(f"/v1/metadata?{table}&token=99&max_wait_ms=30")
    assert answer.error == (409, "ReaderBehindError")
    assert "position 99 was not reached within 30 ms" in answer.form["message"]


def test_a_wait_is_no_silence() -> None:
    domain = Followed(MemoryStore())
    domain.follow()
    with serving(rows_in(domain)) as served:
        cache = HttpCache(served.url, timeout_s=1.0)
        with closing(cache), pytest.raises(ReaderBehindError):
            cache.metadata_at(ReadAt("t"), Bounds(99, 1_500))


@pytest.mark.slow
def test_a_wait_longer_than_a_request_may_last_goes_on() -> None:
    domain = Followed(MemoryStore())
    domain.follow()
    with serving(rows_in(domain)) as served, pytest.raises(ReaderBehindError) as raised:
        served.reads.wait(99, WAIT_MAX_MS + 50)
    assert f"within {WAIT_MAX_MS + 50} ms" in str(raised.value)
    assert (raised.value.applied, raised.value.wanted) == (domain.head.position, 99)


def test_a_client_over_http_waits_for_metadata_longer_than_a_request() -> None:
    with InMemoryLedger() as memory, serving(lambda: StateReads(memory.log)) as served:
        memory.connect()
        with Ledger.connect(log=memory.log, reads=served.reads) as ledger:
            ledger.create_table("t")
            with ledger.transaction() as txn:
                txn.alter_table("t", properties={"object.stats:day": "7"})
                assert txn.metadata_object("t", "stats:day") == "7"
            assert ledger.metadata_object("t", "stats:day") == "7"
            assert ledger.metadata("t").name == "t"


@pytest.mark.slow
def test_metadata_waits_in_parts() -> None:
    domain = Followed(MemoryStore())
    table = domain.create_table(domain.open_session(), "t")
    domain.follow()
    bounds = Bounds(99, WAIT_MAX_MS + 50)
    with serving(rows_in(domain)) as served, pytest.raises(ReaderBehindError) as raised:
        served.reads.metadata([Read(table, None)], bounds)
    assert f"within {WAIT_MAX_MS + 50} ms" in str(raised.value)
    with serving(rows_in(domain)) as served, pytest.raises(ValueError, match="max_wait_ms is -1"):
        served.reads.metadata([Read(table, None)], Bounds(max_wait_ms=-1))


class Busy(StoreReads):
    """Reads of a domain whose first table loses a file and is given others before each answer."""

    def __init__(self, domain: Followed, session: int) -> None:
        assert isinstance(domain.store, MemoryStore)
        super().__init__(domain.store.reader())
        self._domain = domain
        self._session = session

    def files(self, table: int, **asked: Any) -> Sequence[FileRow]:
        live = texts(self._domain.reads.files(table))
        count = self._domain.head.position
        commit(self._domain, self._session, table, [f"a{count}", f"z{count}"], live[::3])
        self._domain.follow()
        return super().files(table, **asked)


class Leafing(HttpReads):
    """A client that asks for few rows at once."""

    page_rows = 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda reads, _position, _version: reads.files(1),
        lambda reads, position, _version: reads.files(1, position=position),
        lambda reads, _position, version: reads.files(1, version=version),
    ],
    ids=["now", "position", "version"],
)
def test_pages_of_one_position(ask: Callable[[HttpReads, int, int], list[FileRow]]) -> None:
    domain = Followed(MemoryStore())
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_HOUR)
    commit(domain, session, table, [f"f{number}" for number in range(9)])
    domain.follow()
    expected, here = domain.reads.files(table), domain.head.position
    version = expected[0].version
    with serving(lambda: Busy(domain, session)) as served, closing(Leafing(served.url)) as reads:
        found = ask(reads, here, version)

    assert texts(found) == texts(expected)
    assert domain.head.position >= here + 5


def test_stop_while_somebody_waits() -> None:
    domain = Followed(MemoryStore())
    domain.follow()
    with ThreadPoolExecutor(1) as pool:
        with serving(rows_in(domain)) as served:
            waiting = pool.submit(served.ask, "/v1/position?at_least=99&timeout_ms=10000")
            served.reads.wait(0, 0)
        assert waiting.result().error == (503, "ReadsUnavailableError")


def test_rows_of_another_ledger() -> None:
    with InMemoryLedger() as mine, InMemoryLedger() as other:
        other.connect()

        def reads_of_other() -> StateReads:
            return StateReads(other.log)

        with serving(reads_of_other) as served:
            ledger = type(mine.connect()).connect(log=mine.log, reads=served.reads)
            with ledger, pytest.raises(SettingsError, match="the rows belong to ledger test"):
                ledger.snapshot()
