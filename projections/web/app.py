"""The application: every path, its answer, and the answers to errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Generic

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

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
from ledger.log_lines import LogLines
from ledger.reads.remote.http_form import BAD_REQUEST, NOTHING, error_form
from ledger.reads.remote.http_questions import VERSION_PATH
from projections.errors import StoreError
from projections.fold.lag import Lag
from projections.web.answers.asked import Asked, BadRequestError
from projections.web.answers.listing import JsonAnswer, Size
from projections.web.answers.metadata_questions import check_wait, too_much
from projections.web.answers.problems import (
    FAULT,
    FAULT_TEXT,
    UNKNOWN_METHOD,
    UNKNOWN_PATH,
    BusyError,
    ProblemForm,
    answer_problem,
    busy,
    problem_form,
)
from projections.web.answers.questions import GET, Question
from projections.web.answers.registry import Endpoint, is_of_registry, refused_by_registry
from projections.web.roles.health import Check, Health, readiness
from projections.web.roles.metrics import CountedPath, Metrics
from projections.web.server.bodies import SMALL_BYTES, Bodies, BodyTooLongError
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.readers import Answer, Readers, Source
from projections.web.server.slots import Room, Slots

JSON: Final = "application/json"

BAD_STATUS: Final = 400
TOO_LONG_STATUS: Final = 413

# How many answers of a size may be under way at once: few of all rows, since memory holds them.
AT_ONCE: Final[Mapping[Size, int]] = {Size.PAGES: 8, Size.WHOLE: 2}

# The first class that fits decides.
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

NONE_BESIDE: Final[Mapping[str, Endpoint]] = {}
log_lines = LogLines("lakeledger.web")


class Streamed(StreamingResponse):
    """An answer that is sent as it is made; `own` is closed when it is sent, or cannot be."""

    media_type = JSON

    def __init__(self, chunks: AsyncIterator[bytes], own: AsyncExitStack) -> None:
        super().__init__(chunks)
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the chunks, and release the room of the answer with the last one."""
        async with self._own:
            await super().__call__(scope, receive, send)


