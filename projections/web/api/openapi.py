"""The OpenAPI document of a follower, made from the tables that serve its paths.

Paths, parameters and answers come from `ledger.reads.remote.routes` and the declarations in
`ledger.reads.port`; nothing about a read is said twice. `other_paths` has the other APIs.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from inspect import getdoc
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from ledger.reads.metadata import MetadataAnswer, MetadataQuestion
from ledger.reads.port import Reached
from ledger.reads.remote.http_questions import VERSION_PATH, WAIT_MAX_MS
from ledger.reads.remote.routes import ROUTES, WHERE, Route, is_required
from ledger.reads.whole_numbers import LIMIT, ROWS_MAX
from ledger.trimming.look import ConsumerSeen
from ledger.trimming.watch import LogSeen
from ledger.version import CODE_VERSION
from projections.web.answers.questions import AFTER
from projections.web.api.form_schemas import NUMBER, FormSchemas, Schema
from projections.web.api.other_paths import other_paths
from projections.web.api.responses import (
    ERROR_FORM,
    JSON,
    SCHEMES,
    SECURITY,
    UNAUTHORIZED,
    UNAUTHORIZED_FORM,
    answer_of,
    errors_of,
    operation,
    query,
)
from projections.web.app import STATUS

HEX: Final = "^([0-9a-fA-F]{2})*$"
LISTS: Final = "txns"
WAIT: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": WAIT_MAX_MS}
ERRORS: Final = {"400", "413", *(str(each) for each in STATUS.values())} - {"500"}
DOCUMENTS: Final = ("/openapi.json", "/asyncapi.json")
"""The paths of this document, and of the one about the topics."""
READS: Final = "reads"
OWN_TEXTS: Final = {
    "position": "The applied position, as soon as it is `at_least`.",
    "reached": "The applied position and the chain of the log there.",
    "metadata": "What a reader sees of a table.",
    "metadata_of_many": "What a reader sees of many tables, as of one position.",
    "log": "Where the log begins and ends, its trims, image and growth, and what follows it.",
    "consumers": "The processes that follow the log, and the pins, with lag and age.",
}


@cache
def openapi() -> Schema:
    """Return the document."""
    schemas = FormSchemas()
    paths = {
        f"{VERSION_PATH}{path}": path_item(list(routes), schemas)
        for path, routes in groupby(ROUTES, attrgetter("path"))
    }
    paths |= {f"{VERSION_PATH}{path}": item for path, item in own_paths(schemas)}
    paths |= dict(other_paths(schemas, DOCUMENTS))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LakeLedger reads",
            "version": str(CODE_VERSION),
            "description": "The read model of a ledger. Nothing can be written over HTTP.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas.found, "Error": ERROR_FORM},
            "responses": {UNAUTHORIZED: UNAUTHORIZED_FORM},
            "securitySchemes": SCHEMES,
        },
        "security": list(SECURITY),
    }


def path_item(routes: Sequence[Route], schemas: FormSchemas) -> Schema:
    """Return the operations of a path."""
    first, last = routes[0], routes[-1]
    found = {"get": read_operation(first, schemas)}
    if last.body:
        found["post"] = read_operation(last, schemas, body=True)
    return found


def read_operation(route: Route, schemas: FormSchemas, *, body: bool = False) -> Schema:
    """Return a read as an operation of its path; with `body` its last parameter is in the body."""
    text = " ".join((getdoc(route.read) or "").partition("\n\n")[0].split())
    parameters = [
        parameter_of(route, name, schemas)
        for name in route.parameters
        if not (body and name == route.body) and name != LISTS
    ]
    if body:
        parameters = [parameter for parameter in parameters if parameter["name"] != WHERE]
    # A condition may be in the query or in the body of one read.
    name = f"{route.name}_by_body" if route.body == WHERE and body else route.name
    found = operation(name, text, responses(schemas.of(route.kind)), parameters, tag=READS)
    return found | ({"requestBody": body_of(route, schemas)} if body else {})


def body_of(route: Route, schemas: FormSchemas) -> Schema:
    """Return the body of a read: a condition as JSON, or a value of its own class."""
    kind = route.parameters[route.body].annotation
    form: Schema = {"type": "array"} if kind is str else schemas.of(kind)
    return {"required": True, "content": {JSON: {"schema": form}}}


def parameter_of(route: Route, name: str, schemas: FormSchemas) -> Schema:
    """Return a parameter in the path or behind it."""
    declared = route.parameters[name]
    is_in_path = route.is_in_path(name)
    # Over HTTP a listing has a default for its beginning and its length.
    has_default = name in {AFTER, LIMIT}
    return {
        "name": name,
        "in": "path" if is_in_path else "query",
        "required": is_in_path or (is_required(declared) and not has_default),
        "schema": given_schema(name, declared.annotation, schemas),
    }


def given_schema(name: str, kind: Any, schemas: FormSchemas) -> Schema:
    """Return the schema of a value in a request."""
    if name == LIMIT:
        return {**NUMBER, "maximum": ROWS_MAX}
    if kind in {int, int | None}:
        return dict(NUMBER)
    if kind is bytes:
        return {"type": "string", "pattern": HEX}
    return schemas.of(kind)


def responses(form: Schema) -> Schema:
    """Return the answers: of the read itself, and of errors."""
    return answer_of(form) | errors_of(ERRORS)


def own_paths(schemas: FormSchemas) -> Iterator[tuple[str, Schema]]:
    """Yield the paths that the table of routes does not have: positions, metadata, the log."""
    position = [query("at_least", NUMBER), query("timeout_ms", WAIT)]
    yield "/position", {"get": own("position", {"type": "integer"}, position)}
    texts: Schema = {"type": "string"}
    reached = [
        *(query(name, NUMBER) for name in ("at_least", "seen")),
        query("chain", texts),
        query("max_wait_ms", WAIT),
    ]
    yield "/reached", {"get": own("reached", schemas.of(Reached), reached)}
    names = ("table", "catalog", "write_ids", "what", "token", "policy")
    one = [
        *(query(name, texts) for name in names),
        *(query(name, NUMBER) for name in ("table_id", "position", "own_txn", "max_lag_ms")),
        query("max_wait_ms", WAIT),
    ]
    answer = schemas.of(MetadataAnswer)
    question = {"required": True, "content": {JSON: {"schema": schemas.of(MetadataQuestion)}}}
    many = own("metadata_of_many", {"type": "array", "items": answer}, [])
    yield (
        "/metadata",
        {"get": own("metadata", answer, one), "post": {**many, "requestBody": question}},
    )
    yield "/log", {"get": own("log", schemas.of(LogSeen), [])}
    yield "/consumers", {"get": own("consumers", schemas.of(list[ConsumerSeen]), [])}


def own(name: str, form: Schema, parameters: Sequence[Schema]) -> Schema:
    """Return an operation that is no read of the table."""
    return operation(name, OWN_TEXTS[name], responses(form), parameters, tag=READS)
