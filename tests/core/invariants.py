"""What holds in every state: each rule once, recomputed from scratch, however long it takes.

`check_invariants` raises AssertionError with a sentence. Nothing here decides anything, and nothing
here knows how a state came about: see `oracle` for that.
"""

from collections.abc import Callable
from itertools import pairwise

from ledger.core.conflicts.index import ConflictIndex
from ledger.core.evolve.form import restore_winners, winners_form
from ledger.core.limits import REMEMBERED_ANSWERS_MAX, REMEMBERED_SESSIONS_MAX, WINDOW
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table, name_key
from ledger.core.state.txns import exception_hash


def check_invariants(state: DomainState) -> None:
    """Raise AssertionError, naming the rule, unless the state is consistent in itself."""
    for rule in RULES:
        rule(state)


def open_txns_ascend(state: DomainState) -> None:
    """Open txns stand in id order; what they saw at their open does not fall with the id."""
    txns = list(state.txns.open.values())
    assert [txn.txn for txn in txns] == sorted(state.txns.open), "open txns are out of order"
    assert all(0 < txn.min_open <= txn.txn < state.txns.next_txn for txn in txns), (
        "ids out of range"
    )
    assert all(0 < txn.opened <= state.position for txn in txns), "a txn opened in the future"
    assert all(a.min_open <= b.min_open and a.opened <= b.opened for a, b in pairwise(txns)), (
        "the min history falls"
    )


def exceptions_are_derived(state: DomainState) -> None:
    """The sets and the digest of a snapshot follow from the open and aborted txns."""
    txns = state.txns
    visible = [txn.txn for txn in txns.open.values() if txn.type != "read_only"]
    digest = 0
    for txn in visible:
        digest ^= exception_hash(txn, aborted=False)
    for txn in txns.aborted:
        digest ^= exception_hash(txn, aborted=True)
    assert list(txns.open_visible) == visible, "open_visible is not what is open"
    assert list(txns.aborted_ids) == sorted(txns.aborted), "aborted_ids is not what aborted"
    assert txns.digest == digest, "the digest is not that of the exceptions"


def aborted_are_indexed(state: DomainState) -> None:
    """What aborted txns left is found by txn, by table, for the watermark and for housekeeping."""
    txns, tables = state.txns, state.tables.by_id
    left = {(txn, table) for txn, each in txns.aborted.items() for table in each.wrote}
    by_key = {
        (txn, table): key for table, found in txns.writers.items() for key, txn in found.items()
    }
    forgettable = [
        txn
        for txn, each in sorted(txns.aborted.items())
        if not each.wrote or any(tables[t].definition.layout == "listed" for t in each.wrote)
    ]
    keys = {(txn, table): txns.aborted[txn].write_ids.get(table, -txn) for txn, table in left}
    assert by_key == keys, "writers is not what aborted txns left"
    assert all(txns.writers.values()), "a table without writers is listed among them"
    assert {table for _, table in left} <= tables.keys(), "data is left in a table that is gone"
    assert list(txns.pinning) == sorted({txn for txn, _ in left}), "pinning is not who left data"
    assert list(txns.forgettable) == forgettable, "forgettable is not what may be forgotten"


def ends_are_exclusive(state: DomainState) -> None:
    """A txn is open, or it ended; ends are remembered in their order and not for ever."""
    txns = state.txns
    positions = [code >> 1 for code in txns.ended.values()]
    assert not txns.open.keys() & (txns.ended.keys() | txns.aborted.keys()), "open and ended"
    assert all(0 < txn < txns.next_txn for txn in (*txns.ended, *txns.aborted)), "an unknown end"
    assert positions == sorted(positions), "the ends are out of order"
    assert len(txns.ended) <= state.limits.outcomes_max, "too many outcomes are kept"
    aborted = {txn for txn in txns.ended if txn in txns.aborted}
    assert not any(txns.ended[txn] & 1 for txn in aborted), "a committed txn is listed as aborted"


def watermark_is_the_minimum(state: DomainState) -> None:
    """The watermark is the least of the whole min history, the pins and the next id."""
    txns = state.txns
    pins = [txn for txn, left in txns.aborted.items() if left.wrote]
    history = [txn.min_open for txn in txns.open.values()]
    assert txns.watermark == min([*history, *pins, txns.next_txn]), "the watermark is wrong"
    assert txns.cleaned_below <= txns.watermark, "mappings above the watermark are gone"


def write_ids_are_dense(state: DomainState) -> None:
    """Each write id of a table is mapped once, unless it was cleaned."""
    txns = state.txns
    mapped = {**txns.mappings, **{txn: open_txn.write_ids for txn, open_txn in txns.open.items()}}
    rows = [(table, write_id) for ids in mapped.values() for table, write_id in ids.items()]
    assert txns.mapped == len(rows), f"{txns.mapped} mappings are counted, there are {len(rows)}"
    assert all(txns.mappings.values()), "a txn without write ids has mappings"
    assert not txns.mappings.keys() & txns.open.keys(), "an open txn has the mappings of an end"
    assert all(txns.cleaned_below <= txn < txns.next_txn for txn in txns.mappings), (
        "mappings of cleaned or unknown txns are left"
    )
    still_open = [each for txn in txns.open.values() for each in txn.write_ids.items()]
    indexed = [(table, write_id) for table, ids in txns.open_ids.items() for write_id in ids]
    assert sorted(indexed) == sorted(still_open), "open_ids is not what open txns hold"
    assert all(txns.open_ids.values()), "a table without open write ids is listed among them"
    for table in state.tables.by_id.values():
        check_table_ids(table, sorted(write_id for each, write_id in rows if each == table.table))


