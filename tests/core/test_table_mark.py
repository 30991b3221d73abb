"""The mark of a table: what holds it, and that it releases nothing any snapshot may still need."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given

from ledger.core.events.events import Event, TxnOpened
from ledger.core.evolve.evolve import evolve
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.lists.visibility import valid_txn_list, valid_write_ids
from ledger.core.state.domain import DomainState
from ledger.core.state.watermark import Lifetime, Snapshot, TableMark, table_mark
from tests.core.histories import DEEP, QUICK, Step, played, random_steps, steps
from tests.driver import Driver
from tests.isolation.test_cleaning import given_by

NOW = 90
OLD, YOUNG = Snapshot(20, 4), Snapshot(40, 7)
Play = Callable[[Driver, int, int], object]


@pytest.mark.parametrize(
    ("life", "snapshots", "expected"),
    [
        (Lifetime(10), [], (NOW, 0)),
        (Lifetime(10), [OLD, YOUNG], (20, 4)),
        (Lifetime(20), [OLD, YOUNG], (20, 4)),
        (Lifetime(21), [OLD, YOUNG], (40, 7)),
        (Lifetime(41), [OLD, YOUNG], (NOW, 0)),
        (Lifetime(0), [OLD, YOUNG], (NOW, 0)),
        (Lifetime(10, 21), [OLD, YOUNG], (20, 4)),
        (Lifetime(10, 20), [OLD, YOUNG], (NOW, 0)),
        (Lifetime(30, 60), [OLD, YOUNG], (40, 7)),
        (Lifetime(10, 60), [], (NOW, 0)),
    ],
    ids=[
        "nobody",
        "the oldest",
        "opened at its creation",
        "one from before its creation",
        "all from before",
        "not created yet",
        "dropped under the oldest",
        "dropped before",
        "of between",
        "dropped, nobody",
    ],
)
def test_who_holds_it(life: Lifetime, snapshots: list[Snapshot], expected: tuple[int, int]) -> None:
    """The oldest snapshot that shows the table holds it there, and without one nobody does."""
    mark = table_mark(life, snapshots, NOW, lambda position: position // 10)

    assert mark == TableMark(expected[0], expected[0] // 10, expected[1])


def writes(domain: Driver, session: int, table: int) -> int:
    txn = domain.open_txn(session)
    domain.allocate(session, [txn], [table])
    return txn


def reader_outlives_commit(domain: Driver, session: int, table: int) -> None:
    """Commit under a reader, and once more."""
    domain.commit(session, writes(domain, session, table))
    domain.open_txn(session, "read_only")
    for _ in range(2):
        domain.commit(session, writes(domain, session, table))


def reader_saw_writer(domain: Driver, session: int, table: int) -> None:
    txn = writes(domain, session, table)
    domain.open_txn(session, "read_only")
    domain.commit(session, txn)


def aborted_writer(domain: Driver, session: int, table: int) -> None:
    """Leave an aborted write id between two committed ones."""
    for end in (domain.commit, domain.abort, domain.commit):
        end(session, writes(domain, session, table))


def writer_behind(domain: Driver, session: int, table: int) -> None:
    """Commit the second write id while the first is open."""
    writes(domain, session, table)
    domain.commit(session, writes(domain, session, table))


def other_table(domain: Driver, session: int, _table: int) -> None:
    """Keep a reader open, and write to a table that is created after it."""
    domain.open_txn(session, "read_only")
    aborted_writer(domain, session, domain.create_table(session, "later", layout="directories"))


@pytest.mark.parametrize(
    ("play", "table", "expected"),
    [
        (lambda _d, _s, _t: None, 1, (5, 1, 0)),
        (reader_outlives_commit, 1, (9, 2, 2)),
        (reader_saw_writer, 1, (8, 1, 2)),
        (aborted_writer, 1, (14, 4, 0)),
        (writer_behind, 1, (6, 1, 1)),
        (other_table, 1, (6, 1, 1)),
        (other_table, 2, (16, 4, 0)),
    ],
    ids=[
        "new",
        "a reader outlives commits",
        "a reader saw a writer open",
        "an aborted writer",
        "an older writer",
        "a reader and its table",
        "a reader and a later table",
    ],
)
def test_worked_examples(play: Play, table: int, expected: tuple[int, int, int]) -> None:
    """A snapshot holds the tables it shows; an aborted txn holds none."""
    domain = Driver()
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "t", layout="directories"))
    watched = watch(domain)

    assert watched.mark(table) == expected


class Watched:
    """Folds a log and keeps what it says: each write id, each snapshot, each life of a table."""

    def __init__(self) -> None:
        self.state = DomainState()
        self.given: dict[int, set[tuple[int, int]]] = {}
        self.held: dict[int, ValidTxnList] = {}
        self.lives: dict[int, Lifetime] = {}
        self.first_open: dict[tuple[int, int], int] = {}

    def take(self, event: Event) -> None:
        """Fold one event and note what it says."""
        evolve(self.state, event)
        position, tables = self.state.position, self.state.tables.by_id
        for table, write_id, txn in given_by(event):
            self.given.setdefault(table, set()).add((write_id, txn))
        if isinstance(event.body, TxnOpened):
            for txn in range(event.control.txn, event.control.txn + event.body.size):
                self.held[txn] = valid_txn_list(self.state, txn)
        for number, life in self.lives.items():
            if number not in tables and not life.dropped:
                self.lives[number] = life._replace(dropped=position)
        for number, each in tables.items():
            created = self.lives.get(number, Lifetime(0)).created or position
            self.lives[number] = Lifetime(0 if each.creator else created)
            first = self.state.txns.first_open(number, each.last_write_id)
            self.first_open[number, position] = first

    def rows(self, table: int) -> list[tuple[int, int]]:
        """Return every write id that a table ever gave, with its txn."""
        return sorted(self.given.get(table, ()))

    def mark(self, table: int) -> TableMark:
        """Return the mark by the rule."""
        beyond = len(self.rows(table)) + 1
        snapshots = (Snapshot(txn.opened, txn.txn) for txn in self.state.txns.open.values())
        return table_mark(
            self.lives[table],
            snapshots,
            self.state.position,
            lambda position: self.first_open.get((table, position), beyond),
        )

    def allowed(self, table: int) -> tuple[int, int]:
        """Return how far the mark may go, by asking every snapshot that is open or could be."""
        now, life = self.state.position, self.lives[table]
        end = life.dropped or now + 1
        shows = [
            txn for txn in self.state.txns.open.values() if 0 < life.created <= txn.opened < end
        ]
        removals = [at for at in range(now + 1) if not any(txn.opened < at for txn in shows)]
        lists = [self.held[txn.txn] for txn in shows]
        if table in self.state.tables.by_id:
            lists.append(valid_txn_list(self.state))
        unread = [self.first_unread(table, each) for each in lists]
        # A txn sees its own id as valid, which has not ended for all that.
        unread += [txn.write_ids[table] for txn in shows if table in txn.write_ids]
        return max(removals), min(unread, default=len(self.rows(table)) + 1)

    def first_unread(self, table: int, txns: ValidTxnList) -> int:
        """Return the least write id that has not ended for a reader."""
        rows = self.rows(table)
        found = valid_write_ids("t", txns, rows, len(rows))
        return found.hwm + 1 if found.min_open is None else found.min_open


def watch(driver: Driver) -> Watched:
    """Return what a driver's whole log says."""
    watched = Watched()
    for event in driver.events:
        watched.take(event)
    return watched


