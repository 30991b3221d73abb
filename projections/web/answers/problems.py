"""Problems: the answers to errors, always JSON with a name."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

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

UNKNOWN_PATH: Final = "UnknownPath"
"""The name of the error when nothing is at a path."""

UNKNOWN_METHOD: Final = "UnknownMethod"
"""The name of the error when a path has no such method."""

UNAUTHORIZED: Final = "Unauthorized"
"""The name of the error when a request shows no token that is known and valid."""

TOKENS_UNREADABLE: Final = "TokensUnreadable"
"""The name of the error when the server cannot read which tokens are valid."""

FAULT: Final = "Fault"
"""The name of the error when the program failed."""
FAULT_TEXT: Final = "the program failed to answer; see the traceback in its log"


class BusyError(Exception):
    """The server has no room for a question now; the text names the full resource."""


class Problem(NamedTuple):
    """An error that is answered: its status, its name, its text, and whether to ask again."""

    status: int
    error: str
    message: str
    retry_unchanged: bool = False


ProblemForm = Callable[[Problem], Mapping[str, Any]]
"""Returns the answer to an error as the fields that the clients of a server expect."""


def problem_form(problem: Problem) -> dict[str, Any]:
    """Return the answer to an error as fields of this product's own API."""
    return {
        "error": problem.error,
        "message": problem.message,
        "retry_unchanged": problem.retry_unchanged,
        "fields": {},
    }


def problem_json(problem: Problem, form: ProblemForm = problem_form) -> bytes:
    """Return the answer to an error as JSON."""
    return json.dumps(form(problem), ensure_ascii=False, separators=(",", ":")).encode()


def answer_problem(
    status: int,
    error: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    form: ProblemForm = problem_form,
) -> Response:
    """Return the answer to an error that a repetition would meet again."""
    return JSONResponse(form(Problem(status, error, message)), status, headers)


def busy(message: str, form: ProblemForm = problem_form) -> Response:
    """Return the answer of a full server, with the time to ask again."""
    problem = Problem(BUSY_STATUS, BUSY, message, retry_unchanged=True)
    return JSONResponse(form(problem), BUSY_STATUS, {"retry-after": str(RETRY_AFTER_S)})
