"""The laws again, for histories of commits file by file, of alters and of staged chunks.

`test_laws` has them for txns, names and units; who loses against whom is judged elsewhere. Here the
state must stay consistent whatever is written, and come back from the log and from a checkpoint.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.acceptance import LogHead
from ledger.core.commands import (
    AlterTable,
    AppVersion,
    Command,
    CommitTxn,
    CreateTable,
    Domain,
    DropTable,
    Footprint,
    OpenTxn,
    Protocol,
    RenameTable,
    StageWrites,
    TableWrite,
)
from ledger.core.events.events import CommandRefused, CommandRepeated, Event
from ledger.core.evolve.evolve import fold
from ledger.core.evolve.form import state_form
from ledger.core.invariants import assert_invariants
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import digest, dump, load
from tests.core.arena import BY_DAY, COMMENTED, MARKED, UNPARTITIONED, WIDER, day
from tests.core.histories import DEEP, QUICK, TYPES, Draw, Step
from tests.core.parts import above, after, equals, footprint, partition, table_of
from tests.driver import CATALOG, Driver

DRAW_BYTES = 40
LIMITS = DEFAULT_LIMITS._replace(conflict_entries_min=10, conflict_entries_max=80, outcomes_max=20)
AS_TEXT = table_of(("day", "string"), ("delay", "int"), by=["day"])
TRACKED = table_of(("day", "int"), by=["day"], delta__enableRowTracking="true")
STRICT = table_of(("day", "int"), by=["day"], delta__isolationLevel="Serializable")
MADE = (BY_DAY, AS_TEXT, WIDER, COMMENTED, MARKED, TRACKED, STRICT, UNPARTITIONED)
DAYS = ("1", "01", "2", "3", "x", None)
OPERATIONS = ("WRITE", "UPDATE", "DELETE", "MERGE", "OPTIMIZE", "ROW TRACKING BACKFILL", "")
SCANS = (equals("day", "1", "int"), above("day", "2"), equals("delay", "1", "int"), "no tree")
# What any event moves.
TIMES = {"position": 0, "at": 0}
LEVELS = ("", "", "", "Serializable", "SnapshotIsolation")
PROTOCOLS = (None, None, None, None, Protocol(3, 7, ["deletionVectors"]), Protocol(1, 2, []))


class Writers(Driver):
    """Two sessions that write to a few tables, mostly right."""

    def __init__(self) -> None:
        super().__init__(limits=LIMITS)
        self.sessions = [self.open_session(user) for user in ("ada", "bob")]
        self.tables = [
            self.create_table(self.sessions[0], "a", made=BY_DAY),
            self.create_table(self.sessions[0], "b", made=TRACKED),
        ]

    def play(self, step: Step) -> None:
        """Do one step and check the state."""
        draw = Draw(step.draw)
        if step.move == "tidy":
            self.tidy(txns=[self.txn(draw)])
        else:
            self.ask(MOVES[step.move](self, draw))

    def txn(self, draw: Draw) -> int:
        return int(draw.of([*self.state.txns.open, 0]))

    def asks_in(self, txn: int) -> tuple[int, int, int]:
        """Return the first fields of a command of the session that owns a txn."""
        found = self.state.txns.open.get(txn)
        return self.asks(found.session if found is not None else self.sessions[0])

    def table(self, draw: Draw) -> int:
        return int(draw.of([*self.state.tables.by_id] * 4 + [1]))

    def read_at(self, draw: Draw) -> int:
        """Return a position not long ago, or that of the snapshot."""
        return 0 if draw.mostly(40) else max(0, self.state.position - draw.below(12))


def some(draw: Draw, options: Sequence[Any], most: int = 2) -> list[Any]:
    return [draw.of(options) for _ in range(draw.below(most + 1))]


def drawn(draw: Draw) -> Footprint:
    """Return any footprint over few files and few days."""
    paths = "abcdefgh"
    return footprint(
        draw.of(OPERATIONS),
        read=some(draw, paths),
        remove=some(draw, paths, 3),
        reads=some(draw, SCANS, 1),
        reads_whole=not draw.mostly(90),
        read_apps=some(draw, ["loader"], 1),
        adds=[partition(each) for each in some(draw, DAYS, 3)],
        removes_in=[partition(each) for each in some(draw, DAYS)],
        data_change=draw.mostly(70),
        not_blind=not draw.mostly(70),
        rows_added=draw.below(5),
        protocol=draw.of(PROTOCOLS),
        domains=[Domain(each, "{}", removed=False) for each in some(draw, ["d"], 1)],
        apps=[AppVersion("loader", draw.below(9)) for _ in some(draw, "x", 1)],
        files=b"files",
    )


def drawn_part(writers: Writers, draw: Draw, txn: int) -> TableWrite:
    """Return a part, with the chunks staged before it named mostly right."""
    table = writers.table(draw)
    found = writers.state.txns.open.get(txn)
    chunks = found.staged.get(table, []) if found is not None and draw.mostly(90) else []
    coarse = [day(draw.of(("1", "2")), draw.of(("insert", "update"))) for _ in some(draw, "x", 1)]
    said = None if coarse and draw.mostly(50) else after(chunks, drawn(draw))
    return TableWrite(table, writers.read_at(draw), coarse, said)


def open_txn(writers: Writers, draw: Draw) -> Command:
    tables = [writers.table(draw)] if draw.mostly(30) else []
    return OpenTxn(*writers.asks(draw.of(writers.sessions)), draw.of(TYPES), 1, 0, tables)


def commit(writers: Writers, draw: Draw) -> Command:
    txn = writers.txn(draw)
    parts = [drawn_part(writers, draw, txn) for _ in range(1 + draw.below(2))]
    return CommitTxn(*writers.asks_in(txn), txn, parts, draw.of(LEVELS))


def stage(writers: Writers, draw: Draw) -> Command:
    """Stage a chunk, mostly the next one."""
    txn, table = writers.txn(draw), writers.table(draw)
    found = writers.state.txns.open.get(txn)
    number = len(found.staged.get(table, ())) + 1 if found is not None else 1
    return StageWrites(*writers.asks_in(txn), txn, table, number, drawn(draw))


def alter(writers: Writers, draw: Draw) -> Command:
    txn = writers.txn(draw) if draw.mostly(60) else 0
    names = ("SET TBLPROPERTIES", "REPLACE TABLE")
    return AlterTable(
        *writers.asks_in(txn), txn, 0, writers.table(draw), draw.of(MADE), draw.of(names)
    )


def create(writers: Writers, draw: Draw) -> Command:
    txn = writers.txn(draw)
    return CreateTable(*writers.asks_in(txn), txn, 0, CATALOG, draw.of("abcd"), draw.of(MADE))


def rename(writers: Writers, draw: Draw) -> Command:
    txn = writers.txn(draw)
    return RenameTable(*writers.asks_in(txn), txn, 0, writers.table(draw), draw.of("abcd"))


def drop(writers: Writers, draw: Draw) -> Command:
    txn = writers.txn(draw)
    return DropTable(*writers.asks_in(txn), txn, 0, writers.table(draw))


MOVES: dict[str, Callable[[Writers, Draw], Command]] = {
    "open_txn": open_txn,
    "commit": commit,
    "stage": stage,
    "alter": alter,
    "create": create,
    "rename": rename,
    "drop": drop,
}
WEIGHTED = [*MOVES, *["commit"] * 9, *["open_txn"] * 3, *["alter", "stage", "create"] * 2, "tidy"]


def steps(least: int, most: int) -> st.SearchStrategy[list[Step]]:
    """Return a strategy for histories of so many steps."""
    draws = st.binary(min_size=DRAW_BYTES, max_size=DRAW_BYTES)
    return st.lists(
        st.builds(Step, st.sampled_from(WEIGHTED), draws), min_size=least, max_size=most
    )


def check_each_step(history: Sequence[Step]) -> Writers:
    """Play a history; the state is consistent after each step, and after a restart in it."""
    writers = Writers()
    for step in history:
        writers.play(step)
        assert_invariants(writers.state)
    restored, _, _ = load(dump(writers.state, writers.head, 0))

    assert restored == writers.state
    return writers


def check_reading(history: Sequence[Step], cut: int) -> None:
    """Read the log of a history, with a restart from a checkpoint in between."""
    writers = check_each_step(history)
    at = cut % len(writers.records)
    state, acceptor = DomainState(), Acceptor(LogHead())
    for records in (writers.records[:at], writers.records[at:]):
        taken = [acceptor.take(record.value) for record in records]
        fold(state, [event for event in taken if event is not None])
        state, head, _ = load(dump(state, acceptor.head, 0))
        acceptor = Acceptor(head)

    assert state == writers.state
    assert digest(state, acceptor.head) == digest(writers.state, writers.head)


@QUICK
@given(steps(20, 50), st.integers(0, 10_000))
def test_states_come_back(history: list[Step], cut: int) -> None:
    """Laws 1, 2, 4 and 9: what decide emits evolve accepts, and readers get the same state."""
    check_reading(history, cut)


@pytest.mark.slow
@DEEP
@given(steps(20, 120), st.integers(0, 10_000))
def test_states_come_back_for_long(history: list[Step], cut: int) -> None:
    """Laws 1, 2, 4 and 9 over long histories, other ones in every run."""
    check_reading(history, cut)


def told(event: Event) -> str:
    body: Any = event.body
    reason = body.reason if isinstance(body, CommandRefused) else getattr(body, "first", 0)
    return str(getattr(body, "outcome", "") or (body.reason if reason else type(body).__name__))


def check_repeats(history: Sequence[Step]) -> None:
    """Ask every command twice."""
    writers = Writers()
    for step in history:
        if step.move == "tidy":
            continue
        command = MOVES[step.move](writers, Draw(step.draw))
        first = writers.ask(command)
        before = state_form(writers.state, LogHead())
        again: Any = writers.ask(command).body
        after_it = state_form(writers.state, LogHead())

        assert isinstance(again, CommandRepeated)
        assert again.outcome == told(first)
        assert {**after_it, **TIMES} == {**before, **TIMES}


@QUICK
@given(steps(20, 50))
def test_repeats_change_nothing(history: list[Step]) -> None:
    """Law 8: a commit, an alter or a chunk that had an effect has none again."""
    check_repeats(history)
