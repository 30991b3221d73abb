"""Hostile requests: each is refused by name, costs little, and leaves the table as it was."""

import copy
import json
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

import psutil
import pyarrow as pa
import pytest

from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.forged import (
    Record,
    Reply,
    Rest,
    appending,
    manifests_of,
    path_of,
    snapshot_of,
)
from tests.iceberg.clients.forgeries import FORGED, Forge, listing, zigzag
from tests.iceberg.clients.readers import Served, agreed

TABLE: Final = "db.t"
PATH: Final = "/namespaces/db/tables/t"
SOON_S: Final = 20.0
MEMORY_MAX: Final = 400 << 20
ROWS: Final = [{"id": 1}, {"id": 2}]


@pytest.fixture
def rest(lake: Served) -> Iterator[Rest]:
    lake.ledger.create_table(TABLE, [("id", "bigint")])
    lake.ledger.append(TABLE, ROWS)
    with closing(Rest(lake.uri)) as found:
        yield found


@pytest.fixture
def request_(lake: Served, rest: Rest) -> Record:  # noqa: ARG001 - the table is there
    """Return the request of a good append of one row."""
    return appending(lake.uri, TABLE, pa.table({"id": pa.array([3], pa.int64())}))


def is_as_it_was(lake: Served) -> bool:
    return agreed(lake, TABLE) == texts(ROWS)


def is_refused(reply: Reply) -> bool:
    """Tell whether an answer is a refusal for good, in the form of an error."""
    return 400 <= reply.error[0] < 500 and reply.status not in (408, 429)


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_forged_files_are_refused(
    lake: Served, rest: Rest, request_: Record, tmp_path: Path, forge: Forge
) -> None:
    forge(request_, tmp_path / "outside.avro")
    before, began_s = psutil.Process().memory_info().rss, perf_counter()
    reply = rest.call("POST", PATH, request_)
    assert perf_counter() - began_s < SOON_S
    assert psutil.Process().memory_info().rss - before < MEMORY_MAX
    assert is_refused(reply), reply
    assert b"another" not in reply.data
    assert is_as_it_was(lake)


def with_snapshot(**more: Any) -> Callable[[Record], None]:
    """Return what changes the snapshot of a request; None takes a part away."""

    def change(request: Record) -> None:
        snapshot = snapshot_of(request)
        for name, value in more.items():
            snapshot[name.replace("_", "-")] = value

    return change


def with_update(**update: Any) -> Callable[[Record], None]:
    """Return what puts an update before the others."""
    return lambda request: request["updates"].insert(0, update)


def with_requirement(**requirement: Any) -> Callable[[Record], None]:
    """Return what puts a requirement before the others."""
    return lambda request: request["requirements"].insert(0, requirement)


