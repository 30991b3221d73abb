"""The read routes of a schema registry: a client of Confluent decodes the records of a log."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.wire.codec import decode_event
from ledger.log.wire.published_schemas import schema_ids, schema_text
from ledger.testing import InMemoryLedger
from projections.store.memory import MemoryStore
from tests.projections.followed import Followed
from tests.sdk.conftest import ALERT, IMPATIENT
from tests.web.served import Served, rows_in, serving
from tests.web.wire import Wire, request

COMMIT: Final = "io.lakeledger.TxnCommitted"
COMMIT_ID: Final = 741013
ROW_COMMIT_ID: Final = 741023
FILE_LIST_ID: Final = 743001


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Return a server over rows; which rows makes no difference to schemas."""
    domain = Followed(MemoryStore())
    domain.follow()
    with serving(rows_in(domain)) as served:
        yield served


@pytest.fixture(scope="module")
def registry(served: Served) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": served.url}) as client:
        yield client


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    """Return the log of a ledger with a table and commits."""
    log = MemoryLog()
    with (
        InMemoryLedger(log=log, settings=ALERT) as memory,
        memory.connect(settings=IMPATIENT) as ledger,
    ):
        ledger.create_table("t")
        ledger.append("t", ["a", "b"])
        with ledger.transaction() as txn:
            txn.remove_files("t", ["a"])
    return log


def values_of(log: MemoryLog, topic: Topic) -> list[bytes]:
    return [record.value for record in log.topics[topic].records]


def test_events_are_decoded(log: MemoryLog, registry: SchemaRegistryClient) -> None:
    read = AvroDeserializer(registry)
    context = SerializationContext("lake.events", MessageField.VALUE)
    values = values_of(log, Topic.EVENTS)
    found = [read(value, context) for value in values]
    assert [each["position"] for each in found] == [
        decode_event(value).control.position for value in values
    ]
    commits = [each for each in found if "one_shot" in each]
    assert [commit["one_shot"] for commit in commits] == [True, False]


def test_commands_are_decoded(log: MemoryLog, registry: SchemaRegistryClient) -> None:
    """Each command is decoded, and so is the list of files within it."""
    read = AvroDeserializer(registry)
    context = SerializationContext("lake.commands", MessageField.VALUE)
    found = [read(each, context) for each in values_of(log, Topic.COMMANDS)]
    lists = [
        part["footprint"]["files"]
        for each in found
        for part in each.get("tables", ())
        if part["footprint"]
    ]
    adds = [read(each, context)["adds"] for each in lists]
    assert [[file["path"] for file in add] for add in adds] == [["a", "b"], []]


def test_every_schema_is_found(registry: SchemaRegistryClient) -> None:
    subjects = registry.get_subjects()
    types = {name.removesuffix(".2") for name in schema_ids()}
    assert subjects == sorted(f"io.lakeledger.{name}" for name in types)
    for name, number in schema_ids().items():
        type_name, _, second = name.partition(".")
        subject, version = f"io.lakeledger.{type_name}", 2 if second else 1
        text = registry.get_schema(number).schema_str
        assert json.loads(text or "") == json.loads(schema_text(name))
        assert registry.get_version(subject, version).schema_id == number
        assert registry.get_version(subject, version).schema.schema_str == text
        versions = registry.get_versions(subject)
        assert versions == ([1, 2] if f"{type_name}.2" in schema_ids() else [1])
        assert registry.get_latest_version(subject).version == versions[-1]


ANSWERS: Final = (
    ("/schemas/types", ["AVRO"]),
    (f"/schemas/ids/{FILE_LIST_ID}/schema", json.loads(schema_text("FileList"))),
    (f"/schemas/ids/{COMMIT_ID}/subjects", [COMMIT]),
    (f"/schemas/ids/{COMMIT_ID}/versions", [{"subject": COMMIT, "version": 1}]),
    (f"/schemas/ids/{ROW_COMMIT_ID}/versions", [{"subject": COMMIT, "version": 2}]),
    (f"/schemas/ids/{ROW_COMMIT_ID}/subjects", [COMMIT]),
    (f"/subjects/{COMMIT}/versions/1/schema", json.loads(schema_text("TxnCommitted"))),
    (f"/subjects/{COMMIT}/versions/latest/schema", json.loads(schema_text("TxnCommitted.2"))),
    ("/config", {"compatibilityLevel": "NONE"}),
    ("/mode", {"mode": "READONLY"}),
)


@pytest.mark.parametrize(("path", "form"), ANSWERS)
def test_answers(served: Served, path: str, form: Any) -> None:
    """Each route answers JSON, whatever parameters a client adds."""
    for query in ("", "?fetchMaxId=false&subject=x"):
        answer = served.ask(path + query)
        assert (answer.status, answer.form) == (200, form)


ERRORS: Final = (
    ("GET", "/schemas/ids/9", 404, 40403),
    ("GET", "/schemas/ids/9/schema", 404, 40403),
    ("GET", "/schemas/ids/9/versions", 404, 40403),
    ("GET", f"/schemas/ids/{'9' * 5000}", 404, 404),
    ("GET", "/schemas/ids/x", 404, 404),
    ("GET", "/schemas/ids/-1", 404, 404),
    ("GET", "/subjects/lake.events-value/versions", 404, 40401),
    ("GET", "/subjects/lake.events-value/versions/latest", 404, 40401),
    ("GET", "/subjects/lake.events-value/versions/x", 404, 40401),
    ("GET", f"/subjects/{COMMIT}/versions/3", 404, 40402),
    ("GET", f"/subjects/{COMMIT}/versions/3/schema", 404, 40402),
    ("GET", f"/subjects/{COMMIT}/versions/0", 422, 42202),
    ("GET", f"/subjects/{COMMIT}/versions/newest", 422, 42202),
    ("GET", f"/subjects/{COMMIT}/versions/{2**31}", 422, 42202),
    ("GET", f"/config/{COMMIT}", 404, 40408),
    ("GET", "/subjects/", 404, 404),
    ("GET", "/schemas/none", 404, 404),
    ("POST", f"/subjects/{COMMIT}/versions", 405, 405),
    ("PUT", "/config", 405, 405),
    ("DELETE", f"/subjects/{COMMIT}/versions/1", 405, 405),
)


@pytest.mark.parametrize(("method", "path", "status", "code"), ERRORS)
def test_errors(served: Served, method: str, path: str, status: int, code: int) -> None:
    """An error has the code and the form of Confluent's API."""
    answer = served.ask(path, method)
    assert (answer.status, answer.form["error_code"]) == (status, code)
    assert answer.form.keys() == {"error_code", "message"}
    assert answer.form["message"]


def test_client_gets_the_code(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaRegistryError) as caught:
        registry.get_latest_version("lake.events-value")
    assert caught.value.error_code == 40401


def test_content_type(served: Served) -> None:
    """The type is that of a registry, and methods that write are answered with those allowed."""
    with closing(Wire(served.url)) as wire:
        _, headers = wire.send(request("/subjects")).answer()
        assert headers["content-type"] == "application/vnd.schemaregistry.v1+json"
        _, headers = wire.send(request("/config", "PUT")).answer()
        assert {each.strip() for each in headers["allow"].split(",")} == {"GET", "HEAD"}
