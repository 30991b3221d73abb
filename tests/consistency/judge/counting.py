"""What counting shows: sums and balances, rows that come and go, changes that add up."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.values import Seen, Values
from tests.consistency.operations import (
    ACCOUNTS,
    BALANCE,
    BANK,
    STOCK,
    VAULTS,
    Add,
    Change,
    Delete,
    Feed,
    Read,
    ReadAt,
    Row,
    Transfer,
)

UNKNOWN_MAX: Final = 14
WHOLE: Final = ACCOUNTS * BALANCE


def sum_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield reads of whole tables in which a transfer is half there."""
    vaults: dict[tuple[str, str], Seen] = {}
    for seen in values.reads:
        table = seen.operation.table
        if seen.operation.key is not None or table not in (BANK, *VAULTS):
            continue
        total = sum(row.n for row in seen.rows)
        if table == BANK:
            if total != WHOLE:
                what = f"{table} has {total} in place of {WHOLE}: {list(seen.rows)}"
                yield Anomaly("sum broken", what, [seen.txn.id])
            continue
        vaults[seen.txn.id, table] = seen
    for txn in {txn for txn, _ in vaults}:
        both = [vaults[txn, table] for table in VAULTS if (txn, table) in vaults]
        total = sum(row.n for seen in both for row in seen.rows)
        if len(both) == len(VAULTS) and total != len(VAULTS) * WHOLE:
            what = f"{VAULTS} have {total} in place of {len(VAULTS) * WHOLE}"
            yield Anomaly("sum broken", what, [txn])


def moves_of(txn: Txn) -> Counter[tuple[str, int]]:
    """Return what a txn adds to each account."""
    moved: Counter[tuple[str, int]] = Counter()
    for operation in txn.operations:
        if isinstance(operation, Add):
            moved[operation.table, operation.key] += operation.amount
        if isinstance(operation, Transfer):
            moved[operation.table, operation.source] -= operation.amount
            moved[operation.table, operation.target] += operation.amount
    return moved


def balance_anomalies(txns: Sequence[Txn], final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield balances at the end that no choice among the unknown transfers explains."""
    for table in (BANK, *VAULTS):
        rows = [seen.rows for seen in final if seen.operation == Read(table)]
        if not rows:
            continue
        moved: Counter[tuple[str, int]] = Counter()
        doubtful = []
        for txn in txns:
            moves = moves_of(txn)
            if txn.outcome == "committed":
                moved.update(moves)
            elif txn.outcome == "unknown" and any(name == table for name, _ in moves):
                doubtful.append(moves)
        for row in rows[0]:
            wanted = row.n - BALANCE - moved[table, row.k]
            parts = [moves[table, row.k] for moves in doubtful if moves[table, row.k]]
            if len(parts) <= UNKNOWN_MAX and wanted not in sums_of(parts):
                what = f"{table}[{row.k}] is {row.n}, {row.n - wanted} by its transfers"
                yield Anomaly("balance broken", f"{what}, and perhaps some of {parts}", [])


def sums_of(parts: Iterable[int]) -> set[int]:
    """Return what some of the parts can add up to."""
    sums = {0}
    for part in parts:
        sums |= {total + part for total in sums}
    return sums


def stock_anomalies(values: Values, final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield rows that an acknowledged delete left, that no delete took, and that came back."""
    deletes: dict[int, list[Txn]] = defaultdict(list)
    for txn in values.txns:
        for operation in txn.operations:
            if isinstance(operation, Delete) and txn.outcome != "aborted":
                deletes[operation.key].append(txn)
    at_end = [seen for seen in final if seen.operation == Read(STOCK)]
    for seen in at_end:
        shown = {row.n for row in seen.rows}
        for (table, value), written in values.writers.items():
            if table != STOCK:
                continue
            txn, key = written.txn, written.cell[1]
            where = f"{STOCK} row {key}/{value} of {txn.id}"
            later = [each for each in deletes[key] if each.ended >= txn.begun]
            met = [
                each
                for each in deletes[key]
                if each.outcome == "committed" and each.begun > txn.ended
            ]
            if value in shown and met:
                what = f"{where} is there, {met[0].id} deleted the key afterwards"
                yield Anomaly("lost delete", what, [txn.id, met[0].id])
            if value not in shown and txn.outcome == "committed" and not later:
                yield Anomaly("lost row", f"{where} is gone, and nothing deleted it", [txn.id])
    yield from returned_rows(values)
    yield from replaced_twice(values)


def replaced_twice(values: Values) -> Iterator[Anomaly]:
    """Yield keys with two rows of txns that each first deleted all rows of the key."""
    for seen in values.reads:
        if seen.operation.table != STOCK:
            continue
        by_key: dict[int, list[str]] = defaultdict(list)
        for row in seen.rows:
            written = values.writers.get((STOCK, row.n))
            if written is not None and Delete(STOCK, row.k) in written.txn.operations:
                by_key[row.k].append(written.txn.id)
        for key, both in by_key.items():
            if len(both) > 1:
                what = f"{STOCK}[{key}] has rows of {both}, which each deleted its rows first"
                yield Anomaly("doubled key", what, both)


def returned_rows(values: Values) -> Iterator[Anomaly]:
    """Yield rows that one session saw, then missed, then saw again."""
    seen_rows: dict[str, set[int]] = defaultdict(set)
    missed: dict[str, dict[int, str]] = defaultdict(dict)
    for seen in values.reads:
        if seen.operation != Read(STOCK):
            continue
        session, shown = seen.txn.session, {row.n for row in seen.rows}
        for value in shown & missed[session].keys():
            what = f"{STOCK} row {value} is there again, {missed[session][value]} missed it"
            yield Anomaly("deleted row is back", what, [missed[session][value], seen.txn.id])
        for value in seen_rows[session] - shown:
            missed[session].setdefault(value, seen.txn.id)
        seen_rows[session] |= shown


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