OTHER: Final = str(uuid4())
WRONG: Final[dict[str, Callable[[Record], None]]] = {
    "snapshot 0": with_snapshot(snapshot_id=0),
    "snapshot below 0": with_snapshot(snapshot_id=-7),
    "snapshot beyond 63 bits": with_snapshot(snapshot_id=1 << 63),
    "snapshot as text": with_snapshot(snapshot_id="seven"),
    "another parent": with_snapshot(parent_snapshot_id=77),
    "an unknown schema": with_snapshot(schema_id=99),
    "no list": with_snapshot(manifest_list=None),
    "a list as number": with_snapshot(manifest_list=5),
    "an unknown operation": with_snapshot(summary={"operation": "explode"}),
    "no summary": with_snapshot(summary=None),
    "another table": with_requirement(type="assert-table-uuid", uuid=OTHER),
    "an unknown requirement": with_requirement(type="assert-the-moon"),
    "an unknown update": with_update(action="explode"),
    "no action": with_update(it="is"),
    "removed snapshots": with_update(action="remove-snapshots", **{"snapshot-ids": [1]}),
    "a branch": with_update(
        action="set-snapshot-ref", **{"ref-name": "audit", "type": "branch", "snapshot-id": 1}
    ),
    "another uuid": with_update(action="assign-uuid", uuid=OTHER),
    "format 9": with_update(action="upgrade-format-version", **{"format-version": 9}),
    "format 1": with_update(action="upgrade-format-version", **{"format-version": 1}),
    "the files of all": with_update(action="set-location", location="/"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_wrong_ids_and_updates_are_refused(
    lake: Served, rest: Rest, request_: Record, change: Callable[[Record], None]
) -> None:
    change(request_)
    reply = rest.call("POST", PATH, request_)
    assert is_refused(reply), reply
    assert is_as_it_was(lake)


def test_one_snapshot_id_for_two_commits_is_done_once(
    lake: Served, rest: Rest, request_: Record
) -> None:
    """The same commit again is a success; another one with its id is refused."""
    assert rest.call("POST", PATH, request_).status == 200
    assert rest.call("POST", PATH, request_).status == 200
    rows = texts([*ROWS, {"id": 3}])
    assert agreed(lake, TABLE) == rows
    other = appending(lake.uri, TABLE, pa.table({"id": pa.array([4], pa.int64())}))
    snapshot_of(other)["snapshot-id"] = snapshot_of(request_)["snapshot-id"]
    rest.call("POST", PATH, other)
    assert agreed(lake, TABLE) == rows


BODIES: Final[dict[str, bytes]] = {
    "nothing": b"",
    "half": b'{"requirements": [], "updates": [',
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "no JSON": b"\x00\xff\xfe",
    "text that is no UTF-8": b'{"requirements": [], "updates": ["\xff"]}',
    "lists within lists": b"[" * 200_000,
    "objects within objects": b'{"updates":' * 50_000,
    "a long number": b'{"requirements": [], "updates": [' + b"9" * 100_000 + b"]}",
    "not a number": b'{"requirements": [], "updates": [NaN]}',
    "updates that are none": b'{"requirements": {}, "updates": 7}',
    "no updates": b"{}",
    "updates of numbers": b'{"requirements": [1], "updates": [2]}',
}
PLACES: Final = (
    *("/namespaces", "/namespaces/db/tables", PATH, f"{PATH}/plan", "/tables/rename"),
    *("/transactions/commit", "/namespaces/db/properties", f"{PATH}/metrics"),
)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_that_are_no_requests(lake: Served, rest: Rest, body: bytes) -> None:
    for place in PLACES:
        reply = rest.call("POST", place, body)
        harmless = place.endswith("/metrics") and reply.status == 204
        # A form without anything in it may ask for nothing.
        is_empty = body == b"{}" and reply.status < 300
        assert harmless or is_empty or is_refused(reply), (place, reply)
    assert is_as_it_was(lake)


def test_a_body_without_end_is_refused(lake: Served, rest: Rest) -> None:
    reply = rest.call("POST", PATH, b'{"x": "' + b"a" * (64 << 20) + b'"}')
    assert reply.status in (400, 413), reply
    assert is_as_it_was(lake)


@pytest.mark.parametrize(
    "name",
    [
        *("../../escaped", "a/../../b", "..", ".", "", " ", "a\x00b", "a\x1fb", "a" * 5_000),
        *("a/b", "a\\b", "%2e%2e%2f", "a\nb", "\u202e", "`a`", "a.b"),
    ],
    ids=ascii,
)
def test_names_lead_nowhere_else(lake: Served, rest: Rest, name: str) -> None:
    """A table with such a name is refused, or lies below the warehouse as any other."""
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    field = {"id": 1, "name": "id", "required": False, "type": "long"}
    body = {"name": name, "schema": {**schema, "fields": [field]}}
    reply = rest.call("POST", "/namespaces/db/tables", body)
    if reply.status == 200:
        place = path_of(reply.form["metadata"]["location"]).resolve()
        sibling = path_of(lake.ledger.table(TABLE).definition.location or "").resolve()
        assert sibling.parents[1] in place.parents, place
        assert place != sibling
    else:
        assert is_refused(reply), reply
    assert is_as_it_was(lake)


def test_a_new_table_does_not_take_the_place_of_another(lake: Served, rest: Rest) -> None:
    place = lake.ledger.table(TABLE).definition.location
    field = {"id": 1, "name": "id", "required": False, "type": "long"}
    schema = {"type": "struct", "schema-id": 0, "fields": [field]}
    for location in (place, f"{place}/inner", f"{place}/../{Path(str(place)).name}"):
        body = {"name": "thief", "schema": schema, "location": location}
        reply = rest.call("POST", "/namespaces/db/tables", body)
        assert is_refused(reply), reply
    assert is_as_it_was(lake)


def test_idempotency_keys(lake: Served, rest: Rest, request_: Record) -> None:
    """The same request with a key has one answer; another request with that key is refused."""
    key = {"Idempotency_Key": "01938f6a-7b3c-7def-8a1b-0123456789ab"}
    body = {"namespace": ["one"], "properties": {}}
    first = rest.call("POST", "/namespaces", body, **key)
    assert first.status == 200
    assert rest.call("POST", "/namespaces", body, **key).form == first.form
    assert rest.call("POST", "/namespaces", {**body, "namespace": ["two"]}, **key).status == 422
    assert rest.call("HEAD", "/namespaces/two").status == 404

    commit = {"Idempotency_Key": "01938f6a-7b3c-7def-8a1b-0123456789ac"}
    assert rest.call("POST", PATH, request_, **commit).status == 200
    assert rest.call("POST", PATH, request_, **commit).status == 200
    changed = copy.deepcopy(request_)
    snapshot_of(changed)["summary"]["more"] = "x"
    assert rest.call("POST", PATH, changed, **commit).status == 422
    assert agreed(lake, TABLE) == texts([*ROWS, {"id": 3}])


def test_a_key_that_is_no_uuid_is_refused(lake: Served, rest: Rest) -> None:
    body = {"namespace": ["one"], "properties": {}}
    for key in ("x", "a" * 10_000, "; drop"):
        assert is_refused(rest.call("POST", "/namespaces", body, Idempotency_Key=key))
    assert is_as_it_was(lake)


@pytest.mark.parametrize(
    "path",
    [
        *("/namespaces?pageToken=garbage", "/namespaces?pageSize=-1", "/namespaces?pageSize=x"),
        *("/namespaces?parent=%FF", "/namespaces/%1F/tables", "/namespaces/db/tables/%2e%2e"),
        *(
            "/namespaces/db%2F..%2Fdb/tables/t",
            f"{PATH}?snapshots=none",
            "/namespaces/" + "a" * 9_000,
        ),
        *(f"{PATH}/..", "/nothing"),
    ],
)
def test_paths_and_questions_that_lead_nowhere(lake: Served, rest: Rest, path: str) -> None:
    reply = rest.call("GET", path)
    assert reply.status < 500
    assert b"Traceback" not in reply.data
    assert is_as_it_was(lake)


@pytest.mark.parametrize(
    "request_form",
    [
        {"snapshot-id": 7},
        {"snapshot-id": "x"},
        {"filter": {"type": "eq", "term": "nothing", "value": 1}},
        {"filter": {"type": "explode"}},
        {"select": ["nothing"]},
        {"start-snapshot-id": 1, "end-snapshot-id": 2},
    ],
    ids=json.dumps,
)
def test_plans_of_what_is_not_there(lake: Served, rest: Rest, request_form: Any) -> None:
    reply = rest.call("POST", f"{PATH}/plan", request_form)
    assert is_refused(reply), reply
    assert is_as_it_was(lake)


def test_a_deep_filter_is_refused(lake: Served, rest: Rest) -> None:
    found: Any = {"type": "eq", "term": "id", "value": 1}
    for _ in range(20_000):
        found = {"type": "not", "child": found}
    text = '{"filter": ' + '{"type": "not", "child": ' * 20_000 + "true" + "}" * 20_001
    reply = rest.call("POST", f"{PATH}/plan", text.encode())
    assert is_refused(reply), reply
    assert is_as_it_was(lake)


def test_numbers_of_an_avro_block_beyond_its_bytes(
    lake: Served, rest: Rest, request_: Record
) -> None:
    """A block that says it has more records than it could hold."""
    (manifest,) = manifests_of(request_)
    whole = manifest.read_bytes()
    marker = whole[-16:]
    head = whole[: whole.index(marker) + 16]
    manifest.write_bytes(head + zigzag(1 << 40) + zigzag(4) + struct.pack("<I", 0) + marker)
    listing(request_, manifest, manifest_length=manifest.stat().st_size)
    assert is_refused(rest.call("POST", PATH, request_))
    assert is_as_it_was(lake)
