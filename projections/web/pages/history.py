"""The pages about the whole ledger: overview, timeline, the difference of two positions."""

from collections.abc import Sequence
from typing import Final

from ledger.reads.port import HistoryRow
from projections.reads.lake_diff import lake_diff
from projections.web.pages.conflicts import lines_of
from projections.web.pages.marks import mark_at
from projections.web.pages.page import ROWS, Fields, PageView, number_between, rows_before
from projections.web.pages.pictures.lanes import lanes_of
from projections.web.pages.txns import open_at

RECENT: Final = 8
SPAN: Final = 100
DIFF_EVENTS_MAX: Final = 5_000
DIFF_FILES_MAX: Final = 50_000


def overview(view: PageView) -> Fields:
    """Gather the position, health, open txns, watermark, and what happened last."""
    reads = view.reads
    conflicts = rows_before(reads.conflicts, view.at, RECENT)
    events = reads.history(max(0, view.at - RECENT), min(RECENT, view.at))
    return {
        "identity": reads.identity(),
        "counts": reads.counts(),
        "open": open_at(view, RECENT),
        "mark": mark_at(view),
        "conflicts": lines_of(view, conflicts),
        "events": events_shown(view, events),
        "time": view.time_at(view.at),
    }


def timeline(view: PageView) -> Fields:
    """Gather the events of one page, newest first, and their txns as lanes."""
    before = view.asked.number_or_none("before")
    last = view.at if before is None else min(view.at, max(0, before - 1))
    first = max(0, last - ROWS)
    events = view.reads.history(first, last - first) if last else ()
    return {
        "events": events_shown(view, events),
        "lanes": lanes_of(view, events),
        "first": first + 1,
        "last": last,
        "older": view.here(before=first + 1) if first else None,
        "newer": view.here(before=last + ROWS + 1) if last < view.at else None,
    }


def events_shown(view: PageView, events: Sequence[HistoryRow]) -> list[Fields]:
    """Return events, newest first, with the names of their tables."""
    return [
        {"row": event, "tables": [(table, view.name_of(table)) for table in event.tables[:ROWS]]}
        for event in reversed(events)
    ]


def difference(view: PageView) -> Fields:
    """Gather what changed between position `first` and the position of the page.

    The slider may move the page before `first`: then `first` is the later one.
    """
    first = number_between(view.asked, "first", 0, view.newest, max(0, view.at - SPAN))
    view.subject["first"] = first
    begin, end = sorted((first, view.at))
    is_long = end - begin > DIFF_EVENTS_MAX
    found = None if is_long else lake_diff(view.reads, begin, end, files_max=DIFF_FILES_MAX)
    return {
        "first": first,
        "begin": begin,
        "end": end,
        "diff": found,
        "events_max": DIFF_EVENTS_MAX,
        "times": (view.time_at(begin), view.time_at(end)),
    }
