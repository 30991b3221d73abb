"""Plays random concurrent histories on a ledger, and has them judged while they go on.

A history is a sequence of steps of `tests.core.histories`: a move and the bytes it draws its
choices from. The first step is the opening: it draws the tables and how much the index keeps.
"""

import random
from collections.abc import Callable, Iterable
from typing import Final

from hypothesis import strategies as st

from ledger.core.commands import (
    AlterTable,
    Command,
    CommitTxn,
    CreateTable,
    OpenTxn,
    StageWrites,
    TableWrite,
)
from ledger.core.conflicts.footprints import next_digest, path_hash
from ledger.core.events.events import Event, TableCreated
from ledger.core.events.parts import Limits
from tests.core.histories import Draw, Step
from tests.driver import CATALOG, Driver
from tests.isolation import tables, writes
from tests.isolation.adapter import Adapter
from tests.isolation.judge import Judge
from tests.isolation.lake import Table
from tests.isolation.plain import Schema
from tests.isolation.rules import BACKFILL

DRAW_BYTES: Final = 80
ROOMY: Final = 1_000_000
# (least, most) entries the index keeps: all, what open txns need, some more, hardly any.
KEPT: Final = ((ROOMY, ROOMY), (0, ROOMY), (ROOMY, ROOMY), (0, ROOMY), (20, 60), (0, 20))
ASKED_LEVELS: Final = (
    *[""] * 6,
    "Serializable",
    "WRITESERIALIZABLE",
    "serializable",
    "SnapshotIsolation",
)
TYPES: Final = (*["default"] * 12, "read_only", "compaction", "replicated", "soft_delete")


def limits(draw: Draw) -> Limits:
    """Return the bounds of a domain."""
    least, most = draw.of(KEPT)
    return Limits(100, 5, 10, 8, 10_000, 60_000, 600_000, 50, least, most, 100)


class Player:
    """A ledger in one thread, who asks it, and the judge who is told everything."""

    def __init__(self, opening: bytes) -> None:
        draw = Draw(opening)
        self.limits = limits(draw)
        exact = self.limits.conflict_entries_min == 0 and self.limits.conflict_entries_max == ROOMY
        self.driver = Driver(limits=self.limits)
        self.adapter = Adapter()
        self.judge = Judge(exact_floor=exact)
        self.paths: dict[str, str] = {}
        self.schemas: dict[int, Schema] = {}
        self._numbers = 0
        self.sessions = [self.driver.open_session(user) for user in ("ada", "bob")]
        for _ in range(1 + draw.below(4)):
            self.ask(create(self, draw, 0))

    def ask(self, command: Command) -> Event:
        """Ask a command; the judge hears of the answer."""
        floor = self.driver.state.winners.floor
        event = self.driver.ask(command)
        self.tell(event, command, floor)
        if isinstance(event.body, TableCreated):
            self.schemas[event.body.table] = tables.schema_of(event.body.definition)
        return event

    def tell(self, event: Event, asked: Command | None = None, floor: int = 0) -> None:
        """Tell the judge of an event; `floor` is that of the winners before it."""
        for told in self.adapter.told(event, asked, floor):
            self.judge.take(told, self.driver.state.winners.floor)

    def play(self, step: Step) -> None:
        draw = Draw(step.draw)
        command = MOVES[step.move](self, draw)
        if command is not None:
            self.ask(command)

    def fresh(self) -> int:
        """Return a number never given before, which a path may be made of."""
        self._numbers += 1
        path = f"f{self._numbers}"
        self.paths[path_hash(path).hex()] = path
        return self._numbers

    def asks(self, txn: int = 0) -> tuple[int, int, int]:
        """Return the first fields of a command about a txn, or of the first session."""
        found = self.driver.state.txns.open.get(txn)
        return self.driver.asks(self.sessions[0] if found is None else found.session)

    def txn(self, draw: Draw) -> int:
        txns = list(self.driver.state.txns.open)
        return int(draw.of(txns)) if txns else 0

    def table(self, draw: Draw, txn: int = 0) -> int:
        """Return a table that the txn sees, or now and then one that is gone."""
        tables = self.driver.state.tables
        known = [each.table for each in tables.by_id.values() if each.creator in (0, txn)]
        gone = [number for number, each in self.judge.lake.tables.items() if each.is_dropped]
        if gone and draw.mostly(4):
            return int(draw.of(gone))
        return int(draw.of(known)) if known else 0

    def read_at(self, draw: Draw, txn: int, table: int) -> int:
        """Return the position a plan is made from: mostly the snapshot, else somewhat off it."""
        now, opened = self.driver.state.position, self.opened(txn)
        born = self.born(table)
        if txn and draw.mostly(60):
            return max(opened, born)
        lowest = self.driver.state.winners.floor if draw.mostly(80) else 1
        away = draw.below(14) - 8
        return min(now, max((opened or now - 4) + away, born, lowest))

    def born(self, table: int) -> int:
        """Return the position at which everybody could first see a table."""
        found = self.judge.lake.tables.get(table)
        return found.contents[0][0] if found is not None else 0

    def opened(self, txn: int) -> int:
        """Return the position of a txn's snapshot, 0 without a txn."""
        found = self.driver.state.txns.open.get(txn)
        return found.opened if found is not None else 0

    def seen(self, table: int, read_at: int) -> writes.Seen:
        """Return a table as a plan from a position sees it."""
        found = self.judge.lake.tables.get(table)
        if found is None:
            return writes.Seen(self.schemas[table], (), frozenset(), {}, self.fresh)
        schema = found.definition_at(read_at).schema
        versions = {app: version for app, (version, _) in found.apps.items()}
        return writes.Seen(schema, self.live(found, read_at), found.features, versions, self.fresh)

    def live(self, table: Table, read_at: int) -> list[writes.Live]:
        """Return the files of a table that have a path, as of a position."""
        files = table.files_at(read_at).values()
        return [
            writes.Live(self.paths[file.name], file.cells, file.rows)
            for file in files
            if file.name in self.paths and file.cells is not None
        ]


