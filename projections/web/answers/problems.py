"""Problems: the answers to errors, always JSON with a name."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from ledger.reads.remote.http_questions import BUSY_STATUS

RETRY_AFTER_S: Final = 1

BUSY: Final = "Busy"
"""The name of the error when the server is full: the same question may be asked again later."""

TOO_SLOW: Final = "TooSlow"
"""The name of the error when a question did not arrive in time."""

UNKNOWN_HOST: Final = "UnknownHost"
"""The name of the error when the Host header is not a name of the server."""

HEAD_TOO_LONG: Final = "HeadTooLong"
"""The name of the error when the line and the headers of a question are too long."""

UNAUTHORIZED: Final = "Unauthorized"
"""The name of the error when a request shows no token that is known and valid."""

TOKENS_UNREADABLE: Final = "TokensUnreadable"
"""The name of the error when the server cannot read which tokens are valid."""

FAULT: Final = "Fault"
"""The name of the error when the program failed."""
FAULT_TEXT: Final = "the program failed to answer; see the traceback in its log"


class BusyError(Exception):
    """The server has no room for a question now; the text names the full resource."""


def problem_form(error: str, message: str, *, retry_unchanged: bool = False) -> dict[str, Any]:
    """Return the answer to an error as fields."""
    return {"error": error, "message": message, "retry_unchanged": retry_unchanged, "fields": {}}


def problem_json(error: str, message: str, *, retry_unchanged: bool = False) -> bytes:
    """Return the answer to an error as JSON."""
    form = problem_form(error, message, retry_unchanged=retry_unchanged)
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def answer_problem(
    status: int, error: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to an error that a repetition would meet again."""
    return JSONResponse(problem_form(error, message), status, headers)


def busy(message: str) -> Response:
    """Return the answer of a full server, with the time to ask again."""
    form = problem_form(BUSY, message, retry_unchanged=True)
    return JSONResponse(form, BUSY_STATUS, {"retry-after": str(RETRY_AFTER_S)})
