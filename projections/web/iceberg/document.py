"""The OpenAPI document of the catalog, made from the table of its routes."""

import re
from collections.abc import Iterator
from functools import cache
from inspect import getdoc
from typing import Final

from ledger.version import CODE_VERSION
from projections.web.api.form_schemas import FormSchemas, Schema
from projections.web.api.other_paths import health_paths
from projections.web.api.responses import (
    ERROR,
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
from projections.web.iceberg.forms import IcebergError
from projections.web.iceberg.repeats import HEADER
from projections.web.iceberg.routes import IcebergRoute, by_path
from projections.web.iceberg.visits import NO_CONTENT

DOCUMENT: Final = "/openapi.json"
IN_PATH: Final = re.compile(r"\{(\w+)\}")
TEXT: Final[Schema] = {"type": "string"}
QUERIES: Final[dict[str, Schema]] = {
    "pageSize": {"type": "integer", "minimum": 1, "maximum": 10**9},
    "snapshots": {"enum": ["all", "refs"]},
    "purgeRequested": {"type": "boolean"},
}
# What any request may meet, and what any change may meet besides.
ERRORS: Final = (400, 404, 413, 500)
CHANGE_ERRORS: Final = (403, 422)
TAG: Final = "Iceberg REST catalog"


@cache
def iceberg_document() -> Schema:
    """Say as OpenAPI what the server answers, to which questions."""
    schemas = FormSchemas()
    error = schemas.of(IcebergError)
    paths: Schema = {
        path: {method.lower(): route_operation(route, schemas) for method, route in methods.items()}
        for path, methods in by_path().items()
    }
    own = operation("document", "This document.", answer_of({"type": "object"}), tag="documents")
    paths[DOCUMENT] = {"get": own}
    paths |= dict(health_paths(schemas))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LakeLedger as an Iceberg REST catalog",
            "version": str(CODE_VERSION),
            "description": "The tables of a ledger, for every client of Apache Iceberg.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas.found, "Error": error},
            "responses": {UNAUTHORIZED: UNAUTHORIZED_FORM},
            "securitySchemes": SCHEMES,
        },
        "security": list(SECURITY),
    }


def route_operation(route: IcebergRoute, schemas: FormSchemas) -> Schema:
    """Return a route as an operation of its path."""
    statuses = {*ERRORS, *route.errors, *(CHANGE_ERRORS if route.changes else ())}
    answers = errors_of(map(str, statuses), ERROR) | dict(good_answers(route, schemas))
    text = " ".join((getdoc(route.ask) or "").partition("\n\n")[0].split())
    found = operation(route.name, text, answers, list(parameters(route)), tag=TAG)
    if route.body is not None:
        content = {JSON: {"schema": schemas.of(route.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def good_answers(route: IcebergRoute, schemas: FormSchemas) -> Iterator[tuple[str, Schema]]:
    """Yield the answers that are no errors."""
    if route.kind is not None:
        yield from answer_of(schemas.of(route.kind)).items()
    elif route.status == NO_CONTENT:
        yield str(NO_CONTENT), {"description": "Done."}
    if "If-None-Match" in route.headers:
        yield "304", {"description": "The client has this metadata."}


def parameters(route: IcebergRoute) -> Iterator[Schema]:
    """Yield the parameters in the path, behind it, and in the head."""
    for name in IN_PATH.findall(route.path):
        form = {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": form}
    for name in route.query:
        yield query(name, QUERIES.get(name, TEXT))
    key: Schema = {"type": "string", "format": "uuid"}
    headers = dict.fromkeys(route.headers, TEXT)
    for name, form in (headers | ({HEADER: key} if route.changes else {})).items():
        yield {"name": name, "in": "header", "required": False, "schema": dict(form)}
