"""Feeds: each change of a table is what the txn at its place did, and all of them are there.

Feeds of one table say the same of one place. They leave out no place between the first and the last
that they say, and at the end no acknowledged commit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.changes import divided, is_change_sure, net, wrong_change
from tests.consistency.judge.grounds import FINAL
from tests.consistency.judge.values import Past, Values, pasts_of
from tests.consistency.operations import Change, Feed, Read, Row


class Fed(NamedTuple):
    """A feed that was read: behind which place, what it gave, up to where it must reach."""

    txn: Txn
    after: int
    changes: Sequence[Change]
    upto: float


def feed_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield what is wrong with the feeds of a history, and with rows that they do not explain."""
    for table, feeds in feeds_of(values).items():
        known: dict[int, Change] = {}
        for feed in feeds:
            yield from wrong_order(table, feed)
            yield from differences(table, feed, known)
        yield from left_out(values, table, feeds, known)
        for place, change in sorted(known.items()):
            what = wrong_change(values, table, change)
            if what:
                yield Anomaly("feed broken", f"{table} at {place}: {what}", [])
        for what in divided(values, table, list(known.values())):
            yield Anomaly("feed broken", f"{table}: {what}", [])
        whole = [feed for feed in feeds if not feed.after]
        if whole:
            yield from unexplained_rows(values, table, max(whole, key=lambda feed: feed.upto))


def feeds_of(values: Values) -> Mapping[str, Sequence[Fed]]:
    """Return the feeds that were read of each table."""
    found: dict[str, list[Fed]] = defaultdict(list)
    for txn in values.txns:
        for operation, result in zip(txn.operations, txn.results, strict=False):
            if not isinstance(operation, Feed) or result is None:
                continue
            if txn.outcome == "committed":
                changes: Sequence[Change] = result  # type: ignore[assignment]
                upto = bound(values, txn, changes)
                found[operation.table].append(Fed(txn, operation.after, changes, upto))
    return found


def bound(values: Values, txn: Txn, changes: Sequence[Change]) -> float:
    """Return up to which place a feed must leave nothing out."""
    if txn.session == FINAL:
        return float("inf")
    own = [
        each.place
        for each in values.txns
        if each.session == txn.session and each.outcome == "committed" and each.ended <= txn.begun
    ]
    last = changes[-1].place if changes else 0
    return max(last, values.places.get(txn.after, 0), *own, 0)


def wrong_order(table: str, feed: Fed) -> Iterator[Anomaly]:
    """Yield changes that do not rise, and whole feeds that remove rows that are not there."""
    rows: Counter[Row] = Counter()
    last = feed.after
    for change in feed.changes:
        if change.place <= last:
            what = f"{table}: {change.place} after {last}"
            yield Anomaly("feed broken", what, [feed.txn.id])
        last = change.place
        rows.update(change.added)
        rows.subtract(change.removed)
        wrong = [row for row, count in rows.items() if count < 0]
        if wrong and not feed.after:
            what = f"{table} at {change.place}: {wrong[0]} goes and was not there"
            yield Anomaly("feed broken", what, [feed.txn.id])
            rows = +rows


def differences(table: str, feed: Fed, known: dict[int, Change]) -> Iterator[Anomaly]:
    """Yield changes that another feed has otherwise; note those that are new."""
    for change in feed.changes:
        other = known.setdefault(change.place, change)
        if sorted_net(other) != sorted_net(change):
            what = f"{table}: the change at {change.place} is another one now"
            yield Anomaly("feed broken", what, [feed.txn.id])


def sorted_net(change: Change) -> Sequence[Sequence[Row]]:
    return [sorted(rows) for rows in net(change)]


def left_out(
    values: Values, table: str, feeds: Sequence[Fed], known: Mapping[int, Change]
) -> Iterator[Anomaly]:
    """Yield changes that a feed must have and has not."""
    sure = {txn.place: txn.id for txn in values.txns if is_change_sure(values, txn, table)}
    others = {place: "another feed" for place, change in known.items() if any(net(change))}
    for feed in feeds:
        has = {change.place for change in feed.changes}
        for place, source in sorted({**others, **sure}.items()):
            if feed.after < place <= feed.upto and place not in has:
                what = f"{table}: the feed lacks the change at {place} of {source}"
                yield Anomaly("feed broken", what, [feed.txn.id])


def unexplained_rows(values: Values, table: str, feed: Fed) -> Iterator[Anomaly]:
    """Yield reads of a table that show other rows than the changes up to their place."""
    for past in pasts_or_end(values, table):
        place = past.place or feed.upto
        if place > feed.upto:
            continue
        rows: Counter[Row] = Counter()
        for change in feed.changes:
            if change.place <= place:
                rows.update(change.added)
                rows.subtract(change.removed)
        key = past.seen.operation.key
        wanted = {row: count for row, count in rows.items() if count and key in (None, row.k)}
        if Counter(past.seen.rows) != wanted:
            kind = "past changed" if past.place else "feed broken"
            what = f"{table} at {past.place or 'the end'} has other rows than its changes"
            yield Anomaly(kind, what, [past.seen.txn.id, feed.txn.id])  # type: ignore[arg-type]


def pasts_or_end(values: Values, table: str) -> Iterator[Past]:
    """Yield the reads of a table whose place is known, and those at the end."""
    yield from (past for past in values.pasts if past.seen.operation.table == table)
    for seen in values.reads:
        is_end = seen.txn.session == FINAL and seen.operation == Read(table)
        if is_end and not any(pasts_of(seen.txn)):
            yield Past(seen, 0, is_asked=False)
