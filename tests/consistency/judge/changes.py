"""Changes: what a feed says of one place, beside what the txn at that place did."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.consistency.history import Txn
from tests.consistency.judge.sums import NUMBERS, moves_of
from tests.consistency.judge.values import WRITES, Values, is_claim, values_of
from tests.consistency.operations import (
    Append,
    Change,
    Delete,
    Insert,
    Row,
    Upsert,
    Write,
    first_rows,
)

SURE = (Append, Upsert, Insert, Write)


def is_change_sure(values: Values, txn: Txn, table: str) -> bool:
    """Tell whether a txn must stand in the feed of a table: it is there and changed rows."""
    if txn.outcome != "committed" or not txn.place:
        return False
    if table in NUMBERS:
        return any(
            amount for (name, _), amount in moves_of(txn.operations).items() if name == table
        )
    return bool(values_left(values, txn, table))


def values_left(values: Values, txn: Txn, table: str) -> list[int]:
    """Return the values that a txn left in a table for sure."""
    left: list[tuple[int, int]] = []
    for operation in txn.operations:
        if operation.table != table:
            continue
        if isinstance(operation, Delete):
            left = [(key, value) for key, value in left if key != operation.key]
        elif isinstance(operation, WRITES):
            written = values.writers[table, operation.value]
            is_sure = not is_claim(written, operation.value) or (
                (table, operation.value) in values.observed
            )
            if is_sure:
                left.append((operation.key, operation.value))
    return [value for _, value in left]


def net(change: Change) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the rows that came with a change and those that went, without those that did both."""
    added, removed = Counter(change.added), Counter(change.removed)
    return list((added - removed).elements()), list((removed - added).elements())


def came(table: str, change: Change) -> Counter[int]:
    """Return the values that came with a change."""
    gained, gone = net(change)
    new = Counter(value for row in gained for value in values_of(table, row))
    return new - Counter(value for row in gone for value in values_of(table, row))


def wrong_change(values: Values, table: str, change: Change) -> str:
    """Return why no txn that can stand at its place did this, "" if one did."""
    gained, gone = net(change)
    here = [txn for txn in values.txns if txn.place == change.place and txn.outcome == "committed"]
    if not here and not gone and sorted(gained) == sorted(first_rows(table)):
        return ""
    if table in NUMBERS:
        return wrong_moves(values, table, change, here)
    new = came(table, change)
    for value in new:
        what = misplaced(values, table, value, change.place)
        if what:
            return what
    missing = [v for txn in here for v in values_left(values, txn, table) if v not in new]
    if missing:
        return f"lacks {missing}, which {here[0].id} left"
    return wrong_rows(values, table, gone, here)


def divided(values: Values, table: str, changes: Sequence[Change]) -> Iterator[str]:
    """Yield txns whose values came with several changes."""
    places: dict[str, set[int]] = {}
    for change in changes:
        for value in came(table, change):
            if (table, value) in values.writers:
                name = values.writers[table, value].txn.id
                places.setdefault(name, set()).add(change.place)
    for name, several in places.items():
        if len(several) > 1:
            yield f"{name} has changes at {sorted(several)}"


def misplaced(values: Values, table: str, value: int, place: int) -> str:
    """Return why a value cannot have come at a place, "" if it can."""
    written = values.writers.get((table, value))
    if written is None:
        return f"{value} comes, which no txn wrote"
    if written.txn.outcome == "aborted":
        return f"{value} of {written.txn.id} comes, which was aborted"
    if written.txn.place not in (0, place):
        return f"{value} comes, which {written.txn.id} committed at {written.txn.place}"
    return ""


def wrong_rows(values: Values, table: str, gone: Sequence[Row], here: Sequence[Txn]) -> str:
    """Return which row goes though no txn that can stand there takes it, "" for none."""
    able = here or [txn for txn in values.txns if txn.outcome != "aborted" and not txn.place]
    taken = {
        operation.key
        for txn in able
        for operation in txn.operations
        if operation.table == table and isinstance(operation, (*SURE, Delete))
    }
    for row in gone:
        if row.k not in taken:
            return f"{row} goes, which no txn there takes"
    return ""


def wrong_moves(values: Values, table: str, change: Change, here: Sequence[Txn]) -> str:
    """Return that a change moves other amounts than its txn, "" if it moves the same."""
    gained, gone = net(change)
    moved: Counter[int] = Counter()
    for row in gained:
        moved[row.k] += row.n
    for row in gone:
        moved[row.k] -= row.n
    able = here or [txn for txn in values.txns if txn.outcome != "aborted" and not txn.place]
    choices = [moves_in(txn, table) for txn in able] + ([] if here else [{}])
    found = {key: amount for key, amount in moved.items() if amount}
    return "" if found in choices else f"moves {found}, which no txn there did"


def moves_in(txn: Txn, table: str) -> Mapping[int, int]:
    """Return what a txn adds to each account of a table."""
    moves = moves_of(txn.operations).items()
    return {key: amount for (name, key), amount in moves if name == table and amount}
