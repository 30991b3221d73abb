"""How a client opens, runs and aborts txns, and asks about commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from ledger.core.commands import AbortTxn, ForgetAborted, OpenTxn, SessionCommand, TrimLog, TxnType
from ledger.core.events.events import (
    AbortedForgotten,
    Body,
    CommandRepeated,
    LogTrimmed,
    TxnAborted,
    TxnOpened,
)
from ledger.core.limits import DURATION_MAX_MS
from ledger.definitions.client_reads import View
from ledger.definitions.given import check_list
from ledger.definitions.names import TableLike, TableNames, listed
from ledger.reads.errors import check_number
from ledger.reads.whole_numbers import whole_number
from ledger.session.channel import Channel
from ledger.session.receipt import Outcome, Receipt, receipt_of
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED, CommandAnswer
from ledger.session.sessions import ClientSessions, OfOneProcess
from ledger.tracing import verb
from ledger.transaction.retry import Pace, run
from ledger.transaction.transaction import Transaction, allocate
from ledger.work.writes import level_named

MS: Final = 1000

Result = TypeVar("Result")


class LedgerTxns(OfOneProcess):
    """The part of a client that deals with txns and commands; the other parts stand on it.

    Attributes:
        catalog: the catalog in which this client's table names are.
    """

    catalog: str
    _channel: Channel
    _names: TableNames
    _sessions: ClientSessions
    _view: View

    @contextmanager
    def transaction(
        self,
        type: TxnType = "default",  # noqa: A002 - what Hive calls it
        *,
        tables: Sequence[TableLike] = (),
        deadline_s: float | None = None,
        level: str | None = None,
    ) -> Iterator[Transaction]:
        """Open a txn for a `with` block: it commits at the end, and aborts if the block raises.

        `tables`, `deadline_s` and `level` as for `begin`.
        """
        with self.begin(type, tables=tables, deadline_s=deadline_s, level=level) as txn:
            yield txn

    def begin(
        self,
        type: TxnType = "default",  # noqa: A002 - what Hive calls it
        *,
        tables: Sequence[TableLike] = (),
        deadline_s: float | None = None,
        level: str | None = None,
    ) -> Transaction:
        """Open a txn, to be ended by `commit` or `abort`.

        Name the `tables` that the txn will write: it then opens with its write ids, which saves a
        round trip. After `deadline_s` the leader aborts the txn, as a rule some seconds later;
        until then the txn may commit. None is the ledger's default. `level` is a minimum for every
        table: "serializable", "write-serializable" or "snapshot-isolation". Raises ValueError for a
        deadline that is not positive.

        After OutcomeUnknownError or Ctrl-C the txn may be open. It then stays open until this
        ledger is closed, its deadline passes, or an operator aborts it.
        """
        return self.begin_many(1, type, tables=tables, deadline_s=deadline_s, level=level)[0]

    def begin_many(
        self,
        count: int,
        type: TxnType = "default",  # noqa: A002 - what Hive calls it
        *,
        tables: Sequence[TableLike] = (),
        deadline_s: float | None = None,
        level: str | None = None,
    ) -> Sequence[Transaction]:
        """Open several txns in one round trip, ids ascending; each sees those before it as open.

        Each txn has a write id in every one of `tables`. The rest is as for `begin`.
        """
        asked = level_named(level)
        deadline_ms = 0 if deadline_s is None else milliseconds(deadline_s)
        numbers = self._names.numbers(tables)
        command = OpenTxn(*UNNUMBERED, type, count, deadline_ms, numbers)
        session, answer = self._sessions.ask(command)
        self._view.note(answer.control)
        body = body_as(TxnOpened, answer)
        opening = answer.control, body
        first = answer.control.txn
        txns = [
            Transaction(session, self._names, opening, txn, level=asked)
            for txn in range(first, first + body.size)
        ]
        for each in body.ids:
            work = txns[each.txn - first]._work  # noqa: SLF001 - of this package
            work.take_write_id(each.table, each.write_id)
        return txns

    def allocate(
        self, txns: Sequence[Transaction], tables: Sequence[TableLike]
    ) -> Mapping[tuple[int, int], int]:
        """Return the write ids of many txns by (table id, txn id), in one round trip."""
        check_list("txns", txns, Transaction)
        numbers = self._names.numbers(tables)
        return allocate(txns, numbers) if txns and numbers else {}

    @verb
    def run(
        self,
        work: Callable[[Transaction], Result],
        attempts: int = 10,
        deadline_s: float = 30.0,
        level: str | None = None,
        *,
        tables: Sequence[TableLike] = (),
        on_commit: Callable[[Receipt], object] | None = None,
    ) -> Result:
        """Call `work` with a txn and commit it; if an earlier commit wins, do so again.

        Each attempt has a new txn, which opens with a write id in each of `tables`. The last return
        value of `work` is returned, and `on_commit` gets the receipt. There are at most `attempts`,
        and none begins after `deadline_s`: work that takes seconds needs a larger one. Then the
        last conflict is raised; it says which of the two ended the attempts, and has a note for
        each of them.

        A commit without an answer is repeated, but the work is not. Work that called `commit`
        itself and then raises is not repeated either. Raises ValueError for less than one attempt
        and for an impossible deadline.
        """
        # A tuple: every attempt needs them anew, and an iterator can be read only once.
        pace, tables = Pace(attempts, deadline_s), tuple(listed(tables))
        return run(lambda: self.begin(tables=tables, level=level), work, pace, on_commit=on_commit)

    def abort(self, txn: int, reason: str) -> Receipt:
        """Abort a txn of any session. The ledger takes it that the txn may have written data."""
        return self._done(AbortTxn(*UNNUMBERED, txn, reason, None), TxnAborted)

    def trim_log(
        self, below: int, *, archive: str, image: int, digest: bytes, reason: str = ""
    ) -> Receipt:
        """Record that events below a position may leave the log.

        This removes nothing, and verifies neither archive nor image: `lakeledger log trim` does.
        Followers give up rows only once a leader sees that the records of the log are gone.
        `archive` is the place of a backup with these events, `image` the position of verified rows
        in it, not before `below`, and `digest` theirs. Raises LogHeldError while an open txn needs
        the events, CommandInvalidError for impossible positions.
        """
        command = TrimLog(*UNNUMBERED, below, archive, image, digest, reason)
        return self._done(command, LogTrimmed)

    def forget_aborted(
        self,
        txns: Sequence[Transaction | int] = (),
        *,
        table: TableLike | None = None,
        write_ids: Sequence[int] = (),
    ) -> Receipt:
        """State that no file of aborted ids can be reached and that their writers are fenced.

        Give whole `txns`, or `write_ids` of one `table`. The cleanup watermark can then move on.
        Raises ValueError for whole txns in one table, because the ledger would forget them in all
        tables, and TypeError for an item that is not a txn.
        """
        check_list("txns", txns, int, Transaction)
        check_list("write ids", write_ids, int)
        if txns and table is not None:
            raise ValueError(
                "name either txns, which are forgotten in all tables, or a table and the write ids "
                "in it"
            )
        numbers = [
            txn.id if isinstance(txn, Transaction) else whole_number("txn", txn) for txn in txns
        ]
        number = 0 if table is None else self._names.number(table)
        return self._done(ForgetAborted(*UNNUMBERED, numbers, number, write_ids), AbortedForgotten)

    def outcome(self, session: int, n: int) -> Outcome:
        """Return the first answer to a command, or that it has no answer yet.

        A command of this client since it connected needs no read if its answer was seen here.
        Raises ValueError for impossible numbers.
        """
        check_number("session", session)
        check_number("n", n)
        seen = self._sessions.late_answer(session, n)
        if seen is not None:
            return Outcome.of_event(seen)
        reads = self._view.reads(self._channel.tail.position)
        as_of = reads.position()
        return Outcome.of_row(session, n, as_of, reads.outcome(session, n))

    def _ask(self, command: SessionCommand) -> CommandAnswer:
        answer = self._sessions.ask(command)[1]
        self._view.note(answer.control)
        return answer

    def _done(self, command: SessionCommand, kind: type[Body]) -> Receipt:
        """Return the receipt of a command that is answered with this kind of event."""
        answer = self._ask(command)
        body = answer.body
        if not (isinstance(body, CommandRepeated) and body.outcome == kind.__name__):
            body_as(kind, answer)
        return receipt_of(answer, self._view.origin)


def milliseconds(deadline_s: float) -> int:
    """Return a deadline in milliseconds; raises ValueError if it is not a positive duration."""
    if not 0 < deadline_s <= DURATION_MAX_MS / MS:
        raise ValueError(
            f"deadline_s must be above 0 and at most {DURATION_MAX_MS // MS}, got {deadline_s}; "
            "give None for the ledger's default"
        )
    return max(1, round(deadline_s * MS))