def open_txn(player: Player, draw: Draw) -> Command:
    """Open one txn, now and then several, and now and then with write ids in a table."""
    asks = player.driver.asks(draw.of(player.sessions))
    table = player.table(draw, 0) if draw.mostly(30) else 0
    return OpenTxn(*asks, draw.of(TYPES), draw.of((1, 1, 1, 2)), 0, [table] if table else [])


def create(player: Player, draw: Draw, txn: int) -> Command:
    made = tables.drawn(draw)
    return CreateTable(*player.asks(txn), txn, 0, CATALOG, f"t{player.fresh()}", made)


def create_somewhere(player: Player, draw: Draw) -> Command | None:
    """Create a table in a txn or at once, while there are few."""
    if len(player.driver.state.tables.by_id) > 3:
        return None
    return create(player, draw, player.txn(draw) if draw.mostly(60) else 0)


def allocate(player: Player, draw: Draw) -> Command | None:
    """Take write ids in a table."""
    txn = player.txn(draw)
    table = player.table(draw, txn)
    if txn and table:
        session = player.driver.state.txns.open[txn].session
        event = player.driver.allocate(session, [txn], [table])
        player.tell(event)
    return None


def alter(player: Player, draw: Draw) -> Command | None:
    """Alter a table, in a txn or by a commit of its own."""
    txn = player.txn(draw) if draw.mostly(60) else 0
    table = player.table(draw, txn)
    known = player.driver.state.tables.by_id.get(table)
    if known is None:
        return None
    operation, made = draw.of(tables.ALTERS)(draw, player.fresh, known.definition)
    read_at = player.read_at(draw, txn, table) if draw.mostly(30) else 0
    return AlterTable(*player.asks(txn), txn, read_at, table, made, operation)


def rename(player: Player, draw: Draw) -> None:
    """Rename a table, in a txn or at once."""
    txn = player.txn(draw) if draw.mostly(50) else 0
    table = player.table(draw, txn)
    if table in player.driver.state.tables.by_id:
        event = player.driver.rename_table(
            player.asks(txn)[0], table, f"t{player.fresh()}", txn=txn
        )
        player.tell(event)


def drop(player: Player, draw: Draw) -> None:
    """Drop a table, in a txn or at once, while there are several."""
    txn = player.txn(draw) if draw.mostly(50) else 0
    table = player.table(draw, txn)
    if table in player.driver.state.tables.by_id and len(player.driver.state.tables.by_id) > 1:
        event = player.driver.drop_table(player.asks(txn)[0], table, txn=txn)
        player.tell(event)


def stage(player: Player, draw: Draw) -> Command | None:
    """Send a part of a footprint ahead: files that are added blindly."""
    txn = player.txn(draw)
    table = player.table(draw, txn)
    if not txn or table not in player.driver.state.tables.by_id:
        return None
    seen = player.seen(table, player.opened(txn))
    chunk = writes.footprint(writes.append(draw, seen))
    known = player.driver.state.txns.open[txn].staged.get(table, ())
    return StageWrites(*player.asks(txn), txn, table, len(known) + 1, chunk)


