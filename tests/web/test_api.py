"""The documents of the API are valid, say what the server does, and the server keeps to them."""

import json
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

from ledger.log.published_schemas import COMMAND_IDS, EVENT_IDS, schema_ids
from ledger.reads.routes import ROUTES
from projections.web.questions import QUESTIONS
from tests.web.served import Served

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    response_schema_conformance,
    response_headers_conformance,
)
FEW = 3
MANY = 60


@pytest.fixture(scope="module")
def document(served: Served) -> Any:
    """Return the OpenAPI document as it is served."""
    return served.ask("/openapi.json").form


def test_every_path_is_there(document: Any) -> None:
    """Each path of the reads is in the document, with its methods."""
    found = {path: set(item) for path, item in document["paths"].items()}
    wanted = {
        f"{each.root}{each.path}": {method.lower() for method in each.methods} for each in QUESTIONS
    }
    assert found == {**wanted, "/v1/position": {"get"}}
    assert {each.name for each in ROUTES} <= {
        item[method]["operationId"] for item in document["paths"].values() for method in item
    }


def test_schemas_are_valid(document: Any) -> None:
    """Each schema of the document is one of JSON Schema, and each reference leads to one."""
    schemas = document["components"]["schemas"]
    for each in schemas.values():
        Draft202012Validator.check_schema(each)
    text = json.dumps(document)
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= schemas.keys()


def test_topics(served: Served) -> None:
    """Each event and command is a message of its topic, with the schema of the registry."""
    found = served.ask("/asyncapi.json").form
    messages = found["components"]["messages"]
    ids = schema_ids()
    assert messages.keys() == {
        name for name, number in ids.items() if number in EVENT_IDS or number in COMMAND_IDS
    }
    for topic in ("events", "commands"):
        for name, each in found["channels"][topic]["messages"].items():
            assert each["$ref"] == f"#/components/messages/{name}"
    for name, each in messages.items():
        assert each["payload"]["schema"] == json.loads(
            served.ask(f"/schemas/ids/{ids[name]}").form["schema"]
        )


def test_page_of_the_api(served: Served) -> None:
    """The page of the API names each path, and leads to both documents."""
    text = served.ask("/ui/api").data.decode()
    assert "/v1/tables/{table}/files" in text
    for path in ("/openapi.json", "/asyncapi.json"):
        assert f'href="{path}"' in text


def play(served: Served, document: Any, cases: int) -> int:
    """Ask the server what the document allows; return how many questions there were."""
    schema: Any = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=served.url)
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
        # Ids that exist are asked for too: drawn ones seldom do.
        for name in ("table", "txn", "session"):
            if name in (case.path_parameters or {}) and data.draw(st.booleans()):
                case.path_parameters[name] = data.draw(st.integers(1, 5))
        number += 1
        case.call_and_validate(checks=CHECKS)

    ask()
    return number


def test_server_keeps_to_it(served: Served, document: Any) -> None:
    """No answer is a fault, or other than the document says."""
    assert play(served, document, FEW) >= 90


@pytest.mark.slow
def test_server_keeps_to_it_often(served: Served, document: Any) -> None:
    """Over thousands of questions it is the same."""
    assert play(served, document, MANY) >= 2_000
