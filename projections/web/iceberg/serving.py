"""Serving: the routes of the catalog as endpoints of a server, within the bounds of all requests.

Answers are made in threads of their own, apart for reads and for changes: a change waits for the
log, and no read waits behind it.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ledger.config.tokens import KnownToken
from ledger.log_lines import LogLines
from projections.iceberg.errors import IcebergRefusal, bad_request
from projections.web.answers.listing import Size
from projections.web.api.form_schemas import Schema
from projections.web.app import JSON, WebPages
from projections.web.iceberg.lake import IcebergLake
from projections.web.iceberg.refusals import error_form, fault, headers_of, refusal_of
from projections.web.iceberg.repeats import HEADER, KeptAnswers, SentAnswer, digest_of
from projections.web.iceberg.routes import HEAD, IcebergRoute, by_path
from projections.web.iceberg.visits import NO_CONTENT, NOT_MODIFIED, Visit
from projections.web.roles.role import ProcessPart
from projections.web.server.gate import VISITOR
from projections.web.server.slots import Slots

READS: Final = 8
CHANGES: Final = 16
"""How many answers of each kind are made at once; the others wait."""
BODILESS: Final = (NO_CONTENT, NOT_MODIFIED)

Endpoint = Callable[[Request], Awaitable[Response]]
log_lines = LogLines("lakeledger.iceberg")


class IcebergServing:
    """Answers the routes of the catalog.

    Attributes:
        kept: the answers to changes with a key.
        outcomes: how many changes there were, by the name of the route and the status.
    """

    def __init__(self, pages: WebPages[ProcessPart[IcebergLake]], lake: IcebergLake) -> None:
        self.kept = KeptAnswers()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._pages, self._lake = pages, lake
        self._readers = {False: pages.readers_beside(READS), True: pages.readers_beside(CHANGES)}
        self._slots = {False: Slots(READS * 8, "reads"), True: Slots(CHANGES * 2, "changes")}

    def routes(self) -> Sequence[Route]:
        """Return a route for each path."""
        return [
            self._pages.route(path, self._endpoint(methods), tuple(methods))
            for path, methods in by_path().items()
        ]

    def _endpoint(self, methods: Mapping[str, IcebergRoute]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            # A route that answers GET is asked for its head too.
            route = methods.get(request.method) or methods["GET"]
            try:
                answer = await self._answer(route, request)
            except Exception as error:  # noqa: BLE001 - every request gets an answer
                answer = refused(request, error)
            if route.changes:
                self.outcomes[route.name, str(answer.status)] += 1
            return response_of(answer, is_head=request.method == HEAD)

        return endpoint

    async def _answer(self, route: IcebergRoute, request: Request) -> SentAnswer:
        token: KnownToken | None = request.scope.get(VISITOR)
        if route.changes:
            check_changes(request, token)
        async with AsyncExitStack() as own:
            data = await own.enter_async_context(self._pages.body(request))
            visit = Visit(
                self._lake,
                request.path_params,
                dict(request.query_params),
                {name.lower(): text for name, text in request.headers.items()},
                data,
                None if token is None else token.name,
            )

            async def make() -> SentAnswer:
                return await self._made(route, request, visit)

            key = visit.headers.get(HEADER)
            if key is None or not route.changes:
                return await make()
            digest = digest_of(request.method, request.url.path, request.url.query, data)
            return await self.kept.once(visit.user, key, digest, make)
        raise AssertionError  # No context of these holds an error back.

    async def _made(self, route: IcebergRoute, request: Request, visit: Visit) -> SentAnswer:
        """Return the answer to a request, or its refusal."""
        try:
            async with self._pages.place(Size.FEW), self._slots[route.changes].taken():
                return await self._readers[route.changes].ask(
                    lambda _: answered(route, visit), is_long=True
                )
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return refused(request, error)


def answered(route: IcebergRoute, visit: Visit) -> SentAnswer:
    """Return the answer of a route, in the thread of a reader."""
    if route.changes:
        visit.check_changeable()
    with visit.lake.watched():
        reply = route.ask(visit)
    return SentAnswer(reply.status, reply.headers, reply.body())


def check_changes(request: Request, token: KnownToken | None) -> None:
    """Raise IcebergRefusal for a request that may change nothing.

    A browser names the site whose page sends a request. No such page may change a ledger: the
    browser of an operator reaches servers that ask for no token, or has their login.
    """
    if token is not None and not token.may_write:
        raise IcebergRefusal(
            403,
            "ForbiddenException",
            f"the token {token.name} may only read. Make one that may write with: lakeledger token "
            "new NAME --write",
        )
    if "origin" in request.headers:
        raise IcebergRefusal(
            403, "ForbiddenException", "a page of a browser may change nothing here"
        )


def refused(request: Request, error: Exception) -> SentAnswer:
    """Return the answer for an error; a fault of the program is logged."""
    found = refusal_of(error)
    if isinstance(error, ClientDisconnect):
        found = bad_request("the client went away within its request")
    if found is None:
        log_lines.error("fault", path=request.url.path, exc_info=error)
        found = fault()
    body = JSONResponse(error_form(found)).body
    return SentAnswer(found.code, headers_of(found), bytes(body))


def response_of(answer: SentAnswer, *, is_head: bool) -> Response:
    """Return what Starlette sends; a body is left out where HTTP has none."""
    if answer.status in BODILESS:
        return Response(status_code=answer.status, headers=dict(answer.headers))
    headers = dict(answer.headers)
    return Response(b"" if is_head else answer.body, answer.status, headers, JSON)


def document_endpoint(made: Callable[[], Schema]) -> Endpoint:
    """Return the endpoint of the document of the catalog."""

    async def endpoint(_request: Request) -> Response:
        return JSONResponse(made())

    return endpoint
