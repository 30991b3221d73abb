"""Histories of metadata: what tables became, for whom, and which lists their readers held.

The history is decided by the core; what a reader should be told is worked out here from the events
alone, naively: every change a reader sees is done again from the first one on.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ledger.core.acceptance import LogHead
from ledger.core.commands import (
    AbortTxn,
    AlterTable,
    Command,
    CommitTxn,
    OpenTxn,
    Property,
    TableDefinition,
)
from ledger.core.events.events import (
    Event,
    SessionClosed,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
)
from ledger.core.evolve.evolve import evolve
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import held_txn_list, valid_txn_list, valid_write_ids
from ledger.core.state.domain import DomainState
from ledger.log.checkpoints import dump
from ledger.reads.metadata import OBJECT_PREFIX, TABLE, Metadata, TableMetadata
from projections.cache.entries.ids import ReaderIds
from projections.cache.ports import EntryRead
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from tests.core.histories import DRAW_BYTES, Draw, Player, Step
from tests.driver import Driver

OBJECTS = ("partition:day=1", "stats:delay")
WHATS = (TABLE, TABLE, *OBJECTS)
WEIGHTS = {
    "alter_own": 12,
    "finish": 5,
    "alter": 4,
    "open_txn": 5,
    "allocate": 4,
    "give_up": 2,
    "forget": 2,
    "rename": 3,
    "create": 2,
    "commit": 2,
    "drop": 1,
    "tidy": 1,
}
MOVES = [move for move, weight in WEIGHTS.items() for _ in range(weight)]
DRAWS = st.binary(min_size=DRAW_BYTES, max_size=DRAW_BYTES)
LENGTH = 50
HISTORIES = st.lists(st.builds(Step, st.sampled_from(MOVES), DRAWS), min_size=10, max_size=LENGTH)

Told = tuple[str, str] | str | None
"""What a reader is told: name and location of the table, the value of an object, or nothing."""


class Altering(Player):
    """Plays histories of metadata: tables are altered, and txns end as they should."""

    def play(self, step: Step) -> Event | None:
        ask = ASKED.get(step.move)
        return super().play(step) if ask is None else self.ask(ask(self, Draw(step.draw)))

    def own(self, draw: Draw) -> tuple[int, tuple[int, int, int]]:
        """Return an open txn, 0 if there is none, and the first fields of its owner's command."""
        txns = self.driver.state.txns.open
        txn = draw.of(list(txns)) if txns else 0
        session = txns[txn].session if txn else self.session(draw)
        return txn, self.asks(draw, session)

    def favourite(self, draw: Draw, txn: int) -> int:
        """Return a table, mostly one that the txn changed before."""
        changed = [each.table for each in self.driver.state.tables.pending.get(txn, ())]
        return int(draw.of(changed)) if changed and draw.mostly(70) else self.table(draw)


def alter(player: Altering, draw: Draw) -> Command:
    """Alter a table in some txn or none, perhaps planned from long ago."""
    txn = player.txn_or_none(draw)
    asks = player.asks(draw, player.owner(draw, txn))
    return altering(player, draw, txn, asks, player.read_at(draw))


def alter_own(player: Altering, draw: Draw) -> Command:
    """Alter a table in an open txn as it is now."""
    txn, asks = player.own(draw)
    if not txn:
        return OpenTxn(*asks, "default", 1, 0)
    return altering(player, draw, txn, asks, player.driver.state.position)


def altering(
    player: Altering, draw: Draw, txn: int, asks: tuple[int, int, int], read_at: int
) -> Command:
    """Give a table another location, and now and then other objects."""
    state = player.driver.state
    table = player.favourite(draw, txn)
    found = state.tables.by_id.get(table)
    kind, layout = found.definition[:2] if found is not None else ("managed", "listed")
    word = f"v{state.position}"
    objects = [name for name in OBJECTS if draw.mostly(50)]
    properties = [Property(OBJECT_PREFIX + name, f"{name} {word}") for name in objects]
    made = TableDefinition(kind, layout, word, (), (), properties)
    return AlterTable(*asks, txn, read_at, table, made, "ALTER")


def finish(player: Altering, draw: Draw) -> Command:
    """Commit an open txn with all that it did before."""
    txn, asks = player.own(draw)
    return CommitTxn(*asks, txn, ()) if txn else OpenTxn(*asks, "default", 2, 0)


def give_up(player: Altering, draw: Draw) -> Command:
    """Abort an open txn, which left data nowhere or wherever it could."""
    txn, asks = player.own(draw)
    if not txn:
        return OpenTxn(*asks, "default", 3, 0)
    return AbortTxn(*asks, txn, "no longer wanted", () if draw.mostly(50) else None)


ASKED: dict[str, Callable[[Altering, Draw], Command]] = {
    "alter": alter,
    "alter_own": alter_own,
    "finish": finish,
    "give_up": give_up,
}


class Reader(NamedTuple):
    """Who reads a table: by which name, with which list, since when, in which txn; 0 = none."""

    table: int
    name: str
    ids: ValidWriteIdList | None
    position: int
    own_txn: int = 0


class Change(NamedTuple):
    """A change of one table, by whom, and from which position on it holds; 0 = it never did."""

    position: int
    txn: int
    write_id: int
    body: Any
    holds: int


class Past(NamedTuple):
    """What became of tables: their changes in the order they came in, and where txns ended."""

    changes: Mapping[int, Sequence[Change]]
    ends: Mapping[int, int]


