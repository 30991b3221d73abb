"""For tests of code that uses a ledger: a ledger in this process, faults, and a settable clock.

    with InMemoryLedger() as memory:
        ledger = memory.connect()

The rules, the sequencer, the rows and the client are the real ones; memory takes the place of Kafka
and of the follower's files. A `LossyLog` loses records, or their answers, on request:

    log = LossyLog()
    with InMemoryLedger(log=log) as memory:
        log.unacknowledged[Topic.COMMANDS] = 1

Nothing here is for real data.
"""

from math import ceil
from os import PathLike
from threading import Condition, Lock, Thread
from threading import Event as Signal
from types import TracebackType
from typing import Final, Self

from ledger.client import Ledger
from ledger.clock import Clock, SystemClock
from ledger.config.settings import CATALOG_DEFAULT, ClientSettings, Genesis, SequencerSettings
from ledger.core.events.parts import Limits
from ledger.core.limits import DEFAULT_LIMITS
from ledger.definitions.client_reads import open_log
from ledger.definitions.definitions import text_of
from ledger.definitions.new_tables import NewTables
from ledger.definitions.time_zones import ZoneLike
from ledger.errors import LogError
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.log.port import Log, Topic
from ledger.reads.port import Reads
from ledger.sequencer.leases import SETTLED_PER_LEASE
from ledger.sequencer.sequencer import Sequencer
from ledger.session.channel import Channel, SharedConnection

__all__ = ["FixedClock", "InMemoryLedger", "LossyLog", "Topic"]

STARTED_AT_MS: Final = 1_767_225_600_000
STEP_WAIT_S: Final = 0.005
# One round notes a silent session. A later round judges it, after the leader's own heartbeats have
# come back for a while.
ROUNDS_TO_JUDGE: Final = 6


def open_channel(log: Log, domain: int) -> Channel:
    """Return a channel that closes at once: polling a log in memory often is cheap."""
    line = SharedConnection(log, domain, read_wait_s=STEP_WAIT_S)
    return Channel(line, line.close)


class FixedClock:
    """A clock that stands still until it is advanced; it begins at 2026-01-01 UTC."""

    def __init__(self, now_ms: int = STARTED_AT_MS) -> None:
        self._began_ms = now_ms
        self._passed_s = 0.0

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return self._began_ms + round(self._passed_s * 1000)

    def monotonic_s(self) -> float:
        """Return the seconds that have passed since the clock was made."""
        return self._passed_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed_s += seconds


class SequencerThread:
    """A sequencer that does its rounds in a thread, from `start` to `resign` or `crash`."""

    def __init__(self, sequencer: Sequencer) -> None:
        self.sequencer = sequencer
        self.failure: BaseException | None = None
        self._rounds = 0
        self._round_done = Condition()
        self._stop = Signal()
        self._thread = Thread(target=self._run, name="lakeledger-sequencer", daemon=True)

    def start(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def wait_rounds(self, count: int, timeout_s: float = 10.0) -> None:
        """Wait for `count` whole rounds; raises LogError if they are not done in time."""
        with self._round_done:
            wanted = self._rounds + 1 + count
            if not self._round_done.wait_for(lambda: self._rounds >= wanted, timeout_s):
                raise LogError(
                    f"the sequencer did not do {count} rounds within {timeout_s} s; it ended with "
                    f"{self.failure!r}"
                )

    def wait_end(self, timeout_s: float = 10.0) -> BaseException | None:
        """Wait until the thread ends by itself, and return its error; raises LogError if it runs.

        None = it ended without an error.
        """
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise LogError(f"the sequencer still runs after {timeout_s} s")
        return self.failure

    def resign(self) -> None:
        """Stop and resign: a standby takes over at once."""
        self.stop()
        self.sequencer.resign()

    def crash(self) -> None:
        """Stop without resigning; a standby takes over once it notices the silence."""
        self.stop()
        self.sequencer.close()

    def stop(self) -> None:
        """Finish the current round and do no further one."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.sequencer.step(STEP_WAIT_S)
                with self._round_done:
                    self._rounds += 1
                    self._round_done.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised where this thread is waited for
            self.failure = error


class InMemoryLedger:
    """A ledger in this process, for the time of a `with` block.

    `limits` are the limits of the new ledger. The sequencer and the clients use `clock`. `log` may
    be a `LossyLog`. The end of the block closes every client connected here.

    Attributes:
        log: its log.
        clock: its clock.
    """

    def __init__(
        self,
        *,
        catalog: str = CATALOG_DEFAULT,
        limits: Limits = DEFAULT_LIMITS,
        clock: Clock | None = None,
        settings: SequencerSettings | None = None,
        log: Log | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.log = MemoryLog(self.clock.now_ms) if log is None else log
        self._genesis = Genesis("test", catalog, limits=limits)
        lease_s = limits.lease_ms / 1000
        self._settings = settings or SequencerSettings(lease_s=lease_s)
        self._ledgers: list[Ledger] = []
        self._opened: Reads | None = None
        self._opening = Lock()
        self.leader = self.standby()

    @property
    def reads(self) -> Reads:
        """Its read model, which has no delay: the rows that a follower would keep, in memory."""
        with self._opening:
            if self._opened is None:
                self._opened = open_log(self.log)
            return self._opened

    def standby(self, name: str = "sequencer") -> SequencerThread:
        """Return another sequencer of this ledger, not started."""
        return SequencerThread(
            Sequencer(self.log, self._genesis, name=name, settings=self._settings, clock=self.clock)
        )

    def connect(
        self,
        *,
        application: str | None = None,
        user: str | None = None,
        settings: ClientSettings | None = None,
        log: Log | None = None,
        time_zone: ZoneLike = "UTC",
        warehouse: str | PathLike[str] = "",
        publish: str = "",
        keys: str | PathLike[str] | None = None,
    ) -> Ledger:
        """Return a client of this ledger, as if in another process.

        `log` is the log as that process sees it, if it does not see every record. `warehouse` is
        the folder of new tables without a location, `publish` how they are published. `keys` is
        the folder of the keys of encrypted rows in the log.
        """
        ledger = Ledger(
            self.log if log is None else log,
            catalog=self._genesis.catalog,
            open_reads=lambda: self.reads,
            application=application,
            user=user,
            settings=settings,
            clock=self.clock,
            open_channel=open_channel,
            time_zone=time_zone,
            new_tables=NewTables(text_of(warehouse), publish),
            keys=keys,
        )
        self._ledgers.append(ledger)
        return ledger

    def advance(self, seconds: float) -> None:
        """Let time pass on a FixedClock, and wait until the sequencer has acted on it."""
        assert isinstance(self.clock, FixedClock), "only a FixedClock can be moved"
        self.clock.advance(seconds)
        settled_s = self._settings.lease_s * SETTLED_PER_LEASE
        rounds = ceil(settled_s / self._settings.housekeeping_s) + ROUNDS_TO_JUDGE
        for _ in range(rounds):
            self.clock.advance(self._settings.housekeeping_s)
            self.leader.wait_rounds(1)

    def take_over(self, *, crash: bool = False) -> None:
        """End the leader, by resigning or by a crash, and start a successor."""
        (self.leader.crash if crash else self.leader.resign)()
        self.leader = self.standby("successor").start()

    def __enter__(self) -> Self:
        self.leader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for ledger in self._ledgers:
            ledger.close()
        self.leader.stop()
        self.leader.sequencer.close()
        if self._opened is not None:
            self._opened.close()
        if error is None and self.leader.failure is not None:
            raise self.leader.failure
