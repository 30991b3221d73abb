"""The flight: what a leader sent and has not read back, and what may come in between."""

import pytest

from ledger.core.acceptance import LogHead, RecordKind
from ledger.core.decide.stamp import internal_control
from ledger.core.events.events import Body, CommandsMoved, Event, Resigned
from ledger.errors import FencedError
from ledger.log.acceptor import Acceptor
from ledger.log.port import Topic
from ledger.log.wire.codec import frame_event
from ledger.sequencer.in_flight import Flight, Flying
from tests.driver import Driver

NOTED = Resigned("nothing happens")


class Term:
    """A flight of the driver's term, which begins with all that the log has so far."""

    def __init__(self) -> None:
        self.driver = Driver()
        acceptor = Acceptor(LogHead())
        for record in self.driver.records:
            acceptor.take(record.value)
        end = len(self.driver.records)
        self.flight = Flight(acceptor, self.driver.log.reader(Topic.EVENTS, end))

    def send(self, body: Body, *, last_cmd: int | None = None) -> Event:
        event = self.driver.internal(body, last_cmd=last_cmd)
        self.flight.add(event.control, body, self.driver.records[-1].value)
        return event


@pytest.fixture
def term() -> Term:
    return Term()


def test_room_is_counted_until_events_are_back(term: Term) -> None:
    term.send(NOTED)
    term.send(NOTED)
    sizes = [len(record.value) for record in term.driver.records[-2:]]
    away = len(term.flight), term.flight.bytes
    term.flight.take(term.driver.records[-2])
    halfway = len(term.flight), term.flight.bytes
    term.flight.take(term.driver.records[-1])

    assert away == (2, sum(sizes))
    assert halfway == (1, sizes[1])
    assert (len(term.flight), term.flight.bytes) == (0, 0)


def test_commands_may_be_passed_over(term: Term) -> None:
    moved = term.send(CommandsMoved("commands-0", "retention"), last_cmd=7)
    term.flight.read_back(0.0)

    assert term.flight.acceptor.head.position == moved.control.position
    assert term.flight.acceptor.head.last_cmd == 7


def test_an_own_event_that_the_log_has_twice_is_passed_over(term: Term) -> None:
    term.send(NOTED)
    own = term.driver.records[-1]
    term.flight.take(own)
    term.flight.take(own)
    last = term.send(NOTED)
    term.flight.take(own)
    away = len(term.flight)
    term.flight.take(term.driver.records[-1])

    assert away == 1
    assert term.flight.acceptor.head.position == last.control.position


def test_late_records_of_former_leaders_end_no_term(term: Term) -> None:
    term.driver.zombie(NOTED)
    term.flight.take(term.driver.records[-1])
    own = term.send(NOTED)
    term.driver.zombie(NOTED)
    term.flight.take(term.driver.records[-1])
    away = len(term.flight)
    term.flight.take(term.driver.records[-2])

    assert away == 1
    assert term.flight.acceptor.head.position == own.control.position


def test_a_later_epoch_ends_the_term(term: Term) -> None:
    fence = term.driver.fence().control

    with pytest.raises(FencedError, match=rf"epoch 2 began at position {fence.position};"):
        term.flight.take(term.driver.records[-1])


@pytest.mark.parametrize("sent_last", [0, 1])
def test_an_own_event_behind_a_hole_does_not_count(term: Term, sent_last: int) -> None:
    head = term.driver.head.copy()
    head.position += 1
    event, framed = frame_event(internal_control(head, NOTED, 0), NOTED, head.chain)
    own = Flying(event.control, RecordKind.ORDINARY, framed)
    term.flight.flying.extend([own] * sent_last)
    term.driver.append(framed)

    with pytest.raises(FencedError, match=f"the event at position {head.position + 1} of epoch 1"):
        term.flight.take(term.driver.records[-1])
