"""Left out: the ids given by records that no longer count, as a record before them is passed over.

After an event with damaged bytes no later record counts. These records are still in the log, and
show the ids and positions that the log had reached.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ledger.core.decide.cut import SeenBeforeCut
from ledger.core.events.events import (
    Control,
    Event,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.errors import IncompatibleError
from ledger.log.port import Record
from ledger.log.wire.codec import UnreadableError, decode_event


class LeftOut:
    """Takes the records that do not count, and keeps the highest ids and positions in them."""

    def __init__(self, passed: Collection[int]) -> None:
        self.records = 0
        self._passed = passed
        # The most by which a position may have been ahead of its offset.
        self._lead: int | None = None
        self._position = 0
        self._epoch = 0
        self._next_txn = 1
        self._next_table = 1
        self._tables: dict[int, tuple[int, int]] = {}

    def take(self, record: Record, position: int) -> None:
        """Take one record, after the event at a position.

        A record that is not an event of this version holds no ids.
        """
        if record.offset in self._passed:
            self._note(position + 1, record.offset)
        try:
            event = decode_event(record.value)
        except (UnreadableError, IncompatibleError):
            return
        self.records += 1
        self._note(event.control.position, record.offset)
        self._position = max(self._position, event.control.position)
        self._epoch = max(self._epoch, event.control.epoch)
        self._add(event)

    def seen(self) -> SeenBeforeCut:
        """Return the highest ids in them."""
        return SeenBeforeCut(
            self._position, self._epoch, self._next_txn, self._next_table, self._tables
        )

    def position(self, end: int) -> int:
        """Return the last position that a log with this end may have given.

        A claim does not hold its position, so each record may have had one.
        """
        return 0 if self._lead is None else self._lead + end - 1

    def _note(self, position: int, offset: int) -> None:
        lead = position - offset
        self._lead = lead if self._lead is None else max(self._lead, lead)

    def _add(self, event: Event) -> None:
        control, body = event
        match body:
            case TxnOpened():
                self._add_txns(control, body.size)
                self._add_parts(body.ids, lambda _: -1)
            case WriteIdsAllocated():
                self._add_parts(body.ids, lambda _: -1)
            case TxnCommitted():
                self._add_txns(control, int(body.one_shot))
                self._add_parts(body.parts, lambda part: part.version)
            case TableAltered():
                self._add_txns(control, int(body.one_shot))
                self._add_parts([body], lambda part: part.version)
            case TableCreated():
                self._next_table = max(self._next_table, body.table + 1)
                self._add_parts([body], lambda _: 0)
            case TableRenamed() | TableDropped():
                self._add_parts([body], lambda _: -1)
            case _:
                pass

    def _add_txns(self, control: Control, count: int) -> None:
        if count:
            self._next_txn = max(self._next_txn, control.txn + count)

    def _add_parts(self, parts: Sequence[Any], version: Callable[[Any], int]) -> None:
        for part in parts:
            write_id, last = self._tables.get(part.table, (0, -1))
            self._tables[part.table] = max(write_id, part.write_id), max(last, version(part))