def faults(driver: Driver) -> Iterator[str]:
    """Yield each mark that is not what all snapshots together allow, or that fell."""
    watched, before = Watched(), dict[int, TableMark]()
    for event in driver.events:
        watched.take(event)
        for table in watched.lives:
            mark, last = watched.mark(table), before.get(table, TableMark(0, 0, 0))
            if mark[:2] != watched.allowed(table):
                yield f"at {watched.state.position} {mark} of {table}: {watched.allowed(table)}"
            if mark.position < last.position or mark.write_id < last.write_id:
                yield f"at {watched.state.position} the mark of {table} fell from {last} to {mark}"
            before[table] = mark


@QUICK
@given(steps())
def test_mark_is_what_snapshots_allow(history: list[Step]) -> None:
    assert list(faults(played(history).driver)) == []


@pytest.mark.parametrize("seed", range(3))
def test_mark_is_what_snapshots_allow_for_long(seed: int) -> None:
    """The same over longer histories, in which much is dropped and ended."""
    assert list(faults(played(random_steps(seed, 250)).driver)) == []


@pytest.mark.slow
@DEEP
@given(steps(min_size=20, max_size=150))
def test_mark_is_what_snapshots_allow_whatever(history: list[Step]) -> None:
    assert list(faults(played(history).driver)) == []
