"""Cells: the order of versions of each row, as reads show it, and what is wrong with the rows.

A list shows its whole order. A register shows it by the read before each write. Rows of a bag have
no order: only who saw whom.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.consistency.history import NEVER, Txn
from tests.consistency.judge.anomalies import Anomaly, Kind
from tests.consistency.judge.values import (
    OF_LISTS,
    Cell,
    Seen,
    Values,
    is_claim,
    own_values,
    values_of,
)
from tests.consistency.operations import (
    BAG,
    BANK,
    CLAIMS,
    KEYED,
    REGISTER_KEYS,
    REGISTERS,
    STOCK,
    VAULTS,
    Read,
    Row,
    Write,
    first_rows,
)

ONE_ROW_A_KEY = (*OF_LISTS, REGISTERS, CLAIMS, BANK, *VAULTS)


class Look(NamedTuple):
    """What a read showed of one list, with what the reader itself had put behind it."""

    seen: Seen
    values: tuple[int, ...]


def key_anomalies(values: Values) -> Iterator[Anomaly]:
    """Yield keys and rows that a read showed twice, and first rows that it missed."""
    for seen in values.all_reads:
        table = seen.operation.table
        if table in ONE_ROW_A_KEY:
            times = Counter(row.k for row in seen.rows)
            for key in (key for key, count in times.items() if count > 1):
                rows = [row for row in seen.rows if row.k == key]
                yield Anomaly(twice(table, rows), f"{table}[{key}] is {rows}", [seen.txn.id])
        else:
            counts = Counter(seen.rows)
            for row in (row for row, count in counts.items() if count > 1):
                yield Anomaly("doubled row", f"{table} has {row} twice", [seen.txn.id])
        yield from missed_rows(seen)


def twice(table: str, rows: Sequence[Row]) -> Kind:
    """Return what it is that a key is there twice: two inserts of it, or two forms of one row."""
    firsts = {values_of(table, row)[:1] for row in rows}
    is_inserted = table in (CLAIMS, KEYED) and len(firsts) == len(rows)
    return "doubled key" if is_inserted else "doubled row"


def missed_rows(seen: Seen) -> Iterator[Anomaly]:
    """Yield rows that were there before the history began and that no operation deletes."""
    table, key = seen.operation.table, seen.operation.key
    wanted = {row.k for row in first_rows(table)} if key is None else set()
    if key is not None and any(row.k == key for row in first_rows(table)):
        wanted = {key}
    missed = sorted(wanted - {row.k for row in seen.rows})
    if missed:
        yield Anomaly("lost row", f"{table} has no rows of {missed}", [seen.txn.id])


def looks(values: Values) -> Mapping[Cell, Sequence[Look]]:
    """Return what reads showed of each list; lists of keys that are there twice are left out."""
    found: dict[Cell, list[Look]] = defaultdict(list)
    for seen in values.reads:
        table = seen.operation.table
        if table not in OF_LISTS:
            continue
        times = Counter(row.k for row in seen.rows)
        for row in seen.rows:
            if times[row.k] == 1:
                found[table, row.k].append(Look(seen, tuple(values_of(table, row))))
        missed = {seen.operation.key} if seen.operation.key is not None else all_keys(values, table)
        for key in missed - times.keys():
            found[table, key].append(Look(seen, ()))
    return found


def all_keys(values: Values, table: str) -> set[int]:
    return {key for name, key in values.by_cell if name == table}


def list_orders(found: Mapping[Cell, Sequence[Look]]) -> Mapping[Cell, tuple[int, ...]]:
    """Return the longest list that was read of each cell."""
    return {
        cell: max((look.values for look in seen), key=len) for cell, seen in found.items() if seen
    }


def order_anomalies(
    values: Values, found: Mapping[Cell, Sequence[Look]], orders: Mapping[Cell, tuple[int, ...]]
) -> Iterator[Anomaly]:
    """Yield lists that are no beginning of the longest one, and reads without own values."""
    for cell, order in orders.items():
        for look in found[cell]:
            own = tuple(own_values(look.seen, cell))
            if own and look.values[len(look.values) - len(own) :] != own:
                what = f"{cell} is {look.values} after {own} was put there"
                yield Anomaly("own write not read", what, [look.seen.txn.id])
            elif look.values != order[: len(look.values)]:
                what = f"{cell} is {look.values}, elsewhere {order}"
                yield Anomaly("orders differ", what, [look.seen.txn.id])
    for seen in values.reads:
        yield from own_rows_missed(seen)


def own_rows_missed(seen: Seen) -> Iterator[Anomaly]:
    """Yield a read that does not show rows and registers that its own txn wrote before."""
    table = seen.operation.table
    if table not in (BAG, STOCK, REGISTERS):
        return
    shown = {value for row in seen.rows for value in values_of(table, row)}
    for key in {row.k for row in seen.rows} | {seen.operation.key}:
        if key is None:
            continue
        own = own_values(seen, (table, key))
        wanted = own[-1:] if table == REGISTERS else own if table == BAG else ()
        missed = [value for value in wanted if value not in shown]
        if missed:
            what = f"{table}[{key}] does not show {missed}, which the txn wrote"
            yield Anomaly("own write not read", what, [seen.txn.id])


class Overwrite(NamedTuple):
    """A write of a register: the value that its txn had read, and the one that it wrote."""

    txn: Txn
    read: int
    wrote: int


def overwrites(values: Values) -> Mapping[Cell, Sequence[Overwrite]]:
    """Return the writes of registers that took effect, each with the value it replaced."""
    found: dict[Cell, list[Overwrite]] = defaultdict(list)
    for txn in values.txns:
        if txn.id in values.counted:
            for key in range(REGISTER_KEYS):
                made = overwrite(txn, key)
                if made is not None:
                    found[REGISTERS, key].append(made)
    return found


def overwrite(txn: Txn, key: int) -> Overwrite | None:
    """Return how a txn replaced a register, if it read it before."""
    read: int | None = None
    wrote: int | None = None
    results = [*txn.results, *(None for _ in txn.operations)]
    for operation, rows in zip(txn.operations, results, strict=False):
        if isinstance(operation, Read) and operation.table == REGISTERS and wrote is None:
            shown = [row for row in rows or () if isinstance(row, Row) and row.k == key]
            read = shown[0].n if shown else read
        if isinstance(operation, Write) and operation.key == key:
            wrote = operation.value
    return None if read is None or wrote is None else Overwrite(txn, read, wrote)


def lost_updates(found: Mapping[Cell, Sequence[Overwrite]]) -> Iterator[Anomaly]:
    """Yield versions of registers that two txns replaced."""
    for (table, key), writes in found.items():
        by_read: dict[int, list[Overwrite]] = defaultdict(list)
        for write in writes:
            by_read[write.read].append(write)
        for read, both in by_read.items():
            if len(both) > 1:
                what = f"{table}[{key}] = {read} was replaced by {[each.wrote for each in both]}"
                yield Anomaly("lost update", what, [each.txn.id for each in both])


def lost_writes(
    values: Values, orders: Mapping[Cell, tuple[int, ...]], final: Sequence[Seen]
) -> Iterator[Anomaly]:
    """Yield values that took effect and that the reads at the end lack; deletes are elsewhere."""
    at_end = {seen.operation.table: seen for seen in final if seen.operation.key is None}
    shown = {
        (table, value)
        for table, seen in at_end.items()
        for row in seen.rows
        for value in values_of(table, row)
    }
    for (table, value), written in values.writers.items():
        if table not in at_end or table in (STOCK, REGISTERS) or (table, value) in shown:
            continue
        if value in values.by_cell.get(written.cell, ()):
            kind: Kind = "lost row" if table in (BAG, CLAIMS) else "lost write"
            what = f"{table}[{written.cell[1]}] lacks {value} of {written.txn.id} at the end"
            where = orders.get(written.cell, ())
            yield Anomaly(kind, f"{what}: {where}", [written.txn.id])
    yield from lost_registers(values, at_end)


def lost_claims(values: Values, final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield keys that a claim must have left with a row, its own or an earlier one."""
    for seen in final:
        if seen.operation != Read(CLAIMS):
            continue
        begun: dict[int, float] = {}
        for row in seen.rows:
            written = values.writers.get((CLAIMS, row.n))
            at = written.txn.begun if written is not None else 0.0
            begun[row.k] = min(at, begun.get(row.k, at))
        for (table, value), written in values.writers.items():
            txn, key = written.txn, written.cell[1]
            is_sure = txn.outcome == "committed" and is_claim(written, value)
            if table == CLAIMS and is_sure and begun.get(key, NEVER) > txn.ended:
                what = f"{CLAIMS}[{key}] has no row of {txn.id}, and none from before it ended"
                yield Anomaly("lost row", what, [txn.id])


def lost_registers(values: Values, at_end: Mapping[str, Seen]) -> Iterator[Anomaly]:
    """Yield registers whose last value is not the end of the chain of their writes."""
    if REGISTERS not in at_end:
        return
    found = overwrites(values)
    for row in at_end[REGISTERS].rows:
        cell = REGISTERS, row.k
        known = found.get(cell, ())
        writes = {write.read: write for write in known}
        last, chain = 0, []
        while last in writes and last not in chain:
            chain.append(last)
            last = writes[last].wrote
        # A killed client leaves no read before its write, so the chain has a gap.
        written = {values.writers[REGISTERS, n].txn.id for n in values.by_cell.get(cell, ())}
        if last != row.n and len(writes) == len(known) == len(written):
            what = f"{REGISTERS}[{row.k}] is {row.n} at the end, its writes lead to {last}"
            yield Anomaly("lost write", what, [write.txn.id for write in writes.values()])
