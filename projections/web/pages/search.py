"""The pages of the search: what a number or a name may mean, and one session."""

import re
from collections.abc import Iterator
from typing import Final

from ledger.reads.listed_tables import listed_tables
from projections.web.pages.page import ROWS, Fields, NothingHereError, PageView

NUMBERED: Final = re.compile(r"(?:(txn|position|session|table)\s*)?#?(\d{1,18})", re.IGNORECASE)
TEXT_MAX: Final = 200


def search(view: PageView) -> Fields:
    """Gather the tables whose name holds a text, and what has the number that it is."""
    text = (view.asked.text_or_none("q") or "").strip()[:TEXT_MAX]
    numbered = NUMBERED.fullmatch(text)
    like = text if "*" in text or "|" in text else f"*{text}*"
    lines = listed_tables(view.reads.tables(), (), like=like) if text else ()
    return {
        "text": text,
        "numbered": list(numbered_things(view, *numbered.groups())) if numbered else (),
        "tables": [(line.name, view.link("table", table=line.row.table)) for line in lines[:ROWS]],
        "more": max(0, len(lines) - ROWS),
    }


def numbered_things(view: PageView, kind: str | None, digits: str) -> Iterator[tuple[str, str]]:
    """Yield what has a number, in words, and the page about it; of one kind, or of each."""
    number, wanted, reads = int(digits), (kind or "").lower(), view.reads
    if wanted in {"", "txn"} and (txn := reads.txn(number)) is not None:
        yield f"txn {number}, {txn.status}, by {txn.user}", view.link("txn", txn=number)
    if wanted in {"", "position"} and number <= view.newest:
        yield f"position {number}", view.link("timeline", at=number)
    if wanted in {"", "session"} and (session := reads.session(number)) is not None:
        text = f"session {number}, of {session.user}, {session.application}"
        yield text, view.link("session", session=number)
    if wanted in {"", "table"} and (table := reads.table(number)) is not None:
        yield f"table {number}, {view.name_of(number)}", view.link("table", table=table.table)


def one_session(view: PageView) -> Fields:
    """Gather one session, and its open txns."""
    number = view.number("session")
    row = view.reads.session(number)
    if row is None:
        raise NothingHereError(f"There is no session {number} up to position {view.newest}.")
    return {
        "row": row,
        "opened_at": view.time_at(number),
        "ended_at": view.time_at(row.ended),
        "open": [txn for txn in view.reads.open_txns(1_000) if txn.session == number][:ROWS],
    }
