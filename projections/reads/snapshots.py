"""Snapshots: the valid lists as of any position, from rows.

The open and aborted txns of a position come from the last full list at or before it and the history
from there on. So a list depends on its position only, not on later events (law 6).
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ledger.core.lists import visibility
from ledger.core.lists.text import read_runs
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.reads.port import MappingRow, TableRow
from projections.reads import lookups, version_lookups
from projections.rows.keys import (
    CUT,
    EXCEPTIONS,
    HISTORY,
    MAPPING,
    TXN,
    VERSION,
    WATERMARK,
    last_number,
    number_key,
    pair_key,
    read_id,
    read_value,
)
from projections.store.port import RowReader, prefix_end


@dataclass(slots=True)
class TxnSets:
    """The open and the aborted txns of one position; read-only ones are in no list."""

    next_txn: int = 1
    open: set[int] = field(default_factory=set)
    read_only: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)

    def advance(self, event: dict[str, Any]) -> None:
        """Apply one event, given its history row."""
        self.next_txn = event["next_txn"]
        if "opened" in event:
            first, size = event["opened"]
            opened = self.read_only if "read_only" in event else self.open
            opened.update(range(first, first + size))
        for ended in event.get("ended", ()):
            self.open.discard(ended)
            self.read_only.discard(ended)
        self.aborted.update(event.get("aborted", ()))
        self.aborted.difference_update(event.get("forgotten", ()))


def txns_at(rows: RowReader, position: int) -> TxnSets:
    """Return the open and aborted txns as of an applied position."""
    ends = number_key(EXCEPTIONS, 0), number_key(EXCEPTIONS, position + 1)
    start, sets = 0, TxnSets()
    for key, data in rows.scan(*ends, limit=1, reverse=True):
        start, sets = last_number(key), listed(read_value(data))
    ends = number_key(HISTORY, start + 1), number_key(HISTORY, position + 1)
    for _, data in rows.scan(*ends):
        sets.advance(read_value(data))
    return sets


def listed(fields: dict[str, Any]) -> TxnSets:
    """Return the txns of a full list."""
    kinds = ("open", "read_only", "aborted")
    return TxnSets(
        fields["next_txn"], *(set(read_runs(kind, fields.get(kind, ""))) for kind in kinds)
    )


def valid_txns(rows: RowReader, position: int) -> ValidTxnList:
    """Return the valid txn list as of an applied position, for a reader without a txn."""
    sets = txns_at(rows, position)
    exceptions = tuple(sorted(sets.open)), tuple(sorted(sets.aborted))
    return visibility.listed(sets.next_txn - 1, *exceptions)


def mappings(rows: RowReader, table: TableRow) -> Iterator[MappingRow]:
    """Return the mappings of a table from the watermark on.

    A row below the watermark adds no information: leaving it out keeps answers independent of how
    far cleaning has come.
    """
    low = watermark(rows)
    ends = (table.mapped_from, table.last_write_id + 1)
    first, end = (pair_key(MAPPING, table.table, write_id) for write_id in ends)
    for key, data in rows.scan(first, end):
        txn = read_id(data)
        if txn >= low:
            yield MappingRow(last_number(key), txn)


def watermark(rows: RowReader) -> int:
    """Return the txn id below which mappings carry no information."""
    stored = rows.get(WATERMARK)
    return 1 if stored is None else int(read_value(stored)["watermark"])


def valid_write_ids(rows: RowReader, table: TableRow, txns: ValidTxnList) -> ValidWriteIdList:
    """Return the valid write id list of a table for a reader of `txns` (rule b3)."""
    name = f"{table.catalog}.{table.name}"
    return visibility.valid_write_ids(name, txns, mappings(rows, table), table.last_write_id)


def hides_cleaned(rows: RowReader, table: int, txns: ValidTxnList) -> bool:
    """Return whether a list hides a commit whose mapping is cleaned: its write id would look valid.

    It checks each cleaned txn that was open, and then the commits since the list, up to the first
    hidden one without a mapping. Commits with mappings are part of the answer anyway.
    """
    low = watermark(rows)
    if visibility.is_protected(txns, low):
        return False
    were_open = txns.open[: bisect_left(txns.open, low)]
    if any(has_committed(rows, txn, table) for txn in were_open):
        return True
    later = commits_since(rows, table, txns.hwm + 1) if txns.hwm + 1 < low else ()
    return any(txn < low and visibility.hides(txns, txn) for txn in later)


def lost_in(rows: RowReader, txns: ValidTxnList) -> tuple[int, int] | None:
    """Return a txn that a list from before a cut holds valid and the log lost, and the cut.

    A later list ends behind the lost txns. One made while they are taken up holds none valid.
    """
    for key, data in rows.scan(CUT, prefix_end(CUT)):
        _, first, following = read_value(data)
        if first <= txns.hwm < following - 1:
            lost = filter(txns.is_valid, range(first, txns.hwm + 1))
            if txn := next(lost, 0):
                return txn, last_number(key)
    return None


def has_committed(rows: RowReader, txn: int, table: int) -> bool:
    """Return whether a txn committed a write id of a table."""
    found = lookups.read_numbered(rows, TXN, txn)
    if found["status"] != "committed":
        return False
    return any(part[0] == table and part[1] for part in found.get("parts", ()))


def commits_since(rows: RowReader, table: int, txn: int) -> Iterator[int]:
    """Yield the txns that committed write ids of a table since a txn opened, in order of commit."""
    opened = int(lookups.read_numbered(rows, TXN, txn)["opened"])
    before = version_lookups.at_position(rows, table, opened - 1)
    first = pair_key(VERSION, table, before.version + 1 if before is not None else 0)
    for _, data in rows.scan(first, prefix_end(number_key(VERSION, table))):
        fields = read_value(data)
        if fields.get("write_id"):
            yield int(fields["txn"])
