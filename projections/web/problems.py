"""Problems: what is said in the place of an answer, always as JSON with a name."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from ledger.reads.http_questions import BUSY_STATUS

RETRY_AFTER_S: Final = 1

BUSY: Final = "Busy"
"""The name where there is no room now: the same question may be asked again a little later."""

TOO_SLOW: Final = "TooSlow"
"""The name where a question did not arrive in time."""

UNKNOWN_HOST: Final = "UnknownHost"
"""The name where the server is addressed by a name that it is not known by."""

HEAD_TOO_LONG: Final = "HeadTooLong"
"""The name where the line and the headers of a question are too long."""

FAULT: Final = "Fault"
"""The name where the program failed."""
FAULT_TEXT: Final = "the program failed to answer; its log says where"


class BusyError(Exception):
    """There is no room for a question now; it says for want of what."""


def problem_form(error: str, message: str, *, retry_unchanged: bool = False) -> dict[str, Any]:
    """Return an answer about a request that is not answered, as fields."""
    return {"error": error, "message": message, "retry_unchanged": retry_unchanged, "fields": {}}


def problem_json(error: str, message: str, *, retry_unchanged: bool = False) -> bytes:
    """Return such an answer as JSON."""
    form = problem_form(error, message, retry_unchanged=retry_unchanged)
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def said(
    status: int, error: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return such an answer; asking again is of no use."""
    return JSONResponse(problem_form(error, message), status, headers)


def busy(message: str) -> Response:
    """Return the answer that there is no room now, and when to ask again."""
    form = problem_form(BUSY, message, retry_unchanged=True)
    return JSONResponse(form, BUSY_STATUS, {"retry-after": str(RETRY_AFTER_S)})
