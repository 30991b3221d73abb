"""The SDK: what a producer does with a ledger.

    with Ledger.connect() as ledger, ledger.transaction() as txn:
        txn.write_id("flights")

Every call that changes something is one command, and waits for the event that answers it. A refusal
is raised as the exception of its reason. A call without an answer in time raises
`OutcomeUnknownError`: it may have been executed. A ledger object belongs to the process that
connected it; the threads of that process may share it.
"""

import atexit
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from warnings import warn

from ledger.clock import Clock, SystemClock
from ledger.config.address import Address
from ledger.config.search import client_for, find_address
from ledger.config.settings import CATALOG_DEFAULT, ClientSettings, checked_timeout
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.definitions.client_reads import View, open_rows
from ledger.definitions.definitions import text_of
from ledger.definitions.given import check_name_of
from ledger.definitions.identity_ranges import IdentityRanges
from ledger.definitions.names import TableNames
from ledger.definitions.new_tables import NewTables
from ledger.definitions.time_zones import ZoneLike, zone_named
from ledger.keys.folder import KeyFolder
from ledger.log.port import Log
from ledger.reads.amounts import amount
from ledger.reads.port import Reads
from ledger.session.channel import LINES, Channel, frozen
from ledger.session.receipt import Token
from ledger.session.sessions import ClientSessions, Labels
from ledger.session.tail import read_genesis
from ledger.tracing import switch_on
from ledger.transaction.client_files import LedgerFiles
from ledger.transaction.client_namespaces import LedgerNamespaces
from ledger.transaction.client_rows import LedgerRows
from ledger.transaction.client_statements import LedgerStatements
from ledger.transaction.client_views import LedgerViews

if TYPE_CHECKING:
    from ledger.config.config import Settings

MS: Final = 1000

Result = TypeVar("Result")


