"""Tokens and TLS of a server, what clients get without them, and that no token is shown."""

import base64
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from structlog.typing import EventDict
from urllib3 import HTTPHeaderDict

from ledger.config.settings import WebSettings
from ledger.config.tokens import KnownToken, change_tokens
from ledger.errors import ReadsRefusedError, ReadsUnavailableError, SettingsError
from ledger.machine.certificates import CA, CERTIFICATE, KEY, make_certificates
from ledger.machine.endpoints import Endpoint
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.web_login import WebLogin
from projections.store.memory import MemoryStore
from projections.web.roles.follower import read_pages
from projections.web.server.server import WebServer
from tests.projections.followed import Followed
from tests.web.served import LAG_MAX_S, Served, rows_in, serving

PATIENCE_S: Final = 10.0
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - what is refused
QUESTION: Final = "/v1/position"
REFUSED: Final = (401, "Unauthorized")
UNREADABLE: Final = (503, "TokensUnreadable")


@dataclass(frozen=True)
class Locked:
    """The files of a server that wants tokens and speaks TLS, and a token that it knows."""

    folder: Path
    token: str

    @property
    def tokens(self) -> Path:
        """The file of the server's tokens."""
        return self.folder / "tokens"

    @property
    def doors(self) -> WebSettings:
        return WebSettings(self.tokens, self.folder / CERTIFICATE, self.folder / KEY)

    @property
    def login(self) -> WebLogin:
        return WebLogin(self.folder / "token", self.folder / CA)

    def add(self, name: str, ends_ms: int | None = None) -> str:
        """Let the server know one more token, which is returned."""
        known, token = KnownToken.made(name, ends_ms)
        change_tokens(self.tokens, lambda tokens: [*tokens, known])
        return token


@pytest.fixture
def locked(tmp_path: Path) -> Locked:
    """Return the files of a locked server."""
    make_certificates(tmp_path)
    token = Locked(tmp_path, "").add("etl")
    written = tmp_path / "token"
    written.touch(mode=0o600)
    written.write_text(f"{token}\n")
    return Locked(tmp_path, token)


@pytest.fixture
def domain() -> Followed:
    domain = Followed(MemoryStore())
    domain.open_session()
    domain.follow()
    return domain


@pytest.fixture
def served(domain: Followed, locked: Locked) -> Iterator[Served]:
    """Return a locked server, and a client that may ask it."""
    with serving(rows_in(domain), doors=locked.doors, login=locked.login) as served:
        yield served


def basic(token: str) -> str:
    """Return the header of a browser that got a token as password."""
    return "Basic " + base64.b64encode(f"anyone:{token}".encode()).decode()


def test_let_in(served: Served, domain: Followed, locked: Locked) -> None:
    """A client with the token and the CA is answered, by Bearer and, as browsers do, by Basic."""
    assert served.url.startswith("https://")
    assert served.reads.position() == domain.head.position
    for header in (f"Bearer {locked.token}", f"bearer  {locked.token}", basic(locked.token)):
        assert served.ask_with(QUESTION, {"authorization": header})[0].status == 200


@pytest.mark.parametrize(
    "header",
    [
        *(
            "",
            "Bearer",
            "Bearer ",
            "Bearer None",
            "Bearer lkl_unknown",
            "Basic",
            "Basic %%%",
            "Basic bm8tY29sb24=",
        ),
        *("Digest lkl_unknown", "Bearer \xff\xfe", basic("lkl_unknown")),
    ],
)
def test_a_request_without_a_known_token_is_answered_401(served: Served, header: str) -> None:
    answer, headers = served.ask_with(QUESTION, {"authorization": header})
    assert answer.error == REFUSED
    assert [each.partition(" ")[0] for each in headers.getlist("www-authenticate")] == [
        "Bearer",
        "Basic",
    ]
    assert served.ask("/metrics").error == REFUSED
    assert served.ask("/nothing").error == REFUSED


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_stay_open(served: Served, path: str) -> None:
    assert served.ask(path).form["status"] in {"UP", "DOWN"}


