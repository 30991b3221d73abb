"""The world of one run: processes, log and time, from the first claim until everything rests."""

from collections.abc import Callable
from random import Random
from typing import Final

from ledger.config.settings import Genesis, SequencerSettings
from ledger.core.events.events import Event
from ledger.core.state.domain import DEFAULT_LIMITS
from ledger.errors import LogDamagedError
from ledger.log.port import Record, Topic
from tests.simulation.broken import BrokenError
from tests.simulation.clients import ClientProcess
from tests.simulation.clock import Timeline
from tests.simulation.damage import Damage
from tests.simulation.faults import Fault, Faults, dice
from tests.simulation.history import History
from tests.simulation.lease_law import LeaseLaw
from tests.simulation.nemesis import Nemesis
from tests.simulation.network import Network
from tests.simulation.oracle import Oracle
from tests.simulation.processes import FollowerProcess, Process, SequencerProcess
from tests.simulation.rest import come_to_rest
from tests.simulation.truth import CommandsTruth
from tests.simulation.variant import HONEST, Variant
from tests.simulation.workload import CATALOG, Shared

LEASE_S: Final = 3.0
ACTIVE_S: Final = 18.0
COMMANDS_MIN: Final = 200
DAMAGED_S: Final = 6.0
ACTIVE_MAX_S: Final = 90.0
AFTER_DAMAGE_S: Final = 8.0
LOOK_S: Final = 0.2
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
        self.network = Network(self.timeline, self.faults, dice(seed, "network"), self._landed)
        self.leases = LeaseLaw(LEASE_S)
        self.commands = CommandsTruth()
        self.commands.begin(self.network.topics[Topic.COMMANDS].identity())
        self.oracle = self._new_oracle()
        self.shared = Shared()
        self.created = Genesis("simulated", CATALOG, 0, LIMITS, "5eed")
        self.is_active = True
        self.commands_min = COMMANDS_MIN
        self.asked = 0
        self._trace = trace
        self._seen: list[Event] = []
        self._make_processes()
        if Fault.SKEW in self.faults.on:
            self.faults.strike(Fault.SKEW)
        self.damage = Damage(self)
        Nemesis(self)

    def run(self) -> None:
        """Run from the first claim until everything rests, and look at what is left."""
        while self._keeps_on():
            self.advance(LOOK_S)
        self._calm()
        if self.damage.done:
            self.advance(AFTER_DAMAGE_S)
            self.damage.check_all_told()
        else:
            come_to_rest(self)
        self._check_seen()

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.timeline.advance(self.timeline.now_s + seconds)

    def note(self, who: str, what: str) -> None:
        """Tell what happens, if anyone wants to know."""
        if self._trace is not None:
            self._trace(f"{self.timeline.now_s:8.3f}  {who:<12} {what}")

    def leaders(self) -> list[SequencerProcess]:
        """Return the sequencers that believe they lead."""
        return [each for each in self.sequencers if each.leads]

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
            checkpoint_positions=40 if Fault.CHECKPOINT in self.faults.on else 1_000_000,
            claim_s=3.0,
        )

    def overtake_commands(self, chance: Random) -> bool:
        """Let retention remove commands before they are decided; tell whether there were any."""
        true = self.network.topics[Topic.COMMANDS]
        following = self.oracle.history.last_cmd + 1
        if self.oracle.history.topic != true.identity() or following + 2 > true.end():
            return False
        below = chance.randint(following + 1, true.end())
        self.network.remove_below(Topic.COMMANDS, max(below, true.start))
        self.commands.remove_below(true.identity(), true.start)
        return True

    def recreate_commands(self) -> None:
        """Replace the commands topic by an empty one."""
        self.network.recreate(Topic.COMMANDS)
        self.commands.begin(self.network.topics[Topic.COMMANDS].identity())

    def fold_again(self, count: int) -> None:
        """Begin the oracle again with the first records of the log; the rest never was."""
        kept, strikes = self.oracle.taken[:count], self.faults.strikes.copy()
        self.oracle = self._new_oracle()
        for framed, queued_s, _ in kept:
            self.oracle.take(framed, queued_s)
        # What the history counts it has counted before.
        self.faults.strikes = strikes
        self._seen = [each for each in self._seen if each.control.position <= self.oracle.position]

    def rebuild(self, process: Process) -> None:
        """Do what an operator does for a reader that left the log: let it begin from scratch."""
        if isinstance(process, FollowerProcess):
            process.rebuild()
        elif isinstance(process, SequencerProcess):
            self.network.recreate(Topic.CHECKPOINTS)

    def _new_oracle(self) -> Oracle:
        history = History(self.commands, self.leases, self.faults.strike)
        return Oracle(self.variant.rule, history)

    def _make_processes(self) -> None:
        chance = dice(self.seed, "processes")
        versions = Fault.VERSIONS in self.faults.on
        self.sequencers = [
            SequencerProcess(self, f"sequencer-{n}", other=versions and n % 2 == 1)
            for n in range(chance.choice((3, 3, 4)))
        ]
        self.clients = [ClientProcess(self, f"client-{n}") for n in range(5)]
        followers = [FollowerProcess(self, f"follower-{n}") for n in range(2)]
        self.processes: list[Process] = [*self.sequencers, *self.clients, *followers]

    def _landed(self, topic: Topic, record: Record, queued_s: float) -> None:
        if topic is Topic.EVENTS:
            self._event_landed(record, queued_s)
        elif topic is Topic.COMMANDS:
            self.commands.add(self.network.topics[topic].identity(), record)
        elif topic is Topic.HEARTBEATS and record.key.isdigit():
            self.leases.heard(int(record.key), self.timeline.now_s)

    def _event_landed(self, record: Record, queued_s: float) -> None:
        if self.damage.halted:
            return
        try:
            event = self.oracle.take(record.value, queued_s)
        except LogDamagedError as error:
            if not self.damage.done:
                raise BrokenError(
                    "a reader stops only where the log was damaged", str(error)
                ) from error
            # A sequencer that had applied what was lost has spoilt the log for everybody.
            self.damage.halted = True
            return
        if self._trace is not None:
            self.note("log", f"offset {record.offset}: {event or 'dropped'}")

    def _keeps_on(self) -> bool:
        now_s = self.timeline.now_s
        if self.damage.halted or now_s >= ACTIVE_MAX_S:
            return False
        if self.damage.kind is not None:
            return not self.damage.done or now_s < self.damage.done_s + DAMAGED_S
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
        """Every outcome that a client saw stands in the log, at its place, with those ids."""
        events = self.oracle.history.events
        for event in self._seen:
            position = event.control.position
            if position > len(events) or events[position - 1] != event:
                raise BrokenError(
                    "an outcome told is in the log",
                    f"told was {event}, position {position} holds another",
                )
