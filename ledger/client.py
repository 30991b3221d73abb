"""The SDK: what a producer does with a ledger.

    with Ledger.connect() as ledger, ledger.transaction() as txn:
        txn.write_id("flights")

Every call that changes something is one command, and waits for the event that answers it. A refusal
is raised as the exception of its reason. A call without an answer in time raises
`OutcomeUnknownError`: it may have been executed. A ledger object belongs to the process that
connected it; the threads of that process may share it.
"""

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Final, Self, TypeVar
from warnings import warn

from ledger.clock import Clock, SystemClock
from ledger.config.search import client_for, find_address
from ledger.config.settings import CATALOG_DEFAULT, ClientSettings, checked_timeout
from ledger.core.commands import AbortTxn, ForgetAborted, OpenTxn, SessionCommand, TxnType
from ledger.core.events.events import AbortedForgotten, Body, CommandRepeated, TxnAborted, TxnOpened
from ledger.core.limits import DURATION_MAX_MS
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.definitions.client_reads import View, open_rows
from ledger.definitions.definitions import text_of
from ledger.definitions.given import check_list, check_name_of
from ledger.definitions.names import TableLike, TableNames, listed
from ledger.definitions.new_tables import NewTables
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.log.port import Log
from ledger.reads.amounts import amount
from ledger.reads.errors import check_number
from ledger.reads.port import Reads
from ledger.reads.whole_numbers import whole
from ledger.session.channel import LINES, Channel, frozen
from ledger.session.receipt import Outcome, Receipt, Token, receipt_of
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED, CommandAnswer
from ledger.session.sessions import ClientSessions, Labels
from ledger.session.tail import read_genesis
from ledger.transaction.client_files import LedgerFiles
from ledger.transaction.client_rows import LedgerRows
from ledger.transaction.client_tables import LedgerTables
from ledger.transaction.retry import Pace, run
from ledger.transaction.transaction import Transaction, allocate
from ledger.work.writes import level_named

MS: Final = 1000

Result = TypeVar("Result")