class WebPages(Generic[Source]):
    """Questions with their answers, health and metrics as an ASGI application, `app`.

    `beside` has further endpoints by path, of answers that are short and always at hand.
    `add_routes` brings further ones. Requests that reach no endpoint are refused in the form of
    `problem_form`. With `tells_position` the applied position is a question too.
    """

    def __init__(
        self,
        readers: Readers[Source],
        questions: Sequence[Question[Source]],
        health: Health,
        metrics: Metrics,
        limits: WebLimits = LIMITS,
        *,
        beside: Mapping[str, Endpoint] = NONE_BESIDE,
        problem_form: ProblemForm = problem_form,
        tells_position: bool = True,
    ) -> None:
        self.limits = limits
        self.problem_form = problem_form
        self._readers = readers
        self._beside: list[Readers[Source]] = []
        self._room = Room(limits.requests_max)
        self._bodies = Bodies(limits.body_bytes_max)
        self._slots = {size: Slots(number, "long answers") for size, number in AT_ONCE.items()}
        self._waiting = health.waiting
        self._health = health
        self._metrics = metrics
        # No bound on questions under way applies to these.
        own = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics_text}
        self.app = Starlette(
            routes=[
                *(Route(path, answering(self._first(ask))) for path, ask in own.items()),
                *(Route(path, answering(ask)) for path, ask in beside.items()),
                *([self.route(f"{VERSION_PATH}/position", self._position)] * tells_position),
                *(
                    self.route(
                        f"{question.root}{question.path}", self._answer(question), question.methods
                    )
                    for question in questions
                ),
            ],
            exception_handlers={HTTPException: self._on_http_error},
        )
        # A path with a slash behind it is another path, which is answered with 404 in JSON.
        self.app.router.redirect_slashes = False

    def add_routes(self, routes: Sequence[Route]) -> None:
        """Answer further paths, behind the others."""
        self.app.router.routes.extend(routes)

    def route(self, path: str, ask: Endpoint, methods: Sequence[str] = GET) -> Route:
        """Return the route of an endpoint whose requests are counted, and always answered."""
        label = path.removeprefix(VERSION_PATH)
        counted = Middleware(CountedPath, metrics=self._metrics, path=label)
        return Route(path, answering(ask), methods=list(methods), middleware=[counted])

    @asynccontextmanager
    async def place(self, size: Size) -> AsyncIterator[None]:
        """Hold the room of an answer of a size while the block runs; raises BusyError."""
        async with AsyncExitStack() as own:
            own.enter_context(self._room.taken())
            if size in self._slots:
                await own.enter_async_context(self._slots[size].taken())
            yield

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the body of a request while the block runs; raises BodyTooLongError, BusyError."""
        async with self._bodies.read(request) as data:
            yield data

    async def ask(
        self, question: Callable[[Source], Answer], asked: Asked, *, is_long: bool
    ) -> Answer:
        """Return an answer from a reader; raises as `PositionWaiting.answer`."""
        return await self._waiting.answer(question, asked, is_long=is_long)

    def readers_beside(self, threads: int) -> Readers[Source]:
        """Return readers of the same source in threads of their own, which `close` closes."""
        found = self._readers.beside(threads)
        self._beside.append(found)
        return found

    async def checks(self) -> Mapping[str, Check]:
        """Return the health checks of this process."""
        return await self._health.checks()

    def stop(self) -> None:
        """End all waits; any thread may call."""
        self._waiting.stop()

    def close(self) -> None:
        """Close the readers, after the last request."""
        self._health.close()
        for readers in (self._readers, *self._beside):
            readers.close()

    def _first(self, ask: Endpoint) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            with self._readers.precedence.short():
                return await ask(request)

        return endpoint

    def _answer(self, question: Question[Source]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            query = request.query_params.multi_items()
            async with AsyncExitStack() as own:
                body = await own.enter_async_context(self._bodies.read(request))
                asked = Asked(request.path_params, query, body)
                size = question.size(asked)
                await own.enter_async_context(self.place(size))

                def answer(source: Source) -> tuple[JsonAnswer[Source], bytes] | None:
                    found = question.ask(source, asked)
                    asked.check_all_read()
                    if found is None:
                        return None
                    answered = JsonAnswer[Source](found, self._readers.precedence.give_way)
                    return answered, answered.chunk(source)

                is_long = size is not Size.FEW or len(body) > SMALL_BYTES
                begun = await self._waiting.answer(answer, asked, is_long=is_long)
                if begun is None:
                    return nothing(request)
                answered, first = begun
                if answered.is_done:
                    return Response(first, media_type=JSON)
                chunks = self._chunks(answered, first, request)
                return Streamed(chunks, own.pop_all())
            raise AssertionError  # No context of these holds an error back.

        return endpoint

    async def _chunks(
        self, answered: JsonAnswer[Source], first: bytes, request: Request
    ) -> AsyncIterator[bytes]:
        """Yield an answer chunk by chunk; nothing of it is made for a client that wants its head.

        An error within cuts the connection: the status is sent already.
        """
        if request.method == "HEAD":
            return
        yield first
        while not answered.is_done:
            try:
                chunk = await self._readers.ask(answered.chunk, is_long=True)
            except LedgerError as problem:
                log_lines.warning("listing cut", path=request.url.path, why=str(problem))
                raise
            yield chunk

    async def _position(self, request: Request) -> Response:
        """Answer the applied position; with `at_least`, as soon as it is reached."""
        asked = Asked(request.path_params, request.query_params.multi_items())
        position = asked.number_or_none("at_least") or 0
        timeout_ms = asked.number_or_none("timeout_ms") or 0
        asked.check_all_read()
        check_wait(timeout_ms)
        with self._room.taken():
            return JSONResponse(await self._waiting.reach(position, timeout_ms))

    async def _on_http_error(self, request: Request, error: Exception) -> Response:
        """Answer a request for an unknown path or method."""
        assert isinstance(error, HTTPException)
        if is_of_registry(request.url.path):
            return refused_by_registry(error.status_code, error.headers)
        name = {404: UNKNOWN_PATH, 405: UNKNOWN_METHOD}.get(error.status_code, BAD_REQUEST)
        what = f"{request.method} {request.url.path}: {error.detail}. docs/http.md lists the paths"
        form = self.problem_form
        return answer_problem(error.status_code, name, what, error.headers, form=form)

    async def _livez(self, _request: Request) -> Response:
        """Answer that this process runs, whatever it depends on."""
        return JSONResponse(readiness(self._health.role, {}))

    async def _readyz(self, _request: Request) -> Response:
        form = readiness(self._health.role, await self._health.checks())
        return JSONResponse(form, 200 if form["status"] == "UP" else 503)

    async def _metrics_text(self, _request: Request) -> Response:
        lag = await self._health.lag()
        # Collecting may wait for a lock; other requests must not.
        text = await asyncio.to_thread(self._metrics.text, lag if isinstance(lag, Lag) else None)
        return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


def answering(ask: Endpoint) -> Endpoint:
    """Return an endpoint that answers every request, also one that fails."""

    async def endpoint(request: Request) -> Response:
        try:
            return await ask(request)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return instead(request, error)

    return endpoint


def nothing(request: Request) -> Response:
    """Return the answer for an unknown number or name."""
    return answer_problem(
        404, NOTHING, f"there is nothing at {request.url.path} up to the applied position"
    )


def status_of(error: LedgerError) -> int:
    """Return the HTTP status of an error, by the first class in the table that fits."""
    return next(each for kind, each in STATUS.items() if isinstance(error, kind))


def instead(request: Request, error: Exception) -> Response:
    """Return the answer for an error."""
    match error:
        case LedgerError():
            status = status_of(error)
            form = error_form(error)
            # The bounds of a request never change, unlike other limits with these errors.
            form["retry_unchanged"] &= status != BAD_STATUS
            return JSONResponse(form, status)
        case BodyTooLongError():
            form = error_form(too_much(str(error)))
            return JSONResponse({**form, "retry_unchanged": False}, TOO_LONG_STATUS)
        case BusyError():
            return busy(str(error))
        case BadRequestError():
            return answer_problem(BAD_STATUS, BAD_REQUEST, str(error))
        case ClientDisconnect():
            # No client receives it, but the metrics count a question that came only in part.
            return answer_problem(
                BAD_STATUS, BAD_REQUEST, "the client went away within its question"
            )
        case _:
            log_lines.error("fault", path=request.url.path, exc_info=error)
            return answer_problem(500, FAULT, FAULT_TEXT)
