"""Decide the events after a cut, which account for everything that was lost.

The cut is one event: it names the numbers above which all others begin. A leader ends the
earlier sessions before it reads a command, because the number of their answered commands is lost,
and lets txns take up the lost txn ids. A table takes up what it lost when it is written next. Txns
that abort take up its lost write ids, so readers do not see their data and cleaning finds it. Then
one version without changes stands above all lost versions. So a cut costs what it cuts, however
many tables there are. Each step is bounded, and a new leader continues where an earlier one
stopped.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.decide.housekeep import all_ended
from ledger.core.decide.txns import end_of, opening
from ledger.core.events.events import (
    Body,
    Control,
    LogCut,
    TableAltered,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    TxnOpened,
    TxnsExpired,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AllocatedId, CommittedPart, TableFloor, TxnEnd
from ledger.core.events.subjects import named_tables
from ledger.core.limits import CUT_TABLES_PER_EVENT, CUT_TXNS_PER_EVENT, IDS_PER_COMMAND_MAX
from ledger.core.state.domain import Cut, DomainState
from ledger.core.state.tables import Table

OPERATION: Final = "LOST BY CUT"

# The events that give write ids or versions.
GIVING: Final = (
    TxnOpened,
    WriteIdsAllocated,
    TxnCommitted,
    TableAltered,
    TableRenamed,
    TableDropped,
)


def fill(state: DomainState, now: int) -> Body | None:
    """Return the next event that fills the gap of the last cut, None once it is filled."""
    if not state.cuts:
        return None
    cut = state.cuts[-1]
    ended = fillers_ended(state, cut)
    if ended is not None:
        return ended
    session = state.sessions.by_number.get(cut.position)
    if session is None or not session.is_open:
        return None
    return (
        former_sessions(state, cut)
        or lost_txns(state, cut, now)
        or TxnsExpired([session.number], [])
    )


def take_up(state: DomainState, answer: Body, now: int) -> Body | None:
    """Return the next event by which tables take up what the last cut lost of them.

    They are the tables to which `answer` gives write ids or versions. None means that they have
    taken up everything; an answer decided before has to be decided again then.
    """
    if not state.cuts or not isinstance(answer, GIVING):
        return None
    cut = state.cuts[-1]
    tables = owing(state, cut, named_tables(answer))
    return (
        fillers_ended(state, cut)
        or lost_write_ids(state, cut, tables, now)
        or lost_versions(state, cut, tables, now)
    )


def former_sessions(state: DomainState, cut: Cut) -> TxnsExpired | None:
    """End the sessions opened before the cut, with all their txns."""
    ends: dict[int, TxnEnd] = {}
    sessions: list[int] = []
    for number, session in state.sessions.by_number.items():
        if number < cut.position and session.is_open:
            if not all_ended(state, ends, session.txns, "cut"):
                break
            sessions.append(number)
    if not sessions and not ends:
        return None
    return TxnsExpired(sessions, [ends[txn] for txn in sorted(ends)])


def fillers_ended(state: DomainState, cut: Cut) -> TxnsExpired | None:
    """Abort the txns that took up lost ids; no other txn opens while they are open."""
    fillers: list[int] = []
    for txn in reversed(state.txns.open.values()):
        if txn.session != cut.position:
            break
        fillers.append(txn.txn)
    ends = [end_of(state, txn, "cut") for txn in sorted(fillers)]
    return TxnsExpired([], ends) if ends else None


def lost_txns(state: DomainState, cut: Cut, now: int) -> TxnOpened | None:
    """Open txns that take up lost txn ids."""
    count = min(cut.next_txn - state.txns.next_txn, CUT_TXNS_PER_EVENT)
    return opening(state, "default", count, now, ()) if count > 0 else None


def owing(state: DomainState, cut: Cut, tables: Collection[int]) -> list[Table]:
    """Return the managed tables among some that have not taken up what they lost, by id."""
    found = [
        state.tables.by_id[number]
        for number in sorted(tables)
        if number in cut.floors and number in state.tables.by_id
    ]
    return [
        table
        for table in found
        if table.definition.kind == "managed"
        and not table.creator
        and exceeds(cut.floors[table.table], table)
    ]


def lost_write_ids(
    state: DomainState, cut: Cut, tables: Iterable[Table], now: int
) -> TxnOpened | None:
    """Open txns that take up lost write ids of tables."""
    behind = ((table.table, cut.floors[table.table][0] - table.last_write_id) for table in tables)
    missing = {number: count for number, count in behind if count > 0}
    if not missing:
        return None
    fitting = list(missing)[:CUT_TABLES_PER_EVENT]
    most = max(missing[number] for number in fitting)
    size = max(1, min(most, CUT_TXNS_PER_EVENT, IDS_PER_COMMAND_MAX // len(fitting)))
    first = state.txns.next_txn
    ids = [
        AllocatedId(table, first + at, state.tables.by_id[table].last_write_id + 1 + at)
        for table in fitting
        for at in range(min(size, missing[table]))
    ]
    return opening(state, "default", size, now, ids)


def lost_versions(
    state: DomainState, cut: Cut, tables: Iterable[Table], now: int
) -> TxnCommitted | None:
    """Commit a version without changes above the lost versions of tables."""
    parts = [
        unchanged_version(state, table, cut.floors[table.table][1], now)
        for table in tables
        if table.version < cut.floors[table.table][1]
    ]
    return TxnCommitted("default", True, parts[:CUT_TABLES_PER_EVENT]) if parts else None  # noqa: FBT003


def unchanged_version(state: DomainState, table: Table, version: int, now: int) -> CommittedPart:
    """Return a version of a table without changes; the versions below it need not exist."""
    return CommittedPart(
        table.table,
        state.position,
        0,
        version,
        0,
        (),
        blind=True,
        committed_at=max(now, table.committed_at + 1),
        footprint=EMPTY_FOOTPRINT._replace(operation=OPERATION),
    )


class SeenBeforeCut(NamedTuple):
    """The greatest numbers that may have been given out before the log lost its end.

    `tables` holds the last write id and version of each table id.
    """

    position: int = 0
    epoch: int = 0
    next_txn: int = 1
    next_table: int = 1
    tables: Mapping[int, tuple[int, int]] = MappingProxyType({})


def seen_in(state: DomainState, epoch: int) -> SeenBeforeCut:
    """Return the numbers that an earlier state had given out."""
    tables = {
        number: (table.last_write_id, table.version) for number, table in state.tables.by_id.items()
    }
    return SeenBeforeCut(
        state.position, epoch, state.txns.next_txn, state.tables.next_table, tables
    )


def beyond(seen: SeenBeforeCut, margin: int) -> SeenBeforeCut:
    """Return the numbers that at most `margin` further events may have given out."""
    tables = {table: (ids + margin, last + margin) for table, (ids, last) in seen.tables.items()}
    return SeenBeforeCut(
        seen.position + margin,
        seen.epoch + margin,
        seen.next_txn + margin,
        seen.next_table + margin,
        tables,
    )


def cut_above(
    state: DomainState, head: LogHead, seen: SeenBeforeCut, at: int, last_cmd: int, **fields: Any
) -> tuple[Control, LogCut]:
    """Return the cut of a log that ends with `state`, above all numbers in `seen`.

    `last_cmd` is the last command that the commands topic holds. The log may have answered later
    ones, if the topic is a new one or lost its end too; new commands follow `last_cmd`. `fields`
    are the other fields of the event: commands topic, records passed over, author and reason.
    """
    owed = state.cuts[-1] if state.cuts else None
    known = {**dropped_since(state, seen), **seen.tables}
    every = highest([known, {} if owed is None else owed.floors])
    floors = [
        TableFloor(number, *floor)
        for number, floor in sorted(every.items())
        if number not in state.tables.by_id or exceeds(floor, state.tables.by_id[number])
    ]
    body = LogCut(
        head.position,
        max(state.txns.next_txn, seen.next_txn, 0 if owed is None else owed.next_txn),
        max(state.tables.next_table, seen.next_table),
        floors,
        **fields,
    )
    position = max(head.position, seen.position) + 1
    epoch = max(head.epoch, seen.epoch) + 1
    return Control(NO_CHAIN, epoch, position, last_cmd, 0, 0, max(at, state.at), 0), body


def highest(every: Iterable[Mapping[int, tuple[int, int]]]) -> dict[int, tuple[int, int]]:
    """Return the highest write id and version of each table in any of the mappings."""
    tables: dict[int, tuple[int, int]] = {}
    for table, (write_id, version) in (item for each in every for item in each.items()):
        before = tables.get(table, (0, -1))
        tables[table] = max(before[0], write_id), max(before[1], version)
    return tables


def dropped_since(state: DomainState, seen: SeenBeforeCut) -> dict[int, tuple[int, int]]:
    """Return the greatest numbers of tables that are in `state` but not in `seen`.

    Their drop was lost, so they are back. Each lost write id went to a txn that was open or was
    opened since, and each lost version came from one event. That bounds both.
    """
    ids = max(0, seen.next_txn - state.txns.next_txn) + len(state.txns.open)
    events = max(0, seen.position - state.position)
    return {
        number: (table.last_write_id + ids, table.version + events)
        for number, table in state.tables.by_id.items()
        if number not in seen.tables
    }


def exceeds(floor: tuple[int, int], table: Table) -> bool:
    """Tell whether a table may have given out more write ids or versions than its state holds."""
    return floor[0] > table.last_write_id or floor[1] > table.version