def commit(player: Player, draw: Draw) -> Command | None:
    """Commit a txn, or commit at once."""
    txn = player.txn(draw) if draw.mostly(75) else 0
    found = player.driver.state.txns.open.get(txn)
    reads_only = found is not None and found.type == "read_only"
    staged = list(found.staged) if found is not None else []
    count = draw.of((1, 1, 1, 2, 2, 3))
    tables = dict.fromkeys([*staged, *(player.table(draw, txn) for _ in range(count))])
    parts = [part(player, draw, txn, table, reads_only=reads_only) for table in tables if table]
    return CommitTxn(*player.asks(txn), txn, parts, draw.of(ASKED_LEVELS))


def part(player: Player, draw: Draw, txn: int, table: int, *, reads_only: bool) -> TableWrite:
    """Return one table of a commit: file by file mostly, coarsely, or only read."""
    read_at = player.read_at(draw, txn, table)
    seen = player.seen(table, read_at)
    found = player.driver.state.txns.open.get(txn)
    chunks = found.staged.get(table, ()) if found is not None else ()
    if reads_only or (txn and not chunks and draw.mostly(15)):
        return TableWrite(table, read_at, (), writes.only_read(draw, seen))
    if not chunks and draw.mostly(15):
        many = [writes.coarse(draw, seen.schema) for _ in range(draw.of((1, 1, 2)))]
        return TableWrite(table, read_at, many)
    # A replicated txn was judged elsewhere: what it says here could be wrong, were it not blind.
    is_replicated = found is not None and found.type == "replicated"
    made = (
        writes.footprint(writes.append(draw, seen)) if is_replicated else writes.drawn(draw, seen)
    )
    if chunks and made.operation == BACKFILL:
        # What was staged is new, and a backfill lists what is there.
        made = writes.footprint(writes.append(draw, seen))
    has_both = draw.mostly(4) and made.operation != BACKFILL
    both = [writes.coarse(draw, seen.schema)] if has_both else []
    if not txn and draw.mostly(50) and made.adds and not (made.reads or made.removes):
        read_at = (
            0 if not (made.reads_whole or made.read_files or made.not_blind or both) else read_at
        )
    digest = b""
    for chunk in chunks:
        digest = next_digest(digest, chunk)
    return TableWrite(table, read_at, both, made._replace(staged=len(chunks), digest=digest))


def abort(player: Player, draw: Draw) -> None:
    txn = player.txn(draw)
    if txn:
        event = player.driver.abort(player.asks(txn)[0], txn)
        player.tell(event)


def tidy(player: Player, _: Draw) -> None:
    """Keep house: aborted ids without data are forgotten."""
    event = player.driver.tidy()
    if event is not None:
        player.tell(event)


MOVES: Final[dict[str, Callable[[Player, Draw], Command | None]]] = {
    "commit": commit,
    "open_txn": open_txn,
    "alter": alter,
    "stage": stage,
    "allocate": allocate,
    "abort": abort,
    "rename": rename,
    "drop": drop,
    "create": create_somewhere,
    "tidy": tidy,
}
WEIGHTS: Final = {"commit": 16, "open_txn": 9, "alter": 3, "stage": 1, "allocate": 1}
WEIGHTED: Final = [move for move in MOVES for _ in range(WEIGHTS.get(move, 1))]


def played(opening: bytes, history: Iterable[Step]) -> Player:
    """Return a player after a whole history."""
    player = Player(opening)
    for step in history:
        player.play(step)
    return player


def played_seed(seed: int, count: int = 45) -> Player:
    """Return a player after the history of a seed."""
    source = random.Random(seed)  # noqa: S311 - a history must come back from its seed
    opening = source.randbytes(DRAW_BYTES)
    return played(
        opening, [Step(source.choice(WEIGHTED), source.randbytes(DRAW_BYTES)) for _ in range(count)]
    )


def histories(
    *, min_size: int = 10, max_size: int = 30
) -> st.SearchStrategy[tuple[bytes, list[Step]]]:
    """Return a strategy for an opening and the steps after it."""
    draws = st.binary(min_size=DRAW_BYTES, max_size=DRAW_BYTES)
    step = st.builds(Step, st.sampled_from(WEIGHTED), draws)
    return st.tuples(draws, st.lists(step, min_size=min_size, max_size=max_size))
