"""Histories: what several clients may do to a domain, right or wrong, early, late and twice.

A history is a sequence of steps and nothing else: a step names a move and brings a few bytes, from
which the move draws its choices among what the domain holds at that moment. So a history shrinks
well, is data, and does the same wherever it is played. `steps()` is a strategy for hypothesis,
`random_steps` draws one from a seed. `python -m tests.core.histories SEED COUNT` prints a digest.
"""

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from hypothesis import Phase, settings
from hypothesis import strategies as st

from ledger.core.commands import (
    AbortTxn,
    AllocateWriteIds,
    ChangeNamespace,
    CloseSession,
    CoarseWrite,
    Command,
    CommitTxn,
    CreateTable,
    DropTable,
    ForgetAborted,
    NamespaceAct,
    OpenSession,
    OpenTxn,
    Property,
    RenameTable,
    TableWrite,
    TrimLog,
    Unreadable,
)
from ledger.core.events.events import CommandsMoved, Event, RecordsTrimmed, Resigned
from ledger.core.events.parts import Limits
from ledger.core.limits import WINDOW
from ledger.log.checkpoints import digest
from tests.driver import CATALOG, NEVER, Driver, definition

# A plain run draws the same few examples every time, and ends with the first that fails. A deep one
# draws new ones, shrinks what fails, and prints how to draw it again.
QUICK = settings(
    max_examples=8, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
DEEP = settings(max_examples=500, deadline=None, print_blob=True)

# Small, so that a short history meets every bound.
LIMITS = Limits(
    open_txns_max=12,
    txns_per_open_max=3,
    sessions_max=4,
    tables_per_command_max=4,
    lease_ms=10_000,
    txn_deadline_ms=60_000,
    replicated_deadline_ms=600_000,
    outcomes_max=8,
    conflict_entries_min=1,
    conflict_entries_max=3,
    snapshot_inline_max=6,
)
DRAW_BYTES = 14
NAMES = (*("a", "b", "A", "c", "d") * 3, "", "x:y")
ACTS: tuple[NamespaceAct, ...] = ("create", "alter", "drop")
CLOCK_STEPS_MS = (0, 1, 9_000, 60_000, -5_000)
# The first of each is what a history mostly does, and what a failing one shrinks to.
TYPES = (*["default"] * 8, "read_only", "replicated", "compaction", "soft_delete")
KINDS = (*[("listed", "managed"), ("directories", "managed")] * 4, ("listed", "external"))
SIZES = (1, 1, 1, 1, 2, 3, 1, 2, 0)
SCOPES = ("partition", "partition", "unpartitioned", "table")
OPERATIONS = ("update", "insert", "delete")
FEW = 2  # What most commands are about, so that they meet each other.


class Step(NamedTuple):
    """One move of a history, and the bytes it draws its choices from."""

    move: str
    draw: bytes


class Asked(NamedTuple):
    """A command and the event that answered it."""

    command: Command
    event: Event


class Draw:
    """Choices drawn from bytes; when they run out, always the first."""

    def __init__(self, data: bytes) -> None:
        self._left = iter(data)

    def below(self, bound: int) -> int:
        return next(self._left, 0) % bound

    def mostly(self, percent: int = 85) -> bool:
        """Tell whether to do the usual thing, which is done in `percent` of all cases."""
        return self.below(100) < percent

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.below(len(options))]


