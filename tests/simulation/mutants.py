"""Mutants: builds of the code with one rule broken, which the simulation must tell from the honest.

Each shows why a rule is there. Where one kind of fault alone can show it, the mutant names that
kind: without it, the mutant must pass for honest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from ledger.core.acceptance import LogHead, RecordKind, Verdict, chain_after
from ledger.core.events.events import AbortedForgotten, Body, Control, Event, Fenced, TxnsExpired
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import FencedError, LogDamagedError, LogUnavailableError
from ledger.log.acceptor import Acceptor, Rule
from ledger.log.batches import BatchAcceptor
from ledger.log.port import Topic
from ledger.log.wire.codec import decode_event, frame_fence
from ledger.sequencer.in_flight import Flight, Flying
from tests.simulation.cut_mutants import (
    CutlessAcceptor,
    ForgetfulSequencer,
    HeedlessAcceptor,
    NarrowSequencer,
    only_log,
    only_txns,
)
from tests.simulation.faults import DAMAGE, Fault
from tests.simulation.faulty_log import ProcessWriter
from tests.simulation.row_mutants import SWAPS
from tests.simulation.trim_mutants import TRIM_SWAPS, UncheckedAcceptor
from tests.simulation.variant import SimulatedLeader, SimulatedSequencer, Variant

Order = Literal["next", "greater", "any"]


def rule_with(
    *,
    position: Order = "next",
    cmd: Order = "next",
    epoch: bool = True,
    chain: bool = True,
    fence_says_position: bool = False,
) -> Rule:
    """Return the accept rule with some of its conditions loosened."""

    def rule(head: LogHead, control: Control, kind: RecordKind, framed: bytes) -> Verdict:
        chain_here = chain_after(head.chain, framed)
        if kind is RecordKind.LOG_CUT:
            return cut_with(head, control, chain_here, chain=chain)
        if kind is RecordKind.FENCED:
            return fence_with(head, control, chain_here, says_position=fence_says_position)
        if epoch and control.epoch < head.epoch:
            return Verdict.OLD_EPOCH
        if epoch and control.epoch > head.epoch:
            raise LogDamagedError(head.position + 1, "an epoch without its Fenced")
        if not follows(position, head.position, control.position):
            return Verdict.WRONG_POSITION
        if chain and control.chain != chain_here:
            raise LogDamagedError(control.position, "the chain does not continue")
        stays = control.cmd == head.last_cmd
        moves = kind is RecordKind.COMMANDS_MOVED
        if not (stays or moves or follows(cmd, head.last_cmd, control.cmd)):
            return Verdict.WRONG_COMMAND
        head.before, head.chain = head.chain, chain_here
        head.position, head.last_cmd = control.position, control.cmd
        return Verdict.ACCEPTED

    return rule


def fence_with(
    head: LogHead, control: Control, chain_here: bytes, *, says_position: bool
) -> Verdict:
    """Judge a claim, its place taken from its record or assigned."""
    if control.epoch <= head.epoch:
        return Verdict.OLD_FENCE
    head.epoch = control.epoch
    head.position = control.position if says_position else head.position + 1
    head.before, head.chain = head.chain, chain_here
    return Verdict.ACCEPTED


def cut_with(head: LogHead, control: Control, chain_here: bytes, *, chain: bool) -> Verdict:
    """Judge a cut, by its chain or without."""
    if control.epoch <= head.epoch:
        return Verdict.OLD_EPOCH
    if control.position <= head.position or (chain and control.chain != chain_here):
        return Verdict.OVERTAKEN_CUT
    head.epoch, head.position, head.last_cmd = control.epoch, control.position, control.cmd
    head.before, head.chain = head.chain, control.chain
    return Verdict.ACCEPTED


def follows(order: Order, last: int, number: int) -> bool:
    """Tell whether a number may come after the last one."""
    return number == last + 1 if order == "next" else order == "any" or number > last


class PlacedFence(SimulatedSequencer):
    """Writes into its Fenced the position at which it expects it to land."""

    def _claim(self) -> None:
        super()._claim()
        queue = queue_of(self._writer)
        control, body = decode_event(queue[-1].value)
        assert isinstance(body, Fenced), "a claim ends with its Fenced"
        placed = control._replace(position=self.acceptor.head.position + 1)
        queue[-1] = queue[-1]._replace(value=frame_fence(placed, body))


class EarlySequencer(SimulatedSequencer):
    """Leads as soon as its Fenced is on its way, as if that had been read back."""

    def _claim(self) -> None:
        super()._claim()
        framed = queue_of(self._writer)[-1].value
        control, _ = decode_event(framed)
        read_back = self.acceptor
        self.acceptor = Acceptor(read_back.head.copy())
        event = self.acceptor.take(framed)
        assert event is not None, "a Fenced of the next epoch counts"
        evolve(self.state, event)
        self._lead(event)
        self.acceptor = read_back
        assert self.leader is not None, "it leads"
        flight = self.leader.flight
        flight.acceptor = read_back
        flight.flying.appendleft(Flying(control, RecordKind.FENCED, framed))


def queue_of(writer: Any) -> Any:
    assert isinstance(writer, ProcessWriter), "a simulated sequencer has simulated writers"
    return writer.queue


class CountingLeader(SimulatedLeader):
    """Counts what it does by itself as answers to commands."""

    def _append_framed(self, control: Control, body: Body) -> Event:
        if control.n == 0 and isinstance(body, AbortedForgotten | TxnsExpired):
            control = control._replace(cmd=control.cmd + 1)
        return super()._append_framed(control, body)


class CountingSequencer(SimulatedSequencer):
    """Leads with a leader that counts its own events as answers."""

    leader_type = CountingLeader


class RepairingLeader(SimulatedLeader):
    """Goes on in the same epoch after a record of its own was lost, from what the log says."""

    def step(self, wait_s: float) -> int:
        """Do one round, and repair instead of ending."""
        try:
            return super().step(wait_s)
        except (FencedError, LogUnavailableError):
            self._repair()
            return 0

    def _repair(self) -> None:
        reader = self._log.reader(Topic.EVENTS, 0)
        acceptor = Acceptor(LogHead())
        state = DomainState()
        # What was lost meanwhile is not waited for.
        end = min(self.flight.events.next_offset(), self._log.ends(Topic.EVENTS)[1])
        while reader.next_offset() < end:
            for record in reader.read(1, 1.0):
                event = acceptor.take(record.value)
                if event is not None:
                    evolve(state, event)
        if acceptor.head.epoch != self.epoch:
            raise FencedError("another leads")
        for field in fields(DomainState):
            setattr(self.state, field.name, getattr(state, field.name))
        self.flight.acceptor.head = acceptor.head
        self._head = acceptor.head.copy()
        self._unsent.clear()
        self.flight = Flight(self.flight.acceptor, self.flight.events)
        self._writer = self._log.writer(Topic.EVENTS)
        self._commands = self._open_commands()


class RepairingSequencer(SimulatedSequencer):
    """Leads with a leader that repairs."""

    leader_type = RepairingLeader


class HastyLeader(SimulatedLeader):
    """Judges leases from the first moment of its term."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._leases.quiet_until_s = 0.0


