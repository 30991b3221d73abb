"""Reads over HTTP: what a client on another host reads from.

The counterpart of `projections.web`. Connections are kept and shared by threads; a question that
was not answered is asked again a few times, since asking changes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import urlencode, urlsplit

from urllib3 import HTTPConnectionPool, Retry, Timeout, connection_from_url
from urllib3.exceptions import HTTPError

from ledger.core.commands import Domain, Protocol, TableDefinition
from ledger.core.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.errors import ReaderBehindError, ReadsUnavailableError, SettingsError
from ledger.read_form import NOTHING, error_from, from_json, to_json
from ledger.reads import (
    AnomalyRow,
    AppRow,
    ConflictRow,
    FileRow,
    HistoryRow,
    Identity,
    MappingRow,
    OutcomeRow,
    Reads,
    SessionRow,
    TableRow,
    TxnRow,
    VersionRow,
    WatermarkRow,
)

VERSION_PATH: Final = "/v1"
OK: Final = 200
CONNECTIONS: Final = 32
CONNECT_S: Final = 5.0
# How long one question may wait at the server; a longer wait is asked in parts.
WAIT_MAX_MS: Final = 10_000
RETRIES: Final = Retry(total=3, backoff_factor=0.05, status=0, redirect=0, allowed_methods=None)

Answer = TypeVar("Answer")
Given = str | int | bytes | None


class HttpReads(Reads):
    """The read model behind a URL such as `http://host:8181`; threads may share it.

    `headers` go with every question, for a proxy that wants a login. Besides what `Reads` says,
    every call raises ReadsUnavailableError if there is no answer within `timeout_s`, and
    LimitExceededError for more rows at once than the server gives.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0
    ) -> None:
        self._url = url.rstrip("/")
        self._pool = pool_of(self._url, headers or {}, timeout_s)
        self._prefix = urlsplit(self._url).path + VERSION_PATH

    def identity(self) -> Identity:
        """Return who the ledger is."""
        return self._get(Identity, "/identity")

    def position(self) -> int:
        """Return the position up to which events are applied now."""
        return self._get(int, "/position")

    def wait(self, position: int, timeout_ms: int) -> int:
        """Return the applied position as soon as it is at least `position`."""
        until_s = monotonic() + timeout_ms / 1000
        while True:
            left_ms = max(0, round((until_s - monotonic()) * 1000))
            part_ms = min(left_ms, WAIT_MAX_MS)
            try:
                return self._get(int, "/position", at_least=position, timeout_ms=part_ms)
            except ReaderBehindError as behind:
                if part_ms == left_ms:
                    raise ReaderBehindError(behind.applied, position, timeout_ms) from None

    def valid_txns(self, position: int | None = None) -> ValidTxnList:
        """Return the valid txn list as of a position, or as of now."""
        return self._get(ValidTxnList, "/snapshot", position=position)

    def valid_write_ids(self, table: int, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a reader of `txns` may see."""
        path = f"/tables/{table}/valid-write-ids"
        return from_json(ValidWriteIdList, self._asked("POST", path, {}, to_json(txns)))

    def mappings(self, table: int) -> Sequence[MappingRow]:
        """Return TXN_TO_WRITE_ID of a table from the watermark on."""
        return self._get(list[MappingRow], f"/tables/{table}/mappings")

    def table(self, table: int) -> TableRow | None:
        """Return an incarnation of a table."""
        return self._find(TableRow, f"/tables/{table}")

    def table_named(self, catalog: str, name: str) -> TableRow | None:
        """Return the table that holds a name now."""
        return self._find(TableRow, "/tables/named", catalog=catalog, name=name)

    def tables(self, *, include_dropped: bool = False) -> Sequence[TableRow]:
        """Return the tables that exist for all, or every incarnation there ever was."""
        dropped = "true" if include_dropped else None
        return self._get(list[TableRow], "/tables", include_dropped=dropped)

    def definition(self, table: int, position: int | None = None) -> TableDefinition | None:
        """Return what a table was for all as of a position, or is now."""
        path = f"/tables/{table}/definition"
        return self._find(TableDefinition, path, position=position)

    def txn(self, txn: int) -> TxnRow | None:
        """Return a txn."""
        return self._find(TxnRow, f"/txns/{txn}")

    def open_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the open txns, oldest first."""
        return self._get(list[TxnRow], "/txns/open", limit=limit)

    def aborted_txns(self, limit: int) -> Sequence[TxnRow]:
        """Return the aborted txns that are not forgotten."""
        return self._get(list[TxnRow], "/txns/aborted", limit=limit)

    def outcome(self, session: int, n: int) -> OutcomeRow | None:
        """Return the first answer to a command."""
        return self._find(OutcomeRow, f"/sessions/{session}/outcomes/{n}")

    def session(self, session: int) -> SessionRow | None:
        """Return a session."""
        return self._find(SessionRow, f"/sessions/{session}")

    def session_of(self, nonce: bytes) -> int | None:
        """Return the session that was opened last with this nonce."""
        return self._find(int, "/sessions/opened-with", nonce=nonce)

    def watermark(self) -> WatermarkRow:
        """Return the cleanup watermark and what holds it."""
        return self._get(WatermarkRow, "/watermark")

    def history(self, after: int, limit: int) -> Sequence[HistoryRow]:
        """Return the events that follow position `after`."""
        return self._get(list[HistoryRow], "/history", after=after, limit=limit)

    def files(
        self, table: int, *, position: int | None = None, version: int | None = None
    ) -> Sequence[FileRow]:
        """Return the files live now, or as of a position or a version of the table."""
        path = f"/tables/{table}/files"
        return self._get(list[FileRow], path, position=position, version=version)

    def file_paths(self, table: int, path_hash: bytes) -> Sequence[str]:
        """Return the paths known by a hash."""
        return self._get(list[str], f"/tables/{table}/paths", hash=path_hash)

    def version_row(
        self, table: int, *, version: int | None = None, position: int | None = None, at: int = 0
    ) -> VersionRow | None:
        """Return a version, or the last one up to a position or a time."""
        path = f"/tables/{table}/version"
        return self._find(VersionRow, path, version=version, position=position, at=at or None)

    def versions(self, table: int, limit: int, *, below: int | None = None) -> Sequence[VersionRow]:
        """Return the versions of a table, newest first."""
        path = f"/tables/{table}/versions"
        return self._get(list[VersionRow], path, limit=limit, below=below)

    def app(self, table: int, app: str) -> AppRow | None:
        """Return how far an application came in a table."""
        return self._find(AppRow, f"/tables/{table}/apps/named", name=app)

    def apps(self, table: int) -> Sequence[AppRow]:
        """Return the applications that recorded progress in a table."""
        return self._get(list[AppRow], f"/tables/{table}/apps")

    def protocol(self, table: int) -> Protocol | None:
        """Return the protocol of a table."""
        return self._find(Protocol, f"/tables/{table}/protocol")

    def domains(self, table: int) -> Sequence[Domain]:
        """Return the domain metadata of a table."""
        return self._get(list[Domain], f"/tables/{table}/domains")

    def conflict(self, txn: int) -> ConflictRow | None:
        """Return why a txn lost."""
        return self._find(ConflictRow, f"/txns/{txn}/conflict")

    def conflicts(self, after: int, limit: int) -> Sequence[ConflictRow]:
        """Return the conflicts that follow position `after`."""
        return self._get(list[ConflictRow], "/conflicts", after=after, limit=limit)

    def anomalies(self, table: int | None, limit: int) -> Sequence[AnomalyRow]:
        """Return commits that say what cannot be."""
        return self._get(list[AnomalyRow], "/anomalies", table=table, limit=limit)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _get(self, kind: type[Answer], path: str, **given: Given) -> Answer:
        return from_json(kind, self._asked("GET", path, given))

    def _find(self, kind: type[Answer], path: str, **given: Given) -> Answer | None:
        try:
            return self._get(kind, path, **given)
        except _NothingFound:
            return None

    def _asked(
        self, method: str, path: str, given: Mapping[str, Given], body: bytes | None = None
    ) -> bytes:
        query = urlencode({name: text_of(each) for name, each in given.items() if each is not None})
        target = f"{self._prefix}{path}?{query}" if query else self._prefix + path
        try:
            answer = self._pool.request(method, target, body=body)
        except HTTPError as problem:
            raise ReadsUnavailableError(
                f"{self._url} does not answer ({problem}); see whether the follower there runs "
                "with --http, and whether this host may reach it"
            ) from problem
        if answer.status != OK:
            self._raise(answer.status, answer.data)
        return answer.data

    def _raise(self, status: int, data: bytes) -> NoReturn:
        """Raise what an answer says that is none."""
        form = read_object(data)
        if form.get("error") == NOTHING:
            raise _NothingFound
        said = form.get("message") or data[:200].decode("utf-8", "replace")
        raise error_from(form) or ReadsUnavailableError(
            f"{self._url} answers with status {status}: {said}"
        )


class _NothingFound(Exception):  # noqa: N818 - no error: it becomes None
    """There is nothing of that number or name."""


def pool_of(url: str, headers: Mapping[str, str], timeout_s: float) -> HTTPConnectionPool:
    """Return the connections to a URL; raises SettingsError if it is none of HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
        raise SettingsError(f"{url!r} is no address of reads; it looks like http://host:8181")
    return connection_from_url(
        url,
        maxsize=CONNECTIONS,
        headers=headers,
        retries=RETRIES,
        timeout=Timeout(connect=CONNECT_S, read=max(timeout_s, 2 * WAIT_MAX_MS / 1000)),
    )


def text_of(given: str | int | bytes) -> str:
    """Return what is asked for as it stands in a query."""
    return given.hex() if isinstance(given, bytes) else str(given)


def read_object(data: bytes) -> Mapping[str, Any]:
    """Return the object that JSON says, an empty one if it says none."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
