"""Invariants: the rules that hold in every state, computed anew from the state alone.

The rules do not depend on how a state came about. A check costs up to three times as much as
writing a checkpoint, so a sequencer and a follower check only with `--debug`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from ledger.core.conflicts.index import ConflictIndex
from ledger.core.evolve.form import restore_winners, winners_form
from ledger.core.limits import REMEMBERED_ANSWERS_MAX, REMEMBERED_SESSIONS_MAX, WINDOW
from ledger.core.state.domain import DomainState
from ledger.core.state.tables import Table, name_key
from ledger.core.state.txns import exception_hash
from ledger.errors import StateBrokenError

Checks = Iterator[tuple[bool, str]]
"""Yields whether a condition holds, with the message if it does not."""


def assert_invariants(state: DomainState) -> None:
    """Raise StateBrokenError with the first rule that the state breaks."""
    for rule in RULES:
        for holds, what in rule(state):
            if not holds:
                raise StateBrokenError(state.position, rule.__name__, what)


def open_txns_ascend(state: DomainState) -> Checks:
    """Open txns are in id order; later ones opened later and saw no lower least open id."""
    txns = list(state.txns.open.values())
    yield [txn.txn for txn in txns] == sorted(state.txns.open), "open txns are out of order"
    yield (
        all(0 < txn.min_open <= txn.txn < state.txns.next_txn for txn in txns),
        ("ids of open txns are out of range"),
    )
    yield (
        all(0 < txn.opened <= state.position for txn in txns),
        "a txn opened after the last event",
    )
    yield (
        all(a.min_open <= b.min_open and a.opened <= b.opened for a, b in pairwise(txns)),
        ("the min history falls"),
    )


def exceptions_are_derived(state: DomainState) -> Checks:
    """The sets and the digest of a snapshot follow from the open and aborted txns."""
    txns = state.txns
    visible = [txn.txn for txn in txns.open.values() if txn.type != "read_only"]
    digest = 0
    for txn in visible:
        digest ^= exception_hash(txn, aborted=False)
    for txn in txns.aborted:
        digest ^= exception_hash(txn, aborted=True)
    yield list(txns.open_visible) == visible, "open_visible is not what is open"
    yield list(txns.aborted_ids) == sorted(txns.aborted), "aborted_ids is not what aborted"
    yield txns.digest == digest, "the digest differs from the digest of the exceptions"


def aborted_are_indexed(state: DomainState) -> Checks:
    """Data of aborted txns is indexed by txn, by table, for the watermark and for housekeeping."""
    txns, tables = state.txns, state.tables.by_id
    left = {(txn, table) for txn, each in txns.aborted.items() for table in each.wrote}
    by_key = {
        (txn, table): key for table, found in txns.writers.items() for key, txn in found.items()
    }
    forgettable = [
        txn
        for txn, each in sorted(txns.aborted.items())
        if not each.wrote
        or any(t in tables and tables[t].definition.layout == "listed" for t in each.wrote)
    ]
    keys = {(txn, table): txns.aborted[txn].write_ids.get(table, -txn) for txn, table in left}
    yield by_key == keys, "writers is not what aborted txns left"
    yield all(txns.writers.values()), "a table without writers is listed among them"
    yield {table for _, table in left} <= tables.keys(), "data is left in a table that is gone"
    yield (
        list(txns.pinning) == sorted({txn for txn, _ in left}),
        "pinning is not the txns that left data",
    )
    yield list(txns.forgettable) == forgettable, "forgettable is not what may be forgotten"


def ends_are_exclusive(state: DomainState) -> Checks:
    """A txn is either open or ended; ends are kept in order, up to a maximum."""
    txns = state.txns
    positions = [code >> 1 for code in txns.ended.values()]
    yield (
        not txns.open.keys() & (txns.ended.keys() | txns.aborted.keys()),
        "a txn is open and ended",
    )
    yield (
        all(0 < txn < txns.next_txn for txn in (*txns.ended, *txns.aborted)),
        "a txn ended that was never opened",
    )
    yield positions == sorted(positions), "the ends are out of order"
    yield len(txns.ended) <= state.limits.outcomes_max, "too many outcomes are kept"
    aborted = {txn for txn in txns.ended if txn in txns.aborted}
    yield not any(txns.ended[txn] & 1 for txn in aborted), "a committed txn is listed as aborted"


def watermark_is_the_minimum(state: DomainState) -> Checks:
    """The watermark is the least of the whole min history, the pins and the next id."""
    txns = state.txns
    pins = [txn for txn, left in txns.aborted.items() if left.wrote]
    history = [txn.min_open for txn in txns.open.values()]
    yield txns.watermark == min([*history, *pins, txns.next_txn]), "the watermark is wrong"
    yield txns.cleaned_below <= txns.watermark, "mappings above the watermark are gone"


def write_ids_are_dense(state: DomainState) -> Checks:
    """Each write id of a table is mapped once, unless it was cleaned."""
    txns = state.txns
    mapped = {**txns.mappings, **{txn: open_txn.write_ids for txn, open_txn in txns.open.items()}}
    rows = [(table, write_id) for ids in mapped.values() for table, write_id in ids.items()]
    yield txns.mapped == len(rows), f"mapped must be {len(rows)}, got {txns.mapped}"
    yield all(txns.mappings.values()), "a txn without write ids has mappings"
    yield not txns.mappings.keys() & txns.open.keys(), "an open txn has the mappings of an end"
    yield (
        all(txns.cleaned_below <= txn < txns.next_txn for txn in txns.mappings),
        ("mappings of cleaned or unknown txns are left"),
    )
    still_open = [item for txn in txns.open.values() for item in txn.write_ids.items()]
    indexed = [(table, write_id) for table, ids in txns.open_ids.items() for write_id in ids]
    yield sorted(indexed) == sorted(still_open), "open_ids is not what open txns hold"
    yield all(txns.open_ids.values()), "a table without open write ids is listed among them"
    by_table: defaultdict[int, list[int]] = defaultdict(list)
    for table, write_id in rows:
        by_table[table].append(write_id)
    for each in state.tables.by_id.values():
        yield from table_ids_are_dense(each, sorted(by_table[each.table]))


def table_ids_are_dense(table: Table, mapped: list[int]) -> Checks:
    """All write ids of a table that were not cleaned are `mapped`."""
    left = [
        write_id
        for write_id in range(table.mapped_from, table.last_write_id + 1)
        if write_id not in table.cleaned_ahead
    ]
    yield mapped == left, f"table {table.table} must map {left}, got {mapped}"
    yield (
        all(
            table.mapped_from < write_id <= table.last_write_id for write_id in table.cleaned_ahead
        ),
        f"table {table.table} has cleaned write ids it never gave",
    )


def names_are_claimed(state: DomainState) -> Checks:
    """Each committed table holds its name; tables of open txns hold no names."""
    tables = state.tables
    public = [table for table in tables.by_id.values() if table.creator == 0]
    claimed = {name_key(table.catalog, table.name): table.table for table in public}
    yield len(claimed) == len(public), "two tables have one name"
    yield tables.names == claimed, "the names differ from the names of the tables"
    yield (
        all(0 < table < tables.next_table for table in tables.by_id),
        "a table has a number that was not given",
    )
    yield all(table.version >= 0 for table in public), "a committed table has no version"
    yield (
        all(
            0 < table.named.position <= state.position
            and 0 < table.change.position <= state.position
            for table in public
        ),
        "a table changed after the last event",
    )


def namespaces_are_named(state: DomainState) -> Checks:
    """Each created namespace stands under its name, and changed at an event."""
    known = state.namespaces.by_name
    yield (
        all(key == name_key(each.catalog, each.name) for key, each in known.items()),
        "a namespace stands under another name",
    )
    yield (
        all(0 < each.changed <= state.position for each in known.values()),
        "a namespace changed after the last event",
    )


def changes_wait_for_their_txn(state: DomainState) -> Checks:
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
    yield pending.keys() <= txns.keys(), "changes wait for a txn that is not open"
    yield hidden == creators, "a table is hidden without its creation pending"
    yield (
        all(
            [change.number for change in changes] == list(range(1, len(changes) + 1))
            for changes in pending.values()
        ),
        "pending changes are not numbered from 1",
    )
    yield (
        counts == {txn: each.metadata for txn, each in txns.items() if each.metadata},
        ("the metadata counts differ from the pending changes"),
    )


def sessions_own_their_txns(state: DomainState) -> Checks:
    """Each open txn is listed in its session, which is open.

    Txns that take up what a cut lost of a table need no session.
    """
    sessions, cuts = state.sessions.by_number, {cut.position for cut in state.cuts}
    owned = {(txn, number) for number, session in sessions.items() for txn in session.txns}
    known = {(txn, each.session) for txn, each in state.txns.open.items()}
    fillers = {each for each in known if each[1] in cuts}
    yield owned | fillers == known, "sessions and txns disagree about the owners of txns"
    yield (
        all(number in sessions and sessions[number].is_open for _, number in known - fillers),
        "a txn outlived its session",
    )


def answers_are_bounded(state: DomainState) -> Checks:
    """A session keeps answers within its window; the number for ended sessions is bounded."""
    sessions = state.sessions
    ended = [s for s in sessions.by_number.values() if not s.is_open]
    yield {s.number for s in ended} == set(sessions.ended), "ended is not the sessions that ended"
    yield (
        sessions.ended_answers == sum(len(s.answers) for s in ended),
        "the answers of ended sessions are miscounted",
    )
    yield sessions.ended_answers <= REMEMBERED_ANSWERS_MAX, "too many answers are remembered"
    yield len(ended) <= REMEMBERED_SESSIONS_MAX, "too many sessions are remembered"
    yield (
        sessions.by_nonce == {s.nonce: n for n, s in sessions.by_number.items()},
        "by_nonce is not the nonces of the sessions",
    )
    yield (
        all(
            s.last_n - WINDOW < n <= s.last_n
            for s in sessions.by_number.values()
            for n in s.answers
        ),
        "an answer outside the window is remembered",
    )
    yield (
        all(
            0 < answer.position <= state.position or answer.outcome == "TxnAborted"
            for s in sessions.by_number.values()
            for answer in s.answers.values()
        ),
        "an answer has no position",
    )


def winners_are_indexed(state: DomainState) -> Checks:
    """Winners are in order above the floor, and the index equals one built from them anew."""
    winners, limits = state.winners, state.limits
    positions = [part.position for part in winners.parts]
    yield positions == sorted(positions), "the winners are out of order"
    yield (
        all(winners.floor <= position <= state.position for position in positions),
        "a winner lies below the floor",
    )
    # The newest part is entered whole, whatever its number of keys.
    yield (
        winners.entries <= limits.conflict_entries_max or len(winners.parts) == 1,
        "too many entries of winners",
    )
    anew = ConflictIndex(floor=winners.floor)
    restore_winners(anew, winners_form(winners))
    yield anew.entries == winners.entries, "the entries of winners are miscounted"
    yield index_view(anew) == index_view(winners), "the index differs from the index of its parts"


def index_view(winners: ConflictIndex) -> dict[int, object]:
    """Return the content of an index by table, in a form that can be compared."""
    return {
        table: (
            *(each.shapes, each.marks, each.parts, list(each.recent.items())),
            *(each.by_value, each.column_names, each.rows),
        )
        for table, each in winners.tables.items()
    }


RULES: tuple[Callable[[DomainState], Checks], ...] = (
    open_txns_ascend,
    exceptions_are_derived,
    aborted_are_indexed,
    ends_are_exclusive,
    watermark_is_the_minimum,
    write_ids_are_dense,
    names_are_claimed,
    namespaces_are_named,
    changes_wait_for_their_txn,
    sessions_own_their_txns,
    answers_are_bounded,
    winners_are_indexed,
)