class HastySequencer(SimulatedSequencer):
    """Leads with a leader that expires sessions at once."""

    leader_type = HastyLeader


class DeafLeader(SimulatedLeader):
    """Judges leases without having read the heartbeats there are, its own or those of others."""

    def _send_beat(self) -> None:
        super()._send_beat()
        self._leases.beat_returned()

    def _read_to(self) -> tuple[int, int]:
        return self._ends()


class DeafSequencer(SimulatedSequencer):
    """Leads with a leader that does not wait for heartbeats."""

    leader_type = DeafLeader


class TrustingAcceptor(BatchAcceptor):
    """Never reads the last record again once it reads on."""

    def _look_back(self) -> None:
        """Take it for granted."""


@dataclass(frozen=True)
class Mutant(Variant):
    """A broken build; without the faults in `shown_by` alone it must pass for honest, if any."""

    shown_by: Sequence[Fault] = ()


MUTANTS: Final = (
    Mutant(
        "fence position taken from its record", rule_with(fence_says_position=True), PlacedFence
    ),
    Mutant("leading before the fence is read back", sequencer=EarlySequencer),
    Mutant("no position", rule_with(position="any")),
    Mutant("position > last, no chain", rule_with(position="greater", chain=False)),
    Mutant("no epoch", rule_with(epoch=False)),
    Mutant("internal events counted as answers", sequencer=CountingSequencer),
    Mutant("repair in place", sequencer=RepairingSequencer),
    Mutant("no cmd check", rule_with(cmd="any"), shown_by=(Fault.SKIPPED,)),
    Mutant("cmd > last", rule_with(cmd="greater"), shown_by=(Fault.SKIPPED,)),
    Mutant("no chain", rule_with(chain=False), shown_by=DAMAGE),
    Mutant("no look back", batches=TrustingAcceptor, shown_by=(Fault.LOST_SUFFIX, Fault.RESTORED)),
    Mutant(
        "lineage not compared by readers",
        rule_with(chain=False),
        batches=HeedlessAcceptor,
        shown_by=DAMAGE,
    ),
    Mutant("cuts not compared by readers", batches=CutlessAcceptor, shown_by=(Fault.FLIPPED,)),
    Mutant("ids given again behind a cut", sequencer=ForgetfulSequencer, shown_by=DAMAGE),
    Mutant("ids of tables given again", sequencer=NarrowSequencer, shown_by=DAMAGE),
    Mutant("cut not above what was seen", found=only_log, shown_by=DAMAGE),
    Mutant("cut not above the ids of tables", found=only_txns, shown_by=DAMAGE),
    Mutant(
        "acknowledged before it is flushed",
        flushed=frozenset({Topic.CATALOGS}),
        shown_by=(Fault.POWER,),
    ),
    Mutant("leases judged from the first moment", sequencer=HastySequencer),
    Mutant("leases judged with heartbeats unread", sequencer=DeafSequencer),
    Mutant("trims not compared by readers", batches=UncheckedAcceptor, shown_by=(Fault.TRIMMED,)),
    *(Mutant(name, swaps=swaps, shown_by=(Fault.TRIMMED,)) for name, swaps in TRIM_SWAPS.items()),
    *(Mutant(name, swaps=swaps) for name, swaps in SWAPS.items()),
)
BY_NAME: Final = {mutant.name: mutant for mutant in MUTANTS}
