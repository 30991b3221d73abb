"""The open unit of work of one txn: its ids, what it read, wrote and put on storage.

A statement notes its reads and writes here; the commit sends them. Threads may share it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from ledger.arrow.read_once import ReadOnce
from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    AlterTable,
    Footprint,
    SessionCommand,
    StageWrites,
    TableDefinition,
    TableWrite,
    TxnType,
)
from ledger.core.events.events import (
    CommandRepeated,
    Control,
    TableAltered,
    TxnOpened,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import held_txn_list
from ledger.definitions.definitions import altered, operation_of
from ledger.definitions.names import TableNames
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.definitions.txn_names import TxnNames
from ledger.files.file_writers import FileWriter
from ledger.files.written_files import WrittenFiles
from ledger.reads.port import TableRow
from ledger.session.receipt import Receipt, receipt_of
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED, ClientSession, CommandAnswer
from ledger.session.tail import Asker
from ledger.snapshot.as_of import NOW, AsOf, known_row
from ledger.snapshot.reading import TableFiles
from ledger.snapshot.table_snapshot import OwnTable, TableSnapshot
from ledger.work.ended import TxnEnding
from ledger.work.staging import Staging
from ledger.work.writes import DeclaredWrites

Status = Literal["open", "committed", "aborted", "unknown"]
"""The status of a txn; `unknown` = commit() got no answer, and commit() again returns it."""


class Work:
    """The work of an open txn.

    Attributes:
        id: its txn id.
        type: what kind of txn it is.
        level: the isolation level requested for every table, "" for each table's own.
        opened: the position of its snapshot.
        status: its state, as far as this process knows.
        session: the session that opened it.
        names: the names of tables as it sees them.
        view: the reads of its client.
        writes: its declared reads and writes.
        files: the data files that it has written.
        writer: who writes its data files.
        once: what its statements have read that can be read once.
        ending: the watch on its end by other programs.
        last: the token of the last answer to it.
    """

    def __init__(
        self,
        session: ClientSession,
        names: TableNames,
        opening: tuple[Control, TxnOpened],
        txn: int,
        level: str,
    ) -> None:
        control, body = opening
        self.id, self.level, self.opened = txn, level, control.position
        self.type: TxnType = body.type
        self.status: Status = "open"
        self.session, self.view = session, names.view
        self.names = TxnNames(names, txn, control.position)
        self.ending = TxnEnding(txn, session, names.view, self)
        read_only, alive = body.type == "read_only", self.ending.check
        self.writes = DeclaredWrites(control.position, read_only=read_only, check_alive=alive)
        self.files = WrittenFiles()
        self.writer = FileWriter.of(names.view.origin.ledger, txn, control.position, control.at)
        self.once = ReadOnce()
        self.last = names.view.token_at(control)
        self._opening = opening
        self._valid_txns: ValidTxnList | None = None
        self._write_ids: dict[int, int] = {}
        self._taken: set[int] = set()
        self._staging = Staging()

    @property
    def opened_at(self) -> int:
        """The time of its open by the clock of the ledger, in milliseconds since 1970 UTC."""
        return self._opening[0].at

    @property
    def valid_txns(self) -> ValidTxnList:
        """The list of txns that it may see, fixed when it opened."""
        if self._valid_txns is None:
            control, body = self._opening
            held = held_txn_list if body.inline else self.view.held_txn_list
            self._valid_txns = held(control, body, self.id)
        return self._valid_txns

    def valid_write_ids(self, table: int) -> ValidWriteIdList:
        """Return the write ids of a table that it may see, its own included."""
        return self.view.reads(self.last).valid_write_ids(table, self.valid_txns)

    def snapshot(
        self, table: int, as_of: AsOf = NOW, time_zone: ZoneLike | None = None
    ) -> TableSnapshot:
        """Return a table as the txn sees it, or as it was at an earlier place; raises as `AsOf`.

        `time_zone` is the zone of conditions, by default the client's.
        """
        zone = self.view.zone if time_zone is None else zone_named(time_zone)
        row = self.names.own(table)
        is_new = row is not None and row.creator == self.id
        changes = partial(self.writes.own_changes, table)
        own = OwnTable(row, is_new, changes, self.files.definition, self.declare)
        reads = self.view.reads(self.opened if as_of.is_now else as_of.place)
        found = row if row is not None and is_new else known_row(reads, table)
        if as_of.is_now:
            return TableSnapshot(reads, found, self.opened, zone, own=own)
        position = as_of.position_in(self.view, reads, found)
        return TableSnapshot(reads, found, position, zone, own=own, is_former=True)

    def declare(self, read: TableFiles, record: bool) -> None:  # noqa: FBT001 - as OwnTable has it
        """Check that the txn was open at a read, and note the read unless it is not recorded."""
        self.check()
        if record:
            self.writes.read(read)

    @property
    def has_begun_to_write(self) -> bool:
        """Whether a write id was allocated, or anything but reads declared."""
        return bool(self._write_ids) or self.writes.has_written

    @property
    def is_staged(self) -> bool:
        """Whether a part of the commit is with the ledger; the writes must not change then."""
        return self._staging.has_begun

    def check(self) -> None:
        """Raise what ended the txn up to the position of the rows that the client has read."""
        self.ending.check_as_read()

    def ask(self, command: SessionCommand, *, asked: list[Asker] | None = None) -> CommandAnswer:
        """Return the answer to a command of the session; see `ClientSession.ask`."""
        if self.status != "unknown" and not isinstance(command, AbortTxn):
            self.ending.check()
        answer = self.ending.told(self.session.ask(command, asked=asked))
        self.last = max(self.last, self.view.token_at(answer.control))
        self.view.note(answer.control)
        return answer

    def receipt(self, answer: CommandAnswer) -> Receipt:
        """Return the receipt of an answer."""
        return receipt_of(answer, self.view.origin)

    def receipt_of_commit(self, answer: CommandAnswer) -> Receipt:
        """Return the receipt of the commit, with the rows that its statements changed."""
        made = self.receipt(answer)
        return made if made.skipped else replace(made, rows=dict(self.writes.rows))

    def write_ids(self, tables: Sequence[int]) -> Sequence[int]:
        """Return its write ids in tables, at most one round trip for all."""
        self.ending.check()
        missing = [table for table in tables if table not in self._write_ids]
        if missing:
            allocate([self], missing)
        return [self._write_ids[table] for table in tables]

    def write_id(self, table: int) -> int:
        """Return its write id in a table."""
        return self.write_ids([table])[0]

    def note_write_id(self, table: int, write_id: int) -> None:
        """Note a write id; 0 = no write id was allocated."""
        if write_id:
            self._write_ids[table] = write_id

    def take_write_id(self, table: int, write_id: int) -> None:
        """Note a write id that the caller requested: the txn is going to write there."""
        self._taken.add(table)
        self.note_write_id(table, write_id)

    def alter(
        self, row: TableRow, definition: TableDefinition, operation: str = "", read_at: int = 0
    ) -> Receipt:
        """Give a table another definition; others see it once the txn has committed."""
        name = operation or operation_of(row.definition, definition)
        answer = self.ask(AlterTable(*UNNUMBERED, self.id, read_at, row.table, definition, name))
        self.note_write_id(row.table, body_as(TableAltered, answer).write_id)
        self.names.alter(altered(row, definition, self.opened))
        return self.receipt(answer)

    def parts(self) -> Sequence[TableWrite]:
        """Freeze the declared writes and return them; stage what is too large for a record."""
        was_frozen = self.writes.is_frozen
        try:
            # First: a write that another thread declared after this would be in no commit.
            self.writes.freeze()
            declared = self.writes.parts(self._taken, self.level, self._write_ids)
            if self.type == "read_only" and not self.writes.has_written:
                # A txn that only read is correct as of its snapshot: nothing needs judging.
                return []
            return self._staging.fit(declared, self._stage)
        except BaseException:
            self.writes.is_frozen = was_frozen or self.is_staged
            raise

    def written(self) -> list[int]:
        """Return the tables with declared writes or requested write ids."""
        return sorted({*self.writes.written(), *self._taken})

    def note_end(self, status: Status) -> None:
        """Set the final status."""
        self.status, self.writes.has_ended = status, True
        self.ending.leave()
        self.files.end(status)

    def _stage(self, table: int, number: int, chunk: Footprint) -> None:
        answer = self.ask(StageWrites(*UNNUMBERED, self.id, table, number, chunk))
        body_as(WritesStaged, answer)


def allocate(works: Sequence[Work], tables: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the write ids of txns of one session by (table, txn), in one round trip."""
    numbers = [work.id for work in works]
    answer = works[0].ask(AllocateWriteIds(*UNNUMBERED, numbers, tables))
    repeated = answer.body
    ids = (
        repeated.ids
        if isinstance(repeated, CommandRepeated) and repeated.ids
        else body_as(WriteIdsAllocated, answer).ids
    )
    by_txn = {work.id: work for work in works}
    for write in ids:
        by_txn[write.txn].take_write_id(write.table, write.write_id)
    return {(write.table, write.txn): write.write_id for write in ids}
