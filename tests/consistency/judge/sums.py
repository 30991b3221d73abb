"""Sums: transfers keep them, and explain each balance."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.values import Seen, Values
from tests.consistency.operations import ACCOUNTS, BALANCE, BANK, VAULTS, Add, Read, Transfer

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
            if wanted not in sums_of(parts):
                what = f"{table}[{row.k}] is {row.n}, {row.n - wanted} by its transfers"
                yield Anomaly("balance broken", f"{what}, and perhaps some of {parts}", [])


def sums_of(parts: Iterable[int]) -> set[int]:
    """Return what some of the parts can add up to."""
    sums = {0}
    for part in parts:
        sums |= {total + part for total in sums}
    return sums
