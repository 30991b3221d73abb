"""Feeds: the changes of a table, and its rows at places of the past, add up."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.values import Seen
from tests.consistency.operations import Change, Feed, Read, ReadAt, Row


def feed_anomalies(txns: Sequence[Txn], final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield changes that do not add up: to each other, to reads of the past, and to the end."""
    feeds: dict[str, list[tuple[Txn, Sequence[Change]]]] = defaultdict(list)
    for txn in txns:
        for operation, found in zip(txn.operations, txn.results, strict=False):
            if isinstance(operation, Feed) and txn.outcome == "committed" and found is not None:
                feeds[operation.table].append((txn, found))  # type: ignore[arg-type]
    for table, read in feeds.items():
        longest = max((changes for _, changes in read), key=len)
        for txn, changes in read:
            if changes != longest[: len(changes)]:
                yield Anomaly("feed broken", f"{table}: earlier changes are others now", [txn.id])
        yield from changes_anomalies(table, longest)
        states = folded(longest)
        at_end = [seen for seen in final if seen.operation == Read(table)]
        for seen in at_end:
            if states and Counter(seen.rows) != states[-1][1]:
                what = f"{table}: its changes add up to other rows than it has"
                yield Anomaly("feed broken", what, [seen.txn.id])
        yield from past_anomalies(txns, table, states)


def changes_anomalies(table: str, changes: Sequence[Change]) -> Iterator[Anomaly]:
    """Yield changes that remove rows that are not there, or do not rise."""
    rows: Counter[Row] = Counter()
    last = -1
    for change in changes:
        if change.place <= last:
            yield Anomaly("feed broken", f"{table}: {change.place} after {last}", [])
        last = change.place
        rows.update(change.added)
        rows.subtract(change.removed)
        wrong = [row for row, count in rows.items() if count < 0]
        if wrong:
            what = f"{table} at {change.place}: {wrong[0]} goes and was not there"
            yield Anomaly("feed broken", what, [])
            rows = +rows


def folded(changes: Sequence[Change]) -> Sequence[tuple[int, Counter[Row]]]:
    """Return the rows of a table behind each change."""
    states: list[tuple[int, Counter[Row]]] = []
    rows: Counter[Row] = Counter()
    for change in changes:
        rows = +Counter(rows)
        rows.update(change.added)
        rows.subtract(change.removed)
        states.append((change.place, +Counter(rows)))
    return states


def past_anomalies(
    txns: Sequence[Txn], table: str, states: Sequence[tuple[int, Counter[Row]]]
) -> Iterator[Anomaly]:
    """Yield reads at a place that give other rows than the changes up to that place."""
    for txn in txns:
        if txn.outcome != "committed":
            continue
        changed = False
        for operation, rows in zip(txn.operations, txn.results, strict=False):
            place = at_place(operation, table, txn, changed=changed)
            if place and states and place <= states[-1][0]:
                behind = [rows_then for then, rows_then in states if then <= place]
                wanted = behind[-1] if behind else Counter()
                key = operation.key if isinstance(operation, Read) else None
                shown = Counter(rows or ())
                if shown != Counter({r: n for r, n in wanted.items() if key in (None, r.k)}):
                    what = f"{table} at {place} shows other rows than its changes"
                    yield Anomaly("past changed", what, [txn.id])
            changed = changed or (operation.table == table and not isinstance(operation, Read))


def at_place(operation: object, table: str, txn: Txn, *, changed: bool) -> int:
    """Return at which place an operation read a table, 0 if it did not or nothing tells it."""
    match operation:
        case ReadAt(name, place) if name == table:
            return place
        case Read(name, _) if name == table and not changed:
            return txn.read_from
        case _:
            return 0
