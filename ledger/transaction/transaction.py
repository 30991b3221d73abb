"""The transaction, as a producer holds it: its ids, its snapshot, its writes and its end.

A txn belongs to the session that opened it, and ends with that session. Its snapshot is fixed at
its open. Until it commits, only the txn itself sees its changes of tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import Self

from ledger.arrow.read_once import ReadOnce
from ledger.core.commands import AbortTxn, CommitTxn, Operation, SessionCommand, TxnType
from ledger.core.events.events import CommandRepeated, Control, TxnAborted, TxnCommitted, TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.definitions.names import TableLike, TableNames
from ledger.errors import (
    ConflictError,
    LedgerError,
    LogError,
    OutcomeUnknownError,
    SessionExpiredError,
    TxnNotOpenError,
    told_cause,
)
from ledger.session.explain import name_conflict
from ledger.session.receipt import Receipt, Token
from ledger.session.refusals import body_as, check_done
from ledger.session.session import UNNUMBERED, ClientSession, CommandAnswer
from ledger.session.tail import Asker
from ledger.tracing import verb
from ledger.transaction.outcome import found_out, not_found_out
from ledger.transaction.txn_files import TxnFiles
from ledger.transaction.txn_rows import TxnRows
from ledger.work import unit_of_work
from ledger.work.repeated_batches import noted_receipt
from ledger.work.unit_of_work import Status, Work
from ledger.work.writes import coarse_write

REASON_MAX = 500


class Transaction(TxnFiles, TxnRows):
    """A txn of this process. A `with` block commits it at its end, or aborts it on an error.

    After an error the log says its type, and no message: that may have values of rows. Threads may
    share it. A declaration during another thread's commit is in it, or is refused.

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
        self._work = work = Work(session, names, opening, txn, level)
        self.id, self.level, self.opened = work.id, work.level, work.opened
        self.type: TxnType = work.type
        self.receipt: Receipt | None = None
        self._committing = Lock()
        # Commit commands without an answer so far.
        self._unanswered: list[Asker] = []

    @property
    def status(self) -> Status:
        """Its state, as far as this process knows."""
        return self._work.status

    @property
    def opened_at(self) -> int:
        """The time of its open by the clock of the ledger, in milliseconds since 1970 UTC."""
        return self._work.opened_at

    @property
    def valid_txns(self) -> ValidTxnList:
        """The list of txns that this txn may see, fixed when it opened."""
        return self._work.valid_txns

    @property
    def token(self) -> Token:
        """The token of the last answer to this txn: rows from there on hold all its changes."""
        return self._work.last

    def valid_write_ids(self, table: TableLike) -> ValidWriteIdList:
        """Return the write ids of a table that this txn may see, its own included.

        This does not count as a read of rows: if the writes depend on rows, call `read_whole` too.
        """
        self._work.ending.check()
        return self._work.valid_write_ids(self._work.names.number(table))

    def write_id(self, table: TableLike) -> int:
        """Return the txn's write id in a table; the first call requests it.

        Without another declaration the commit counts as an insert into the table. The table gets a
        version, and if it was dropped meanwhile the commit loses.
        """
        return self.write_ids([table])[0]

    def write_ids(self, tables: Sequence[TableLike]) -> Sequence[int]:
        """Return the txn's write ids in the order of `tables`, at most one round trip for all."""
        self._work.ending.check()
        return self._work.write_ids(self._work.names.numbers(tables))

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
        number, row = self._work.names.find(table)
        write = coarse_write(operation, row, partition=partition, whole_table=whole_table)
        self._work.writes.add(number, write, self._work.view.position_of(read_at))

    @verb
    def commit(self) -> Receipt:
        """Make the txn visible and return the receipt; a second call returns it again.

        If its applications made the same progress before, nothing is done: the txn is aborted and
        the receipt is `skipped`, with a `note` and a logged warning. Raises ConflictError if an
        earlier commit won (the txn is then aborted), OutcomeUnknownError if no answer came in time
        (commit again to learn the outcome), and other RefusedErrors, after which the txn may still
        be open.
        """
        if not self._work.session.is_own:
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
        tables = None if wrote is None else self._work.names.numbers(wrote)
        try:
            answer = self._work.ask(AbortTxn(*UNNUMBERED, self.id, reason[:REASON_MAX], tables))
            if not isinstance(answer.body, CommandRepeated | TxnAborted):
                body_as(TxnAborted, answer)
        except SessionExpiredError:
            if self.status == "open":
                self._work.note_end("aborted")  # With its session.
            raise
        self._work.note_end("aborted")
        return self._work.receipt(answer)

    def ask(self, command: SessionCommand) -> CommandAnswer:
        """Return the answer to a command of the session that opened this txn."""
        return self._work.ask(command)

    def _share(self, once: ReadOnce) -> Self:
        """Share what can be read once with the other attempts of one `run`."""
        self._work.once = once.again()
        return self

    def _commit(self) -> Receipt:
        """Commit, and note how the txn ended; raises as `commit`."""
        work = self._work
        if self.receipt is not None:
            # Ctrl-C may have come between the receipt and this.
            self._work.note_end("aborted" if self.receipt.skipped else "committed")
            return replace(self.receipt, repeated=True)
        try:
            self.receipt = self._committed()
        except ConflictError as error:
            self._work.note_end("aborted")
            name_conflict(error, work.view.at_hand, work.writes.paths_of)
            raise
        except (TxnNotOpenError, SessionExpiredError):
            self._work.note_end("aborted")
            raise
        if self.receipt.skipped:
            self._work.note_end("aborted")
            self.receipt = noted_receipt(
                self.receipt, work.view, work.writes.progress(), work.written()
            )
            return self.receipt
        self._work.note_end("committed")
        for row in work.names.given():
            position = self.receipt.position
            since = position if row.partitioned == self.opened else row.partitioned
            made = row._replace(creator=0, changed=position, partitioned=since)
            work.names.client.remember(made, position)
        return self.receipt

    def _committed(self) -> Receipt:
        """Send the commit and return the receipt if its work is done; raise any other outcome."""
        work = self._work
        earlier, before = list(self._unanswered), (work.status, work.writes.is_frozen)
        command = CommitTxn(*UNNUMBERED, work.id, work.parts(), work.level)
        # Set before sending: from here on Ctrl-C leaves the outcome unknown.
        work.status = "unknown"
        try:
            answer = work.ask(command, asked=self._unanswered)
            check_done(answer)
        except OutcomeUnknownError:
            raise
        except Exception as error:
            self._unanswered = earlier
            if earlier and isinstance(error, TxnNotOpenError | SessionExpiredError):
                return found_out(work.view, work.id, earlier, error)
            if earlier and isinstance(error, LogError):
                raise not_found_out(work.id, *earlier[-1], error) from error
            work.status, work.writes.is_frozen = before[0], before[1] or work.is_staged
            raise
        if isinstance(answer.body, TxnCommitted):
            for part in answer.body.parts:
                if part.left_out:
                    work.files.leave_out(part.left_out)
        return work.receipt_of_commit(answer)

    def _abandon(self, error: BaseException) -> None:
        """Abort because of an error; a failure of the abort becomes a note of that error."""
        reason = told_cause(error)
        wrote = None if self._work.has_begun_to_write else ()
        if not self._work.session.can_ask:
            # Garbage collection may close an unfinished generator on any thread.
            abort = AbortTxn(*UNNUMBERED, self.id, reason[:REASON_MAX], wrote)
            self._work.session.ask_later(abort)
            return
        try:
            self.abort(reason, wrote)
        except SessionExpiredError:
            pass  # It is aborted.
        except LedgerError as failure:
            # Only the message of the refusal says how the txn ended.
            if "is not open (committed)" in str(failure):
                self._work.note_end("committed")
                error.add_note(f"txn {self.id} could not be aborted, it is committed: {failure}")
                return
            error.add_note(f"txn {self.id} could not be aborted, its deadline ends it: {failure}")

    def __del__(self) -> None:
        # An object whose constructor failed has no work.
        work = self.__dict__.get("_work")
        if work is not None and work.status == "open":
            work.ending.drop()

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
    return unit_of_work.allocate([txn._work for txn in txns], tables)  # noqa: SLF001 - its own
