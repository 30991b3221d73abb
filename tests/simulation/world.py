"""The world of one run: processes, log and time, from the first claim until everything rests."""

from collections.abc import Callable
from random import Random
from typing import Final

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.acceptance import RecordKind
from ledger.core.events.events import Event
from ledger.core.limits import DEFAULT_LIMITS
from ledger.errors import LogDamagedError
from ledger.log.passed_over import cut_in
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import record_kind
from tests.simulation.broken import BrokenError
from tests.simulation.clients import ClientProcess
from tests.simulation.clock import Timeline
from tests.simulation.damage import Damage
from tests.simulation.faults import Fault, Faults, dice
from tests.simulation.followers import FollowerProcess
from tests.simulation.history import History
from tests.simulation.lake_rows import check_lake
from tests.simulation.lease_law import LeaseLaw
from tests.simulation.losses import Losses
from tests.simulation.lost import Lost
from tests.simulation.nemesis import Nemesis
from tests.simulation.network import Network
from tests.simulation.oracle import Oracle
from tests.simulation.processes import Process, SequencerProcess
from tests.simulation.rest import come_to_rest
from tests.simulation.rows import check_rows
from tests.simulation.trim_laws import check_trims
from tests.simulation.trims import Trims
from tests.simulation.truth import CommandsTruth
from tests.simulation.variant import HONEST, Variant
from tests.simulation.workload import CATALOG, Shared

LEASE_S: Final = 3.0
ACTIVE_S: Final = 18.0
COMMANDS_MIN: Final = 200
DAMAGED_S: Final = 6.0
ACTIVE_MAX_S: Final = 90.0
LOOK_S: Final = 0.2
CHECKPOINTED: Final = {Fault.CHECKPOINT, Fault.TRIMMED}
LIMITS: Final = DEFAULT_LIMITS._replace(
    lease_ms=int(LEASE_S * 1000), outcomes_max=150, conflict_entries_min=20, snapshot_inline_max=12
)

Trace = Callable[[str], None]


