"""The read routes of a schema registry, so that Kafka tools decode events by themselves.

Paths, answers and error codes are those of Confluent's API. A subject is the full name of a record,
as in its RecordNameStrategy. A schema never changes, so each subject has one version.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ledger.log.published_schemas import schema_ids, schema_text

VERSION: Final = 1
NOT_FOUND: Final = "HTTP 404 Not Found"
LATEST: Final = frozenset({"latest", "-1", str(VERSION)})
OF_REGISTRY: Final = re.compile(r"/(schemas|subjects|config|mode)(/|$)")
DIGITS: Final = re.compile(r"[0-9]{1,19}", re.ASCII)

Endpoint = Callable[[Request], Awaitable[Response]]


class RegistryAnswer(JSONResponse):
    """JSON of the type that clients of a registry ask for."""

    media_type = "application/vnd.schemaregistry.v1+json"


class RegistryError(Exception):
    """An error of a registry with its code; the first three digits are the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def answer(self, headers: Mapping[str, str] | None = None) -> Response:
        """Return the answer to it."""
        form = {"error_code": self.code, "message": str(self)}
        return RegistryAnswer(form, int(str(self.code)[:3]), headers)


class Published(NamedTuple):
    """A published schema: its subject, its id, and its text on one line."""

    subject: str
    id: int
    schema: str

    @property
    def place(self) -> dict[str, Any]:
        """Return the subject and version of the schema."""
        return {"subject": self.subject, "version": VERSION}


def registry_routes() -> Mapping[str, Endpoint]:
    """Return the endpoint of each path; all are read by GET."""
    return {path: answering_from_registry(ask) for path, ask in ANSWERS.items()}


def is_of_registry(path: str) -> bool:
    """Return whether a path belongs to the API of a registry."""
    return OF_REGISTRY.match(path) is not None


def refused_by_registry(status: int, headers: Mapping[str, str] | None) -> Response:
    """Return the answer for an unknown path or a method that writes."""
    texts = {404: NOT_FOUND, 405: "the schemas of events are read only: use GET"}
    return RegistryError(status, texts.get(status, f"HTTP {status}")).answer(headers)


def answering_from_registry(ask: Callable[[Mapping[str, str]], Any]) -> Endpoint:
    """Return an endpoint that answers with JSON, or with the code of an error.

    Parameters behind the path, such as `subject`, `deleted` or `fetchMaxId`, make no difference.
    """

    async def endpoint(request: Request) -> Response:
        try:
            return RegistryAnswer(ask(request.path_params))
        except RegistryError as problem:
            return problem.answer()

    return endpoint


@cache
def by_id() -> Mapping[int, Published]:
    """Return every published schema by its id."""
    found = {}
    for name, number in schema_ids().items():
        form = json.loads(schema_text(name))
        text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
        found[number] = Published(f"{form['namespace']}.{form['name']}", number, text)
    return found


@cache
def by_subject() -> Mapping[str, Published]:
    """Return every published schema by its subject, in their order."""
    return {each.subject: each for each in sorted(by_id().values())}


def with_id(given: Mapping[str, str]) -> Published:
    """Return the schema that has the id in a path; raises RegistryError."""
    text = given["id"]
    if not DIGITS.fullmatch(text):
        raise RegistryError(404, NOT_FOUND)
    found = by_id().get(int(text))
    if found is None:
        raise RegistryError(40403, f"Schema {text} not found")
    return found


def of_subject(given: Mapping[str, str]) -> Published:
    """Return the schema of the subject in a path; raises RegistryError."""
    found = by_subject().get(given["subject"])
    if found is None:
        raise RegistryError(40401, f"Subject '{given['subject']}' not found.")
    return found


def of_version(given: Mapping[str, str]) -> Published:
    """Return the schema of the subject and version in a path; raises RegistryError."""
    version = given["version"]
    found = of_subject(given)
    if version in LATEST:
        return found
    if DIGITS.fullmatch(version) and 0 < int(version) < 2**31:
        raise RegistryError(40402, f"Version {version} not found.")
    raise RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def versions_of(given: Mapping[str, str]) -> Any:
    """Return the versions of the subject in a path."""
    return [of_subject(given).place["version"]]


def with_place(given: Mapping[str, str]) -> Any:
    """Return the schema of the subject and version in a path, with both and its id."""
    found = of_version(given)
    return {**found.place, "id": found.id, "schema": found.schema}


def subject_level(given: Mapping[str, str]) -> Any:
    """Raise RegistryError: no subject has a level of its own."""
    raise RegistryError(
        40408, f"Subject '{given['subject']}' does not have subject-level compatibility configured"
    )


ANSWERS: Final[Mapping[str, Callable[[Mapping[str, str]], Any]]] = {
    "/schemas/types": lambda _: ["AVRO"],
    "/schemas/ids/{id}": lambda given: {"schema": with_id(given).schema},
    "/schemas/ids/{id}/schema": lambda given: json.loads(with_id(given).schema),
    "/schemas/ids/{id}/subjects": lambda given: [with_id(given).subject],
    "/schemas/ids/{id}/versions": lambda given: [with_id(given).place],
    "/subjects": lambda _: list(by_subject()),
    "/subjects/{subject}/versions": versions_of,
    "/subjects/{subject}/versions/{version}": with_place,
    "/subjects/{subject}/versions/{version}/schema": lambda given: json.loads(
        of_version(given).schema
    ),
    # A change of an event gets an id of its own, so nothing is compared.
    "/config": lambda _: {"compatibilityLevel": "NONE"},
    "/config/{subject}": subject_level,
    "/mode": lambda _: {"mode": "READONLY"},
}
