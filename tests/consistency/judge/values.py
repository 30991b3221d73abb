"""Values: which txn wrote each one, and reads of values that no committed txn left.

A value is unique within its table. An unknown txn counts as committed once a committed txn has read
a value of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from tests.consistency.history import Result, Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.operations import (
    CLAIMS,
    KEYED,
    LISTS,
    READS,
    REGISTERS,
    Append,
    Claim,
    Insert,
    Operation,
    Read,
    ReadAt,
    Row,
    Upsert,
    Write,
    list_of,
)

Cell: TypeAlias = tuple[str, int]
WRITES = (Append, Upsert, Claim, Insert, Write)
OF_LISTS = (*LISTS, KEYED)


class Written(NamedTuple):
    """Which txn wrote a value, where, and whether it was its last one in that cell."""

    txn: Txn
    cell: Cell
    is_last: bool


class Seen(NamedTuple):
    """A read of a committed txn: which of its operations it was, and the rows."""

    txn: Txn
    at: int
    operation: Read
    rows: Sequence[Row]


class Past(NamedTuple):
    """A read of a table as it was at a place; `is_asked` where the read named the place."""

    seen: Seen
    place: int
    is_asked: bool


def values_of(table: str, row: Row) -> Sequence[int]:
    """Return the values that a row shows; the number of an untouched register is none."""
    if table in OF_LISTS:
        return list_of(row.v)
    if table == REGISTERS and row.n == 0:
        return ()
    return (row.n,)


class Values:
    """The values of a history: their writers, the reads, and which txns count."""

    def __init__(self, txns: Sequence[Txn]) -> None:
        self.txns = txns
        self.writers: dict[tuple[str, int], Written] = {}
        for txn in txns:
            for operation in txn.operations:
                if isinstance(operation, WRITES):
                    self._note(txn, operation)

    def _note(self, txn: Txn, operation: Append | Upsert | Claim | Insert | Write) -> None:
        cell = operation.table, operation.key
        last = [other for other in txn.operations if is_write_of(other, cell)][-1]
        self.writers[operation.table, operation.value] = Written(txn, cell, operation is last)

    @cached_property
    def reads(self) -> Sequence[Seen]:
        """Every read of a committed txn, of tables with values."""
        return [seen for txn in self.txns if txn.outcome == "committed" for seen in reads_of(txn)]

    @cached_property
    def pasts(self) -> Sequence["Past"]:
        """Every read whose place is known: of the past, and of txns that tell their snapshot."""
        done = [txn for txn in self.txns if txn.outcome == "committed"]
        return [past for txn in done for past in pasts_of(txn)]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each txn, 0 where it is not known."""
        return {txn.id: txn.place for txn in self.txns}

    @cached_property
    def all_reads(self) -> Sequence[Seen]:
        """The reads, also reads of the past."""
        asked = [past.seen for past in self.pasts if past.is_asked]
        return [*self.reads, *asked]

    @cached_property
    def observed(self) -> frozenset[tuple[str, int]]:
        """All values that a committed txn has read, or that one of its reads shows as its own."""
        return frozenset(
            (seen.operation.table, value)
            for seen in self.all_reads
            for row in seen.rows
            for value in values_of(seen.operation.table, row)
        )

    @cached_property
    def counted(self) -> frozenset[str]:
        """The txns that took effect: committed ones, and unknown ones that were read."""
        committed = {txn.id for txn in self.txns if txn.outcome == "committed"}
        read = [self.writers[value].txn for value in self.observed if value in self.writers]
        return frozenset(committed | {txn.id for txn in read if txn.outcome == "unknown"})

    @cached_property
    def by_cell(self) -> dict[Cell, list[int]]:
        """The values of each cell that took effect, as far as that is known.

        A claim may have found its key taken: only a value that was read took effect.
        """
        found: dict[Cell, list[int]] = defaultdict(list)
        for (table, value), written in self.writers.items():
            is_counted = written.txn.id in self.counted
            if is_counted and (not is_claim(written, value) or (table, value) in self.observed):
                found[written.cell].append(value)
        return found


