"""Sums: transfers keep them, and explain each balance that a read shows.

Where places of transfers are known, a read shows what stands up to some place. What must be in it
was acknowledged before a fresh reader began, is of its session, or of its token.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly, Kind
from tests.consistency.judge.grounds import FINAL
from tests.consistency.judge.values import Seen, Values
from tests.consistency.operations import ACCOUNTS, BALANCE, BANK, VAULTS, Add, Operation, Transfer

WHOLE: Final = ACCOUNTS * BALANCE
Moves: TypeAlias = Mapping[tuple[str, int], int]
NUMBERS: Final = (BANK, *VAULTS)


def sum_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield reads of whole tables in which a transfer is half there."""
    vaults: dict[tuple[str, str], Seen] = {}
    for seen in values.all_reads:
        table = seen.operation.table
        if seen.operation.key is not None or table not in NUMBERS:
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


def moves_of(operations: Iterable[Operation]) -> Counter[tuple[str, int]]:
    """Return what operations add to each account."""
    moved: Counter[tuple[str, int]] = Counter()
    for operation in operations:
        if isinstance(operation, Add):
            moved[operation.table, operation.key] += operation.amount
        if isinstance(operation, Transfer):
            moved[operation.table, operation.source] -= operation.amount
            moved[operation.table, operation.target] += operation.amount
    return moved


class Mover(NamedTuple):
    """A txn that moved amounts, or may have."""

    txn: Txn
    moves: Moves


class Movers(NamedTuple):
    """The movers of a table: those with places in order, their sums so far, and the others."""

    placed: Sequence[Mover]
    sums: Sequence[Moves]
    loose: Sequence[Mover]


def movers_of(txns: Sequence[Txn], table: str) -> Movers:
    """Return which txns changed balances of a table, or may have."""
    made = [Mover(txn, moves_of(txn.operations)) for txn in txns if txn.outcome != "aborted"]
    found = [mover for mover in made if any(name == table for name, _ in mover.moves)]
    placed = sorted((each for each in found if each.txn.place), key=lambda each: each.txn.place)
    so_far = Counter[tuple[str, int]]()
    sums = [Counter(so_far)]
    for mover in placed:
        so_far.update(mover.moves)
        sums.append(Counter(so_far))
    return Movers(placed, sums, [mover for mover in found if not mover.txn.place])


def balance_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield balances that no choice among the transfers that a read may have seen explains."""
    places = {(past.seen.txn.id, past.seen.at): past.place for past in values.pasts}
    for table in NUMBERS:
        movers = movers_of(values.txns, table)
        least: dict[str, int] = {}
        for seen in values.all_reads:
            if seen.operation.table == table:
                place = places.get((seen.txn.id, seen.at), 0)
                looked = looked_at(values, seen, movers, place, least.get(seen.txn.session, 0))
                if isinstance(looked, Anomaly):
                    yield looked
                elif not place:
                    least[seen.txn.session] = looked


def looked_at(values: Values, seen: Seen, movers: Movers, place: int, before: int) -> Anomaly | int:
    """Return how many placed transfers a read shows at least, or what is wrong with it.

    `before` is how many its session has seen before.
    """
    reader = seen.txn
    must = {mover.txn.id: due(values, mover.txn, reader) for mover in movers.placed}
    low = max((at for at, each in enumerate(movers.placed, 1) if must[each.txn.id]), default=0)
    began = [mover.txn.begun <= reader.ended for mover in movers.placed]
    high = began.index(False) if False in began else len(began)
    low = max(low, before)
    if place:
        low = high = sum(mover.txn.place <= place for mover in movers.placed)
    loose = [mover for mover in movers.loose if mover.txn.begun <= reader.ended]
    must |= {mover.txn.id: due(values, mover.txn, reader) for mover in loose}
    sure = total(mover.moves for mover in loose if must[mover.txn.id])
    choices = choices_of(seen, [mover for mover in loose if not must[mover.txn.id]])
    for count in range(low, high + 1):
        if explains(seen, [movers.sums[count], sure], choices):
            return count
    kind: Kind = "balance broken"
    if not place and reader.session != FINAL:
        older = choices_of(seen, loose)
        if any(explains(seen, [movers.sums[count]], older) for count in range(high + 1)):
            found = set(must.values())
            kind = next((each for each in OLDER if each in found), "monotonic reads")
    what = f"{seen.operation.table} is {[(row.k, row.n) for row in seen.rows]}"
    return Anomaly(kind, f"{what}, not by transfers that it must or may show", [reader.id])


OLDER: Final[Sequence[Kind]] = ("token ignored", "read your writes", "stale read")


def due(values: Values, done: Txn, reader: Txn) -> Kind | None:
    """Return why a reader must see a txn, None if it need not."""
    if reader.after and (
        done.id == reader.after or 0 < done.place <= values.places.get(reader.after, 0)
    ):
        return "token ignored"
    if done.ended > reader.begun:
        return None
    if done.session == reader.session:
        return "read your writes"
    return "stale read" if reader.is_fresh else None


def total(moves: Iterable[Moves]) -> Moves:
    """Return what several txns add to each account."""
    found = Counter[tuple[str, int]]()
    for each in moves:
        found.update(each)
    return found


def choices_of(seen: Seen, doubtful: Sequence[Mover]) -> Mapping[int, set[int]]:
    """Return what some of the doubtful transfers can add up to, for each account of a read."""
    table = seen.operation.table
    return {
        row.k: sums_of(mover.moves.get((table, row.k), 0) for mover in doubtful)
        for row in seen.rows
    }


def explains(seen: Seen, sure: Sequence[Moves], choices: Mapping[int, set[int]]) -> bool:
    """Tell whether all of some transfers, and some of others, give the balances of a read."""
    table = seen.operation.table
    return all(
        row.n - BALANCE - sum(moves.get((table, row.k), 0) for moves in sure) in choices[row.k]
        for row in seen.rows
    )


def sums_of(parts: Iterable[int]) -> set[int]:
    """Return what some of the parts can add up to."""
    sums = {0}
    for part in parts:
        if part:
            sums |= {sum_so_far + part for sum_so_far in sums}
    return sums