class World:
    """Everything there is in the run of one seed; `run` raises BrokenError if a law breaks."""

    def __init__(
        self,
        seed: int,
        *,
        variant: Variant = HONEST,
        without: frozenset[Fault] = frozenset(),
        trace: Trace | None = None,
    ) -> None:
        self.seed = seed
        self.variant = variant
        self.faults = Faults(seed, without)
        self.timeline = Timeline()
        self.network = Network(self.timeline, self.faults, dice(seed, "network"), self.landed)
        self.leases = LeaseLaw(LEASE_S)
        self.commands = CommandsTruth()
        self.commands.begin(self.network.topics[Topic.COMMANDS].identity())
        self.lost = Lost()
        self.shared = Shared()
        # The position of the first event that no trim has removed.
        self.begins = 1
        self.oracle = self._new_oracle()
        self.created = Genesis("simulated", CATALOG, 0, LIMITS, "5eed")
        self.is_active = True
        self.commands_min = COMMANDS_MIN
        self.asked = 0
        self._trace = trace
        self._seen: list[Event] = []
        self._queued_s: list[float] = []
        self._passed: set[int] = set()
        self._make_processes()
        if Fault.SKEW in self.faults.on:
            self.faults.strike(Fault.SKEW)
        self.losses = Losses(self)
        self.damage = Damage(self)
        self.trims = Trims(self)
        Nemesis(self)

    def run(self) -> None:
        """Run from the first claim until everything rests, and look at what is left."""
        while self._keeps_on():
            self.go_on(LOOK_S)
        self._calm()
        come_to_rest(self)
        self.damage.check_all_told()
        self._check_seen()
        check_rows(self)
        check_lake(self)
        check_trims(self)

    def go_on(self, seconds: float) -> None:
        """Let virtual time pass, and the operator come if it is time."""
        self.advance(seconds)
        self.damage.operator.act_if_due()
        self.trims.act_if_due()

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.timeline.advance(self.timeline.now_s + seconds)

    def note(self, who: str, what: str) -> None:
        """Tell what happens, if anyone wants to know."""
        if self._trace is not None:
            self._trace(f"{self.timeline.now_s:8.3f}  {who:<12} {what}")

    def leaders(self) -> list[SequencerProcess]:
        """Return the sequencers that believe they lead."""
        return [sequencer for sequencer in self.sequencers if sequencer.leads]

    def seen(self, client: ClientProcess, event: Event) -> None:
        """Note an outcome that a client was told."""
        if self._trace is not None:
            self.note(client.name, f"is told {event}")
        self._seen.append(event)

    def settings_of(self, chance: Random) -> SequencerSettings:
        """Return the settings of a sequencer; how patient it is, is drawn for each start."""
        return SequencerSettings(
            lease_s=LEASE_S,
            suspect_s=chance.uniform(1.0, 1.4),
            jitter_s=0.0,
            flight_max=chance.choice((4, 50, 10_000)),
            checkpoint_positions=40 if self.faults.on & CHECKPOINTED else 1_000_000,
            claim_s=3.0,
        )

    def lose_events(self, offset: int) -> None:
        """Note that the events topic holds nothing from `offset` on."""
        del self._queued_s[offset:]
        self._fold_again()

    def _fold_again(self) -> None:
        """Begin the oracle again with what the log holds; what it holds no more is lost."""
        former, strikes = self.oracle, self.faults.strikes.copy()
        self.oracle = self._new_oracle()
        for at, (record, queued_s) in enumerate(zip(self.events(), self._queued_s, strict=False)):
            assert record is not None, "the events topic has no holes"
            self.oracle.take(record.value, queued_s, is_passed=at in self._passed)
        # What the history counts it has counted before.
        self.faults.strikes = strikes
        self.lost.add(
            event for event in former.history.events.values() if not self.oracle.has(event)
        )
        self._seen = [each for each in self._seen if self.oracle.has(each)]
        self.damage.mark_ahead()

    def events(self) -> list[Record | None]:
        """Return all records of the events, also those that were trimmed."""
        return [*self.trims.gone, *self.network.topics[Topic.EVENTS].records]

    def _new_oracle(self) -> Oracle:
        history = History(self.commands, self.leases, self.faults.strike, self.lost)
        history.begins = self.begins
        return Oracle(self.variant.rule, history, self.shared.lake)

    def _make_processes(self) -> None:
        chance = dice(self.seed, "processes")
        versions = Fault.VERSIONS in self.faults.on
        self.sequencers = [
            SequencerProcess(self, f"sequencer-{n}", other=versions and n % 2 == 1)
            for n in range(chance.choice((3, 3, 4)))
        ]
        self.clients = [ClientProcess(self, f"client-{n}") for n in range(5)]
        self.followers = [FollowerProcess(self, f"follower-{n}") for n in range(2)]
        self.processes: list[Process] = [*self.sequencers, *self.clients, *self.followers]

    def landed(self, topic: Topic, record: Record, queued_s: float) -> None:
        """Note a record that has landed, and judge it if it is an event."""
        if topic is Topic.EVENTS:
            self._queued_s.append(queued_s)
            self._event_landed(record, queued_s)
        elif topic is Topic.COMMANDS:
            self.commands.add(self.network.topics[topic].identity(), record)
        elif topic is Topic.HEARTBEATS and record.key.isdigit():
            self.leases.heard(int(record.key), self.timeline.now_s)

    def _event_landed(self, record: Record, queued_s: float) -> None:
        if record_kind(record.value) is RecordKind.LOG_CUT:
            self._pass_over(record)
        if self.damage.halted:
            return
        try:
            event = self.oracle.take(record.value, queued_s)
        except LogDamagedError as error:
            if not self.damage.done:
                raise BrokenError(
                    "a reader stops only where the log was damaged", str(error)
                ) from error
            # Nobody can go on before the operator passes over this record.
            self.damage.halted = True
            return
        if self._trace is not None:
            self.note("log", f"offset {record.offset}: {event or 'dropped'}")

    def _pass_over(self, record: Record) -> None:
        """Read the log again without the records that a cut passes over."""
        named = {
            each.offset + at
            for cut in cut_in(record.value)
            for each in cut.passed
            for at in range(each.records)
        }
        if named - self._passed:
            self._passed |= named
            self._queued_s.pop()
            self._fold_again()
            self._queued_s.append(self.timeline.now_s)
            self.damage.halted = False

    def _keeps_on(self) -> bool:
        now_s, damage = self.timeline.now_s, self.damage
        if damage.operator.is_called:
            return True
        if now_s >= ACTIVE_MAX_S:
            return False
        if damage.kind is not None and (not damage.done or now_s < damage.done_s + DAMAGED_S):
            return True
        return now_s < ACTIVE_S or self.asked < COMMANDS_MIN

    def _calm(self) -> None:
        """Let nothing more go wrong; what is on its way still arrives."""
        self.note("world", "no more faults")
        self.is_active = False
        self.faults.disarm()
        self.network.silent_until_s = 0.0
        for process in self.processes:
            process.log.thaw()
            process.log.skips = 0

    def _check_seen(self) -> None:
        """Every outcome that a client saw stands in the log, in its place, or a cut has lost it."""
        for event in self._seen:
            # A client may read an event, and only then the cut behind it that loses the event.
            if not self.oracle.has(event) and not self.lost.has(event):
                raise BrokenError(
                    "an outcome told is in the log",
                    f"told was {event}, position {event.control.position} holds another",
                )
