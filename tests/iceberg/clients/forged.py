"""Commits as a client would send them, and what becomes of them in the hands of an attacker.

pyiceberg writes the files and makes the request; the request is kept back, and changed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import fastavro
import pyarrow as pa
import urllib3
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate

OWN: Final = frozenset({"avro.schema", "avro.codec"})
PREFIX: Final = "/v1/"

Record = dict[str, Any]
Change = Callable[[list[Record]], Iterable[Record] | None]


class Reply(NamedTuple):
    """What the server said."""

    status: int
    data: bytes

    @property
    def form(self) -> Any:
        """The answer as JSON."""
        return json.loads(self.data)

    @property
    def error(self) -> tuple[int, str]:
        """The status and the kind of the error; the answer must have the form of an error."""
        found = self.form["error"]
        assert found["code"] == self.status
        assert found["message"]
        return self.status, found["type"]


class Rest:
    """Plain requests to a catalog."""

    def __init__(self, uri: str, warehouse: str = "main") -> None:
        self._uri = uri
        self._http = urllib3.PoolManager(retries=False, timeout=60.0)
        config = self.ask("GET", f"/v1/config?warehouse={warehouse}").form
        given = {**config["defaults"], **config["overrides"]}
        self._prefix = f"/v1/{given['prefix']}" if given.get("prefix") else "/v1"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Ask with a whole path; a body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            own = {"Content-Type": "application/json", **own}
        found = self._http.request(method, self._uri + path, body=data, headers=own)
        return Reply(found.status, found.data)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Ask with a path below the prefix, such as `/namespaces`."""
        return self.ask(method, self._prefix + path, body, **headers)

    def close(self) -> None:
        """Close the connections."""
        self._http.clear()


class KeptBackError(Exception):
    """Holds the request that was not sent."""

    def __init__(self, request: Record) -> None:
        super().__init__()
        self.request = request


class KeepingCatalog(RestCatalog):
    """Raises KeptBackError where others commit."""

    def commit_table(
        self,
        table: Table,  # noqa: ARG002 - its request has the name in the path
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        """Keep the request back."""
        keep(requirements, updates)


def keep(requirements: Iterable[Any], updates: Iterable[Any]) -> NoReturn:
    """Raise the request that these make."""
    raise KeptBackError(
        {
            "requirements": [json.loads(each.model_dump_json()) for each in requirements],
            "updates": [json.loads(each.model_dump_json()) for each in updates],
        }
    )


def appending(uri: str, table: str, rows: pa.Table) -> Record:
    """Return the request of an append whose files are written."""
    catalog = KeepingCatalog("lake", uri=uri, warehouse="main")
    try:
        catalog.load_table(table).append(rows)
    except KeptBackError as kept:
        return kept.request
    raise AssertionError("the append was not kept back")


def snapshot_of(request: Record) -> Record:
    """Return the snapshot that a request adds; it may be changed."""
    found: Record = next(
        each["snapshot"] for each in request["updates"] if each["action"] == "add-snapshot"
    )
    return found


def path_of(place: str) -> Path:
    """Return a place of a local file as path."""
    return Path(place.removeprefix("file://"))


def records_of(path: Path) -> list[Record]:
    """Return the records of an Avro file."""
    with path.open("rb") as file:
        return [dict(each) for each in fastavro.reader(file) if isinstance(each, Mapping)]


def rewritten(path: Path, change: Change, *, to: Path | None = None, codec: str = "null") -> Path:
    """Write an Avro file anew with other records, here or elsewhere; return where."""
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        schema, known = reader.writer_schema, dict(reader.metadata)
        records = [dict(each) for each in reader if isinstance(each, Mapping)]
    changed = change(records)
    found = records if changed is None else changed
    place = path if to is None else to
    kept = {name: value for name, value in known.items() if name not in OWN}
    with place.open("wb") as file:
        fastavro.writer(file, schema, found, codec=codec, metadata=kept)
    return place


def manifests_of(request: Record) -> list[Path]:
    """Return the manifests that the list of a request names and the request itself added."""
    snapshot = snapshot_of(request)
    listed = records_of(path_of(snapshot["manifest-list"]))
    own = snapshot["snapshot-id"]
    return [path_of(row["manifest_path"]) for row in listed if row["added_snapshot_id"] == own]
