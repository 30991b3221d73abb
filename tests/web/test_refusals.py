"""What is no question is told so in JSON, by status and name, whatever the bytes were."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final

import pytest
from structlog.typing import EventDict

from ledger.config.settings import hosts_of
from ledger.machine.endpoints import Endpoint
from ledger.reads.metadata import MetadataQuestion, Read
from ledger.reads.remote.http_form import to_json
from projections.queries import StoreReads
from projections.store.memory import MemoryStore
from projections.web.server.bodies import LARGE_AT_ONCE
from projections.web.server.gate import Hosts
from projections.web.server.limits import LIMITS
from tests.projections.followed import Followed, rows_of
from tests.web.served import Served, rows_in, serving
from tests.web.wire import Wire, request

EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - the addresses of a machine
LONG: Final = LIMITS.head_bytes_max
NAMES: Final = b"".join(b"X-%d: y\r\n" % n for n in range(LONG // 4))


@pytest.fixture(scope="module")
def domain() -> Followed:
    domain = Followed(MemoryStore())
    domain.create_table(domain.open_session(), "t")
    domain.follow()
    return domain


@pytest.fixture(scope="module")
def served(domain: Followed) -> Iterator[Served]:
    with serving(rows_in(domain)) as served:
        yield served


def post(*headers: str) -> bytes:
    """Return the head of a question with a body."""
    return request("/v1/tables/1/valid-write-ids", "POST", *headers)


BYTES = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "BadRequest"),
    (b"GET\r\n\r\n", 400, "BadRequest"),
    (b"\x00\r\n\r\n", 400, "BadRequest"),
    (b"GET /v1/identity HTTP/1.1\r\n\r\n", 400, "BadRequest"),
    (b"GET /v1/identity HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400, "BadRequest"),
    (b"GET /v1/identity HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, "BadRequest"),
    (b"GET /v1/\x00\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "BadRequest"),
    (request("/v1/identity", "GET", "A: \x00"), 400, "BadRequest"),
    (post("Content-Length: -5"), 400, "BadRequest"),
    (post("Content-Length: 1e3"), 400, "BadRequest"),
    (post("Content-Length: 1", "Content-Length: 2"), 400, "BadRequest"),
    (post("Content-Length: 99999999999999999999"), 413, "LimitExceededError"),
    (post(f"Content-Length: {LIMITS.body_bytes_max + 1}"), 413, "LimitExceededError"),
    (post("Transfer-Encoding: chunked") + b"zz\r\n", 400, "BadRequest"),
    (post("Transfer-Encoding: gzip"), 400, "BadRequest"),
    (request("/v1/history?limit=%zz"), 400, "BadRequest"),
    (request("/v1/txns/%00"), 400, "BadRequest"),
    (request("/v1/txns/%ff%fe"), 400, "BadRequest"),
    (request("/v1/tables/named?catalog=%00&name=%ff"), 404, "NothingFound"),
    (request("/v1/%2e%2e/%2e%2e/etc/passwd"), 404, "UnknownPath"),
    (request("http://localhost/v1/identity"), 404, "UnknownPath"),
    (request("*", "OPTIONS"), 404, "UnknownPath"),
    (request("/v1/identity", "OPTIONS"), 405, "UnknownMethod"),
    (request("/v1/identity", "BREW"), 405, "UnknownMethod"),
    (request("/livez", "POST"), 405, "UnknownMethod"),
    (request("localhost:80", "CONNECT"), 404, "UnknownPath"),
    (request("/" + "a" * LONG), 431, "HeadTooLong"),
    (request("/?" + "a" * 8 * LONG), 431, "HeadTooLong"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + NAMES + b"\r\n", 431, "HeadTooLong"),
    (b"GET / HTTP/1.1\r\nHost: " + b"a" * 8 * LONG, 431, "HeadTooLong"),
    (b"a" * 8 * LONG, 431, "HeadTooLong"),
    (b"GET /v1/identity HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "UnknownHost"),
    (b"GET /metrics HTTP/1.1\r\nHost: evil.example:8181\r\n\r\n", 421, "UnknownHost"),
    (b"GET /v1/identity HTTP/1.0\r\nHost: evil.example\r\n\r\n", 421, "UnknownHost"),
]


@pytest.mark.parametrize(("sent", "status", "name"), BYTES, ids=range(len(BYTES)))
def test_every_error_is_json(served: Served, sent: bytes, status: int, name: str) -> None:
    with closing(Wire(served.url)) as wire:
        answer, headers = wire.send(sent).answer()
    assert headers["content-type"] == "application/json"
    assert answer.error == (status, name)
    assert answer.form["message"]
    assert answer.form.keys() == {"error", "message", "retry_unchanged", "fields"}


def test_methods_are_told(served: Served) -> None:
    with closing(Wire(served.url)) as wire:
        _, headers = wire.send(request("/v1/metadata", "DELETE")).answer()
    assert {each.strip() for each in headers["allow"].split(",")} == {"GET", "HEAD", "POST"}


def test_a_head_is_answered_as_a_get_without_a_body(served: Served) -> None:
    with closing(Wire(served.url)) as wire:
        for path, status in (("/v1/identity", 200), ("/v1/tables/1/files", 200), ("/none", 404)):
            answer, _ = wire.send(request(path, "HEAD")).answer("HEAD")
            assert answer.status == status
        assert wire.send(request("/livez")).answer()[0].form["status"] == "UP"


class Failing(StoreReads):
    """Reads that fail as no error of ours."""

    def position(self) -> int:
        raise RuntimeError("no position")


def test_a_fault_of_health_is_told(domain: Followed, log_lines: Sequence[EventDict]) -> None:
    store = rows_of(domain)
    with serving(lambda: Failing(store.reader())) as served:
        assert served.ask("/readyz").error == (500, "Fault")
        assert served.ask("/livez").status == 200
    assert [line["event"] for line in log_lines] == ["fault"]


KNOWN = [
    ("127.0.0.1", "", "localhost:8181", True),
    ("127.0.0.1", "", "LOCALHOST.", True),
    ("127.0.0.1", "", "127.0.0.1", True),
    ("127.0.0.1", "", "[::1]:8181", True),
    ("127.0.0.1", "", "evil.example", False),
    ("127.0.0.1", "", "127.0.0.1.evil.example", False),
    ("127.0.0.1", "", "localhost.evil.example:8181", False),
    ("127.0.0.1", "", "10.1.2.3", False),
    ("127.0.0.1", "", "", False),
    ("127.0.0.1", "lake.example, other", "lake.example:8181", True),
    ("127.0.0.1", "lake.example, other", "Other", True),
    ("127.0.0.1", "lake.example", "evil.lake.example", False),
    ("127.0.0.1", "*", "evil.example", True),
    ("10.1.2.3", "", "10.1.2.3:8181", True),
    ("10.1.2.3", "", "10.1.2.4:8181", False),
    ("10.1.2.3", "", "evil.example", False),
    (EVERYWHERE, "", "10.1.2.3:8181", True),
    (EVERYWHERE, "", "evil.example", False),
    ("::", "", "[2001:db8::1]:8181", True),
    ("::", "", "evil.example", False),
]


@pytest.mark.parametrize(("listening", "setting", "asked", "expected"), KNOWN)
def test_hosts(listening: str, setting: str, asked: str, *, expected: bool) -> None:
    """A server is known by its own names and by those of the setting, at any port."""
    hosts = Hosts(Endpoint(listening, 8181), hosts_of(setting))
    assert hosts.know(asked) is expected


def test_a_name_that_the_setting_has_is_answered(domain: Followed) -> None:
    with serving(rows_in(domain), hosts=("lake.example",)) as served:
        for path, host, status in (
            ("/v1/identity", "lake.example", 200),
            ("/v1/identity", "evil.example", 421),
            ("/livez", "evil.example", 200),
        ):
            with closing(Wire(served.url)) as wire:
                wire.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                answer, _ = wire.answer()
            assert answer.status == status
    assert "follower.hosts" not in answer.form


def test_a_body_that_never_ends_is_refused_where_it_is_too_long(served: Served) -> None:
    with closing(Wire(served.url)) as wire:
        wire.send(post("Transfer-Encoding: chunked"))
        chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        for _ in range(LIMITS.body_bytes_max >> 20):
            wire.send(chunk)
        answer, _ = wire.send(chunk).answer()
        assert answer.error == (413, "LimitExceededError")


def test_large_bodies_wait_for_each_other(served: Served) -> None:
    body = to_json(MetadataQuestion([Read(1, None)] * 1_000))
    with ThreadPoolExecutor(4 * LARGE_AT_ONCE) as pool:
        asked = [pool.submit(served.ask, "/v1/metadata", "POST", body) for _ in range(16)]
        assert {each.result().status for each in asked} == {200}
