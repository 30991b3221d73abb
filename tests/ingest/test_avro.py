"""Avro in the framing of a registry, with schemas of a folder or of a registry's HTTP."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import fastavro
import pytest

from ledger.errors import LogUnavailableError, SettingsError
from ledger.ingest.mapping import SourceMapping
from ledger.ingest.opening import schemas_of
from ledger.ingest.values.avro import UNKNOWN_S, AvroSchemas, SchemaFolder, SchemaRegistry
from tests.ingest.benches import IngestBench
from tests.ingest.test_away import Later
from tests.ingest.test_ingest import KEPT

PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "key", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
        {"name": "more", "type": {"type": "map", "values": "int"}},
    ],
}
UNKNOWN = 404, {"error_code": 40403, "message": "Schema not found"}
NO_REGISTRY: tuple[tuple[int, Any], ...] = (
    (404, {}),
    (404, b"<html>no such page</html>"),
    (404, {"error_code": 40401, "message": "Subject not found"}),
    (401, {}),
    (503, UNKNOWN[1]),
    (200, b"<html>please log in</html>"),
    (200, ["schema"]),
    (200, {}),
)
"""Answers of proxies, of other servers, and of a registry that fails."""

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ORDER = {"id": 1, "price": Decimal("1.50"), "at": NOON, "key": "k", "more": {"a": 1}}
COLUMNS = [
    *(("id", "BIGINT"), ("price", "DECIMAL(6,2)"), ("at", "TIMESTAMP"), ("key", "STRING")),
    ("more", "MAP<STRING,INT>"),
]
TOPIC = {"topic": "orders", "table": "db.orders", "format": "avro", **KEPT}


def framed(number: int, schema: Any, value: Any) -> bytes:
    """Return a value as producers of a registry write it."""
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), value)
    return b"\0" + number.to_bytes(4) + body.getvalue()


class Registry:
    """The HTTP of a registry; `answers` has status and body by the id of a schema.

    Attributes:
        otherwise: what it answers to other ids.
        asked: the paths that it was asked for, with the login.
    """

    def __init__(self) -> None:
        self.answers: dict[int, tuple[int, Any]] = {}
        self.otherwise: tuple[int, Any] = UNKNOWN
        self.asked: list[tuple[str, str | None]] = []
        registry = self

        class Door(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append((self.path, self.headers["Authorization"]))
                status, body = registry.answers.get(
                    int(self.path.rpartition("/")[2]), registry.otherwise
                )
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.server.shutdown()
    made.server.server_close()


def in_folder(folder: Path, _: Registry) -> AvroSchemas:
    (folder / "7.avsc").write_text(json.dumps(SCHEMA))
    return SchemaFolder(folder)


def in_registry(_: Path, registry: Registry) -> AvroSchemas:
    registry.answers[7] = 200, {"schema": json.dumps(SCHEMA)}
    return SchemaRegistry(registry.url)


@pytest.mark.parametrize("place", [in_folder, in_registry])
def test_records_of_avro_become_rows_and_others_are_bad(
    bench: IngestBench,
    registry: Registry,
    place: Callable[[Path, Registry], AvroSchemas],
    tmp_path: Path,
) -> None:
    bench.schemas = place(tmp_path, registry)
    bench.ledger.create_table("db.orders", COLUMNS)
    bench.topics.create("orders")
    ingest, _ = bench.process(TOPIC)
    good = framed(7, SCHEMA, ORDER)
    for value in (good, good[:-3], b"\0\0\0\0\x08" + good[5:], good + b"x", b"{}", good):
        bench.topics.put("orders", value)
    bench.drain(ingest)

    found = [{**row, "more": dict(row["more"])} for row in bench.rows("db.orders")]
    bad = {row["offset"]: row["reason"] for row in bench.rows("db.bad", "offset")}

    assert found == [ORDER, ORDER]
    assert list(bad) == [1, 2, 3, 4]
    assert "there is no schema 8" in bad[2]
    assert "1 bytes behind" in bad[3]
    assert "must begin with a zero" in bad[4]
    assert [path for path, _ in registry.asked].count("/schemas/ids/7") <= 1


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (UNKNOWN, LookupError, "answers 40403"),
        *(
            (answer, LogUnavailableError, f"answers {answer[0]} and no schema")
            for answer in NO_REGISTRY
        ),
        ((200, {"schemaType": "PROTOBUF", "schema": ""}), ValueError, "is of PROTOBUF"),
        ((200, {"schema": "{}", "references": [{}]}), ValueError, "refers to other schemas"),
    ],
)
def test_what_a_registry_answers_otherwise_is_refused(
    registry: Registry, answer: tuple[int, Any], kind: type[Exception], why: str
) -> None:
    registry.answers[1] = answer

    with pytest.raises(kind, match=why):
        SchemaRegistry(registry.url)(1)


@pytest.mark.parametrize("answer", NO_REGISTRY)
def test_what_is_no_registry_makes_no_record_bad(
    bench: IngestBench, registry: Registry, answer: tuple[int, Any]
) -> None:
    """The ingest waits, and goes on with the same record when the registry is there."""
    bench.schemas = SchemaRegistry(registry.url)
    bench.ledger.create_table("db.orders", COLUMNS)
    bench.topics.create("orders")
    ingest, _ = bench.process(TOPIC)
    bench.topics.put("orders", framed(7, SCHEMA, ORDER))
    registry.otherwise = answer
    ingest.gather()
    waits = ingest.commit() is None and ingest.tally.problem
    registry.answers[7] = 200, {"schema": json.dumps(SCHEMA)}
    bench.drain(ingest)

    assert f"answers {answer[0]} and no schema" in str(waits)
    assert len(bench.rows("db.orders")) == 1
    assert bench.rows("db.bad") == []


def test_an_unknown_id_is_asked_for_again_after_some_seconds(registry: Registry) -> None:
    clock = Later()
    schemas = SchemaRegistry(registry.url, clock=clock)
    for _ in range(3):
        with pytest.raises(LookupError):
            schemas(1)
    often = len(registry.asked)
    registry.answers[1] = 200, {"schema": '"int"'}
    clock.ahead_s += UNKNOWN_S

    assert schemas(1) == '"int"'
    assert often == 1


def test_a_folder_of_schemas_that_went_away_makes_no_record_bad(tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    schemas = SchemaFolder(folder)
    with pytest.raises(LookupError):
        schemas(1)
    folder.rmdir()

    with pytest.raises(LogUnavailableError, match="cannot be read"):
        schemas(1)


def test_a_registry_that_is_away_is_asked_again_later() -> None:
    with pytest.raises(LogUnavailableError, match="does not answer") as raised:
        SchemaRegistry("http://127.0.0.1:1")(1)

    assert raised.value.retry_unchanged


def test_a_login_is_shown_to_the_registry(registry: Registry, tmp_path: Path) -> None:
    login = tmp_path / "login"
    login.write_text("user:word\n")
    registry.answers[1] = 200, {"schema": '"int"'}
    schemas = schemas_of(SourceMapping(registry=registry.url, registry_login=str(login)))

    assert schemas is not None
    assert schemas(1) == '"int"'
    assert registry.asked[0][1] == "Basic dXNlcjp3b3Jk"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="must be a folder"):
        SchemaFolder(tmp_path / "none")