class Ledger(LedgerViews, LedgerNamespaces, LedgerFiles, LedgerStatements, LedgerRows):
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
        user: str | None = None,
        settings: ClientSettings | None = None,
        clock: Clock | None = None,
        open_channel: Callable[[Log, int], Channel] = Channel.open,
        time_zone: ZoneLike = "UTC",
        new_tables: NewTables = NewTables(),  # noqa: B008 - it never changes
        keys: str | PathLike[str] | None = None,
    ) -> None:
        if log is None or open_reads is None or isinstance(log, str):
            raise TypeError(
                "connect with Ledger.connect(bootstrap, ledger); without arguments it finds the "
                "ledger of this host. Ledger(...) itself must get a Log and open_reads=..."
            )
        # First, while there is nothing yet to close.
        check_name_of("a catalog", catalog)
        labels, zone = Labels.of_process(application, user), zone_named(time_zone)
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
            ledger=self.id,
        )
        origin = Token(created.ledger, created.domain, 0)
        folder = None if keys is None else Path(keys).expanduser()
        timeout_s = self._settings.timeout_s
        self._view = View(self._channel, origin, open_reads, timeout_s, zone, keys=folder)
        identities = IdentityRanges(self._view, self._ask)
        tail = self._channel.tail
        self._names = TableNames(self._view, tail, catalog, new_tables, identities)
        self._writers = set()
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
        user: str | None = None,
        timeout_s: float = 30.0,
        lease_s: float | None = None,
        log: Log | None = None,
        time_zone: ZoneLike = "UTC",
        warehouse: str | PathLike[str] | None = None,
        keys: str | PathLike[str] | None = None,
    ) -> Self:
        """Connect to a ledger: the named one, else the one of the environment or of this host.

        `client` holds librdkafka settings (else LAKELEDGER_CLIENT_CONFIG names a file of them).
        `catalog` is the catalog of names (LAKELEDGER_CATALOG, else `main`). `reads` answers reads
        (else the rows of this host, or `HttpReads` of LAKELEDGER_READS_URL); `log` replaces Kafka
        in tests. The caller closes them. New tables without a location lie below `warehouse`
        (LAKELEDGER_WAREHOUSE, else a folder beside the rows of a local ledger), published as
        LAKELEDGER_PUBLISH says. Keys of encrypted rows in the log lie in the folder `keys`
        (LAKELEDGER_KEYS, else a folder beside the rows of a local ledger). Conditions are read in
        `time_zone`. `application` and `user` are shown with txns. Calls wait `timeout_s`. Open txns
        end after `lease_s` of silence, from 0.5 s (else LAKELEDGER_LEASE_S, else the ledger's); a
        long call in C is silence.

        Raises SettingsError if there is no such ledger, LogUnavailableError if Kafka is away.
        """
        settings = ClientSettings(timeout_s=checked_timeout(timeout_s), lease_s=lease_s)
        address, new_tables = None, new_tables_of(warehouse)
        open_channel: Callable[[Log, int], Channel] = Channel.open
        with ExitStack() as own:
            if log is None:
                address, configured = find_address(bootstrap, ledger), traced_settings()
                catalog = configured.catalog if catalog is None else catalog
                settings = settings if lease_s else replace(settings, lease_s=configured.lease_s)
                new_tables = new_tables_of(warehouse, configured, address)
                keys = keys or configured.keys or address.keys
                log, open_channel = log_and_line(address, client, own)
            connected = cls(
                log,
                catalog=CATALOG_DEFAULT if catalog is None else catalog,
                open_reads=lambda: open_rows(address) if reads is None else reads,
                application=application,
                user=user,
                settings=settings,
                open_channel=open_channel,
                time_zone=time_zone,
                new_tables=new_tables,
                keys=keys,
            )
            if reads is None:
                own.callback(connected._view.close)
            connected._own = own.pop_all()
        return connected

    @property
    def token(self) -> Token:
        """The position of this client's last write. A read with it sees that write."""
        return self._view.token()

    @property
    def warehouse(self) -> str:
        """The folder below which new tables without a location lie, "" without one."""
        return self._names.new_tables.warehouse

    @property
    def keys(self) -> KeyFolder | None:
        """The keys of encrypted rows in the log, None without a folder of keys."""
        return self._view.keys

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

    def close(self) -> None:
        """Close the writers, the session and its open txns; raises as `AppendWriter.close`.

        A second call, or one in a fork, does nothing.
        """
        if not self._channel.is_own:
            return
        # Runs from the last to the first; each step runs even if Ctrl-C interrupts one before it.
        with ExitStack() as steps:
            steps.callback(atexit.unregister, self._close_at_exit)
            steps.callback(self._own.close)
            steps.callback(self._channel.close)
            steps.callback(self._sessions.close)
            for writer in list(self._writers):
                steps.callback(writer.close)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.name} ({self.id}), catalog {self.catalog}, at {self.token}>"


def log_and_line(
    address: Address, client: Mapping[str, Any] | None, own: ExitStack
) -> tuple[Log, Callable[[Log, int], Channel]]:
    """Return the log at an address, which `own` closes, and what opens a channel to it."""
    from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415 - loads the Kafka client

    where = address.bootstrap, address.ledger
    client = client_for(address) if client is None else client
    log = (make_log := partial(KafkaLog, *where, client=client))()
    own.callback(log.close)
    return log, LINES.opener((where, frozen(client)), make_log)


def new_tables_of(
    warehouse: str | PathLike[str] | None,
    configured: "Settings | None" = None,
    address: Address | None = None,
) -> NewTables:
    """Return what new tables get that name none of it; a given `warehouse` goes first."""
    if configured is None or address is None:
        return NewTables(text_of(warehouse or ""))
    place = text_of(warehouse or configured.warehouse or address.warehouse)
    return NewTables(place, configured.publish or "")


def traced_settings() -> "Settings":
    """Return the settings of this process, which traces from now on if they say so."""
    from ledger.config.config import load  # noqa: PLC0415 - only where no log is given

    settings = load().settings
    switch_on(settings.trace)
    return settings
