"""Conflict lookups: losers and winners of conflicts, from rows."""

from collections.abc import Iterator
from typing import Any

from ledger.reads.port import ConflictRow
from projections.reads import lookups
from projections.rows.keys import CONFLICT, TXN, last_number, number_key, read_value
from projections.rows.txns.conflicts import attempt_from, evidence_from
from projections.store.port import RowReader, prefix_end


def conflict(rows: RowReader, txn: int) -> ConflictRow | None:
    """Return why a txn lost."""
    found = lookups.read_numbered(rows, TXN, txn)
    lost = None if found is None else lookups.read_numbered(rows, CONFLICT, found.get("ended", 0))
    return None if lost is None else conflict_row(rows, found["ended"], lost)


def conflicts(rows: RowReader, after: int, limit: int) -> Iterator[ConflictRow]:
    """Return the conflicts that follow a position."""
    first = number_key(CONFLICT, max(0, after) + 1)
    for key, data in rows.scan(first, prefix_end(CONFLICT), limit=limit):
        yield conflict_row(rows, last_number(key), read_value(data))


def conflict_row(rows: RowReader, where: int, fields: dict[str, Any]) -> ConflictRow:
    """Return a conflict, made from its row and the row of the loser's session."""
    asker = lookups.session(rows, fields["session"])
    return ConflictRow(
        where,
        lookups.at(rows, where),
        fields.get("txn", 0),
        fields["session"],
        asker.user if asker is not None else "",
        evidence_from(fields["evidence"]),
        tuple(attempt_from(each) for each in fields.get("attempted", ())),
        fields.get("level", ""),
    )
