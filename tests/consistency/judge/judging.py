"""Judge a history: every check, each finding once, sorted by what the level forbids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.consistency.history import History, Txn
from tests.consistency.judge import (
    cells,
    cycles,
    dependencies,
    feeds,
    grounds,
    pasts,
    published,
    stocks,
    sums,
    values,
)
from tests.consistency.judge.anomalies import Anomaly, Kind, Level, Verdict, sorted_by
from tests.consistency.judge.dependencies import Edge
from tests.consistency.judge.grounds import FINAL
from tests.consistency.judge.values import Seen, Values
from tests.consistency.operations import TABLES, Feed, ReadAt


def judge(history: History, level: Level, allowed: frozenset[Kind] = frozenset()) -> Verdict:
    """Return what a history shows, by what a level forbids; `allowed` is let pass as well."""
    return sorted_by(level, list(anomalies(history)), allowed)


def anomalies(history: History) -> Iterator[Anomaly]:
    """Yield all that is wrong with a history, whatever its level."""
    yield from grounds.run_anomalies(history)
    txns = without_cut(history)
    known = Values(txns)
    final = [seen for seen in known.reads if seen.txn.session == FINAL]
    yield from cycles.few(row_anomalies(known, final))
    edges = list(edges_of(known))
    yield from cycles.cycle_anomalies(edges)
    yield from cycles.few(all_skews(known, edges))


def all_skews(known: Values, edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield cycles with several missed writes: of all tables, and of each by itself."""
    yield from cycles.skews(edges, "G2-item")
    for table in TABLES:
        within = [edge for edge in edges if edge.table == table]
        yield from cycles.skews(within, "G2-item")
        yield from cycles.skews(without_blind(known, within, table), "G2-table")


def row_anomalies(known: Values, final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield what single reads show, and what counting shows."""
    looks = cells.looks(known)
    orders = cells.list_orders(looks)
    yield from values.bad_values(known)
    yield from cells.key_anomalies(known)
    yield from cells.order_anomalies(known, looks, orders)
    yield from cells.lost_updates(cells.overwrites(known))
    yield from cells.lost_writes(known, orders, final)
    yield from cells.lost_claims(known, final)
    yield from sums.sum_anomalies(known)
    yield from sums.balance_anomalies(known)
    yield from stocks.stock_anomalies(known, final)
    yield from pasts.past_anomalies(known)
    yield from feeds.feed_anomalies(known)
    yield from published.published_anomalies(known.txns, final)


def edges_of(known: Values) -> Iterator[Edge]:
    """Yield all dependencies between txns that took effect."""
    looks = cells.looks(known)
    yield from dependencies.list_edges(known, looks, cells.list_orders(looks))
    yield from dependencies.register_edges(known, cells.overwrites(known))
    yield from dependencies.bag_edges(known)
    yield from stocks.stock_edges(known)
    yield from stocks.twin_edges(known)
    counted = [txn for txn in known.txns if txn.id in known.counted]
    yield from dependencies.session_edges(counted)
    yield from dependencies.time_edges(counted)
    yield from dependencies.log_edges(counted)


def without_blind(known: Values, edges: Sequence[Edge], table: str) -> Sequence[Edge]:
    """Return the edges of a table without those to blind inserts, which may stand elsewhere."""
    by_id = {txn.id: txn for txn in known.txns}
    return [
        edge
        for edge in edges
        if edge.kind != "rw" or not dependencies.is_blind(by_id[edge.target], table)
    ]


def without_cut(history: History) -> Sequence[Txn]:
    """Return the txns of a history, as aborted those that a log lost with its end.

    Each cut in the facts has the last place that was kept, how many were lost behind it, its own
    place, and a time: reads without a place that ended in it may have seen what was lost. What was
    acknowledged and never was in the log is not lost with its end.
    """
    txns = list(history.txns)
    for cut in history.facts.get("cuts", ()):
        for at, txn in enumerate(txns):
            if is_lost(txn, cut) and txn.outcome == "committed":
                txns[at] = replace(txn, outcome="aborted", error="lost with the end of the log")
    return txns


def is_lost(txn: Txn, cut: Mapping[str, Any]) -> bool:
    """Tell whether a txn, or what it may have read, was lost with the end of a log."""
    place = max(txn.place, txn.read_from)
    if txn.ended <= cut["to"]:
        place = max(place, *places_read(txn), 0)
    if not place:
        return bool(cut["from"] <= txn.ended <= cut["to"])
    # A history from before `batches` was noted counts in `lost` batches, which hold some places.
    behind = cut["kept"] + cut["lost"] + 1 if "batches" in cut else cut["cut"]
    return bool(cut["kept"] < place < behind)


def places_read(txn: Txn) -> Iterator[int]:
    """Yield the places of the past that a txn read."""
    for operation, found in zip(txn.operations, txn.results, strict=False):
        if isinstance(operation, ReadAt):
            yield operation.place
        if isinstance(operation, Feed):
            yield from (change[0] for change in found or ())
