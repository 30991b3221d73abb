"""Templates become HTML here, and nowhere else.

Every value is escaped, and a page loads nothing from another origin.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import Response

from ledger.clock import time_text
from ledger.properties.column_values import comment_of
from ledger.reads.amounts import age_text, amount, shown_count, shown_size
from ledger.reads.row_counts import rows_in

FOLDER: Final = Path(__file__).parent / "templates"
CALENDAR_END_MS: Final = 253_402_300_799_999
TEXT_MAX: Final = 120
MARKS: Final = re.compile(r"([/=._,:@-])(?=\w)")
"""Where a path or a name may be folded; none of them is in the escape of a character."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""The headers of every page. They forbid scripts and styles within a page, so that no name that
got into one could be more than text."""

FILES: Final[Mapping[str, str]] = {
    "style.css": "text/css; charset=utf-8",
    "slider.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files that pages load, with their media types."""


@cache
def environment() -> Environment:
    """Return the templates; a name that a page does not give is an error."""
    found = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "age": age_text,
        "amount": amount,
        "changed_rows": shown_rows,
        "comment": comment_of,
        "count": shown_count,
        "cut": cut,
        "folding": folding,
        "size": shown_size,
        "time": shown_time,
    }
    return found


def shown_rows(info: str) -> str:
    """Return the rows that the statements of a version changed, "" if they were not counted."""
    rows = rows_in(info)
    return "" if rows is None else str(rows)


def html(template: str, fields: Mapping[str, Any], status: int = 200) -> Response:
    """Return a page."""
    text = environment().get_template(template).render(fields)
    # A name in the log may hold halves of characters, which no page can hold.
    data = text.encode("utf-8", errors="replace")
    return Response(data, status, dict(HEADERS), media_type="text/html")


def file_named(name: str) -> Response:
    """Return a file that pages load."""
    headers = {**HEADERS, "cache-control": "max-age=300"}
    data = (FOLDER / name).read_bytes()
    return Response(data, headers=headers | {"content-type": FILES[name]})


def folding(text: str, most: int = TEXT_MAX) -> Markup:
    """Return a text that a narrow page may fold behind its marks, and never within a word."""
    return Markup(MARKS.sub(r"\1<wbr>", str(escape(cut(text, most)))))  # noqa: S704 - escaped


def shown_time(at_ms: int) -> str:
    """Return a time in UTC, "" for 0; writers may report any number for a file."""
    if not 0 < at_ms <= CALENDAR_END_MS:
        return ""
    return time_text(at_ms).replace("T", " ").removesuffix("Z")


def cut(text: str, most: int = TEXT_MAX) -> str:
    """Return a text without its middle if it is very long: both ends of a path say what it is."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
