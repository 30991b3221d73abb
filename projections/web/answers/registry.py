"""The read routes of a schema registry, so that Kafka tools decode events by themselves.

Paths, answers and error codes are those of Confluent's API. A subject is the full name of a record,
as in its RecordNameStrategy. A schema never changes. A type with a second schema has two versions.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypedDict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ledger.log.wire.published_schemas import schema_ids, schema_text

NOT_FOUND: Final = "HTTP 404 Not Found"
LATEST: Final = frozenset({"latest", "-1"})
OF_REGISTRY: Final = re.compile(r"/(schemas|subjects|config|mode)(/|$)")
DIGITS: Final = re.compile(r"[0-9]{1,19}", re.ASCII)

Endpoint = Callable[[Request], Awaitable[Response]]


REGISTRY_JSON: Final = "application/vnd.schemaregistry.v1+json"


class RegistryAnswer(JSONResponse):
    """JSON of the type that clients of a registry ask for."""

    media_type = REGISTRY_JSON


class SchemaText(TypedDict):
    """A schema, as the text of its Avro JSON."""

    schema: str


class SchemaPlace(TypedDict):
    """The subject and version of a schema."""

    subject: str
    version: int


class PlacedSchema(SchemaPlace):
    """A schema with its subject, version and id."""

    id: int
    schema: str


class RegistryLevel(TypedDict):
    """How schemas are compared: not at all."""

    compatibilityLevel: str


class RegistryMode(TypedDict):
    """Whether schemas can be written: they cannot."""

    mode: str


class RegistryProblem(TypedDict):
    """An error of a registry; the first three digits of its code are the status."""

    error_code: int
    message: str


class RegistryRead(NamedTuple):
    """The answer to a path, its kind and what it is; `errors` are the statuses of its errors.

    The kind is None if there is never an answer but an error.
    """

    ask: Callable[[Mapping[str, str]], Any]
    kind: Any
    text: str
    errors: Sequence[int] = ()


class RegistryError(Exception):
    """An error of a registry with its code; the first three digits are the status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def answer(self, headers: Mapping[str, str] | None = None) -> Response:
        """Return the response; the first three digits of the code are its status."""
        form: RegistryProblem = {"error_code": self.code, "message": str(self)}
        return RegistryAnswer(form, int(str(self.code)[:3]), headers)


class Published(NamedTuple):
    """A published schema: its subject and version, its id, and its text on one line."""

    subject: str
    version: int
    id: int
    schema: str

    @property
    def place(self) -> SchemaPlace:
        """Return the subject and version of the schema."""
        return {"subject": self.subject, "version": self.version}


def registry_routes() -> Mapping[str, Endpoint]:
    """Return the endpoint of each path; all are read by GET."""
    return {path: answering_from_registry(each.ask) for path, each in REGISTRY_READS.items()}


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
        version = int(name.removeprefix(form["name"]).lstrip(".") or 1)
        found[number] = Published(f"{form['namespace']}.{form['name']}", version, number, text)
    return found


@cache
def by_subject() -> Mapping[str, Sequence[Published]]:
    """Return the published schemas of each subject, by version, in the order of the subjects."""
    found: dict[str, list[Published]] = {}
    for each in sorted(by_id().values()):
        found.setdefault(each.subject, []).append(each)
    return found


def with_id(given: Mapping[str, str]) -> Published:
    """Return the schema that has the id in a path; raises RegistryError."""
    text = given["id"]
    if not DIGITS.fullmatch(text):
        raise RegistryError(404, NOT_FOUND)
    found = by_id().get(int(text))
    if found is None:
        raise RegistryError(40403, f"Schema {text} not found")
    return found


def of_subject(given: Mapping[str, str]) -> Sequence[Published]:
    """Return the schemas of the subject in a path, by version; raises RegistryError."""
    found = by_subject().get(given["subject"])
    if found is None:
        raise RegistryError(40401, f"Subject '{given['subject']}' not found.")
    return found


def of_version(given: Mapping[str, str]) -> Published:
    """Return the schema of the subject and version in a path; raises RegistryError."""
    version = given["version"]
    found = of_subject(given)
    if version in LATEST:
        return found[-1]
    if DIGITS.fullmatch(version) and 0 < int(version) < 2**31:
        if int(version) <= len(found):
            return found[int(version) - 1]
        raise RegistryError(40402, f"Version {version} not found.")
    raise RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def versions_of(given: Mapping[str, str]) -> list[int]:
    """Return the versions of the subject in a path."""
    return [each.version for each in of_subject(given)]


def with_place(given: Mapping[str, str]) -> PlacedSchema:
    """Return the schema of the subject and version in a path, with both and its id."""
    found = of_version(given)
    return {**found.place, "id": found.id, "schema": found.schema}


def subject_level(given: Mapping[str, str]) -> Any:
    """Raise RegistryError: no subject has a level of its own."""
    raise RegistryError(
        40408, f"Subject '{given['subject']}' does not have subject-level compatibility configured"
    )


def text_of(given: Mapping[str, str]) -> SchemaText:
    """Return the schema that has the id in a path, as its text."""
    return {"schema": with_id(given).schema}


UNKNOWN: Final = (404,)
REGISTRY_READS: Final[Mapping[str, RegistryRead]] = {
    "/schemas/types": RegistryRead(lambda _: ["AVRO"], list[str], "The forms of schemas."),
    "/schemas/ids/{id}": RegistryRead(text_of, SchemaText, "The schema of an id.", UNKNOWN),
    "/schemas/ids/{id}/schema": RegistryRead(
        lambda given: json.loads(with_id(given).schema), Any, "The schema of an id.", UNKNOWN
    ),
    "/schemas/ids/{id}/subjects": RegistryRead(
        lambda given: [with_id(given).subject], list[str], "The subjects of an id.", UNKNOWN
    ),
    "/schemas/ids/{id}/versions": RegistryRead(
        lambda given: [with_id(given).place],
        list[SchemaPlace],
        "The subjects of an id, with their versions.",
        UNKNOWN,
    ),
    "/subjects": RegistryRead(
        lambda _: list(by_subject()), list[str], "The subjects: full names of records."
    ),
    "/subjects/{subject}/versions": RegistryRead(
        versions_of, list[int], "The versions of a subject.", UNKNOWN
    ),
    "/subjects/{subject}/versions/{version}": RegistryRead(
        with_place, PlacedSchema, "The schema of a subject.", (404, 422)
    ),
    "/subjects/{subject}/versions/{version}/schema": RegistryRead(
        lambda given: json.loads(of_version(given).schema),
        Any,
        "The schema of a subject.",
        (404, 422),
    ),
    # A change of an event gets an id of its own, so nothing is compared.
    "/config": RegistryRead(
        lambda _: {"compatibilityLevel": "NONE"}, RegistryLevel, "How schemas are compared."
    ),
    "/config/{subject}": RegistryRead(
        subject_level, None, "How schemas of a subject are compared.", UNKNOWN
    ),
    "/mode": RegistryRead(
        lambda _: {"mode": "READONLY"}, RegistryMode, "Whether schemas can be written."
    ),
}
"""The paths of a registry, all read by GET."""
