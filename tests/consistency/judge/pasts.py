"""Pasts: what a read at a place must show, by the places of commits.

It shows all that stands up to its place in the log, and nothing that stands behind it. Commits
whose place is not known may be there or not.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.stocks import deletes_of, must_meet
from tests.consistency.judge.values import VALUED, Past, Values, Written, is_claim, values_of
from tests.consistency.operations import REGISTERS, STOCK

Placed: TypeAlias = Mapping[str, Sequence[tuple[int, Written]]]


def past_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield reads at a place that show too little or too much, or one place in two ways."""
    deletes, placed = deletes_of(values), placed_of(values)
    for past in values.pasts:
        if past.seen.operation.table == REGISTERS:
            yield from wrong_registers(past, placed[REGISTERS])
        elif past.seen.operation.table in VALUED:
            yield from wrong_values(past, placed, deletes)
    yield from two_pasts(values)


def placed_of(values: Values) -> Placed:
    """Return the values of each table that took effect for sure, where their place is known."""
    found: dict[str, list[tuple[int, Written]]] = defaultdict(list)
    for (table, value), written in values.writers.items():
        is_sure = not is_claim(written, value) or (table, value) in values.observed
        if written.txn.outcome == "committed" and written.txn.place and is_sure:
            found[table].append((value, written))
    return found


def wrong_values(
    past: Past, placed: Placed, deletes: Mapping[int, Sequence[Txn]]
) -> Iterator[Anomaly]:
    """Yield values that a read at a place must show, or must not show."""
    seen, place = past.seen, past.place
    table, asked = seen.operation.table, seen.operation.key
    shown = {value for row in seen.rows for value in values_of(table, row)}
    for value, written in placed[table]:
        key, at = written.cell[1], written.txn.place
        if asked not in (None, key):
            continue
        taking = deletes.get(key, ()) if table == STOCK else ()
        what = ""
        if value in shown and at > place:
            what = f"shows {value}, which was committed at {at}"
        elif value in shown and any(is_gone(each, written, place) for each in taking):
            what = f"shows {value}, which was deleted by then"
        elif value not in shown and at <= place:
            is_there = not any(may_take(each, at, place) for each in taking)
            what = f"lacks {value}, which was committed at {at}" if is_there else ""
        if what:
            ids = [written.txn.id, seen.txn.id]
            yield Anomaly("past changed", f"{table}[{key}] at {place} {what}", ids)


def is_gone(delete: Txn, written: Written, place: int) -> bool:
    """Tell whether a delete took a row for sure, up to a place."""
    return must_meet(delete, written) and 0 < delete.place <= place


def may_take(delete: Txn, since: int, place: int) -> bool:
    """Tell whether a delete can have taken a row that was committed at a place, up to another."""
    return not delete.place or since <= delete.place <= place


def wrong_registers(past: Past, placed: Sequence[tuple[int, Written]]) -> Iterator[Anomaly]:
    """Yield registers that a read at a place shows before or behind their last write there."""
    seen, place = past.seen, past.place
    for row in seen.rows:
        writes = [(each.txn.place, n) for n, each in placed if each.cell[1] == row.k]
        at = {value: where for where, value in writes}.get(row.n, 0)
        last = max((where for where, _ in writes if where <= place), default=0)
        is_known = at or row.n == 0
        if is_known and (at > place or at < last):
            what = (
                f"{REGISTERS}[{row.k}] at {place} is {row.n} of {at}, its last write is at {last}"
            )
            yield Anomaly("past changed", what, [seen.txn.id])


def two_pasts(values: Values) -> Iterator[Anomaly]:
    """Yield places of a table that two reads saw with different rows."""
    known: dict[tuple[str, int], Past] = {}
    for past in values.pasts:
        if past.seen.operation.key is None:
            table = past.seen.operation.table
            other = known.setdefault((table, past.place), past)
            if sorted(other.seen.rows) != sorted(past.seen.rows):
                what = f"{table} at {past.place} has other rows in another read"
                yield Anomaly("past changed", what, [other.seen.txn.id, past.seen.txn.id])
