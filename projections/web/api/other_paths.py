"""The paths of the OpenAPI document beside the reads: a Unity Catalog, a registry, and health.

Each comes from the table that serves it.
"""

import re
from collections.abc import Iterator, Sequence
from inspect import getdoc
from typing import Final

from projections.web.answers.registry import (
    REGISTRY_JSON,
    REGISTRY_READS,
    RegistryProblem,
    RegistryRead,
)
from projections.web.answers.unity import PAGING, UNITY_PATH, UNITY_ROUTES, UnityRoute
from projections.web.api.form_schemas import NUMBER, FormSchemas, Schema
from projections.web.api.responses import (
    JSON,
    OPEN,
    answer_of,
    errors_of,
    in_path,
    operation,
    query,
)
from projections.web.roles.health import HealthForm

NAMES: Final = re.compile(r"\{(\w+)(?::path)?\}")
UNITY_ERRORS: Final = ("400", "404", "413", "500")
TEXT: Final[Schema] = {"type": "string"}


def other_paths(schemas: FormSchemas, documents: Sequence[str]) -> Iterator[tuple[str, Schema]]:
    """Yield each path with its operations; `documents` are the paths of documents like this one."""
    for route in UNITY_ROUTES:
        yield drop_kinds(f"{UNITY_PATH}{route.path}"), unity_item(route, schemas)
    for path, read in REGISTRY_READS.items():
        yield path, {"get": registry_operation(path, read, schemas)}
    for path in documents:
        text = "A document of the API."
        answer = answer_of({"type": "object"})
        yield path, {"get": operation(name_of("document", path), text, answer, tag="documents")}
    yield from health_paths(schemas)


def drop_kinds(path: str) -> str:
    """Return a path without the kinds of its parameters."""
    return NAMES.sub(r"{\1}", path)


def name_of(kind: str, path: str) -> str:
    """Return the name of an operation, from its path."""
    return "_".join([kind, *re.findall(r"\w+", path)])


def unity_item(route: UnityRoute, schemas: FormSchemas) -> Schema:
    """Return the operation of a route of a Unity Catalog."""
    parameters = [in_path(name) for name in NAMES.findall(route.path)]
    for name in route.parameters:
        form = NUMBER if name == PAGING[0] else TEXT
        parameters.append(query(name, form, required=name not in PAGING))
    answers = answer_of(schemas.of(route.kind)) | errors_of(UNITY_ERRORS)
    text = getdoc(route.kind) or ""
    found = operation(f"unity_{route.name}", text, answers, parameters, tag="Unity Catalog")
    if route.body is not None:
        content = {JSON: {"schema": schemas.of(route.body)}}
        found |= {"requestBody": {"required": True, "content": content}}
    return {route.methods[0].lower(): found}


def registry_operation(path: str, read: RegistryRead, schemas: FormSchemas) -> Schema:
    """Return the operation of a path of a schema registry, with its own form of errors."""
    problem = schemas.of(RegistryProblem)
    own = errors_of(map(str, read.errors), problem, REGISTRY_JSON)
    if read.kind is not None:
        own |= answer_of(schemas.of(read.kind), REGISTRY_JSON)
    parameters = [in_path(name) for name in NAMES.findall(path)]
    name = name_of("registry", path)
    return operation(name, read.text, own, parameters, tag="schema registry")


def health_paths(schemas: FormSchemas) -> Iterator[tuple[str, Schema]]:
    """Yield the paths of health and metrics; the probes need no login."""
    health = schemas.of(HealthForm)
    texts = {"/livez": "Whether the process runs.", "/readyz": "Whether its answers are of use."}
    for path, text in texts.items():
        answers = answer_of(health)
        if path == "/readyz":
            answers["503"] = {**answers["200"], "description": "A check is not UP."}
        found = operation(path.removeprefix("/"), text, answers, tag="health")
        found["responses"] = answers
        yield path, {"get": found | OPEN}
    metrics = answer_of(TEXT, "text/plain")
    text = "The metrics of the process, for Prometheus."
    yield "/metrics", {"get": operation("metrics", text, metrics, tag="health")}
