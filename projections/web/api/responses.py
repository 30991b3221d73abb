"""Parts of the OpenAPI document that all paths share: logins, errors, operations."""

from collections.abc import Iterable, Sequence
from typing import Final

from projections.web.api.form_schemas import COMPONENTS, NUMBER, Schema
from projections.web.server.doors import CHALLENGES, UNAUTHORIZED_STATUS, UNREADABLE_STATUS

JSON: Final = "application/json"
ERROR: Final[Schema] = {"$ref": f"{COMPONENTS}Error"}
ERROR_FORM: Final[Schema] = {
    "type": "object",
    "description": "An error: its name, its text, and whether to ask again.",
    "properties": {
        "error": {"type": "string"},
        "message": {"type": "string"},
        "retry_unchanged": {"type": "boolean"},
        "fields": {"type": "object"},
    },
    "required": ["error", "message", "retry_unchanged", "fields"],
    "additionalProperties": False,
}
SCHEMES: Final[Schema] = {
    "token": {"type": "http", "scheme": "bearer"},
    "login": {
        "type": "http",
        "scheme": "basic",
        "description": "For browsers: the token is the password, under any user name.",
    },
}
# A server without tokens requires none.
SECURITY: Final[Sequence[Schema]] = ({}, *({name: []} for name in SCHEMES))
OPEN: Final[Schema] = {"security": []}
"""What an operation has that needs no login."""

UNAUTHORIZED: Final = "Unauthorized"
UNAUTHORIZED_FORM: Final[Schema] = {
    "description": "The request shows no token that the server knows and that is valid.",
    "headers": {
        "WWW-Authenticate": {
            "description": "The schemes of a login.",
            "schema": {"type": "string", "enum": [*CHALLENGES, ", ".join(CHALLENGES)]},
        }
    },
    "content": {JSON: {"schema": ERROR}},
}
DOORS: Final[Schema] = {
    str(UNAUTHORIZED_STATUS): {"$ref": f"#/components/responses/{UNAUTHORIZED}"},
    str(UNREADABLE_STATUS): {
        "description": "The server cannot read its tokens, has no room, or lacks what it needs.",
        "content": {JSON: {"schema": ERROR}},
    },
}
"""The answers of each path that needs a login to a request that is not let in."""


def operation(
    name: str, text: str, answers: Schema, parameters: Sequence[Schema] = (), *, tag: str
) -> Schema:
    """Return an operation that needs a login; `answers` are its own ones."""
    return {
        "operationId": name,
        "summary": text,
        "tags": [tag],
        "parameters": list(parameters),
        "responses": dict(sorted({**DOORS, **answers}.items())),
    }


def answer_of(form: Schema, media: str = JSON) -> Schema:
    """Return the answer with content."""
    return {"200": {"description": "The answer.", "content": {media: {"schema": form}}}}


def errors_of(statuses: Iterable[str], form: Schema = ERROR, media: str = JSON) -> Schema:
    """Return the answers of errors."""
    content = {media: {"schema": form}}
    return {status: {"description": "An error.", "content": content} for status in sorted(statuses)}


def query(name: str, form: Schema, *, required: bool = False) -> Schema:
    """Return a parameter behind the path."""
    return {"name": name, "in": "query", "required": required, "schema": dict(form)}


def in_path(name: str) -> Schema:
    """Return a parameter in the path: a number for an id, else a text."""
    form: Schema = dict(NUMBER) if name == "id" else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": form}
