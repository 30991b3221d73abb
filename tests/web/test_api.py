"""The documents of the API are valid, say what the server does, and the server keeps to them."""

import json
import re
from collections.abc import Iterator
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

from ledger.config.settings import WebSettings
from ledger.config.tokens import KnownToken, change_tokens
from ledger.log.wire.published_schemas import COMMAND_IDS, EVENT_IDS, schema_ids
from ledger.reads.remote.routes import ROUTES
from projections.web.answers.questions import QUESTIONS
from projections.web.answers.unity import UNITY_PATH
from tests.web.lake import Lake
from tests.web.served import Served, rows_in, serving

# The server waits up to ten seconds for a position that a request names.
ANSWER_S = 30
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    response_schema_conformance,
    response_headers_conformance,
)
FEW = 2
MANY = 60


@pytest.fixture(scope="module")
def document(served: Served) -> Any:
    return served.ask("/openapi.json").form


def test_every_path_is_there(served: Served, document: Any) -> None:
    found = {path: set(item) for path, item in document["paths"].items()}
    wanted = dict[str, set[str]]()
    for route in served.routes:
        if route.path != "/" and not route.path.startswith("/ui"):
            methods = {each.lower() for each in route.methods or () if each != "HEAD"}
            wanted.setdefault(route.path.replace(":path", ""), set()).update(methods)
    assert found == wanted
    assert len(QUESTIONS) < len(found)
    names = [item[method]["operationId"] for item in found_items(document) for method in item]
    assert len(names) == len(set(names))
    assert {each.name for each in ROUTES} <= set(names)


def found_items(document: Any) -> list[Any]:
    return list(document["paths"].values())


@pytest.fixture(scope="module")
def locked(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server that requires a token, and a client without one."""
    tokens = tmp_path_factory.mktemp("locked") / "tokens"
    known, _ = KnownToken.made("etl", None)
    change_tokens(tokens, lambda _: [known])
    with serving(rows_in(lake), doors=WebSettings(tokens)) as served:
        yield served


def test_every_refusal_is_there(locked: Served, document: Any) -> None:
    refused = document["components"]["responses"]["Unauthorized"]
    (header,) = refused["headers"]
    error = Draft202012Validator(document["components"]["schemas"]["Error"])
    free = set()
    for path, item in document["paths"].items():
        for method, each in item.items():
            answer = locked.ask(re.sub(r"\{\w+\}", "1", path), method.upper())
            if each.get("security") == []:
                free.add(path)
                assert str(answer.status) in each["responses"]
                continue
            assert answer.status == 401, path
            assert each["responses"]["401"] == {"$ref": "#/components/responses/Unauthorized"}
            error.validate(answer.form)
    assert free == {"/livez", "/readyz"}
    _, headers = locked.ask_with("/metrics", {})
    schemes = {each["scheme"] for each in document["components"]["securitySchemes"].values()}
    assert {each.partition(" ")[0].lower() for each in headers.getlist(header)} == schemes
    assert [set(each) for each in document["security"]] == [set(), {"token"}, {"login"}]


def test_schemas_are_valid(document: Any) -> None:
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    text = json.dumps(document)
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= schemas.keys()


def test_each_event_and_command_is_a_message_of_its_topic(served: Served) -> None:
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


def test_the_page_of_the_api_names_each_path_and_leads_to_both_documents(served: Served) -> None:
    text = served.ask("/ui/api").data.decode()
    for path in ("/v1/tables/{table}/files", f"{UNITY_PATH}/tables", "/subjects", "/readyz"):
        assert f" {path}<" in text
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
    # This server has no follower, so it is not ready, which the document answers with 503.
    checks = CHECKS[operation.path == "/readyz" :]

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
        case.call_and_validate(checks=checks, timeout=ANSWER_S)

    ask()
    return number


def test_server_keeps_to_it(served: Served, document: Any) -> None:
    assert play(served, document, FEW) >= 90


@pytest.mark.slow
def test_server_keeps_to_it_often(served: Served, document: Any) -> None:
    assert play(served, document, MANY) >= 2_000
