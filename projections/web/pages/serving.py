"""Serving: the pages of a follower as routes of its server, within the bounds of all requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ledger.errors import LedgerError, ReaderBehindError
from ledger.log_lines import LogLines
from ledger.reads.port import Reads
from ledger.trimming.watch import LogSeen
from projections.web.answers.asked import Asked, BadRequestError
from projections.web.answers.listing import Size
from projections.web.answers.problems import FAULT_TEXT, BusyError
from projections.web.answers.registry import Endpoint
from projections.web.api.asyncapi import asyncapi
from projections.web.api.form_schemas import Schema
from projections.web.api.openapi import DOCUMENTS as DOCUMENT_PATHS
from projections.web.api.openapi import openapi
from projections.web.app import WebPages, status_of
from projections.web.pages.menu import PAGES, answered, refused
from projections.web.pages.page import ROOT, Beside, NothingHereError, UiPage
from projections.web.pages.processes import look_at
from projections.web.pages.rendering import FILES, file_named
from projections.web.server.readers import Readers
from projections.web.server.slots import Slots

FAULT_STATUS: Final = 500

# The first class that fits decides.
STATUS: Final[Mapping[type[Exception], int]] = {
    NothingHereError: 404,
    BadRequestError: 400,
    BusyError: 503,
}

DOCUMENTS: Final[Mapping[str, Callable[[], Schema]]] = dict(
    zip(DOCUMENT_PATHS, (openapi, asyncapi), strict=True)
)
"""The documents of the API, which are the same as long as the process runs."""

log_lines = LogLines("lakeledger.web")


ROWS_AT_ONCE: Final = 2
"""How many pages read rows of tables at once; the others wait."""


class Serving(NamedTuple):
    """What pages are served with.

    `processes` are the URLs of other processes whose health a page shows, `rows` the readers of
    pages that read rows of tables, None if no page may. `seen` returns what this process saw of the
    log.
    """

    pages: WebPages[Reads]
    processes: Sequence[str]
    rows: Readers[Reads] | None
    slots: Slots
    seen: Callable[[], LogSeen]

    async def ask(
        self, page: UiPage, question: Callable[[Reads], Response], asked: Asked
    ) -> Response:
        """Return a page; a long query does not keep listings waiting."""
        if page.has_rows and self.rows is not None:
            async with self.slots.taken():
                return await self.rows.ask(question, is_long=True)
        return await self.pages.ask(question, asked, is_long=page.size is not Size.FEW)


def page_routes(
    pages: WebPages[Reads],
    processes: Sequence[str],
    *,
    reads_rows: bool = False,
    seen: Callable[[], LogSeen] = LogSeen,
) -> Sequence[Route]:
    """Return a route for each page and each file that pages load.

    `processes` are the URLs of other processes whose health a page shows. With `reads_rows` pages
    may read rows of tables. `seen` returns what this process saw of the log.
    """
    readers = pages.readers_beside(ROWS_AT_ONCE) if reads_rows else None
    serving = Serving(pages, processes, readers, Slots(ROWS_AT_ONCE, "pages with rows"), seen)
    return [
        *(pages.route(path, document_endpoint(made)) for path, made in DOCUMENTS.items()),
        *(pages.route(f"{ROOT}/{name}", file_endpoint(name)) for name in FILES),
        *(pages.route(path_of(page), page_endpoint(serving, page)) for page in PAGES),
        pages.route(f"{ROOT}/", page_endpoint(serving, PAGES[0])),
        pages.route(f"{ROOT}/{{path:path}}", unknown_page),
        pages.route("/", to_pages),
    ]


def path_of(page: UiPage) -> str:
    """Return the path of a page below the root of all pages."""
    return f"{ROOT}/{page.path}" if page.path else ROOT


def document_endpoint(made: Callable[[], Schema]) -> Endpoint:
    """Return the endpoint of a document of the API."""

    async def endpoint(_request: Request) -> Response:
        return JSONResponse(made())

    return endpoint


def file_endpoint(name: str) -> Endpoint:
    """Return the endpoint of a style sheet or script of the pages."""

    async def endpoint(_request: Request) -> Response:
        return file_named(name)

    return endpoint


def page_endpoint(serving: Serving, page: UiPage) -> Endpoint:
    """Return the endpoint of a page; its errors are pages too."""
    pages = serving.pages

    async def endpoint(request: Request) -> Response:
        try:
            asked = Asked(request.path_params, request.query_params.multi_items())
            async with pages.place(page.size):
                checks = await pages.checks() if page.has_checks else {}
                others = await look_at(serving.processes) if page.has_others else ()
                reads_rows = serving.rows is not None
                beside = Beside(checks, others, reads_rows=reads_rows, log=serving.seen())
                return await serving.ask(
                    page, lambda reads: answered(page, reads, asked, beside), asked
                )
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            return page_instead(request, error)

    return endpoint


async def to_pages(_request: Request) -> Response:
    """Lead a browser that was given the address alone to the pages."""
    return RedirectResponse(ROOT)


async def unknown_page(request: Request) -> Response:
    """Answer a request for a page that does not exist."""
    return refused(404, f"There is no page {request.url.path}.")


def page_instead(request: Request, error: Exception) -> Response:
    """Return the page that says why there is no other, with the status of the error."""
    if isinstance(error, ReaderBehindError):
        text = f"Position {error.wanted} is not there yet: the newest one is {error.applied}."
        return refused(409, text)
    if isinstance(error, LedgerError):
        return refused(status_of(error), str(error))
    status = next((each for kind, each in STATUS.items() if isinstance(error, kind)), 0)
    if status:
        return refused(status, str(error))
    log_lines.error("fault", path=request.url.path, exc_info=error)
    return refused(FAULT_STATUS, FAULT_TEXT)
