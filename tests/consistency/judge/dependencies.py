"""Dependencies between the txns of a history, as edges with their reasons.

| Edge | Means |
|---|---|
| ww | the target replaced what the source wrote |
| wr | the target read what the source wrote |
| rw | the target replaced what the source read, or inserted what it missed |
| so, tk | the target followed in the same session, or waited for the token of the source |
| rt | the target began after the source was acknowledged |
| log | the target stands behind the source in the log |
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from tests.consistency.history import Txn
from tests.consistency.judge.cells import Look, Overwrite
from tests.consistency.judge.grounds import is_writer
from tests.consistency.judge.values import Cell, Values, is_claim, own_values
from tests.consistency.operations import BAG, CLAIMS, REGISTERS, Insert

EdgeKind: TypeAlias = Literal["ww", "wr", "rw", "so", "tk", "rt", "log"]


class Edge(NamedTuple):
    """One txn before another one, in a table ("" for none), and why."""

    source: str
    target: str
    kind: EdgeKind
    table: str
    why: str


def list_edges(
    values: Values, found: Mapping[Cell, Sequence[Look]], orders: Mapping[Cell, tuple[int, ...]]
) -> Iterator[Edge]:
    """Yield the edges of lists: each value follows the one before it."""
    for cell, order in orders.items():
        table = cell[0]
        writers = [values.writers.get((table, value)) for value in order]
        names = [written.txn.id if written is not None else "" for written in writers]
        for (one, value), (other, behind) in pairwise(zip(names, order, strict=True)):
            yield Edge(one, other, "ww", table, f"{cell}: {behind} behind {value}")
        for look in found[cell]:
            seen = look.values
            if seen != order[: len(seen)]:
                continue
            reader = look.seen.txn.id
            if seen:
                yield Edge(names[len(seen) - 1], reader, "wr", table, f"{cell}: read {seen[-1]}")
            if len(seen) < len(order):
                missed = order[len(seen)]
                yield Edge(reader, names[len(seen)], "rw", table, f"{cell}: missed {missed}")


def register_edges(values: Values, found: Mapping[Cell, Sequence[Overwrite]]) -> Iterator[Edge]:
    """Yield the edges of registers: a write follows the one that its txn had read."""
    by_read: dict[tuple[Cell, int], list[Overwrite]] = defaultdict(list)
    for cell, writes in found.items():
        for write in writes:
            by_read[cell, write.read].append(write)
            before = values.writers.get((REGISTERS, write.read))
            if before is not None:
                why = f"{cell}: {write.wrote} over {write.read}"
                yield Edge(before.txn.id, write.txn.id, "ww", REGISTERS, why)
    for seen in values.reads:
        if seen.operation.table != REGISTERS:
            continue
        for row in seen.rows:
            cell = (REGISTERS, row.k)
            if own_values(seen, cell):
                continue
            before = values.writers.get((REGISTERS, row.n))
            if before is not None:
                yield Edge(before.txn.id, seen.txn.id, "wr", REGISTERS, f"{cell}: read {row.n}")
            for write in by_read[cell, row.n]:
                why = f"{cell}: read {row.n}, missed {write.wrote}"
                yield Edge(seen.txn.id, write.txn.id, "rw", REGISTERS, why)


def bag_edges(values: Values) -> Iterator[Edge]:
    """Yield the edges of rows that are only inserted: which reads show and which miss them."""
    for seen in values.reads:
        table, key = seen.operation.table, seen.operation.key
        if table not in (BAG, CLAIMS):
            continue
        shown = {row.n for row in seen.rows}
        cells = [cell for cell in values.by_cell if cell[0] == table and key in (None, cell[1])]
        for cell in cells:
            here = [value for value in values.by_cell[cell] if value in shown]
            yield from look_edges(values, seen.txn, cell, set(here))
    for (table, value), written in values.writers.items():
        if table == CLAIMS and is_claim(written, value) and (table, value) in values.observed:
            yield from look_edges(values, written.txn, written.cell, set())


def look_edges(values: Values, reader: Txn, cell: Cell, shown: set[int]) -> Iterator[Edge]:
    """Yield the edges of one look at the rows of a key."""
    table = cell[0]
    for value in shown:
        written = values.writers.get((table, value))
        if written is not None:
            yield Edge(written.txn.id, reader.id, "wr", table, f"{cell}: saw {value}")
    for value in values.by_cell.get(cell, ()):
        if value not in shown:
            writer = values.writers[table, value].txn
            yield Edge(reader.id, writer.id, "rw", table, f"{cell}: missed {value}")


def session_edges(txns: Sequence[Txn]) -> Iterator[Edge]:
    """Yield the order within each session, and the tokens that were waited for."""
    before: dict[str, Txn] = {}
    for txn in txns:
        if txn.session in before:
            yield Edge(before[txn.session].id, txn.id, "so", "", f"session {txn.session}")
        if txn.outcome == "committed":
            before[txn.session] = txn
        if txn.after:
            yield Edge(txn.after, txn.id, "tk", "", f"token of {txn.after}")


def time_edges(txns: Sequence[Txn]) -> Iterator[Edge]:
    """Yield the order in time, without the edges that follow from others.

    Only a txn whose snapshot must be fresh follows what was acknowledged before it began.
    """
    steps = sorted(
        [(txn.begun, 1, at) for at, txn in enumerate(txns)]
        + [(txn.ended, 0, at) for at, txn in enumerate(txns) if txn.outcome == "committed"]
    )
    front: list[Txn] = []
    for _, is_begin, at in steps:
        txn = txns[at]
        if is_begin and txn.is_fresh and txn.outcome != "aborted":
            for done in front:
                yield Edge(done.id, txn.id, "rt", "", "acknowledged before")
        elif not is_begin and txn.is_fresh:
            front = [done for done in front if done.ended >= txn.begun] + [txn]
        elif not is_begin:
            front = [*front, txn]


def log_edges(txns: Sequence[Txn]) -> Iterator[Edge]:
    """Yield the order of the log between commits that tell their place."""
    placed = sorted(
        (txn for txn in txns if txn.place and is_writer(txn)), key=lambda txn: txn.place
    )
    for one, other in pairwise(placed):
        yield Edge(one.id, other.id, "log", "", f"at {one.place} and {other.place}")


def is_blind(txn: Txn, table: str) -> bool:
    """Tell whether all that a txn does in a table is to insert rows."""
    parts = [operation for operation in txn.operations if operation.table == table]
    return all(isinstance(operation, Insert) for operation in parts)