@dataclass(frozen=True)
class Played:
    """A history that was played: its events, a checkpoint after each, its readers."""

    driver: Driver
    checkpoints: list[bytes]
    readers: list[Reader]
    changes: Mapping[int, Sequence[Change]]
    ends: Mapping[int, int]
    _stores: dict[int, MemoryStore] = field(default_factory=dict)

    @property
    def events(self) -> list[Event]:
        """All events, the first at position 1."""
        return self.driver.events

    def store(self, position: int) -> MemoryStore:
        if position not in self._stores:
            store = self._stores[position] = MemoryStore()
            Fold.load(store, self.driver.log).feed(self.driver.records[:position])
        return self._stores[position]


def played(history: list[Step]) -> Played:
    """Play a history and note who could read what after every event of it."""
    player = Altering()
    for step in history:
        player.play(step)
    events = player.driver.events
    state, checkpoints, readers = DomainState(), [b""], list[Reader]()
    opened: dict[int, ValidTxnList] = {}
    for event in events:
        evolve(state, event)
        note_opened(opened, event)
        checkpoints.append(dump(state, LogHead(), 0))
        readers += readers_of(state, opened)
    readers = list(dict.fromkeys(readers))
    return Played(player.driver, checkpoints, readers, *past_of(events))


@cache
def drawn(seed: int) -> Played:
    source = Random(seed)  # noqa: S311 - a history must come back from its seed
    steps = [Step(source.choice(MOVES), source.randbytes(DRAW_BYTES)) for _ in range(LENGTH)]
    return played(steps)


def note_opened(opened: dict[int, ValidTxnList], event: Event) -> None:
    """Note the list that each txn holds since its opening, where the event tells it."""
    control, body = event
    if isinstance(body, TxnOpened) and body.inline:
        for txn in range(control.txn, control.txn + body.size):
            opened[txn] = held_txn_list(control, body, txn)


def readers_of(state: DomainState, opened: dict[int, ValidTxnList]) -> Iterator[Reader]:
    """Yield readers of every table as of now: one in no txn, one in each txn that writes it."""
    now = valid_txn_list(state)
    for number, table in state.tables.by_id.items():
        if table.definition.kind == "external":
            yield Reader(number, table.name, None, state.position)
            continue
        rows = sorted(mappings(state, number))
        held = {
            txn: opened[txn]
            for txn, found in state.txns.open.items()
            if txn in opened and (number in found.write_ids or number in found.metadata)
        }
        for own_txn, txns in {0: now, **held}.items():
            ids = valid_write_ids(table.name, txns, rows, table.last_write_id)
            yield Reader(number, table.name, ids, state.position, own_txn)


def mappings(state: DomainState, table: int) -> Iterator[tuple[int, int]]:
    """Yield the mappings (write id, txn) of a table."""
    for txn, held in state.txns.open.items():
        if table in held.write_ids:
            yield held.write_ids[table], txn
    for txn, tables in state.txns.mappings.items():
        if table in tables:
            yield tables[table], txn


def past_of(events: Sequence[Event]) -> Past:
    """Return what became of tables in these events."""
    found: dict[int, list[Change]] = defaultdict(list)
    ends: dict[int, int] = {}
    committed: set[int] = set()
    for control, body in events:
        match body:
            case TableCreated() | TableAltered() | TableRenamed() | TableDropped():
                at_once = not control.txn or (isinstance(body, TableAltered) and body.one_shot)
                holds = control.position if at_once else 0
                change = Change(control.position, control.txn, body.write_id, body, holds)
                found[body.table].append(change)
            case TxnCommitted():
                ends[control.txn] = control.position
                committed.add(control.txn)
            case TxnAborted():
                ends[control.txn] = control.position
            case SessionClosed() | TxnsExpired():
                ends.update((end.txn, control.position) for end in body.ends)
            case _:
                pass
    for table, changes in found.items():
        found[table] = [
            each._replace(holds=ends[each.txn]) if each.txn in committed else each
            for each in changes
        ]
    return Past(found, ends)


def told(
    history: Past | Played,
    reader: Reader,
    what: str,
    applied: Collection[int],
    known: Collection[int] | None = None,
) -> Told:
    """Return what a reader is to be told by who has `applied` these events.

    Of a list they make no difference: it says itself what it sees. They tell how far the reader's
    own txn came beyond what it did before it read, and which changes at once are known; `known`
    tells the latter where it is not the same.
    """
    known = applied if known is None else known
    sees = reader.ids.is_valid if reader.ids is not None else lambda _write_id: True
    is_own_open = reader.own_txn and history.ends.get(reader.own_txn) not in applied
    own, others = list[Change](), list[Change]()
    for each in history.changes.get(reader.table, ()):
        if is_own_open and each.txn == reader.own_txn:
            if each.position in applied or each.position <= reader.position:
                own.append(each)
        elif each.holds and (sees(each.write_id) if each.write_id else each.holds in known):
            others.append(each)
    others.sort(key=lambda each: (each.holds, each.position))
    return outcome([each.body for each in (*others, *own)], what)


def outcome(bodies: list[Any], what: str) -> Told:
    """Return what changes done one after the other make of an object."""
    name, definition = "", None
    for body in bodies:
        match body:
            case TableDropped():
                return None
            case TableRenamed():
                name = body.name
            case TableAltered():
                definition = body.definition
            case _:
                name, definition = body.name, body.definition
    if definition is None or not name:
        return None
    if what == TABLE:
        return name, definition.location
    properties = {each.key: each.value for each in definition.properties}
    return properties.get(OBJECT_PREFIX + what)


def as_told(value: Metadata | None) -> Told:
    """Return an answer as it is told here."""
    if isinstance(value, TableMetadata):
        return value.name, value.definition.location
    return value


def wanted(reader: Reader, what: str = TABLE) -> EntryRead:
    ids = None if reader.ids is None else ReaderIds.of(reader.ids)
    return EntryRead(None, ids, reader.table, what, reader.own_txn, reader.position)
