"""Rest: once no more faults strike, everything must come to rest within a bounded time.

At rest every command is decided, every client has its answers, sessions of clients that are gone
have ended, one sequencer leads, and all who read the log hold the same state.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ledger.log.port import Topic
from tests.simulation.broken import BrokenError

if TYPE_CHECKING:
    from tests.simulation.world import World

REST_S: Final = 60.0
LOOK_S: Final = 0.3


def come_to_rest(world: "World") -> None:
    """Let time pass until everything rests; raise BrokenError if it does not."""
    until_s = world.timeline.now_s + REST_S
    while True:
        restart_misled(world)
        missing = next(unrest(world), None)
        if missing is None:
            break
        if world.timeline.now_s >= until_s:
            raise BrokenError("everything comes to rest", f"after {REST_S} s {missing}")
        world.go_on(LOOK_S)
    for process in world.processes:
        head, state = process.head, process.settled_state()
        if head is not None and state is not None:
            world.oracle.must_equal(process, head, state)


def restart_misled(world: "World") -> None:
    """Restart a leader that reads on in a re-created topic, as its operator would."""
    topic = world.network.topics[Topic.COMMANDS].identity()
    for process in world.leaders():
        state = process.sequencer.state if process.sequencer is not None else None
        if state is not None and state.commands_topic != topic:
            world.note(process.name, "is restarted: the commands topic is another one")
            process.crash()


def unrest(world: "World") -> Iterator[str]:
    """Yield what keeps the world from resting."""
    if world.damage.operator.is_called:
        yield "the ledger waits for its operator"
    on_the_way = world.network.on_the_way
    if on_the_way[Topic.EVENTS] or on_the_way[Topic.COMMANDS]:
        yield f"records are on the way: {dict(on_the_way)}"
    yield from (
        f"{client.name} waits for {list(client.waiting)}"
        for client in world.clients
        if client.waiting
    )
    if left := undecided(world):
        yield f"{left} commands are not decided"
    yield from orphans(world)
    if not any(is_settled_leader(world, leader) for leader in world.leaders()):
        yield "nobody leads"
    for process in world.processes:
        if process.head is None or process.head.position != world.oracle.position:
            yield f"{process.name} is not at the end of the log"


def undecided(world: "World") -> int:
    """Return how many commands still stand behind the last one decided."""
    true = world.network.topics[Topic.COMMANDS]
    history = world.oracle.history
    following = history.last_cmd + 1 if history.topic == true.identity() else true.start
    return sum(record is not None for record in true.records[max(0, following - true.start) :])


def orphans(world: "World") -> Iterator[str]:
    """Yield open sessions that no client holds, and that own no replicated txn."""
    history = world.oracle.history
    held = {client.session for client in world.clients}
    held.update(owner for owner, kind in history.books.open.values() if kind == "replicated")
    for session, is_open in history.sessions.items():
        if is_open and session not in held:
            yield f"session {session} has no client and is open"


def is_settled_leader(world: "World", leader: object) -> bool:
    """Tell whether a leader is the one that counts, with nothing in flight."""
    sequencer = getattr(leader, "sequencer", None)
    if sequencer is None or sequencer.leader is None or sequencer.leader.flight:
        return False
    return bool(sequencer.leader.epoch == world.oracle.acceptor.head.epoch)
