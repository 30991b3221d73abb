"""A log that lost its end and was cut: nothing that was given before is given again."""

from collections.abc import Callable
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.acceptance import LogHead, Verdict
from ledger.core.decide.cut import SeenBeforeCut, beyond, seen_in
from ledger.core.events.events import CommandRefused, Event, LogCut, TxnCommitted
from ledger.core.evolve.evolve import fold
from ledger.core.invariants import assert_invariants
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.lists.visibility import valid_txn_list, valid_write_ids
from ledger.core.refusals import Reason
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import digest, dump, load
from tests.core.cutting import all_taken_up, cut, filled, ids_given, shortened
from tests.core.histories import Player, Step, played, random_steps, steps
from tests.driver import Driver, write

HISTORIES = steps(min_size=5, max_size=40)


def lost(history: list[Step], keep: float) -> tuple[Driver, Driver]:
    """Return a domain, and what its log still holds after a power cut."""
    whole = played(history).driver
    least = 3
    length = least + round((len(whole.records) - least) * keep)
    return whole, shortened(whole, length)


@settings(deadline=None)
@given(HISTORIES, st.floats(0, 1), st.sampled_from([0, 1, 7]))
def test_nothing_is_given_twice(history: list[Step], keep: float, margin: int) -> None:
    whole, short = lost(history, keep)
    seen = beyond(seen_in(whole.state, whole.head.epoch), margin)
    base = short.head.position
    event = cut(short, seen, last_cmd=whole.head.last_cmd)
    assert event.control.position > seen.position
    assert event.control.epoch > whole.head.epoch
    assert list(filled(short))[-1].control.position == short.state.position
    assert_invariants(short.state)
    for _ in all_taken_up(short):
        assert_invariants(short.state)
    state = short.state
    assert all(not session.is_open for session in state.sessions.by_number.values())
    assert not state.txns.open
    assert state.txns.next_txn >= seen.next_txn
    assert state.tables.next_table >= seen.next_table
    assert state.last_cmd >= whole.head.last_cmd
    for number, (write_id, version) in seen.tables.items():
        table = state.tables.by_id.get(number)
        if table is not None and table.definition.kind == "managed":
            assert table.last_write_id >= write_id
            assert table.version >= version
    positions = [each.control.position for each in short.events]
    assert not any(base < position <= seen.position for position in positions)


Careless = Callable[[SeenBeforeCut, DomainState, LogHead], SeenBeforeCut]


def as_seen(seen: SeenBeforeCut, _state: DomainState, _head: LogHead) -> SeenBeforeCut:
    return seen


def shared_ids(
    history: list[Step], more: list[Step], keep: float, careless: Careless = as_seen
) -> set[tuple[object, ...]]:
    """Return what a log gives behind a cut that it had given before, in what was lost."""
    whole, short = lost(history, keep)
    given_before = ids_given(whole.events[len(short.events) :])
    seen = seen_in(whole.state, whole.head.epoch)
    cut(short, careless(seen, short.state, short.head))
    player = going_on(short)
    for step in more:
        player.play(step)
    assert_invariants(short.state)
    return given_before & ids_given(event for event in short.events if follows(short, event))


@settings(deadline=None)
@given(HISTORIES, HISTORIES, st.floats(0, 1))
def test_ids_of_two_lineages(history: list[Step], more: list[Step], keep: float) -> None:
    """What a log gives behind a cut is disjoint from what it had given before."""
    assert not shared_ids(history, more, keep)


MUTANTS: dict[str, Careless] = {
    "position": lambda seen, _, head: seen._replace(position=head.position),
    "txn": lambda seen, state, _: seen._replace(next_txn=state.txns.next_txn),
    "table": lambda seen, state, _: seen._replace(next_table=state.tables.next_table),
    "write id": lambda seen, _s, _h: seen._replace(
        tables={table: (0, version) for table, (_, version) in seen.tables.items()}
    ),
    "version": lambda seen, _s, _h: seen._replace(
        tables={table: (write_id, -1) for table, (write_id, _) in seen.tables.items()}
    ),
}


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_cut_that_is_not_above(kind: str) -> None:
    found = (
        {
            each[0]
            for each in shared_ids(
                random_steps(seed, 30), random_steps(seed + 1, 30), 0.3, MUTANTS[kind]
            )
        }
        for seed in range(60)
    )
    assert any(kind in kinds for kinds in found)


