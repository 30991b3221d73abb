"""Clients that are slow: their connections end in time, and nobody else waits for them."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import monotonic
from typing import Final

import pytest

from ledger.errors import ReadsUnavailableError
from ledger.reads.remote.http import HttpReads
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.web.server.limits import WebLimits
from projections.web.server.slots import Turns
from tests.driver import Driver
from tests.projections.filing import commit
from tests.projections.followed import Followed, rows_of
from tests.web.served import Answer, Served, rows_in, serving
from tests.web.wire import HALF_HEAD, Wire, request, wires

SOON_S: Final = 0.5
PATIENCE_S: Final = 5.0
BEYOND: Final = 10_000
LIMITS: Final = WebLimits(head_s=0.4, body_s=0.4, idle_s=1, write_s=0.4, linger_s=0.4)
# Of so many connections half may have a question under way.
FEW: Final = WebLimits(connections_max=24, grace_s=0.0)
POST: Final = request("/v1/tables/1/valid-write-ids", "POST", "Content-Length: 100")
CHUNKED: Final = request("/v1/tables/1/valid-write-ids", "POST", "Transfer-Encoding: chunked")


@pytest.fixture(scope="module")
def domain() -> Followed:
    domain = Followed(MemoryStore())
    domain.create_table(domain.open_session(), "t")
    domain.follow()
    return domain


@pytest.fixture(scope="module")
def served(domain: Followed) -> Iterator[Served]:
    """Return a server with short deadlines."""
    with serving(rows_in(domain), limits=LIMITS) as served:
        yield served


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (HALF_HEAD, "head"),
        (b"G", "head"),
        (request("/livez", "GET", "X: y")[:-2], "head"),
        (POST + b"{", "body"),
        (CHUNKED + b"2\r\n{}\r\n", "body"),
    ],
    ids=["half a line", "one byte", "no empty line", "half a body", "no last chunk"],
)
def test_what_never_comes_to_its_end(served: Served, sent: bytes, part: str) -> None:
    with closing(Wire(served.url)) as wire:
        answer, headers = wire.send(sent).answer()
        assert answer.error == (408, "TooSlow")
        assert (
            f"the {part} of the request did not come to its end within 0.4 s"
            in (answer.form["message"])
        )
        assert answer.form["retry_unchanged"]
        assert headers["connection"] == "close"
        assert wire.read_to_end() == b""


@pytest.mark.parametrize("sent", [HALF_HEAD, POST], ids=["head", "body"])
def test_a_byte_now_and_then(served: Served, sent: bytes) -> None:
    with closing(Wire(served.url)) as wire:
        assert wire.send(sent).drip().startswith(b"HTTP/1.1 408 ")


def test_nothing_is_said_to_silence(served: Served) -> None:
    with closing(Wire(served.url)) as wire:
        assert wire.read_to_end() == b""
    with closing(Wire(served.url)) as wire:
        answer, _ = wire.send(request("/livez")).answer()
        assert answer.status == 200
        assert wire.read_to_end() == b""


def test_a_body_that_is_not_wanted(served: Served) -> None:
    """A question that is answered before its body came is not kept for that body."""
    with closing(Wire(served.url)) as wire:
        answer, _ = wire.send(request("/livez", "GET", "Content-Length: 100")).answer()
        assert answer.status == 200
        assert wire.read_to_end() == b""


def asked_anew(served: Served, path: str) -> Answer:
    """Return what is answered by a connection that is made for it: a kept one may have to go."""
    with closing(Wire(served.url)) as wire:
        return wire.send(request(path)).answer()[0]


def test_half_sent_requests_are_in_nobodys_way(domain: Followed) -> None:
    with serving(rows_in(domain), limits=FEW) as served:
        with wires(served.url, 100, HALF_HEAD):
            for path in ("/livez", "/readyz", "/metrics", "/v1/identity") * 3:
                began_s = monotonic()
                answer = asked_anew(served, path)
                assert answer.status in ({200, 503} if path == "/readyz" else {200})
                assert b"Busy" not in answer.data
                assert monotonic() - began_s < PATIENCE_S
        assert served.ask("/v1/identity").status == 200


def test_idle_connections_make_room(domain: Followed) -> None:
    with serving(rows_in(domain), limits=FEW) as served:
        for _ in range(4):
            with wires(served.url, 2 * FEW.connections_max) as idle:
                for each in idle[:4]:
                    each.send(request("/livez"))
                assert asked_anew(served, "/v1/identity").status == 200


def test_a_crowd_leaves_others_their_turn() -> None:
    begun: list[int] = []

    async def ask(turns: Turns) -> None:
        await turns.turn()
        begun[-1] += 1

    async def crowd() -> None:
        turns, loop = Turns(4), asyncio.get_running_loop()

        def next_round() -> None:
            begun.append(0)
            loop.call_soon(next_round)

        next_round()
        asked = [asyncio.create_task(ask(turns)) for _ in range(100)]
        asked[50].cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await ask(turns)

    asyncio.run(crowd())
    assert max(begun) <= 4
    assert sum(begun) == 100


@contextmanager
def crowded(served: Served, wait_ms: int) -> Iterator[tuple[Answer, dict[str, str]]]:
    """Have as many questions under way as may be, and what another one is told meanwhile."""
    wait = request(f"/v1/position?at_least={BEYOND}&timeout_ms={wait_ms}")
    with wires(served.url, FEW.requests_max, wait), closing(Wire(served.url)) as wire:
        while (found := wire.send(request("/v1/identity")).answer())[0].status == 200:
            pass  # Not all of them have arrived.
        yield found


def test_questions_under_way_are_bounded(domain: Followed) -> None:
    with (
        serving(rows_in(domain), limits=FEW) as served,
        crowded(served, 10_000) as (answer, headers),
    ):
        assert answer.error == (503, "Busy")
        assert answer.form["retry_unchanged"]
        assert int(headers["retry-after"]) > 0
        for path in ("/livez", "/metrics"):
            assert served.ask(path).status == 200
        checks = set(served.ask("/readyz").form["checks"])
        assert checks == {"store", "position", "lag", "registered"}


def test_a_client_comes_again(domain: Followed) -> None:
    with serving(rows_in(domain), limits=FEW) as served:
        with crowded(served, 2_000):
            assert served.reads.identity().domain == 0
        with (
            crowded(served, 10_000),
            closing(HttpReads(served.url, timeout_s=SOON_S)) as reads,
            pytest.raises(ReadsUnavailableError, match="status 503: 12 questions are under way"),
        ):
            reads.identity()


def long_listing() -> Driver:
    """Return a domain with a table whose listing is longer than sockets hold."""
    driver = Driver()
    session = driver.open_session()
    table = driver.create_table(session, "long")
    for part in range(10):
        commit(driver, session, table, [f"{part}-{n}-{'x' * 1000}" for n in range(2_000)])
    return driver


def test_an_answer_that_nobody_takes() -> None:
    store = rows_of(long_listing())
    listing = request("/v1/tables/1/files")
    with serving(lambda: StoreReads(store.reader()), limits=LIMITS) as served:
        greedy = [Wire(served.url, receive_bytes=4096).send(listing) for _ in range(8)]
        try:
            assert len(served.ask("/v1/tables/1/files").form) == 20_000
            assert all(each.is_cut() for each in greedy)
        finally:
            for each in greedy:
                each.close()


def test_requests_one_behind_the_other(served: Served) -> None:
    """Requests that are sent before the first one is answered are answered in their order."""
    with closing(Wire(served.url)) as wire:
        wire.send(request("/v1/position") + request("/livez") + b"nonsense\r\n\r\n")
        assert wire.answer()[0].status == 200
        assert wire.answer()[0].form["status"] == "UP"
        assert wire.answer()[0].error == (400, "BadRequest")
        assert wire.read_to_end() == b""


def test_what_is_sent_behind_a_question_that_waits_is_left_in_the_socket(domain: Followed) -> None:
    with serving(rows_in(domain), limits=LIMITS) as served, closing(Wire(served.url)) as wire:
        wire.send(request(f"/v1/position?at_least={BEYOND}&timeout_ms=900"))
        wire.send(request("/livez") * 1_000)
        assert wire.answer()[0].error == (409, "ReaderBehindError")
        assert [wire.answer()[0].status for _ in range(1_000)] == [200] * 1_000
