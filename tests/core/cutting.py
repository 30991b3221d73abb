"""Logs that lose their end and are cut: what is left, the cut, and what a leader fills in."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ledger.core.decide.cut import SeenBeforeCut, cut_above, fill
from ledger.core.decide.stamp import filling_control
from ledger.core.events.events import (
    Event,
    Fenced,
    LogCut,
    TableAltered,
    TableCreated,
    TableDropped,
    TableRenamed,
    TxnCommitted,
    TxnOpened,
    WriteIdsAllocated,
)
from ledger.core.events.parts import AllocatedId, PassedOver
from ledger.core.evolve.evolve import evolve
from ledger.log.wire.codec import frame_event
from tests.driver import Driver

NUMBERED: Final[dict[Any, int]] = {"write id": 0, "version": -1}


def shortened(driver: Driver, length: int) -> Driver:
    """Return a domain of which the log holds so many records of another."""
    short = Driver.empty(driver.now)
    for record in driver.records[:length]:
        event = short.acceptor.take(record.value)
        short.append(record.value)
        if event is not None:
            evolve(short.state, event)
            short.events.append(event)
    return short


def cut(
    short: Driver, seen: SeenBeforeCut, last_cmd: int = 0, *, passed: Sequence[PassedOver] = ()
) -> Event:
    """Cut a log above what was seen, and over the records `passed`."""
    control, body = cut_above(
        short.state,
        short.head,
        seen,
        short.now,
        last_cmd,
        passed=passed,
        commands_topic="commands-0",
        author="operator",
        reason="power cut",
    )
    return short.take(frame_event(control, body, short.head.chain)[1])


def filled(short: Driver) -> Iterator[Event]:
    """Take up what the cut left out, as a leader does, event by event."""
    short.fence()
    while (body := fill(short.state, short.now)) is not None:
        control = filling_control(short.state, short.head, body, short.now)
        yield short.take(frame_event(control, body, short.head.chain)[1])


def all_taken_up(short: Driver) -> Iterator[Event]:
    """Let every table take up what the cut lost of it, as its next write would."""
    every = [AllocatedId(number, 0, 0) for number in short.state.tables.by_id]
    yield from short.taken_up(WriteIdsAllocated(every))


def ids_given(events: Iterable[Event]) -> set[tuple[Any, ...]]:
    """Return all that events gave: positions, epochs, txns, tables, write ids and versions."""
    found: set[tuple[Any, ...]] = set()
    for control, body in events:
        found.add(("position", control.position))
        match body:
            case Fenced() | LogCut():
                found.add(("epoch", control.epoch))
            case TxnOpened():
                found |= {("txn", control.txn + at) for at in range(body.size)}
                found |= {("write id", each.table, each.write_id) for each in body.ids}
            case WriteIdsAllocated():
                found |= {("write id", each.table, each.write_id) for each in body.ids}
            case TxnCommitted():
                found |= {("txn", control.txn)} if body.one_shot else set()
                found |= {("version", part.table, part.version) for part in body.parts}
                found |= {("write id", part.table, part.write_id) for part in body.parts}
            case TableAltered():
                found |= {("txn", control.txn)} if body.one_shot else set()
                found |= {("version", body.table, body.version)}
                found |= {("write id", body.table, body.write_id)}
            case TableCreated():
                found |= {("table", body.table), ("write id", body.table, body.write_id)}
            case TableRenamed() | TableDropped():
                found.add(("write id", body.table, body.write_id))
            case _:
                pass
    # No txn wrote what has the write id 0, and -1 is no version.
    return found - {each for each in found if each[0] in NUMBERED and each[2] == NUMBERED[each[0]]}
