"""A catalog in this process, over a ledger in memory, and plain requests to it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import urllib3

from ledger.client import Ledger
from ledger.config.settings import UNLOCKED, WebSettings
from ledger.config.tokens import KnownToken, change_tokens
from ledger.machine.endpoints import ANY_PORT
from ledger.reads.port import Reads
from ledger.testing import InMemoryLedger
from projections.web.iceberg.clients import USERS_MAX
from projections.web.iceberg.lake import IcebergLake, LakeSource
from projections.web.iceberg.source import LedgerSource
from projections.web.roles.iceberg import ICEBERG_LIMITS, iceberg_pages
from projections.web.server.limits import WebLimits
from projections.web.server.server import WebServer

CATALOG: Final = "main"
V1: Final = f"/v1/{CATALOG}"


class IcebergAnswer(NamedTuple):
    """What a catalog said."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def form(self) -> Any:
        return json.loads(self.data)

    @property
    def error(self) -> tuple[int, str]:
        """Return the status and the type of the error, which say the same."""
        found = self.form["error"]
        assert found["code"] == self.status
        assert isinstance(found["message"], str)
        return self.status, found["type"]


class MemorySource(LedgerSource):
    """Connects to a ledger in memory, whose read model stays open."""

    def __init__(self, memory: InMemoryLedger, warehouse: Path) -> None:
        super().__init__(lambda: memory.reads, self._client)
        self._memory, self._warehouse = memory, warehouse

    def _client(self, _reads: Reads, user: str | None) -> Ledger:
        return self._memory.connect(
            application="lakeledger iceberg", user=user, warehouse=self._warehouse
        )


class Door:
    """A catalog that answers, and its ledger."""

    def __init__(self, server: WebServer, lake: IcebergLake, ledger: Ledger) -> None:
        self.server, self.lake, self.ledger = server, lake, ledger
        self.url = server.url
        self._http = urllib3.PoolManager(retries=False, timeout=30.0)

    def ask(
        self,
        path: str,
        method: str = "GET",
        form: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        data: bytes | None = None,
    ) -> IcebergAnswer:
        """Ask at a path below the prefix, or at one from the root."""
        place = path if path.startswith("/") else f"{V1}/{path}"
        body = data if form is None else json.dumps(form).encode()
        given = {"content-type": "application/json", **(headers or {})}
        found = self._http.request(method, self.url + place, body=body, headers=given)
        return IcebergAnswer(found.status, found.headers, found.data)

    def post(self, path: str, form: Any, headers: Mapping[str, str] | None = None) -> IcebergAnswer:
        return self.ask(path, "POST", form, headers)

    def close(self) -> None:
        """End the server, and its clients."""
        self._http.clear()
        self.server.close()


@contextmanager
def answering(
    memory: InMemoryLedger,
    warehouse: Path,
    *,
    doors: WebSettings = UNLOCKED,
    limits: WebLimits = ICEBERG_LIMITS,
    source: LakeSource | None = None,
    users_max: int = USERS_MAX,
    places: Sequence[str] = (),
) -> Iterator[Door]:
    """Answer as the catalog of a ledger while the block runs."""
    found = source or MemorySource(memory, warehouse)
    lake = IcebergLake(found, CATALOG, users_max, places=places)
    pages = iceberg_pages(lake, lambda: None, limits)
    server = WebServer.start(pages, ANY_PORT, doors=doors)
    ledger = memory.connect(warehouse=warehouse)
    with closing(Door(server, lake, ledger)) as door:
        yield door


def tokens_in(file: Path, **may_write: bool) -> Mapping[str, Mapping[str, str]]:
    """Make tokens by name, and return the headers that show them."""
    made = {name: KnownToken.made(name, None, may_write=may) for name, may in may_write.items()}
    known: Sequence[KnownToken] = [each for each, _ in made.values()]
    change_tokens(file, lambda _: known)
    return {name: {"authorization": f"Bearer {token}"} for name, (_, token) in made.items()}
