"""Stock: rows that are inserted and deleted by key, so each one comes once and goes once.

A delete takes all rows of its key that it saw. It saw those that were acknowledged before it began,
and may have seen those that ran beside it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from tests.consistency.history import Txn
from tests.consistency.judge.anomalies import Anomaly
from tests.consistency.judge.dependencies import Edge
from tests.consistency.judge.values import Seen, Values, Written, values_of
from tests.consistency.operations import KEYED, STOCK, Delete, Insert, Read


def stock_anomalies(values: Values, final: Sequence[Seen]) -> Iterator[Anomaly]:
    """Yield rows that an acknowledged delete left, that no delete took, and that came back."""
    deletes = deletes_of(values)
    at_end = [seen for seen in final if seen.operation == Read(STOCK)]
    for seen in at_end:
        shown = {row.n for row in seen.rows}
        for (table, value), written in values.writers.items():
            if table != STOCK:
                continue
            txn, key = written.txn, written.cell[1]
            where = f"{STOCK} row {key}/{value} of {txn.id}"
            later = [each for each in deletes[key] if each.ended >= txn.begun]
            met = [each for each in deletes[key] if must_meet(each, written)]
            if value in shown and met:
                what = f"{where} is there, {met[0].id} deleted the key afterwards"
                yield Anomaly("lost delete", what, [txn.id, met[0].id])
            if value not in shown and txn.outcome == "committed" and not later:
                yield Anomaly("lost row", f"{where} is gone, and nothing deleted it", [txn.id])
    yield from returned_rows(values)
    yield from replaced_twice(values)


def replaced_twice(values: Values) -> Iterator[Anomaly]:
    """Yield keys with rows of two txns that each first deleted all rows of the key."""
    for seen in values.reads:
        if seen.operation.table == STOCK:
            for key, both in twins(values, seen).items():
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


def deletes_of(values: Values) -> dict[int, list[Txn]]:
    """Return the txns that may have deleted each key."""
    found: dict[int, list[Txn]] = defaultdict(list)
    for txn in values.txns:
        for operation in txn.operations:
            if isinstance(operation, Delete) and txn.outcome != "aborted":
                found[operation.key].append(txn)
    return found


def must_meet(delete: Txn, written: Written) -> bool:
    """Tell whether a delete saw a row for sure: it began once the row was acknowledged."""
    return delete.outcome == "committed" and delete.begun > written.txn.ended


def stock_edges(values: Values) -> Iterator[Edge]:
    """Yield the edges of reads of stock: rows that they show, and rows that they miss.

    A row that no delete can have taken before the read ended was inserted later. A row whose delete
    saw it was deleted later.
    """
    deletes = deletes_of(values)
    rows = [
        (value, written)
        for (table, value), written in values.writers.items()
        if table == STOCK and written.txn.id in values.counted
    ]
    for seen in values.reads:
        if seen.operation.table != STOCK:
            continue
        reader, shown = seen.txn, {row.n for row in seen.rows}
        for value, written in rows:
            key = written.cell[1]
            if seen.operation.key not in (None, key) or written.txn is reader:
                continue
            what = f"{STOCK}[{key}]"
            if value in shown:
                yield Edge(written.txn.id, reader.id, "wr", STOCK, f"{what}: saw {value}")
                for delete in deletes[key]:
                    if must_meet(delete, written):
                        why = f"{what}: saw {value}, missed its delete"
                        yield Edge(reader.id, delete.id, "rw", STOCK, why)
            elif not any(may_hide(delete, written, reader) for delete in deletes[key]):
                why = f"{what}: missed {value}"
                yield Edge(reader.id, written.txn.id, "rw", STOCK, why)


def may_hide(delete: Txn, written: Written, reader: Txn) -> bool:
    """Tell whether a delete can have taken a row before a reader looked."""
    return delete.ended >= written.txn.begun and delete.begun <= reader.ended


def twin_edges(values: Values) -> Iterator[Edge]:
    """Yield the edges between txns that each put a row where it is to be the only one.

    Each of them missed the row of the other, or it had deleted or changed that row.
    """
    for seen in values.reads:
        table = seen.operation.table
        for key, names in twins(values, seen).items():
            for one, other in permutations(names, 2):
                yield Edge(one, other, "rw", table, f"{table}[{key}]: missed the row of {other}")


def twins(values: Values, seen: Seen) -> Mapping[int, Sequence[str]]:
    """Return the keys of which a read shows rows of several txns that each put the only one."""
    table = seen.operation.table
    by_key: dict[int, set[str]] = defaultdict(set)
    for row in seen.rows if table in (KEYED, STOCK) else ():
        shown = values_of(table, row)
        written = values.writers.get((table, shown[0])) if shown else None
        if written is not None and (table == KEYED or is_replaced(written)):
            by_key[row.k].add(written.txn.id)
    return {key: sorted(names) for key, names in by_key.items() if len(names) > 1}


def is_replaced(written: Written) -> bool:
    """Tell whether a txn first deleted all rows of the key in which it put a row."""
    table, key = written.cell
    for operation in written.txn.operations:
        if operation == Delete(table, key):
            return True
        if isinstance(operation, Insert) and (operation.table, operation.key) == (table, key):
            return False
    return False
