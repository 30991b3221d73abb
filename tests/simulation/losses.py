"""Losses: what a broker removes, loses or makes anew, so that the truth about commands knows of it.

That of events is in `damage`, for after it an operator must come.
"""

from random import Random
from typing import TYPE_CHECKING, Final

from ledger.log.port import Topic
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

LOST_MAX: Final = 40


class Losses:
    """The losses of one run."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def overtake_commands(self, chance: Random) -> bool:
        """Let retention remove commands before they are decided; tell whether there were any."""
        true = self._world.network.topics[Topic.COMMANDS]
        following = self._world.oracle.history.last_cmd + 1
        if self._world.oracle.history.topic != true.identity() or following + 2 > true.end():
            return False
        below = chance.randint(following + 1, true.end())
        self._world.network.remove_below(Topic.COMMANDS, max(below, true.start))
        self._world.commands.remove_below(true.identity(), true.start)
        return True

    def recreate_commands(self) -> None:
        """Replace the commands topic by an empty one."""
        self._world.network.recreate(Topic.COMMANDS)
        self._world.commands.begin(self._world.network.topics[Topic.COMMANDS].identity())

    def lose_commands(self, chance: Random) -> bool:
        """Let the commands topic lose its end; tell whether there was anything to lose."""
        if not self._lose_end(Topic.COMMANDS, chance):
            return False
        true = self._world.network.topics[Topic.COMMANDS]
        self._world.commands.lose(true.identity(), true.end())
        self._world.faults.strike(Fault.LOST_COMMANDS)
        return True

    def lose_checkpoints(self, chance: Random) -> bool:
        """Let the checkpoints topic lose its end; tell whether there was anything to lose."""
        is_lost = self._lose_end(Topic.CHECKPOINTS, chance)
        if is_lost:
            self._world.faults.strike(Fault.LOST_CHECKPOINTS)
        return is_lost

    def cut_power(self, chance: Random) -> None:
        """Let the machine of broker, sequencers and followers lose its power.

        What is flushed before it is acknowledged is there afterwards.
        """
        for topic in Topic:
            if topic in self._world.variant.flushed:
                continue
            if topic is Topic.COMMANDS:
                self.lose_commands(chance)
            elif self._lose_end(topic, chance) and topic is Topic.EVENTS:
                self._world.lose_events(self._world.network.topics[topic].end())
        for process in (*self._world.sequencers, *self._world.followers):
            process.crash()
        self._world.faults.strike(Fault.POWER)

    def _lose_end(self, topic: Topic, chance: Random) -> bool:
        true = self._world.network.topics[topic]
        most = min(LOST_MAX, len(true.records))
        if not most:
            return False
        self._world.network.cut(topic, true.end() - chance.randint(1, most))
        return True
