"""The books: txn ids, write ids, versions and snapshots, counted by hand from what counted."""

from collections.abc import Iterable
from typing import Any

from ledger.core.events.events import (
    AbortedForgotten,
    Control,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AbortedPart, CommittedPart, TxnEnd
from tests.simulation.broken import must


class Books:
    """What `take` was given so far; it raises BrokenError for what may not follow."""

    def __init__(self) -> None:
        self.open: dict[int, tuple[int, str]] = {}
        self.opened_at: dict[int, int] = {}
        self._next_txn = 1
        self._ids: dict[tuple[int, int], int] = {}
        self._last_write_id: dict[int, int] = {}
        self._version: dict[int, int] = {}
        self._aborted: set[int] = set()

    def take(self, control: Control, body: Any, *, is_filling: bool = False) -> None:
        """Enter one event; with `is_filling` it takes up what a cut lost."""
        match body:
            case TxnOpened():
                self._open(control, body)
                self._allocate(control, body)
            case WriteIdsAllocated():
                self._allocate(control, body)
            case TableCreated():
                self._create(control, body)
            case TableAltered() if body.one_shot:
                self._alter(control, body)
            case TableRenamed() | TableDropped() if body.write_id:
                self._own(control, control.txn)
                self._give(body.table, control.txn, body.write_id)
            case TxnCommitted():
                self._commit(control, body, is_filling=is_filling)
            case TxnAborted() if not body.one_shot:
                self._end(control.txn, body.parts)
            case SessionClosed() | TxnsExpired():
                self._end_all(body.ends)
            case AbortedForgotten():
                must(
                    set(body.txns) <= self._aborted,
                    "only aborted txns are forgotten",
                    f"{body.txns} at {control.position}",
                )
                self._aborted.difference_update(body.txns)

    def is_aborted(self, txn: int) -> bool:
        """Tell whether a txn was aborted, and not forgotten since."""
        return txn in self._aborted

    def _open(self, control: Control, body: TxnOpened) -> None:
        must(
            control.txn == self._next_txn,
            "txn ids are dense",
            f"txn {control.txn} where {self._next_txn} follows",
        )
        must(
            body.min_open == next(iter(self.open), self._next_txn),
            "a txn notes the least open id",
            f"txn {control.txn} notes {body.min_open}",
        )
        if body.inline:
            seen = [txn for txn, (_, kind) in self.open.items() if kind != "read_only"]
            must(
                list(body.open) == seen,
                "a snapshot lists the open txns",
                f"txn {control.txn} lists {body.open}, open are {seen}",
            )
        for txn in range(control.txn, control.txn + body.size):
            self.open[txn] = (control.session, body.type)
            self.opened_at[txn] = control.position
        self._next_txn += body.size

    def _allocate(self, control: Control, body: TxnOpened | WriteIdsAllocated) -> None:
        for table, txn, write_id in body.ids:
            self._own(control, txn)
            self._give(table, txn, write_id)

    def _own(self, control: Control, txn: int) -> None:
        owner, _ = self.open.get(txn, (0, ""))
        must(
            owner == control.session,
            "only its session acts in an open txn",
            f"session {control.session} in txn {txn} of session {owner} at {control.position}",
        )

    def _give(self, table: int, txn: int, write_id: int) -> None:
        known = self._ids.get((table, txn))
        following = self._last_write_id.get(table, 0) + 1
        must(
            write_id == (known or following),
            "write ids are dense and one a txn",
            f"txn {txn} has {known} of table {table}, {following} is next, given is {write_id}",
        )
        if known is None:
            self._ids[table, txn] = write_id
            self._last_write_id[table] = write_id

    def _create(self, control: Control, body: TableCreated) -> None:
        must(
            body.table not in self._version,
            "table ids never return",
            f"table {body.table} at {control.position}",
        )
        self._version[body.table] = -1 if control.txn else 0
        if body.write_id:
            self._own(control, control.txn)
            self._give(body.table, control.txn, body.write_id)

    def _alter(self, control: Control, body: TableAltered) -> None:
        must(
            control.txn == self._next_txn,
            "txn ids are dense",
            f"txn {control.txn} where {self._next_txn} follows",
        )
        self._next_txn += 1
        self._give(body.table, control.txn, body.write_id)
        self._next_version(body.table, body.version, is_filling=False)

    def _commit(self, control: Control, body: TxnCommitted, *, is_filling: bool) -> None:
        if body.one_shot:
            must(
                control.txn == self._next_txn,
                "txn ids are dense",
                f"txn {control.txn} where {self._next_txn} follows",
            )
            self._next_txn += 1
        else:
            self._own(control, control.txn)
            del self.open[control.txn]
        for part in body.parts:
            self._commit_part(control.txn, part, is_filling=is_filling)

    def _commit_part(self, txn: int, part: CommittedPart, *, is_filling: bool) -> None:
        if part.write_id:
            self._give(part.table, txn, part.write_id)
        self._next_version(part.table, part.version, is_filling=is_filling)

    def _next_version(self, table: int, version: int, *, is_filling: bool) -> None:
        following = self._version[table] + 1
        must(
            version == following or (is_filling and version > following),
            "versions are dense but for lost ones",
            f"version {version} of table {table} where {following} follows",
        )
        self._version[table] = version

    def _end(self, txn: int, parts: Iterable[AbortedPart]) -> None:
        must(txn in self.open, "a txn ends once", f"txn {txn}")
        _, kind = self.open.pop(txn)
        for part in parts:
            known = self._ids.get((part.table, txn), 0)
            must(
                part.write_id == known,
                "an abort lists the write ids of its txn",
                f"txn {txn} lists {part.write_id} of table {part.table}, it has {known}",
            )
        if kind != "read_only":
            self._aborted.add(txn)

    def _end_all(self, ends: Iterable[TxnEnd]) -> None:
        for end in ends:
            self._end(end.txn, end.parts)