class Player:
    """Plays steps on a domain; `asked` are its commands with their answers, in order."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.driver = Driver(limits=limits)
        self.asked: list[Asked] = []
        self._last_n: dict[int, int] = {}
        for command in OPENING:
            self.ask(command)

    def play(self, step: Step) -> Event | None:
        """Return the event of one step; None if no command fits the state."""
        draw = Draw(step.draw)
        unasked = UNASKED.get(step.move)
        if unasked is not None:
            return unasked(self, draw)
        return self.ask(COMMANDS[step.move](self, draw))

    def ask(self, command: Command) -> Event:
        """Ask a command and keep its answer."""
        event = self.driver.ask(command)
        self.asked.append(Asked(command, event))
        last = self._last_n.get(command.session, 0)
        self._last_n[command.session] = max(last, command.n if command.n <= last + WINDOW else 0)
        return event

    def session(self, draw: Draw) -> int:
        known = self.driver.state.sessions.by_number
        is_open = [number for number, session in known.items() if session.is_open]
        return int(draw.of(is_open)) if is_open and draw.mostly(95) else draw.of([*known, 0, 999])

    def owner(self, draw: Draw, txn: int) -> int:
        """Return a session to ask about a txn, mostly its owner."""
        found = self.driver.state.txns.open.get(txn)
        return found.session if found is not None and draw.mostly(90) else self.session(draw)

    def asks(self, draw: Draw, session: int) -> tuple[int, int, int]:
        """Return the first fields of a command, mostly with the next number and in time."""
        last = self._last_n.get(session, 0)
        n = last + 1 if draw.mostly(92) else self._odd_number(draw, last)
        return session, n, NEVER if draw.mostly(98) else self.driver.now - 1

    def txn(self, draw: Draw) -> int:
        """Return a txn, mostly an open one."""
        txns = self.driver.state.txns
        if txns.open and draw.mostly():
            return int(draw.of(list(txns.open)))
        return draw.below(txns.next_txn + 2)

    def txn_or_none(self, draw: Draw) -> int:
        return self.txn(draw) if draw.mostly(60) else 0

    def table(self, draw: Draw) -> int:
        tables = self.driver.state.tables
        if tables.by_id and draw.mostly(95):
            return int(draw.of(list(tables.by_id)[: FEW if draw.mostly(70) else None]))
        return draw.below(tables.next_table + 2)

    def tables(self, draw: Draw) -> list[int]:
        """Return a few tables, now and then one twice, none, or too many."""
        return [self.table(draw) for _ in range(draw.of((1, 2, 1, 3, 1, 2, 1, 2, 0, 5)))]

    def read_at(self, draw: Draw) -> int:
        """Return a position to have read at, mostly that of the snapshot."""
        position = self.driver.state.position
        return 0 if draw.mostly(60) else max(0, position + 1 - draw.below(24))

    @staticmethod
    def _odd_number(draw: Draw, last: int) -> int:
        earlier = last - draw.below(last) if last else 1
        return int(draw.of((last + 2, last + 4, earlier, earlier, last + WINDOW + 1, 0, -2)))


def open_session(player: Player, draw: Draw) -> Command:
    """Open a session, now and then under a nonce used before."""
    number = len(player.asked) if draw.mostly() else draw.below(8)
    lease_ms = 0 if draw.mostly(95) else -1
    return OpenSession(0, 0, NEVER, number.to_bytes(16, "big"), "ada", "host", "etl", lease_ms)


def close_session(player: Player, draw: Draw) -> Command:
    return CloseSession(*player.asks(draw, player.session(draw)))


def open_txn(player: Player, draw: Draw) -> Command:
    """Open a few txns, now and then with write ids."""
    asks = player.asks(draw, player.session(draw))
    kind, size = draw.of(TYPES), draw.of(SIZES)
    deadline_ms = 0 if draw.mostly(95) else -1
    known = list(player.driver.state.tables.by_id)
    tables = [draw.of(known)] if known and draw.mostly(25) else []
    return OpenTxn(*asks, kind, size, deadline_ms, tables)


def allocate(player: Player, draw: Draw) -> Command:
    """Take write ids for one txn or two."""
    txn = player.txn(draw)
    txns = [txn] if draw.mostly(70) else [player.txn(draw), txn]
    return AllocateWriteIds(*player.asks(draw, player.owner(draw, txn)), txns, player.tables(draw))


def create(player: Player, draw: Draw) -> Command:
    """Create a table."""
    txn = player.txn_or_none(draw)
    asks = player.asks(draw, player.owner(draw, txn))
    layout, kind = draw.of(KINDS)
    catalog = CATALOG if draw.mostly(97) else "elsewhere"
    return CreateTable(
        *asks, txn, player.read_at(draw), catalog, draw.of(NAMES), definition(layout, kind)
    )


def rename(player: Player, draw: Draw) -> Command:
    txn = player.txn_or_none(draw)
    asks = player.asks(draw, player.owner(draw, txn))
    return RenameTable(*asks, txn, player.read_at(draw), player.table(draw), draw.of(NAMES))


def drop(player: Player, draw: Draw) -> Command:
    txn = player.txn_or_none(draw)
    asks = player.asks(draw, player.owner(draw, txn))
    return DropTable(*asks, txn, player.read_at(draw), player.table(draw))


def namespace(player: Player, draw: Draw) -> Command:
    """Create, alter or drop a namespace."""
    act = draw.of(ACTS)
    said = [Property("comment", draw.of(NAMES))] if act != "drop" else []
    asks = (*player.asks(draw, player.session(draw)), player.read_at(draw), CATALOG)
    return ChangeNamespace(*asks, draw.of(("s", "s.t", "S")), act, said)


def trim(player: Player, draw: Draw) -> Command:
    """Let some of the events leave the log."""
    newest = player.driver.state.position
    below = newest - draw.below(30)
    asks = player.asks(draw, player.session(draw))
    return TrimLog(*asks, below, "archive", min(newest, below + draw.below(3)), b"digest", "room")


def table_write(player: Player, draw: Draw) -> TableWrite:
    """Return one part of a commit."""
    writes = [coarse(draw) for _ in range(draw.of((1, 1, 2, 0)))]
    return TableWrite(player.table(draw), player.read_at(draw), writes)


def coarse(draw: Draw) -> CoarseWrite:
    """Return a coarse write of one of few units."""
    scope = draw.of(SCOPES)
    partition = draw.of(("day=1", "day=2")) if scope == "partition" else ""
    return CoarseWrite(scope, partition, draw.of(OPERATIONS))


def commit(player: Player, draw: Draw) -> Command:
    """Commit a txn, or commit at once."""
    txn = player.txn(draw) if draw.mostly(75) else 0
    asks = player.asks(draw, player.owner(draw, txn))
    parts = [table_write(player, draw) for _ in range(draw.of((1, 1, 2, 1, 0)))]
    return CommitTxn(*asks, txn, parts)


def abort(player: Player, draw: Draw) -> Command:
    txn = player.txn(draw)
    asks = player.asks(draw, player.owner(draw, txn))
    wrote = None if draw.mostly(60) else player.tables(draw)
    return AbortTxn(*asks, txn, "no longer wanted", wrote)


def forget(player: Player, draw: Draw) -> Command:
    """Forget aborted txns, or single write ids of a table."""
    asks = player.asks(draw, player.session(draw))
    aborted = player.driver.state.txns.aborted
    if not aborted or not draw.mostly(90):
        return ForgetAborted(*asks, [player.txn(draw)], player.table(draw), [])
    txn = draw.of(list(aborted))
    if draw.mostly(50):
        return ForgetAborted(*asks, [txn], 0, [])
    table, write_id = draw.of([*aborted[txn].write_ids.items(), (1, 1)])
    return ForgetAborted(*asks, [], table, [write_id])


def repeat(player: Player, draw: Draw) -> Command:
    """Send an earlier command once more."""
    if not player.asked:
        return open_session(player, draw)
    return player.asked[-1 - draw.below(len(player.asked))].command


def unreadable(player: Player, draw: Draw) -> Command:
    """Send what no schema explains."""
    return Unreadable(*player.asks(draw, player.session(draw)), "3 bytes are no OpenTxn")


def tidy(player: Player, draw: Draw) -> Event | None:
    """Keep house, with evidence against a session or a txn, or with none."""
    sessions = [] if draw.mostly() else [player.session(draw)]
    txns = [] if draw.mostly() else [player.txn(draw), player.txn(draw)]
    return player.driver.tidy(sessions, txns)


def let_time_pass(player: Player, draw: Draw) -> None:
    """Move the clock, now and then backwards."""
    player.driver.now += draw.of(CLOCK_STEPS_MS)


def take_over(player: Player, draw: Draw) -> Event:
    """Let a leader see a trim or resign, or its successor begin, find commands gone, outlive it."""
    driver = player.driver
    events = range(driver.state.begins + 1, driver.state.position + 1)
    if events and not draw.mostly():
        return driver.internal(RecordsTrimmed(draw.of(events)))
    if draw.mostly(40):
        return driver.internal(Resigned("leader"))
    if draw.mostly(40):
        gone = CommandsMoved("commands-1", "retention removed commands")
        return driver.internal(gone, last_cmd=driver.head.last_cmd + 3 - draw.below(5))
    driver.fence()
    driver.zombie(Resigned("the leader before"))
    return driver.events[-1]


COMMANDS: dict[str, Callable[[Player, Draw], Command]] = {
    "open_session": open_session,
    "open_txn": open_txn,
    "create": create,
    "allocate": allocate,
    "commit": commit,
    "abort": abort,
    "rename": rename,
    "drop": drop,
    "namespace": namespace,
    "trim": trim,
    "forget": forget,
    "repeat": repeat,
    "close_session": close_session,
    "unreadable": unreadable,
}
UNASKED: dict[str, Callable[[Player, Draw], Event | None]] = {
    "let_time_pass": let_time_pass,
    "tidy": tidy,
    "take_over": take_over,
}
WEIGHTS = dict.fromkeys(("open_session", "abort", "drop", "forget", "repeat", "tidy"), 2) | {
    "open_txn": 9,
    "commit": 10,
    "create": 5,
    "allocate": 4,
    "rename": 4,
}
# The first move does nothing if it draws zeros: what does not matter to a failure shrinks to it.
MOVES = [move for move in (*UNASKED, *COMMANDS) for _ in range(WEIGHTS.get(move, 1))]
# Without sessions and tables little happens, so every history begins with two of each. The first
# three positions are the birth of the domain, so the sessions are 4 and 5.
OPENING: tuple[Command, ...] = (
    OpenSession(0, 0, NEVER, b"the first nonce.", "ada", "host", "etl", 0),
    OpenSession(0, 0, NEVER, b"the second nonce", "bob", "host", "etl", 0),
    CreateTable(4, 1, NEVER, 0, 0, CATALOG, "a", definition("listed")),
    CreateTable(5, 1, NEVER, 0, 0, CATALOG, "b", definition("directories")),
)


def steps(
    moves: Iterable[str] = MOVES, *, min_size: int = 40, max_size: int = 60
) -> st.SearchStrategy[list[Step]]:
    drawn = st.binary(min_size=DRAW_BYTES, max_size=DRAW_BYTES)
    step = st.builds(Step, st.sampled_from(list(moves)), drawn)
    return st.lists(step, min_size=min_size, max_size=max_size)


def random_steps(seed: int, count: int) -> list[Step]:
    source = random.Random(seed)  # noqa: S311 - a history must come back from its seed
    return [Step(source.choice(MOVES), source.randbytes(DRAW_BYTES)) for _ in range(count)]


def played(history: Iterable[Step], limits: Limits = LIMITS) -> Player:
    """Return a player after a whole history."""
    player = Player(limits)
    for step in history:
        player.play(step)
    return player


def fingerprint(seed: int, count: int) -> str:
    """Return one digest over every byte a seed's history wrote and the state it led to."""
    end = played(random_steps(seed, count)).driver
    written = b"".join(record.value for record in end.records)
    return sha256(written + digest(end.state, end.head).encode()).hexdigest()


if __name__ == "__main__":
    sys.stdout.write(fingerprint(int(sys.argv[1]), int(sys.argv[2])))
