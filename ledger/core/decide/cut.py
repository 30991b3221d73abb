"""Decide the events after a cut, which account for everything that was lost.

A leader appends them before it reads a command. First the earlier sessions end, because the number
of their answered commands is lost. Then txns are opened and aborted that take up the lost ids: a
lost write id now belongs to an aborted txn, so readers do not see its data and cleaning finds it.
Last, each lost version becomes a version without changes. Each step is bounded, and a new leader
continues where an earlier one stopped.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.decide.housekeep import all_ended
from ledger.core.decide.txns import end_of, opening
from ledger.core.events.events import Body, Control, LogCut, TxnCommitted, TxnOpened, TxnsExpired
from ledger.core.events.parts import AllocatedId, CommittedPart, TableFloor, TxnEnd
from ledger.core.limits import CUT_TABLES_PER_EVENT, CUT_TXNS_PER_EVENT, IDS_PER_COMMAND_MAX
from ledger.core.state.domain import Cut, DomainState
from ledger.core.state.sessions import Session
from ledger.core.state.tables import Table

OPERATION: Final = "LOST BY CUT"


def fill(state: DomainState, now: int) -> Body | None:
    """Return the next event that fills the gap of the last cut, None once it is filled."""
    cut = state.cuts[-1] if state.cuts else None
    session = state.sessions.by_number.get(cut.position) if cut is not None else None
    if cut is None or session is None or not session.is_open:
        return None
    return (
        former_sessions(state, cut)
        or lost_txns_ended(state, session)
        or lost_txns(state, cut, now)
        or lost_versions(state, cut, now)
        or TxnsExpired([session.number], [])
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


def lost_txns_ended(state: DomainState, session: Session) -> TxnsExpired | None:
    """Abort the txns that took up lost ids."""
    ends = [end_of(state, txn, "cut") for txn in sorted(session.txns)]
    return TxnsExpired([], ends) if ends else None


def lost_txns(state: DomainState, cut: Cut, now: int) -> TxnOpened | None:
    """Open txns that take up lost txn ids and lost write ids."""
    missing = dict(lost_write_ids(state, cut))
    count = max(cut.next_txn - state.txns.next_txn, *missing.values(), 0)
    if count <= 0:
        return None
    fitting = list(missing)[:CUT_TABLES_PER_EVENT]
    size = max(1, min(count, CUT_TXNS_PER_EVENT, IDS_PER_COMMAND_MAX // max(1, len(fitting))))
    first = state.txns.next_txn
    ids = [
        AllocatedId(table, first + at, state.tables.by_id[table].last_write_id + 1 + at)
        for table in fitting
        for at in range(min(size, missing[table]))
    ]
    return opening(state, "default", size, now, ids)


def lost_write_ids(state: DomainState, cut: Cut) -> Iterator[tuple[int, int]]:
    """Return the tables that lost write ids, with the number still to be taken up."""
    for table in floored(state, cut):
        missing = cut.floors[table.table][0] - table.last_write_id
        if missing > 0:
            yield table.table, missing


def lost_versions(state: DomainState, cut: Cut, now: int) -> TxnCommitted | None:
    """Commit a version without changes in every table that lost versions."""
    parts = [
        unchanged_version(state, table, now)
        for table in floored(state, cut)
        if table.version < cut.floors[table.table][1]
    ]
    return TxnCommitted("default", True, parts[:CUT_TABLES_PER_EVENT]) if parts else None  # noqa: FBT003


def floored(state: DomainState, cut: Cut) -> Iterator[Table]:
    """Return the existing managed tables with lost ids or versions, ascending by id."""
    for number in sorted(cut.floors):
        table = state.tables.by_id.get(number)
        if table is not None and table.definition.kind == "managed" and not table.creator:
            yield table


def unchanged_version(state: DomainState, table: Table, now: int) -> CommittedPart:
    """Return the next version of a table, without changes."""
    return CommittedPart(
        table.table,
        state.position,
        0,
        table.version + 1,
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
    left = owed(state)
    every = highest([{**dropped_since(state, seen), **seen.tables}, left.tables])
    floors = [
        TableFloor(number, *floor)
        for number, floor in sorted(every.items())
        if number not in state.tables.by_id or exceeds(floor, state.tables.by_id[number])
    ]
    body = LogCut(
        head.position,
        max(state.txns.next_txn, seen.next_txn, left.next_txn),
        max(state.tables.next_table, seen.next_table),
        floors,
        **fields,
    )
    position = max(head.position, seen.position) + 1
    epoch = max(head.epoch, seen.epoch) + 1
    return Control(NO_CHAIN, epoch, position, last_cmd, 0, 0, max(at, state.at), 0), body


def owed(state: DomainState) -> SeenBeforeCut:
    """Return the numbers of the last cut that no leader has taken up yet."""
    cut = state.cuts[-1] if state.cuts else None
    session = state.sessions.by_number.get(cut.position) if cut is not None else None
    if cut is None or session is None or not session.is_open:
        return SeenBeforeCut()
    return SeenBeforeCut(next_txn=cut.next_txn, tables=cut.floors)


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
