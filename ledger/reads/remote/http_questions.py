"""Questions over HTTP: kept connections, and answers in the form of `http_form`.

The clients of reads and of caches share this module. A question without an answer is repeated a few
times, as questions change nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import urlencode, urlsplit

from urllib3 import BaseHTTPResponse, Timeout, connection_from_url
from urllib3.exceptions import HTTPError, ProtocolError, SSLError

from ledger.errors import ReadsRefusedError, ReadsUnavailableError, SettingsError
from ledger.reads.errors import check_reads, plain_read
from ledger.reads.metadata import (
    AT_HAND,
    Bounds,
    MetadataAnswer,
    MetadataQuestion,
    MetadataReads,
    Read,
    settled,
)
from ledger.reads.remote.http_form import BAD_REQUEST, NOTHING, error_from, from_json, to_json
from ledger.reads.remote.web_login import WebLogin
from ledger.reads.turns import in_time
from ledger.reads.whole_numbers import whole_number

VERSION_PATH: Final = "/v1"
OK: Final = 200
BUSY_STATUS: Final = 503
REFUSED_STATUS: Final = 401
CONNECTIONS: Final = 32
CONNECT_S: Final = 5.0
# urllib3 does not take less for a time-out.
LEAST_S: Final = 0.001
# The longest wait of one question at the server; a longer wait is requested in parts.
WAIT_MAX_MS: Final = 10_000
# Pauses before a question is repeated; the first is 0, as a kept connection may have been closed.
PAUSES_S: Final = (0.0, 0.1, 0.2)

Kind = TypeVar("Kind")
Given = str | int | bytes | None


class HttpQuestions(MetadataReads):
    """Asks a URL such as `http://host:8181`; threads may share it.

    `headers` go with every question, for a proxy that wants a login. `login` names the files with
    the token to show and the certificates to trust; by default the settings do, or the secured
    ledger that is up on this machine. Every call raises ReadsUnavailableError if there is no answer
    within `timeout_s`, not counting how long the question itself is to wait, ReadsRefusedError
    without a valid token, and ValueError for a question that makes no sense.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        login: WebLogin | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        check_url(self._url)
        self._login = WebLogin.of(self._url) if login is None else login
        self._given = dict(headers or {})
        self._headers = {**self._login.headers(self._url), **self._given}
        self._pool = connection_from_url(
            self._url, maxsize=CONNECTIONS, **self._login.pool_settings(self._url)
        )
        self._timeout_s = timeout_s
        self._prefix = urlsplit(self._url).path + VERSION_PATH

    def position(self) -> int:
        """Return the position up to which events are applied now."""
        return self._get(int, "/position")

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`."""
        wanted = whole_number("position", position)

        def ask(part_ms: int) -> int:
            given = {"at_least": wanted, "timeout_ms": part_ms}
            return from_json(int, self._asked("GET", "/position", given, wait_ms=part_ms))

        return in_parts(ask, whole_number("timeout_ms", timeout_ms))

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        """Return what readers see, in their order, all as of one position."""
        check_reads(reads, bounds)
        plain = bounds._replace(token=whole_number("token", bounds.token))
        question = to_json(MetadataQuestion([plain_read(read) for read in reads], plain))
        answer = self._asked("POST", "/metadata", {}, question, wait_ms=bounds.max_wait_ms)
        return list(map(settled, from_json(list[MetadataAnswer], answer)))

    def readiness(self) -> Mapping[str, Any]:
        """Return the answer of `/readyz`: a status, and each check by its name."""
        target = f"{urlsplit(self._url).path}/readyz"
        return read_object(self._answered("GET", target, None, self._timeout_s).data)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _get(self, kind: type[Kind], path: str, /, **given: Given) -> Kind:
        return from_json(kind, self._asked("GET", path, given))

    def _asked(
        self,
        method: str,
        path: str,
        given: Mapping[str, Given],
        body: bytes | None = None,
        *,
        wait_ms: int = 0,
    ) -> bytes:
        query = urlencode({name: text_of(each) for name, each in given.items() if each is not None})
        target = f"{self._prefix}{path}?{query}" if query else self._prefix + path
        answer = self._answered(method, target, body, self._timeout_s + wait_ms / 1000)
        if answer.status != OK:
            self._raise(answer.status, answer.data)
        return answer.data

    def _answered(
        self, method: str, target: str, body: bytes | None, timeout_s: float
    ) -> BaseHTTPResponse:
        """Return the answer; repeat the request while there is time."""
        ends_s, pauses, is_renewed = monotonic() + timeout_s, iter(PAUSES_S), False
        while True:
            left_s = max(LEAST_S, ends_s - monotonic())
            timeout = Timeout(total=left_s, connect=min(CONNECT_S, left_s))
            try:
                found = self._pool.request(
                    method, target, body=body, headers=self._headers, retries=False, timeout=timeout
                )
            except SSLError as problem:
                raise ReadsRefusedError(f"{self._url}: {why_no_tls(problem)}") from problem
            except HTTPError as problem:
                pause_s = next(pauses, inf)
                if monotonic() + pause_s >= ends_s:
                    raise ReadsUnavailableError(
                        f"{self._url} does not answer ({problem}); see whether the follower or the "
                        "cache there runs with --http, and whether this host may reach it"
                        f"{self._tls_hint(problem)}"
                    ) from problem
            else:
                if found.status == REFUSED_STATUS and not is_renewed and self._renew():
                    is_renewed = True
                    continue
                pause_s = busy_s(found)
                if monotonic() + pause_s >= ends_s:
                    return found
            sleep(pause_s)

    def _renew(self) -> bool:
        """Read the token again; returns whether it is another one."""
        before = self._headers
        self._headers = {**self._login.headers(self._url), **self._given}
        return self._headers != before

    def _tls_hint(self, problem: HTTPError) -> str:
        """Return what else may be the reason if a connection was closed without an answer."""
        is_closed = self._url.startswith("http:") and isinstance(problem, ProtocolError)
        return ". If the server there speaks TLS, name it with https://" if is_closed else ""

    def _raise(self, status: int, data: bytes) -> NoReturn:
        """Raise the error that a response with another status than 200 stands for."""
        form = read_object(data)
        if form.get("error") == NOTHING:
            raise NothingFound
        said = form.get("message") or data[:200].decode("utf-8", "replace")
        if form.get("error") == BAD_REQUEST:
            raise ValueError(said)
        if status == REFUSED_STATUS:
            if self._login.is_withheld(self._url):
                said = (
                    "the token is not sent over a line without TLS. Name the server with https://"
                )
            raise ReadsRefusedError(f"{self._url} refuses this client: {said}")
        raise error_from(form) or ReadsUnavailableError(
            f"{self._url} answers with status {status}: {said}"
        )


class NothingFound(Exception):  # noqa: N818 - no error: it becomes None
    """There is nothing of that number or name."""


def in_parts(ask: Callable[[int], Kind], wait_ms: int) -> Kind:
    """Return the answer to a question that may wait for `wait_ms`, in several requests.

    One request may wait for `WAIT_MAX_MS` at most; `ask` gets the wait of each request. Raises
    ReaderBehindError after `wait_ms`.
    """
    return in_time(lambda left_s: ask(min(round(left_s * 1000), WAIT_MAX_MS)), wait_ms)


def busy_s(answer: BaseHTTPResponse) -> float:
    """Return the pause before the next request to a busy server, inf if it has answered."""
    pause = answer.headers.get("retry-after", "")
    return float(pause) if answer.status == BUSY_STATUS and pause.isdecimal() else inf


def check_url(url: str) -> None:
    """Raise SettingsError for another scheme than HTTP, and for what is no URL."""
    with suppress(ValueError):  # An invalid port, or a bracket that is not closed.
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port >= 0
        if has_port and parts.scheme in {"http", "https"} and parts.hostname and not parts.query:
            return
    raise SettingsError(
        f"the address of reads must look like http://host:8181, with a port up to 65535, got "
        f"{url!r}. Correct LAKELEDGER_READS_URL, the setting reads_url, or --url"
    )


def why_no_tls(problem: SSLError) -> str:
    """Return why a connection by TLS did not come about, and what to do."""
    text = str(problem)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"its certificate is not trusted ({text}). Name the certificate of its CA with "
            "--ca-file, LAKELEDGER_CA_FILE or the setting ca_file"
        )
    return f"it does not speak TLS as this client does ({text}). Without TLS, name it with http://"


def text_of(given: str | int | bytes) -> str:
    """Return a value as text of a query."""
    if isinstance(given, bool):
        return str(given).lower()
    return given.hex() if isinstance(given, bytes) else str(given)


def read_object(data: bytes) -> Mapping[str, Any]:
    """Return the object in JSON, {} for anything else."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
