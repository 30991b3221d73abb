"""Logs that lose their end and are cut: what is left, the cut, and what a leader fills in."""

from collections.abc import Iterator

from ledger.core.decide_cut import Seen, cut_above, fill
from ledger.core.events import Event
from ledger.core.evolve import evolve
from ledger.core.stamp import filling_control
from ledger.log.codec import frame_event
from tests.driver import Driver


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


def cut(short: Driver, seen: Seen, last_cmd: int = 0) -> Event:
    """Cut a log above what was seen."""
    control, body = cut_above(
        short.state,
        short.head,
        seen,
        short.now,
        last_cmd,
        passed=[],
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
