"""The transaction, as a producer holds it: its ids, its snapshot, its writes and its end.

A txn belongs to the session that opened it, and ends with that session. Its snapshot is fixed at
its open. Until it commits, only the txn itself sees its changes of tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import Literal, Self

from ledger.arrow.read_once import ReadOnce
from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    CommitTxn,
    Footprint,
    Operation,
    SessionCommand,
    StageWrites,
    TableWrite,
    TxnType,
)
from ledger.core.events.events import (
    CommandRepeated,
    Control,
    TxnAborted,
    TxnOpened,
    WriteIdsAllocated,
    WritesStaged,
)
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import held_txn_list
from ledger.definitions.names import TableLike, TableNames
from ledger.definitions.txn_names import TxnNames
from ledger.errors import (
    ConflictError,
    LedgerError,
    LogError,
    OutcomeUnknownError,
    SessionExpiredError,
    TxnNotOpenError,
)
from ledger.files.file_writers import FileWriter
from ledger.files.written_files import WrittenFiles
from ledger.session.explain import name_conflict
from ledger.session.receipt import Receipt, Token, receipt_of
from ledger.session.refusals import body_as, check_done
from ledger.session.session import UNNUMBERED, ClientSession, CommandAnswer
from ledger.session.tail import Asker
from ledger.transaction.ended import TxnEnding
from ledger.transaction.outcome import found_out, not_found_out
from ledger.transaction.txn_files import TxnFiles
from ledger.transaction.txn_rows import TxnRows
from ledger.work.repeated_batches import told
from ledger.work.staging import Staging
from ledger.work.writes import DeclaredWrites, coarse_write

REASON_MAX = 500

Status = Literal["open", "committed", "aborted", "unknown"]
"""The status of a txn; `unknown` = commit() got no answer, and commit() again returns it."""


class Transaction(TxnFiles, TxnRows):
    """A txn of this process. A `with` block commits it at its end, or aborts it on an error.

    Threads may share it. A declaration during another thread's commit is in it, or is refused.

    Attributes:
        id: its txn id.
        type: what kind of txn it is.
        level: the isolation level requested for every table, "" for each table's own.
        opened: the position at which it opened.
        status: its state, as far as this process knows.
        receipt: what its commit returned, None before.
    """

    def __init__(
        self,
        session: ClientSession,
        names: TableNames,
        opening: tuple[Control, TxnOpened],
        txn: int,
        *,
        level: str = "",
    ) -> None:
        control, body = opening
        self.id = txn
        self.type: TxnType = body.type
        self.level = level
        self.opened = control.position
        self.status: Status = "open"
        self.receipt: Receipt | None = None
        self._session = session
        self._view = names.view
        self._names = TxnNames(names, txn, control.position)
        self._opening = opening
        self._valid_txns: ValidTxnList | None = None
        self._write_ids: dict[int, int] = {}
        self._taken: set[int] = set()
        self._ending = TxnEnding(txn, session, names.view, self)
        read_only, alive = body.type == "read_only", self._ending.check
        self._writes = DeclaredWrites(control.position, read_only=read_only, check_alive=alive)
        self._data = WrittenFiles()
        self._once = ReadOnce()
        self._writer = FileWriter.of(names.view.origin.ledger, txn, control.position, control.at)
        self._staging = Staging()
        self._committing = Lock()
        self._last = names.view.token_at(control)
        # Commit commands without an answer so far.
        self._unanswered: list[Asker] = []

    @property
    def opened_at(self) -> int:
        """The time of its open by the clock of the ledger, in milliseconds since 1970 UTC."""
        return self._opening[0].at

    @property
    def valid_txns(self) -> ValidTxnList:
        """The list of txns that this txn may see, fixed when it opened."""
        if self._valid_txns is None:
            control, body = self._opening
            held = held_txn_list if body.inline else self._view.held_txn_list
            self._valid_txns = held(control, body, self.id)
        return self._valid_txns

    @property
    def token(self) -> Token:
        """The token of the last answer to this txn: rows from there on hold all its changes."""
        return self._last

    def valid_write_ids(self, table: TableLike) -> ValidWriteIdList:
        """Return the write ids of a table that this txn may see, its own included.

        This does not count as a read of rows: if the writes depend on rows, call `read_whole` too.
        """
        self._ending.check()
        number = self._names.number(table)
        return self._view.reads(self._last).valid_write_ids(number, self.valid_txns)

    def write_id(self, table: TableLike) -> int:
        """Return the txn's write id in a table; the first call requests it.

        Without another declaration the commit counts as an insert into the table. The table gets a
        version, and if it was dropped meanwhile the commit loses.
        """
        return self.write_ids([table])[0]

    def write_ids(self, tables: Sequence[TableLike]) -> Sequence[int]:
        """Return the txn's write ids in the order of `tables`, at most one round trip for all."""
        self._ending.check()
        numbers = self._names.numbers(tables)
        missing = [each for each in numbers if each not in self._write_ids]
        if missing:
            allocate([self], missing)
        return [self._write_ids[number] for number in numbers]

    def wrote(
        self,
        table: TableLike,
        operation: Operation,
        partition: str | None = None,
        *,
        whole_table: bool = False,
        read_at: Token | int = 0,
    ) -> None:
        """Declare that rows of a partition, or of a table, were written by other means.

        `operation` is "insert", "update" or "delete", as in Hive's ACID tables: an insert conflicts
        with no other declaration, and the others conflict in the partition they name. `partition`
        has Hive's form, `day=2024-01-01/hour=5`. `read_at` names a later read than the txn's
        snapshot. Raises ValueError for another operation, if an update or delete of a partitioned
        table names neither a partition nor `whole_table`, and for a partition of a table without
        partitions.
        """
        self._declare(operation, table, partition, whole_table=whole_table, read_at=read_at)

    def commit(self) -> Receipt:
        """Make the txn visible and return the receipt; a second call returns it again.

        If its applications made the same progress before, nothing is done: the txn is aborted and
        the receipt is `skipped`, with a `note` and a logged warning. Raises ConflictError if an
        earlier commit won (the txn is then aborted), OutcomeUnknownError if no answer came in time
        (commit again to learn the outcome), and other RefusedErrors, after which the txn may still
        be open.
        """
        if not self._session.is_own:
            # In a fork the lock may be held for ever, by a thread that only the parent has.
            return self._commit()
        # A second thread that commits waits here: it gets the same receipt and stages nothing.
        with self._committing:
            return self._commit()

    def abort(self, reason: str = "", wrote: Iterable[TableLike] | None = None) -> Receipt:
        """End the txn without effect.

        `wrote` names the tables in which it may have left data. None means every table in which it
        has a write id. Raises TxnNotOpenError if it is committed, or forgotten, SessionExpiredError
        if it ended with its session, and OutcomeUnknownError if no answer came.
        """
        tables = None if wrote is None else self._names.numbers(wrote)
        try:
            answer = self.ask(AbortTxn(*UNNUMBERED, self.id, reason[:REASON_MAX], tables))
            if not isinstance(answer.body, CommandRepeated | TxnAborted):
                body_as(TxnAborted, answer)
        except SessionExpiredError:
            if self.status == "open":
                self.note_end("aborted")  # With its session.
            raise
        self.note_end("aborted")
        return self._receipt(answer)

    def ask(self, command: SessionCommand, *, asked: list[Asker] | None = None) -> CommandAnswer:
        """Return the answer to a command of this txn's session; see `Session.ask`."""
        if self.status != "unknown" and not isinstance(command, AbortTxn):
            self._ending.check()
        answer = self._ending.told(self._session.ask(command, asked=asked))
        self._last = max(self._last, self._view.token_at(answer.control))
        self._view.note(answer.control)
        return answer

    def take_write_id(self, table: int, write_id: int) -> None:
        """Note a write id that the caller requested: the txn is going to write there."""
        self._taken.add(table)
        self.note_write_id(table, write_id)

    def _share(self, once: ReadOnce) -> Self:
        """Share what can be read once with the other attempts of one `run`."""
        self._once = once.again()
        return self

    def note_write_id(self, table: int, write_id: int) -> None:
        """Note a write id of the txn; 0 = no write id was allocated."""
        if write_id:
            self._write_ids[table] = write_id

    def _commit(self) -> Receipt:
        """Commit, and note how the txn ended; raises as `commit`."""
        if self.receipt is not None:
            # Ctrl-C may have come between the receipt and this.
            self.note_end("aborted" if self.receipt.skipped else "committed")
            return replace(self.receipt, repeated=True)
        try:
            self.receipt = self._committed()
        except ConflictError as error:
            self.note_end("aborted")
            name_conflict(error, self._view.at_hand, self._writes.paths_of)
            raise
        except (TxnNotOpenError, SessionExpiredError):
            self.note_end("aborted")
            raise
        if self.receipt.skipped:
            self.note_end("aborted")
            tables = sorted({*self._writes.written(), *self._taken})
            self.receipt = told(self.receipt, self._view, self._writes.progress(), tables)
            return self.receipt
        self.note_end("committed")
        for row in self._names.given():
            position = self.receipt.position
            since = position if row.partitioned == self.opened else row.partitioned
            made = row._replace(creator=0, changed=position, partitioned=since)
            self._names.client.remember(made, position)
        return self.receipt

    def _committed(self) -> Receipt:
        """Send the commit and return the receipt if its work is done; raise any other outcome."""
        earlier, before = list(self._unanswered), (self.status, self._writes.is_frozen)
        command = CommitTxn(*UNNUMBERED, self.id, self._parts(), self.level)
        # Set before sending: from here on Ctrl-C leaves the outcome unknown.
        self.status = "unknown"
        try:
            answer = self.ask(command, asked=self._unanswered)
            check_done(answer)
        except OutcomeUnknownError:
            raise
        except Exception as error:
            self._unanswered = earlier
            if earlier and isinstance(error, TxnNotOpenError | SessionExpiredError):
                return found_out(self._view, self.id, earlier, error)
            if earlier and isinstance(error, LogError):
                raise not_found_out(self.id, *earlier[-1], error) from error
            self.status, self._writes.is_frozen = before[0], before[1] or self._staging.has_begun
            raise
        return self._receipt(answer)

    def _parts(self) -> Sequence[TableWrite]:
        """Freeze the declared writes and return them; stage what is too large for a record."""
        was_frozen = self._writes.is_frozen
        try:
            # First: a write that another thread declared after this would be in no commit.
            self._writes.freeze()
            declared = self._writes.parts(self._taken, self.level, self._write_ids)
            if self.type == "read_only" and not self._writes.has_written:
                # A txn that only read is correct as of its snapshot: nothing needs judging.
                return []
            return self._staging.fit(declared, self._stage)
        except BaseException:
            self._writes.is_frozen = was_frozen or self._staging.has_begun
            raise

    def _stage(self, table: int, number: int, chunk: Footprint) -> None:
        answer = self.ask(StageWrites(*UNNUMBERED, self.id, table, number, chunk))
        body_as(WritesStaged, answer)

    def _declare(
        self,
        operation: Operation,
        table: TableLike,
        partition: str | None,
        *,
        whole_table: bool = False,
        read_at: Token | int = 0,
    ) -> None:
        number, row = self._names.find(table)
        write = coarse_write(operation, row, partition=partition, whole_table=whole_table)
        self._writes.add(number, write, self._view.position_of(read_at))

    def note_end(self, status: Status) -> None:
        """Set the final status of the txn."""
        self.status, self._writes.has_ended = status, True
        self._ending.leave()
        self._data.end(status)

    def _receipt(self, answer: CommandAnswer) -> Receipt:
        return receipt_of(answer, self._view.origin)

    def _abandon(self, error: BaseException) -> None:
        """Abort because of an error; a failure of the abort becomes a note of that error."""
        has_written = self._write_ids or self._writes.has_written
        # The text of an error may hold what no record takes, such as half of a surrogate pair.
        reason = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()
        wrote = None if has_written else ()
        if not self._session.can_ask:
            # Garbage collection may close an unfinished generator on any thread.
            abort = AbortTxn(*UNNUMBERED, self.id, reason[:REASON_MAX], wrote)
            self._session.ask_later(abort)
            return
        try:
            self.abort(reason, wrote)
        except SessionExpiredError:
            pass  # It is aborted.
        except LedgerError as failure:
            # Only the message of the refusal says how the txn ended.
            if "is not open (committed)" in str(failure):
                self.note_end("committed")
                error.add_note(f"txn {self.id} could not be aborted, it is committed: {failure}")
                return
            error.add_note(f"txn {self.id} could not be aborted, its deadline ends it: {failure}")

    def __del__(self) -> None:
        # An object whose constructor failed has no `_ending`.
        if self.__dict__.get("status") == "open" and "_ending" in self.__dict__:
            self._ending.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.status != "open":
            return
        if error is not None:
            self._abandon(error)
            return
        try:
            self.commit()
        except (OutcomeUnknownError, LogError):
            raise
        except BaseException as error_of_commit:
            # Ctrl-C may also come before the commit is sent, while its chunks are staged.
            if self.status == "open":
                self._abandon(error_of_commit)
            raise

    def __repr__(self) -> str:
        return f"<Transaction {self.id} {self.type}, {self.status}, opened at {self.opened}>"


def allocate(txns: Sequence[Transaction], tables: Sequence[int]) -> Mapping[tuple[int, int], int]:
    """Return the write ids of txns of one session by (table, txn), in one round trip."""
    numbers = [txn.id for txn in txns]
    answer = txns[0].ask(AllocateWriteIds(*UNNUMBERED, numbers, tables))
    repeated = answer.body
    ids = (
        repeated.ids
        if isinstance(repeated, CommandRepeated) and repeated.ids
        else body_as(WriteIdsAllocated, answer).ids
    )
    by_txn = {txn.id: txn for txn in txns}
    for each in ids:
        by_txn[each.txn].take_write_id(each.table, each.write_id)
    return {(each.table, each.txn): each.write_id for each in ids}