def test_two_tokens_in_one_request(served: Served, locked: Locked) -> None:
    """A request with two headers of a login is refused: which one counts is not known."""
    pairs = [("authorization", f"Bearer {locked.token}")] * 2
    assert served.ask_with(QUESTION, HTTPHeaderDict(pairs))[0].error == REFUSED


def test_file_that_changes(served: Served, locked: Locked, log_lines: Sequence[EventDict]) -> None:
    """A changed file counts at once; one that cannot be read lets no request in."""
    second = locked.add("report")
    assert served.ask_with(QUESTION, {"authorization": f"Bearer {second}"})[0].status == 200
    change_tokens(locked.tokens, lambda tokens: [token for token in tokens if token.name != "etl"])
    with pytest.raises(ReadsRefusedError, match="does not know the token"):
        served.reads.position()
    known = locked.tokens.read_text()
    locked.tokens.write_text(f"{known}report {'0' * 64}\n")
    answer, _ = served.ask_with(QUESTION, {"authorization": f"Bearer {second}"})
    assert answer.error == UNREADABLE
    assert any("no request is let in" in line["event"] for line in log_lines)
    locked.tokens.write_text(known)
    assert served.ask_with(QUESTION, {"authorization": f"Bearer {second}"})[0].status == 200


def test_a_client_reads_its_token_again_when_refused(served: Served, locked: Locked) -> None:
    position = served.reads.position()
    change_tokens(locked.tokens, lambda _: [])
    (locked.folder / "token").write_text(locked.add("etl"))
    assert served.reads.position() == position


def test_an_expired_token_is_refused_by_its_name(served: Served, locked: Locked) -> None:
    past = locked.add("past", 1)
    answer, _ = served.ask_with(QUESTION, {"authorization": f"Bearer {past}"})
    assert answer.error == REFUSED
    assert "token past has expired" in answer.form["message"]


def test_a_client_without_token_ca_or_tls_is_told_so(served: Served, locked: Locked) -> None:
    lacking = {
        WebLogin(None, locked.folder / CA): "requires a token",
        WebLogin(locked.folder / "token", None): "certificate is not trusted.*--ca-file",
    }
    for login, said in lacking.items():
        with (
            closing(HttpReads(served.url, login=login)) as reads,
            pytest.raises(ReadsRefusedError, match=said),
        ):
            reads.position()
    plain = served.url.replace("https://", "http://")
    with (
        closing(HttpReads(plain, login=locked.login)) as reads,
        pytest.raises(ReadsUnavailableError, match="https://"),
    ):
        reads.position()


def test_a_client_that_asks_a_plain_server_by_tls_is_told(domain: Followed, locked: Locked) -> None:
    with serving(rows_in(domain)) as served:
        url = served.url.replace("http://", "https://")
        with (
            closing(HttpReads(url, login=locked.login)) as reads,
            pytest.raises(ReadsRefusedError, match="http://"),
        ):
            reads.position()


def test_no_token_over_an_open_line(locked: Locked) -> None:
    assert locked.login.headers("http://127.0.0.1:1") == locked.login.headers("https://far:1") != {}
    assert locked.login.headers("http://far:1") == {}
    assert locked.login.is_withheld("http://far:1")


def test_a_renewed_certificate_needs_no_restart(served: Served, locked: Locked) -> None:
    make_certificates(locked.folder)
    ends_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with closing(HttpReads(served.url, login=locked.login)) as reads:
                assert reads.position() > 0
        except ReadsRefusedError:
            assert time.monotonic() < ends_s, "the server goes on with the former certificate"
        else:
            break


