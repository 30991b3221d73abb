"""The operator: leads a ledger back, with the commands that errors name and no other knowledge.

Stops what is stopped for that, surveys the log, passes over the records that errors name, cuts, and
starts everything again. All of it is the code of the product; whatever goes wrong is tried again.
"""

import re
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from ledger.core.decide.cut import seen_in
from ledger.errors import LogDamagedError, LogUnavailableError, OffsetGoneError
from ledger.log.port import Record, Topic
from ledger.machine.former_rows import check_reached
from ledger.reads.port import Reached
from ledger.recovery.adopting import mark_adopted
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from ledger.recovery.witnesses import Witness
from tests.simulation.broken import BrokenError
from tests.simulation.clock import ProcessClock
from tests.simulation.faults import dice
from tests.simulation.faulty_log import ProcessLog, ProcessReader

if TYPE_CHECKING:
    from tests.simulation.followers import FollowerProcess
    from tests.simulation.processes import Process
    from tests.simulation.world import World

COMES_S: Final = (0.5, 4.0)
AGAIN_S: Final = (0.3, 1.0)
LOOK_S: Final = 0.5
TRIES_MAX: Final = 40
# So many txns an event may have opened, and so many more than events an operator counts as lost.
TXNS_AN_EVENT: Final = 3
# How often an operator thinks of having rows made anew.
ANEW: Final = 0.7
NAMED: Final = re.compile(r"--pass-over (\d+)")


class Operator:
    """Who is called when a process stops at damage; `has_cut` once the log was cut."""

    def __init__(self, world: "World") -> None:
        self.has_cut = False
        self.acts_s = inf
        self._world = world
        self._chance = dice(world.seed, "operator")
        self._log = OperatorLog(world)
        self.clock = ProcessClock(world.timeline, 0.0, 0.0)
        self._passed: list[int] = []

    @property
    def is_called(self) -> bool:
        """Tell whether the ledger waits for its operator."""
        return self.acts_s < inf

    def call(self) -> None:
        """Come soon."""
        if not self.is_called:
            self.acts_s = self._world.timeline.now_s + self._chance.uniform(*COMES_S)

    def compare(self) -> None:
        """Compare rows with the log before anything starts again, as `lakeledger up` does."""
        self._stop()
        try:
            for follower in self._world.followers:
                self._compare(follower)
        except LogDamagedError as error:
            self._world.note("operator", f"starts no sequencer: {error}")
            self.call()
        except LogUnavailableError:
            self._world.timeline.after(AGAIN_S[1], self.compare)
        else:
            self._start()

    def _compare(self, follower: "FollowerProcess") -> None:
        rows = follower.rows
        if rows is not None:
            seen = Reached(rows.head.position, rows.head.chain.hex(), rows.offset)
            check_reached(seen, follower.name, self._log)

    def act_if_due(self) -> None:
        """Lead the ledger back once it is time."""
        if self._world.timeline.now_s < self.acts_s:
            return
        self._stop()
        self._cut()
        for process in self._processes():
            if self._chance.random() < ANEW:
                process.give_up()
        # Until here whoever stops at the damage calls nobody: the operator is there.
        self.acts_s = inf
        self._start()

    def _processes(self) -> Sequence["Process"]:
        return (*self._world.sequencers, *self._world.followers)

    def _stop(self) -> None:
        """Stop sequencers and followers; clients are elsewhere."""
        for process in self._processes():
            process.crash()
            process.rest(inf)

    def _cut(self) -> None:
        world = self._world
        for _ in range(TRIES_MAX):
            try:
                self._try_to_cut()
            except LogDamagedError as error:
                self._pass_over(error)
            except (LogUnavailableError, OffsetGoneError) as error:
                world.note("operator", f"tries again: {error}")
                world.advance(self._chance.uniform(*AGAIN_S))
            else:
                self.has_cut = True
                return
        raise BrokenError("an operator leads back", f"not in {TRIES_MAX} tries")

    def _try_to_cut(self) -> None:
        world = self._world
        margin = TXNS_AN_EVENT * len(world.lost.events)
        found = survey(
            self._log,
            None,
            margin=margin,
            passed=self._passed,
            backup=world.trims.archive,
            others=self._rows(),
        )
        event = append_cut(
            self._log,
            world.variant.found(found),
            "power cut",
            self._passed,
            author="operator",
            clock=self.clock,
        )
        world.note("operator", f"cut at {event.control.position}")
        if found.is_copy:
            mark_adopted(self._log, found, event.control.position)

    def _pass_over(self, error: LogDamagedError) -> None:
        named = NAMED.search(str(error))
        if named is None or int(named[1]) in self._passed:
            raise BrokenError("an error names the way back", str(error)) from error
        self._world.note("operator", f"passes over offset {named[1]}")
        self._passed.append(int(named[1]))

    def _rows(self) -> list[Witness]:
        return [
            Witness(f"rows of {name}", seen_in(rows.state, 0), rows.head.chain.hex())
            for name, rows in ((follower.name, follower.rows) for follower in self._world.followers)
            if rows is not None
        ]

    def _start(self) -> None:
        for process in self._processes():
            process.resume()


class OperatorLog(ProcessLog):
    """The log as a command line has it: who waits for a record lets time pass."""

    def __init__(self, world: "World", name: str = "log") -> None:
        super().__init__(world.network, dice(world.seed, "operator", name))
        self.world = world

    def reader(self, topic: Topic, offset: int) -> "OperatorReader":
        return OperatorReader(self, topic, offset)


class OperatorReader(ProcessReader):
    """Reads one topic forward, and waits for what is not there yet."""

    def read(self, limit: int, timeout_s: float) -> Sequence[Record]:
        """Return the next records, or none after the time given."""
        assert isinstance(self._view, OperatorLog), "an operator's reader has an operator's log"
        found = super().read(limit, timeout_s)
        while not found and timeout_s > 0:
            self._view.world.advance(min(timeout_s, LOOK_S))
            timeout_s -= LOOK_S
            found = super().read(limit, max(0.0, timeout_s))
        if not found and not self._view.network.is_silent:
            self.pass_holes()
        return found
