"""The application: every path, what is answered there, and what is said instead."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Generic

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ledger.errors import (
    LedgerError,
    LimitExceededError,
    LogRewrittenError,
    LogUnavailableError,
    ReaderBehindError,
    ReadsUnavailableError,
    SnapshotTooOldError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.http.form import BAD_REQUEST, NOTHING, error_form, to_json
from ledger.http.questions import VERSION_PATH
from projections.errors import StoreError
from projections.lag import Lag
from projections.web.asked import Asked, BadRequestError
from projections.web.health import Health, readiness
from projections.web.metadata_questions import check_wait, too_much
from projections.web.metrics import Counted, Metrics
from projections.web.questions import GET, Question
from projections.web.readers import Readers, Source

BODY_BYTES_MAX: Final = 8 << 20
JSON: Final = "application/json"

BAD_STATUS: Final = 400

# The first that fits counts.
STATUS: Final[Mapping[type[LedgerError], int]] = {
    UnknownTableError: 404,
    UnknownVersionError: 404,
    LogRewrittenError: 409,
    ReaderBehindError: 409,
    LimitExceededError: BAD_STATUS,
    SnapshotTooOldError: BAD_STATUS,
    ReadsUnavailableError: 503,
    StoreError: 503,
    LogUnavailableError: 503,
    LedgerError: 500,
}

Endpoint = Callable[[Request], Awaitable[Response]]
log_lines = structlog.get_logger("lakeledger.web")


class Pages(Generic[Source]):
    """Questions with their answers, health and metrics as an ASGI application, `app`."""

    def __init__(
        self,
        readers: Readers[Source],
        questions: Sequence[Question[Source]],
        health: Health,
        metrics: Metrics,
    ) -> None:
        self._readers = readers
        self._waiting = health.waiting
        self._health = health
        self._metrics = metrics
        self.app = Starlette(
            routes=[
                Route("/livez", self._livez),
                Route("/readyz", self._readyz),
                Route("/metrics", self._metrics_text),
                self._route("/position", self._position),
                *(self._route(each.path, self._answer(each), each.methods) for each in questions),
            ],
            exception_handlers={HTTPException: on_http_error},
        )
        # A path with a slash behind it is another one, and who asks for it is told so in JSON.
        self.app.router.redirect_slashes = False

    def stop(self) -> None:
        """Let nobody wait any longer; any thread may say so."""
        self._waiting.stop()

    def close(self) -> None:
        """Close what answers, once nobody asks any more."""
        self._health.close()
        self._readers.close()

    def _route(self, path: str, ask: Endpoint, methods: Sequence[str] = GET) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                return await ask(request)
            except Exception as error:  # noqa: BLE001 - every request gets an answer
                return instead(request, error)

        counted = Middleware(Counted, metrics=self._metrics, path=path)
        return Route(VERSION_PATH + path, endpoint, methods=list(methods), middleware=[counted])

    def _answer(self, question: Question[Source]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            query = request.query_params.multi_items()
            asked = Asked(request.path_params, query, await body_of(request))

            def answer(source: Source) -> bytes | None:
                found = question.ask(source, asked)
                asked.check_all_read()
                return None if found is None else to_json(found)

            data = await self._waiting.answer(answer, asked)
            return nothing(request) if data is None else Response(data, media_type=JSON)

        return endpoint

    async def _position(self, request: Request) -> Response:
        """Answer the applied position, with `at_least` as soon as it is that."""
        asked = Asked(request.path_params, request.query_params.multi_items())
        position = asked.number_or_none("at_least") or 0
        timeout_ms = asked.number_or_none("timeout_ms") or 0
        asked.check_all_read()
        check_wait(timeout_ms)
        return JSONResponse(await self._waiting.reach(position, timeout_ms))

    async def _livez(self, _request: Request) -> Response:
        """Answer that this process does; whatever it depends on."""
        return JSONResponse({"status": "UP", "checks": {}})

    async def _readyz(self, _request: Request) -> Response:
        form = readiness(await self._health.checks())
        return JSONResponse(form, 200 if form["status"] == "UP" else 503)

    async def _metrics_text(self, _request: Request) -> Response:
        lag = await self._health.lag()
        # What is collected may wait for a lock; whoever asks for anything else does not.
        text = await asyncio.to_thread(self._metrics.text, lag if isinstance(lag, Lag) else None)
        return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


async def body_of(request: Request) -> bytes:
    """Return the body; raises LimitExceededError as soon as it is too long."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES_MAX:
            raise too_much(f"the body has more than {BODY_BYTES_MAX} bytes")
    return bytes(body)


def nothing(request: Request) -> Response:
    """Return the answer that there is nothing of a number or name."""
    return said(404, NOTHING, f"there is nothing at {request.url.path} up to the applied position")


def said(status: int, error: str, message: str) -> Response:
    """Return an answer about a request that is not answered."""
    form = {"error": error, "message": message, "retry_unchanged": False, "fields": {}}
    return JSONResponse(form, status)


def instead(request: Request, error: Exception) -> Response:
    """Return what is said in the place of an answer."""
    match error:
        case LedgerError():
            status = next(each for kind, each in STATUS.items() if isinstance(error, kind))
            form = error_form(error)
            # The bounds of one request stay as they are, unlike others that these errors tell of.
            form["retry_unchanged"] &= status != BAD_STATUS
            return JSONResponse(form, status)
        case BadRequestError():
            return said(BAD_STATUS, BAD_REQUEST, str(error))
        case ClientDisconnect():
            # Nobody hears it, but that a question came only in part is counted.
            return said(BAD_STATUS, BAD_REQUEST, "the client went away within its question")
        case _:
            log_lines.error("fault", path=request.url.path, exc_info=error)
            return said(500, "Fault", "the program failed to answer; its log says where")


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer for a path or a method that is not there."""
    assert isinstance(error, HTTPException)
    name = {404: "UnknownPath", 405: "UnknownMethod"}.get(error.status_code, BAD_REQUEST)
    what = f"{request.method} {request.url.path}: {error.detail}. docs/http.md lists the paths"
    return said(error.status_code, name, what)