class Ledger(LedgerTables, LedgerFiles, LedgerRows):
    """A connected ledger. Close it, or use it in a `with` block.

    Attributes:
        id: the ledger's id, drawn when the ledger was created.
        name: the ledger's name.
        catalog: the catalog of this client's table names.
    """

    def __init__(
        self,
        log: Log | None = None,
        *,
        catalog: str = CATALOG_DEFAULT,
        open_reads: Callable[[], Reads] | None = None,
        application: str | None = None,
        settings: ClientSettings | None = None,
        clock: Clock | None = None,
        open_channel: Callable[[Log, int], Channel] = Channel.open,
        time_zone: ZoneLike = "UTC",
        new_tables: NewTables = NewTables(),  # noqa: B008 - it never changes
    ) -> None:
        if log is None or open_reads is None or isinstance(log, str):
            raise TypeError(
                "connect with Ledger.connect(bootstrap, ledger); without arguments it finds the "
                "ledger of this host. Ledger(...) itself must get a Log and open_reads=..."
            )
        # First, while there is nothing yet to close.
        check_name_of("a catalog", catalog)
        labels, zone = Labels.of_process(application), zone_named(time_zone)
        self._settings = settings or ClientSettings()
        created = read_genesis(log, self._settings.timeout_s)
        self.id, self.name, self.catalog = created.ledger, created.name, catalog
        self._channel = open_channel(log, created.domain)
        self._sessions = ClientSessions(
            self._channel,
            labels,
            lease_ms=created.limits.lease_ms,
            settings=self._settings,
            clock=clock or SystemClock(),
        )
        origin = Token(created.ledger, created.domain, 0)
        self._view = View(self._channel, origin, open_reads, self._settings.timeout_s, zone)
        self._names = TableNames(self._view, self._channel.tail, catalog, new_tables)
        self._own = ExitStack()
        atexit.register(self._close_at_exit)

    @classmethod
    def connect(
        cls,
        bootstrap: str | None = None,
        ledger: str | None = None,
        *,
        catalog: str | None = None,
        reads: Reads | None = None,
        client: Mapping[str, Any] | None = None,
        application: str | None = None,
        timeout_s: float = 30.0,
        lease_s: float | None = None,
        log: Log | None = None,
        time_zone: ZoneLike = "UTC",
        warehouse: str | PathLike[str] | None = None,
    ) -> Self:
        """Connect to a ledger: the named one, else the one of the environment or of this host.

        `client` holds librdkafka settings, such as the login (else LAKELEDGER_CLIENT_CONFIG names a
        file of them). `catalog` is the catalog of table names (LAKELEDGER_CATALOG, else `main`).
        `reads` answers reads; by default the rows of this host, or `HttpReads` if
        LAKELEDGER_READS_URL is set. `log` replaces Kafka in tests. The caller closes them. New
        tables without a location lie below `warehouse` (LAKELEDGER_WAREHOUSE, else a folder beside
        the rows of a local ledger); LAKELEDGER_PUBLISH=delta publishes them. Conditions are read in
        `time_zone`. Calls wait `timeout_s`. Open txns end after `lease_s` of silence, from 0.5 s
        (else LAKELEDGER_LEASE_S, else the ledger's); a long call in C is silence too.

        Raises SettingsError if there is no such ledger, LogUnavailableError if Kafka is away.
        """
        settings = ClientSettings(timeout_s=checked_timeout(timeout_s), lease_s=lease_s)
        address, new_tables = None, NewTables(text_of(warehouse or ""))
        open_channel: Callable[[Log, int], Channel] = Channel.open
        with ExitStack() as own:
            if log is None:
                from ledger.config.config import load  # noqa: PLC0415 - only where no log is given
                from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415 - loads the Kafka client

                address, configured = find_address(bootstrap, ledger), load().settings
                where = address.bootstrap, address.ledger
                client = client_for(address) if client is None else client
                catalog = configured.catalog if catalog is None else catalog
                settings = settings if lease_s else replace(settings, lease_s=configured.lease_s)
                place = text_of(warehouse or configured.warehouse or address.warehouse)
                new_tables = NewTables(place, configured.publish or "")
                log = (make_log := partial(KafkaLog, *where, client=client))()
                own.callback(log.close)
                open_channel = LINES.opener((where, frozen(client)), make_log)
            connected = cls(
                log,
                catalog=CATALOG_DEFAULT if catalog is None else catalog,
                open_reads=lambda: open_rows(address) if reads is None else reads,
                application=application,
                settings=settings,
                open_channel=open_channel,
                time_zone=time_zone,
                new_tables=new_tables,
            )
            if reads is None:
                own.callback(connected._view.close)
            connected._own = own.pop_all()
        return connected

    @property
    def token(self) -> Token:
        """The position of this client's last write. A read with it sees that write."""
        return self._view.token()

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
            each.id if isinstance(each, Transaction) else whole("txn", each) for each in txns
        ]
        number = 0 if table is None else self._names.number(table)
        return self._done(ForgetAborted(*UNNUMBERED, numbers, number, write_ids), AbortedForgotten)

    def snapshot(self) -> ValidTxnList:
        """Return the valid txns of a reader without a txn; this client's commits are included."""
        return self._view.reads().valid_txns()

    def reads(self) -> Reads:
        """Return the read model, at the position of this client's last write or later."""
        return self._view.reads()

    def wait(self, token: Token | str | int, timeout_s: float | None = None) -> int:
        """Wait until the read model has reached a token or position; return its position.

        Raises LogRewrittenError for a token of what the log has lost, ReaderBehindError after
        `timeout_s`, ValueError for a token of another ledger or an impossible position or timeout,
        and TypeError for any other type.
        """
        place = Token.parse(token) if isinstance(token, str) else token
        timeout_ms = None if timeout_s is None else round(checked_timeout(timeout_s) * MS)
        return self._view.reads(place, timeout_ms).position()

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

    def close(self) -> None:
        """End the session and its open txns; a second call, or one in a fork, does nothing."""
        if not self._channel.is_own:
            return
        # Runs from the last to the first; each step runs even if Ctrl-C interrupts one before it.
        with ExitStack() as steps:
            steps.callback(atexit.unregister, self._close_at_exit)
            steps.callback(self._own.close)
            steps.callback(self._channel.close)
            steps.callback(self._sessions.close)

    def _close_at_exit(self) -> None:
        """Close what the program left open, and warn of txns that this ends."""
        if self._channel.is_own and (left := self._sessions.open_txns()):
            warn(
                f"ledger {self.name} was not closed before the program ended. This ends its "
                f"{amount(len(left), 'open txn')}, the first is txn {left[0]}: commit or "
                "abort each of them, and use Ledger.connect in a with block",
                ResourceWarning,
                stacklevel=2,
            )
        self.close()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.name} ({self.id}), catalog {self.catalog}, at {self.token}>"


def milliseconds(deadline_s: float) -> int:
    """Return a deadline in milliseconds; raises ValueError if it is not a positive duration."""
    if not 0 < deadline_s <= DURATION_MAX_MS / MS:
        raise ValueError(
            f"deadline_s must be above 0 and at most {DURATION_MAX_MS // MS}, got {deadline_s}; "
            "give None for the ledger's default"
        )
    return max(1, round(deadline_s * MS))