def is_write_of(operation: Operation, cell: Cell) -> bool:
    return isinstance(operation, WRITES) and (operation.table, operation.key) == cell


def is_claim(written: Written, value: int) -> bool:
    """Tell whether a value was written only if its key was absent, by the statement itself."""
    return written.cell[0] == CLAIMS and any(
        isinstance(operation, Claim) and operation.value == value
        for operation in written.txn.operations
    )


def reads_of(txn: Txn) -> Iterator[Seen]:
    """Yield the reads of a txn with their rows."""
    pairs: Sequence[tuple[Operation, Result]] = list(zip(txn.operations, txn.results, strict=False))
    for at, (operation, rows) in enumerate(pairs):
        if isinstance(operation, Read) and rows is not None:
            yield Seen(txn, at, operation, rows)  # type: ignore[arg-type]


def pasts_of(txn: Txn) -> Iterator[Past]:
    """Yield the reads of a txn at places, those at its snapshot as far as it changed nothing."""
    for at, (operation, rows) in enumerate(zip(txn.operations, txn.results, strict=False)):
        before = txn.operations[:at]
        is_changed = any(
            step.table == operation.table and not isinstance(step, READS) for step in before
        )
        if rows is None or not isinstance(operation, Read | ReadAt):
            continue
        if isinstance(operation, ReadAt):
            seen = Seen(txn, at, Read(operation.table), rows)  # type: ignore[arg-type]
            yield Past(seen, operation.place, is_asked=True)
        elif txn.read_from and not is_changed:
            yield Past(Seen(txn, at, operation, rows), txn.read_from, is_asked=False)  # type: ignore[arg-type]


def own_values(seen: Seen, cell: Cell) -> Sequence[int]:
    """Return what the reading txn itself wrote to a cell before the read, in order."""
    return [
        operation.value
        for operation in seen.txn.operations[: seen.at]
        if isinstance(operation, WRITES) and (operation.table, operation.key) == cell
    ]


def bad_values(values: Values) -> Iterator[Anomaly]:
    """Yield reads of what was aborted, is intermediate, came twice, or was never written."""
    for seen in values.all_reads:
        table = seen.operation.table
        if table not in VALUED:
            continue
        for row in seen.rows:
            shown = values_of(table, row)
            yield from doubled_values(seen, row, shown)
            for value in shown:
                yield from bad_value(values, seen, row, value)
            if shown and table in (*OF_LISTS, REGISTERS):
                yield from intermediate(values, seen, row, shown[-1])


VALUED = frozenset({*OF_LISTS, REGISTERS, CLAIMS, "bag", "stock"})


def doubled_values(seen: Seen, row: Row, shown: Sequence[int]) -> Iterator[Anomaly]:
    """Yield a list that has a value twice."""
    twice = [value for value, times in Counter(shown).items() if times > 1]
    if twice:
        what = f"{seen.operation.table}[{row.k}] has {twice[0]} twice: {list(shown)}"
        yield Anomaly("doubled write", what, [seen.txn.id])


def bad_value(values: Values, seen: Seen, row: Row, value: int) -> Iterator[Anomaly]:
    """Yield a value that no committed txn wrote to the row."""
    table = seen.operation.table
    written = values.writers.get((table, value))
    where = f"{table}[{row.k}] has {value}"
    if written is None or written.cell[1] != row.k:
        yield Anomaly("value from nowhere", f"{where}, which no txn wrote there", [seen.txn.id])
    elif written.txn.outcome == "aborted":
        what = f"{where} of {written.txn.id}, which was aborted: {written.txn.error}"
        yield Anomaly("G1a", what, [written.txn.id, seen.txn.id])


def intermediate(values: Values, seen: Seen, row: Row, value: int) -> Iterator[Anomaly]:
    """Yield a read that ends at a value over which its own txn wrote."""
    table = seen.operation.table
    written = values.writers.get((table, value))
    if written is not None and not written.is_last and written.txn.id != seen.txn.id:
        what = f"{table}[{row.k}] ends at {value}, not the last of {written.txn.id} there"
        yield Anomaly("G1b", what, [written.txn.id, seen.txn.id])