def going_on(short: Driver) -> Player:
    """Return a player of a domain whose log was just cut, with a new session."""
    list(filled(short))
    short.open_session("new")
    return Later(short)


class Later(Player):
    """A player that goes on with a domain."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.asked = []
        self._last_n = {}


def follows(short: Driver, event: Event) -> bool:
    """Tell whether an event came behind the last cut, and not to take up what it left out."""
    cut_at = short.state.cuts[-1].position
    return event.control.position > cut_at and event.control.session != cut_at


@settings(deadline=None)
@given(HISTORIES, st.floats(0, 1))
def test_a_lost_write_id_is_valid_for_no_reader(history: list[Step], keep: float) -> None:
    whole, short = lost(history, keep)
    before = {number: each.last_write_id for number, each in short.state.tables.by_id.items()}
    seen = seen_in(whole.state, whole.head.epoch)
    cut(short, seen)
    for event in chain(filled(short), all_taken_up(short)):
        for number, last in before.items():
            table = short.state.tables.by_id.get(number)
            if table is not None:
                most = max(table.last_write_id, seen.tables.get(number, (0, 0))[0])
                given_after = range(last + 1, most + 1)
                ids = visible_ids(short.state, table)
                assert not any(ids.is_valid(each) for each in given_after), event


def visible_ids(state: DomainState, table: Table) -> ValidWriteIdList:
    """Return the write ids of a table that a reader may see now."""
    ended = state.txns.mappings.items()
    open_ids = ((txn, each.write_ids) for txn, each in state.txns.open.items())
    every = [(ids[table.table], txn) for txn, ids in (*ended, *open_ids) if table.table in ids]
    return valid_write_ids(table.name, valid_txn_list(state), sorted(every), table.last_write_id)


@settings(deadline=None, max_examples=30)
@given(HISTORIES, st.floats(0, 1))
def test_the_fold_over_a_cut(history: list[Step], keep: float) -> None:
    whole, short = lost(history, keep)
    cut(short, seen_in(whole.state, whole.head.epoch))
    list(filled(short))
    list(all_taken_up(short))
    for half in {len(short.records) // 2, len(short.records) - 2}:
        before = shortened(short, half)
        state, head, _ = load(dump(before.state, before.head, 0))
        acceptor = Acceptor(head)
        rest = [acceptor.take(record.value) for record in short.records[half:]]
        fold(state, [each for each in rest if each is not None])
        assert digest(state, head) == digest(short.state, short.head)


def pair() -> tuple[Driver, Driver, int]:
    """Return a domain with a table, what is left of it without the last commit, and a session."""
    whole = Driver()
    session = whole.open_session()
    table = whole.create_table(session, "planes", layout="directories")
    txn = whole.open_txn(session)
    whole.allocate(session, [txn], [table])
    length = len(whole.records)
    whole.commit(session, txn, write(table))
    later = whole.open_session("bob")
    return whole, shortened(whole, length), later


@pytest.mark.parametrize("is_overtaken", [True, False])
def test_a_cut_of_another_log(*, is_overtaken: bool) -> None:
    whole, short, _ = pair()
    rival = shortened(short, len(short.records))
    framed = rival_cut(rival, whole)
    if is_overtaken:
        short.open_session("late")
    taken = short.acceptor.take(framed)
    assert (taken is None) is is_overtaken
    assert short.acceptor.dropped[Verdict.OVERTAKEN_CUT] == int(is_overtaken)


def rival_cut(rival: Driver, whole: Driver) -> bytes:
    """Return the record of another cut at the same place."""
    event = cut(rival, seen_in(whole.state, whole.head.epoch))
    assert isinstance(event.body, LogCut)
    return rival.records[-1].value


def test_who_comes_back_with_a_session_that_was_lost_is_told_so() -> None:
    whole, short, later = pair()
    event = cut(short, seen_in(whole.state, whole.head.epoch))
    list(filled(short))
    refused = short.open_txn_refused(later)
    assert refused.reason == Reason.LOST_BY_CUT
    assert str(event.control.position) in refused.message
    (before,) = [number for number in short.state.sessions.by_number if number < later]
    assert short.open_txn_refused(before, n=99).reason == Reason.SESSION_EXPIRED


def test_what_was_planned_from_a_read_of_the_lost_part_or_of_before_is_refused_not_judged() -> None:
    whole, short, _ = pair()
    seen = whole.state.position
    cut(short, seen_in(whole.state, whole.head.epoch))
    list(filled(short))
    session = short.open_session("new")
    listed = short.create_table(session, "flights")
    for read_at, reason in [(seen, Reason.LOST_BY_CUT), (4, Reason.SNAPSHOT_TOO_OLD)]:
        update = write(listed, operation="update", read_at=read_at)
        body = short.commit(session, 0, update).body
        assert isinstance(body, CommandRefused)
        assert body.reason == reason
    update = write(listed, operation="update", read_at=short.state.position)
    assert isinstance(short.commit(session, 0, update).body, TxnCommitted)


def test_a_cut_behind_a_cut() -> None:
    whole, short, _ = pair()
    seen = seen_in(whole.state, whole.head.epoch)
    cut(short, beyond(seen, 7))
    cut(short, SeenBeforeCut())
    list(filled(short))
    list(all_taken_up(short))
    assert short.state.txns.next_txn >= seen.next_txn + 7
    (table,) = short.state.tables.by_id.values()
    last_write_id, version = seen.tables[table.table]
    assert (table.last_write_id, table.version) == (last_write_id + 7, version + 7)


def test_a_cut_where_nothing_is_known() -> None:
    _, short, _ = pair()
    cut(short, beyond(seen_in(short.state, short.head.epoch), 1_200))
    list(filled(short))
    assert short.state.txns.next_txn > 1_200
    assert_invariants(short.state)
    assert cut(short, SeenBeforeCut()).control.position > short.state.cuts[0].position


def many(tables: int) -> tuple[Driver, Driver, list[int]]:
    """Return a domain with tables, what is left of it without its last commit, and the tables."""
    whole = Driver()
    session = whole.open_session()
    made = [whole.create_table(session, f"t{each}") for each in range(tables)]
    length = len(whole.records)
    whole.commit(session, 0, write(made[0]))
    return whole, shortened(whole, length), made


def test_a_cut_costs_what_it_cuts() -> None:
    counts = set()
    for tables in (1, 40):
        whole, short, made = many(tables)
        cut(short, beyond(seen_in(whole.state, whole.head.epoch), 1_000))
        counts.add(len(list(filled(short))))
        session = short.open_session("new")
        before = len(short.records)
        assert isinstance(short.commit(session, 0, write(made[0])).body, TxnCommitted)
        # Ids of 1,000 txns in two events and their ends, the version above, and the commit.
        assert len(short.records) - before == 2 * 3 + 1 + 1
        assert short.state.tables.by_id[made[0]].version > 1_000
        untouched = [short.state.tables.by_id[each] for each in made[1:]]
        assert all((each.version, each.last_write_id) == (0, 0) for each in untouched)
    assert len(counts) == 1


def test_a_txn_that_read_behind_the_cut_commits_though_its_table_catches_up() -> None:
    whole, short, (table,) = many(1)
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), 7))
    list(filled(short))
    session = short.open_session("new")
    txn, read_at = short.open_txn(session), short.state.position
    short.allocate(session, [txn], [table])
    body = short.commit(session, txn, write(table, operation="update", read_at=read_at)).body
    assert isinstance(body, TxnCommitted)
    assert_invariants(short.state)


def test_a_leader_that_dies_while_a_table_catches_up() -> None:
    """The next leader ends the txns that took up lost ids, and the table goes on."""
    whole, short, (table,) = many(1)
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), 7))
    list(filled(short))
    next(all_taken_up(short))
    assert short.state.txns.open
    list(filled(short))
    assert not short.state.txns.open
    session = short.open_session("new")
    assert isinstance(short.commit(session, 0, write(table)).body, TxnCommitted)
    assert_invariants(short.state)
