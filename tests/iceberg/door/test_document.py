"""The document of the catalog is valid, names every path, and the server keeps to it."""

import json
import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from projections.web.iceberg.routes import by_path
from tests.iceberg.door.doors import Door

ANSWER_S = 30
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    response_schema_conformance,
    response_headers_conformance,
)
FEW = 6
MANY = 100
OWN = {"/livez", "/readyz", "/metrics", "/openapi.json"}


@pytest.fixture
def filled(door: Door) -> Door:
    """Return a door to a ledger with a table, a namespace with properties, and one with neither."""
    door.ledger.create_table("db.t", [("id", "bigint"), ("day", "date")])
    door.ledger.append("db.t", [{"id": 1}])
    door.ledger.create_namespace("sales", properties={"owner": "ada"})
    return door


def document(door: Door) -> Any:
    return door.ask("/openapi.json").form


def test_every_path_and_method_is_there(door: Door) -> None:
    found = {path: set(item) for path, item in document(door)["paths"].items()}
    wanted = {path: {each.lower() for each in methods} for path, methods in by_path().items()}
    assert {path: found[path] for path in wanted} == wanted
    assert found.keys() - wanted.keys() == OWN
    items = [item for each in document(door)["paths"].values() for item in each.values()]
    names = [item["operationId"] for item in items]
    assert len(names) == len(set(names))
    assert all(item["summary"] for item in items)


def test_what_clients_are_told_is_there(door: Door) -> None:
    paths = document(door)["paths"]
    for each in door.ask("/v1/config").form["endpoints"]:
        method, path = each.split(" ")
        assert method.lower() in paths[path]


def test_schemas_are_valid(door: Door) -> None:
    found = document(door)
    for schema in found["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    text = json.dumps(found)
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= found["components"]["schemas"].keys()


def test_every_refusal_has_the_form_of_the_document(door: Door) -> None:
    found = document(door)
    schemas = found["components"]["schemas"]
    error = Draft202012Validator({**schemas["IcebergError"], "components": {"schemas": schemas}})
    for path, item in found["paths"].items():
        if path not in OWN:
            for method in item:
                answer = door.ask(re.sub(r"\{\w+\}", "nope", path), method.upper(), {"a": 1})
                if answer.status >= 400 and method != "head":
                    error.validate(answer.form)


def play(door: Door, cases: int) -> int:
    """Ask the server what the document allows; return how many requests there were."""
    schema: Any = schemathesis.openapi.from_dict(document(door))
    schema.config.update(base_url=door.url)
    return sum(asked(found.ok(), cases) for found in schema.get_all_operations())


def asked(operation: Any, cases: int) -> int:
    """Ask one operation some times, and check each answer; return how many times."""
    number = 0

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        nonlocal number
        case = data.draw(operation.as_strategy())
        known = {
            "prefix": ["main", "main", "main", "main@3", "nope"],
            "namespace": ["db", "sales", "default"],
            "table": ["t"],
        }
        for name, values in known.items():
            if name in (case.path_parameters or {}) and data.draw(st.integers(0, 4)):
                case.path_parameters[name] = data.draw(st.sampled_from(values))
        number += 1
        case.call_and_validate(checks=CHECKS, timeout=ANSWER_S)

    ask()
    return number


def test_the_server_keeps_to_it(filled: Door) -> None:
    assert play(filled, FEW) >= 80


@pytest.mark.slow
def test_the_server_keeps_to_it_often(filled: Door) -> None:
    assert play(filled, MANY) >= 1_500
