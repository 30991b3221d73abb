"""Every page by its path, and a page made whole: its fields in its template."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from ledger.reads.port import Reads
from projections.web.answers.asked import Asked
from projections.web.answers.listing import Size
from projections.web.pages import api, conflicts, history, marks, processes, tables, txns
from projections.web.pages.page import Checks, Fields, PageView, UiPage, address, view_of
from projections.web.pages.rendering import html

PAGES: Final[Sequence[UiPage]] = (
    UiPage("", "Overview", history.overview, nav="Overview", has_checks=True),
    UiPage("timeline", "Timeline", history.timeline, nav="Timeline"),
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
    UiPage("api", "API", api.api, nav="API", is_timeless=True),
)
"""The pages; those with a text in the menu are in its order."""


def answered(
    page: UiPage, reads: Reads, asked: Asked, checks: Checks, others: Sequence[Any] = ()
) -> Response:
    """Return a page over reads; raises as they do, and NothingHereError."""
    view = view_of(page, reads, asked, checks, others)
    fields = page.gather(view)
    asked.check_all_read()
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