def start(domain: Followed, doors: WebSettings, host: str = EVERYWHERE) -> WebServer:
    """Return a running server that listens at a host, on any free port."""
    pages = read_pages(rows_in(domain), lambda: None, lag_max_s=LAG_MAX_S)
    return WebServer.start(pages, Endpoint(host, 0), doors=doors)


def test_beyond_this_host(domain: Followed, locked: Locked, log_lines: Sequence[EventDict]) -> None:
    """Beyond loopback a server starts with tokens and TLS, or where that is asked for by name."""
    start(domain, locked.doors).close()
    start(domain, WebSettings(), "127.0.0.1").close()
    for doors, lacking in (
        (WebSettings(), "no tokens .* and no TLS"),
        (WebSettings(tokens=locked.tokens), "no TLS"),
        (
            WebSettings(certificate=locked.folder / CERTIFICATE, key=locked.folder / KEY),
            "no tokens",
        ),
    ):
        with pytest.raises(SettingsError, match=lacking) as raised:
            start(domain, doors)
        assert "web.open=true" in str(raised.value)
    assert not log_lines
    start(domain, WebSettings(open=True)).close()
    assert [line["event"] for line in log_lines] == ["answers other hosts by web.open=true"]


def spoil_pair(at: Path) -> None:
    other = at / "other"
    other.mkdir()
    make_certificates(other)
    (other / KEY).replace(at / KEY)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda at: (at / "tokens").unlink(), "tokens in .* cannot be read"),
        (lambda at: (at / "tokens").write_text("etl\n"), "line 1 of"),
        (lambda at: (at / "tokens").write_text("etl zz never\n"), "line 1 of"),
        (lambda at: (at / "tokens").write_text(f"etl {'0' * 64} soon\n"), "line 1 of"),
        (lambda at: (at / "tokens").write_text(f"etl {'0' * 64} never\n" * 2), "2 tokens etl"),
        (lambda at: (at / KEY).write_text("none"), "cannot be used"),
        (spoil_pair, "cannot be used"),
    ],
)
def test_files_that_do_not_fit(
    domain: Followed, locked: Locked, spoil: Callable[[Path], Any], said: str
) -> None:
    spoil(locked.folder)
    with pytest.raises(SettingsError, match=said):
        start(domain, locked.doors, "127.0.0.1")


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "\u00fc", "\x00"])
def test_a_clients_file_that_holds_no_token_is_refused(locked: Locked, text: str) -> None:
    file = locked.folder / "token"
    file.write_text(text)
    with pytest.raises(SettingsError, match="must hold one token") as raised:
        locked.login.headers("https://far:1")
    assert not text or text not in str(raised.value)


def test_no_repr_error_log_line_or_file_of_the_server_shows_a_token_right_wrong_or_expired(
    served: Served, locked: Locked, log_lines: Sequence[EventDict]
) -> None:
    wrong, past = "lkl_wrong-but-secret", locked.add("past", 1)
    shown = [repr(each) for each in (served.reads, locked.login, locked.doors, served.server)]
    for token in (locked.token, wrong, past):
        for header in (f"Bearer {token}", basic(token)):
            answer, headers = served.ask_with("/v1/nothing", {"authorization": header})
            shown += [answer.data.decode(), str(dict(headers))]
    change_tokens(locked.tokens, lambda _: [])
    with pytest.raises(ReadsRefusedError) as refused:
        served.reads.position()
    (locked.folder / "token").write_text(f"{wrong} {locked.token}")
    with pytest.raises(SettingsError) as unfit:
        HttpReads(served.url, login=locked.login)
    for error in (refused.value, unfit.value):
        chain = [error, error.__cause__, error.__context__]
        shown += [text for each in chain for text in (str(each), repr(each))]
    shown += [str(log_lines), locked.tokens.read_text(), served.ask("/readyz").data.decode()]
    for token in (locked.token, wrong, past):
        secrets = (token, base64.b64encode(f"anyone:{token}".encode()).decode())
        assert not [text for text in shown for secret in secrets if secret in text]
