"""The page about activity: commits, conflicts, latency and bytes over the time of some events."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from ledger.reads.amounts import shown_size
from ledger.reads.port import HistoryRow, VersionRow
from projections.web.pages.page import Fields, PageView, number_between
from projections.web.pages.pictures.time_charts import (
    TimeAxis,
    count_chart,
    level_chart,
    middle_chart,
)

SPANS: Final = (200, 1_000, 2_000)
SPAN: Final = 1_000


def activity(view: PageView) -> Fields:
    """Gather the charts of the last events up to the position of the page."""
    span = number_between(view.asked, "span", 1, SPANS[-1], SPAN)
    view.subject["span"] = span
    first = max(0, view.at - span)
    events = view.reads.history(first, view.at - first) if view.at else ()
    spans = [(length, view.here(span=length) if length != span else None) for length in SPANS]
    if not events:
        return {"charts": (), "times": (0, 0), "spans": spans, "events": 0}
    axis = TimeAxis(events[0].at, events[-1].at)
    lost = [row.at for row in view.reads.conflicts(first, span) if row.position <= view.at]
    commits = [event.at for event in events if event.type == "TxnCommitted"]
    return {
        "charts": [
            count_chart("Commits", "up", axis, commits),
            count_chart("Lost conflicts", "down", axis, lost),
            middle_chart("From open to commit", "share", axis, latencies(events), shown_ms),
            level_chart("Bytes of live files", "share", axis, levels(view, events), shown_size),
        ],
        "times": (axis.first, axis.last),
        "spans": spans,
        "events": len(events),
    }


def latencies(events: Sequence[HistoryRow]) -> list[tuple[int, int]]:
    """Return when each txn committed that opened among the events too, and how long it took."""
    opened: dict[int, int] = {}
    found = []
    for event in events:
        if event.type == "TxnOpened":
            opened[event.txn] = event.at
        elif event.type == "TxnCommitted" and event.txn in opened:
            found.append((event.at, max(0, event.at - opened[event.txn])))
    return found


def levels(view: PageView, events: Sequence[HistoryRow]) -> list[tuple[int, int]]:
    """Return the bytes of all live files, from the time of each event on that changed them."""
    times = {event.position: event.at for event in events}
    newest = view.reads.newest_versions(view.list_at)
    changes = sorted(change for change in byte_changes(view, events, newest) if change[0] in times)
    level = sum(row.live_size for row in newest) - sum(number for _, number in changes)
    found = [(events[0].at, level)]
    for position, number in changes:
        level += number
        found.append((times[position], level))
    return found


def byte_changes(
    view: PageView, events: Sequence[HistoryRow], newest: Sequence[VersionRow]
) -> Iterator[tuple[int, int]]:
    """Yield the position and the change of bytes of each version, and of each drop."""
    named = Counter(table for event in events for table in event.tables)
    last = {row.table: row for row in newest if row.position >= events[0].position}
    for table in named.keys() - {row.table for row in newest}:
        row = view.reads.table(table)
        before = None if row is None else view.reads.version_row(table, position=view.list_at)
        if row is not None and before is not None and 0 < row.dropped <= view.at:
            yield row.dropped, -before.live_size
            last[table] = before
    for table, newest_row in last.items():
        # One version more than the events can have made: the last one before them.
        versions = view.reads.versions(table, named[table] + 1, below=newest_row.version + 1)
        size = 0
        for version in reversed(versions):
            yield version.position, version.live_size - size
            size = version.live_size


def shown_ms(number: int) -> str:
    """Return milliseconds in a unit that fits them."""
    return f"{number:,} ms" if number < 10_000 else f"{number / 1000:,.1f} s"  # noqa: PLR2004