def check_table_ids(table: Table, mapped: list[int]) -> None:
    """Raise unless `mapped` are all write ids of a table that were not cleaned."""
    left = [
        write_id
        for write_id in range(table.mapped_from, table.last_write_id + 1)
        if write_id not in table.cleaned_ahead
    ]
    assert mapped == left, f"table {table.table} maps {mapped}, {left} are left"
    assert all(
        table.mapped_from < write_id <= table.last_write_id for write_id in table.cleaned_ahead
    ), f"table {table.table} has cleaned write ids it never gave"


def names_are_claimed(state: DomainState) -> None:
    """Tables that exist for all hold their names, one each; the others hold none."""
    tables = state.tables
    public = [table for table in tables.by_id.values() if table.creator == 0]
    claimed = {name_key(table.catalog, table.name): table.table for table in public}
    assert len(claimed) == len(public), "two tables have one name"
    assert tables.names == claimed, "the names are not those of the tables"
    assert all(0 < table < tables.next_table for table in tables.by_id), "a table of no id"
    assert all(table.version >= 0 for table in public), "a table without its creation"
    assert all(
        0 < table.named.position <= state.position and 0 < table.change.position <= state.position
        for table in public
    ), "a table changed in the future"


def changes_wait_for_their_txn(state: DomainState) -> None:
    """Pending changes belong to open txns, count from 1, and are what `metadata` counts."""
    pending, txns = state.tables.pending, state.txns.open
    creators = {
        (change.table, txn)
        for txn, changes in pending.items()
        for change in changes
        if change.kind == "create"
    }
    counts = {
        txn: {
            table: [c.table for c in changes].count(table) for table in {c.table for c in changes}
        }
        for txn, changes in pending.items()
    }
    hidden = {(t.table, t.creator) for t in state.tables.by_id.values() if t.creator}
    assert pending.keys() <= txns.keys(), "changes wait for a txn that is not open"
    assert hidden == creators, "a table is hidden without its creation pending"
    assert all(
        [change.number for change in changes] == list(range(1, len(changes) + 1))
        for changes in pending.values()
    ), "pending changes are not numbered from 1"
    assert counts == {txn: each.metadata for txn, each in txns.items() if each.metadata}, (
        "the metadata counts are not those of the pending changes"
    )


def sessions_own_their_txns(state: DomainState) -> None:
    """Each open txn lies with its session, which is open."""
    sessions = state.sessions.by_number
    owned = {(txn, number) for number, session in sessions.items() for txn in session.txns}
    known = {(txn, each.session) for txn, each in state.txns.open.items()}
    assert owned == known, "sessions and txns disagree about who owns what"
    assert all(
        each.session in sessions and sessions[each.session].is_open
        for each in state.txns.open.values()
    ), "a txn outlived its session"


def answers_are_bounded(state: DomainState) -> None:
    """A session remembers answers within its window; ended ones together not more than a bound."""
    sessions = state.sessions
    ended = [s for s in sessions.by_number.values() if not s.is_open]
    assert {s.number for s in ended} == set(sessions.ended), "ended is not who ended"
    assert sessions.ended_answers == sum(len(s.answers) for s in ended), "miscounted answers"
    assert sessions.ended_answers <= REMEMBERED_ANSWERS_MAX, "too many answers are remembered"
    assert len(ended) <= REMEMBERED_SESSIONS_MAX, "too many sessions are remembered"
    assert sessions.by_nonce == {s.nonce: n for n, s in sessions.by_number.items()}, "nonces"
    assert all(
        s.last_n - WINDOW < n <= s.last_n for s in sessions.by_number.values() for n in s.answers
    ), "an answer outside the window is remembered"
    assert all(
        0 < answer.position <= state.position or answer.outcome == "TxnAborted"
        for s in sessions.by_number.values()
        for answer in s.answers.values()
    ), "an answer of no position"


def winners_are_indexed(state: DomainState) -> None:
    """Winners stand oldest first above the floor, under the keys they would be entered by anew."""
    winners, limits = state.winners, state.limits
    positions = [part.position for part in winners.parts]
    assert positions == sorted(positions), "the winners are out of order"
    assert all(winners.floor <= position <= state.position for position in positions), "the floor"
    # A part is entered whole, however many keys it has.
    assert winners.entries <= limits.conflict_entries_max or len(winners.parts) == 1, "too many"
    anew = ConflictIndex(floor=winners.floor)
    restore_winners(anew, winners_form(winners))
    assert anew.entries == winners.entries, "miscounted entries"
    assert index_view(anew) == index_view(winners), "the index is not that of its parts"


def index_view(winners: ConflictIndex) -> dict[int, object]:
    """Return what an index holds, by table."""
    return {
        table: (
            each.shapes,
            each.marks,
            each.parts,
            list(each.recent.items()),
            each.by_value,
        )
        for table, each in winners.tables.items()
    }


RULES: tuple[Callable[[DomainState], None], ...] = (
    open_txns_ascend,
    exceptions_are_derived,
    aborted_are_indexed,
    ends_are_exclusive,
    watermark_is_the_minimum,
    write_ids_are_dense,
    names_are_claimed,
    changes_wait_for_their_txn,
    sessions_own_their_txns,
    answers_are_bounded,
    winners_are_indexed,
)
