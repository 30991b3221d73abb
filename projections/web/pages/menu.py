"""Every page by its path, and a page made whole: its fields in its template."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from starlette.responses import Response

from ledger.reads.port import Reads
from projections.queries import StoreReads
from projections.web.answers.asked import Asked
from projections.web.answers.listing import Size
from projections.web.pages import (
    activity,
    api,
    conflicts,
    history,
    lineage,
    log,
    marks,
    processes,
    row_pages,
    search,
    tables,
    txns,
)
from projections.web.pages.page import Beside, Fields, PageView, UiPage, address, view_of
from projections.web.pages.rendering import html

PAGES: Final[Sequence[UiPage]] = (
    UiPage("", "Overview", history.overview, nav="Overview", has_checks=True),
    UiPage("timeline", "Timeline", history.timeline, nav="Timeline"),
    UiPage("activity", "Activity", activity.activity, nav="Activity"),
    UiPage("open", "Open txns", txns.open_txns, nav="Open txns"),
    UiPage("txn", "Txn", txns.one_txn),
    UiPage("conflicts", "Conflicts", conflicts.conflicts, nav="Conflicts"),
    UiPage("conflict", "Conflict", conflicts.one_conflict),
    UiPage("tables", "Tables", tables.tables, nav="Tables", size=Size.WHOLE),
    UiPage("table", "Table", tables.one_table),
    UiPage("history", "History", tables.table_history),
    UiPage("schema", "Schema", tables.schema),
    UiPage("partitions", "Partitions", tables.partitions, size=Size.PAGES),
    UiPage("files", "Files", tables.files),
    UiPage("lineage", "Lineage", lineage.lineage),
    UiPage("rows", "Rows and columns", row_pages.rows, has_rows=True),
    UiPage("sql", "SQL", row_pages.sql, nav="SQL", has_rows=True),
    UiPage("search", "Search", search.search, size=Size.WHOLE, is_timeless=True),
    UiPage("session", "Session", search.one_session, is_timeless=True),
    UiPage("watermark", "Watermark", marks.watermark, nav="Watermark"),
    UiPage("diff", "Difference", history.difference, nav="Difference", size=Size.PAGES),
    UiPage(
        "processes",
        "Processes",
        processes.processes,
        nav="Processes",
        has_checks=True,
        has_others=True,
        size=Size.WHOLE,
        is_timeless=True,
    ),
    UiPage("log", "Log", log.log, nav="Log", is_timeless=True),
    UiPage("ingests", "Ingests", log.ingests, nav="Ingests", size=Size.WHOLE, is_timeless=True),
    UiPage("api", "API", api.api, nav="API", is_timeless=True),
)
"""The pages; those with a text in the menu are in its order."""


def answered(page: UiPage, reads: Reads, asked: Asked, beside: Beside) -> Response:
    """Return a page over one state of the rows; raises as reads do, and NothingHereError."""
    # Rows of tables are read by several threads, which ask for definitions.
    rows = reads if isinstance(reads, StoreReads) and not page.has_rows else None
    with nullcontext() if rows is None else rows.still():
        view = view_of(page, reads, asked, beside)
        fields = page.gather(view)
        asked.check_all_read()
        # Templates ask for names, and for times of positions.
        return html(page.template, {**frame(page, view), **fields})


def frame(page: UiPage, view: PageView) -> Fields:
    """Return the fields that every page shows around its own."""
    return {
        "view": view,
        "page": page,
        "link": view.link,
        "menu": [(each.nav, view.link(each.path), each is page) for each in PAGES if each.nav],
        "slider": slider(view),
    }


def slider(view: PageView) -> Fields:
    """Return what the slider needs: this page as of other positions."""

    def to(position: int) -> str | None:
        bounded = max(0, min(view.newest, position))
        if bounded == view.at:
            return None
        at = None if bounded == view.newest else bounded
        return address(view.path, **{**view.subject, "at": at})

    return {
        "action": address(view.path),
        "hidden": view.subject,
        "back": to(view.at - 1),
        "far_back": to(view.at - 20),
        "on": to(view.at + 1),
        "far_on": to(view.at + 20),
        "now": to(view.newest),
    }


def refused(status: int, text: str) -> Response:
    """Return the page of an error."""
    fields = {
        "menu": [(page.nav, address(page.path), False) for page in PAGES if page.nav],
        "status": status,
        "text": text,
    }
    return html("error.html", fields, status)
