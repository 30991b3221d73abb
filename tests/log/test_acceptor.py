"""The acceptor: bytes to events, by the accept rule and the versions this reader knows."""

from collections.abc import Callable

import pytest

from ledger.core.acceptance import AFTER_CHAIN, CHAIN_AT, LogHead, head_form, head_from, next_chain
from ledger.core.events.events import Control, Fenced, Resigned
from ledger.errors import IncompatibleError, LogDamagedError
from ledger.log.acceptor import Acceptor, event_of
from ledger.log.port import Record
from ledger.log.wire.codec import HEADER, MAGIC, decode_event, frame_fence
from ledger.version import READER_VERSION
from tests.driver import Driver

LATER_TYPE = HEADER.pack(MAGIC, 741_999)


@pytest.fixture
def driver() -> Driver:
    """Return a ledger of one session, led for the second time."""
    driver = Driver()
    driver.open_session()
    driver.fence()
    return driver


def reader_of(records: list[Record]) -> Acceptor:
    acceptor = Acceptor(LogHead())
    for record in records:
        acceptor.take(record.value)
    return acceptor


def test_unknown_type_of_a_zombie_is_dropped(driver: Driver) -> None:
    driver.zombie(Resigned("newer"))
    *known, zombie = driver.records

    assert reader_of(known).take(LATER_TYPE + zombie.value[HEADER.size :]) is None


@pytest.mark.parametrize("take", [Acceptor.take, Acceptor.take_control])
def test_half_a_record_that_would_not_count_is_dropped(
    driver: Driver, take: Callable[[Acceptor, bytes], object]
) -> None:
    for record in driver.records:
        acceptor = reader_of(driver.records)
        assert take(acceptor, record.value[: len(record.value) - 1]) is None
        assert acceptor.head == driver.head


@pytest.mark.parametrize("take", [Acceptor.take, Acceptor.take_control])
def test_half_a_fence_that_would_count_stops_the_reader(
    driver: Driver, take: Callable[[Acceptor, bytes], object]
) -> None:
    acceptor, before = reader_of(driver.records), driver.head.copy()
    driver.fence()
    with pytest.raises(LogDamagedError):
        take(acceptor, driver.records[-1].value[:-1])
    assert acceptor.head == before


def test_unknown_type_that_counts_stops_the_reader(driver: Driver) -> None:
    driver.internal(Resigned("newer"))
    *known, newest = driver.records
    acceptor = reader_of(known)

    with pytest.raises((IncompatibleError, LogDamagedError)):
        acceptor.take(LATER_TYPE + newest.value[HEADER.size :])


@pytest.mark.parametrize("take", [Acceptor.take, Acceptor.take_control])
def test_fence_for_later_readers_stops_who_reads_control_fields_too(
    driver: Driver, take: Callable[[Acceptor, bytes], object]
) -> None:
    acceptor = reader_of(driver.records)
    control = Control(b"", driver.head.epoch + 1, 0, 0, 0, 0, driver.now, 0)
    fence = Fenced(b"nonce of a term!", "later", 99, READER_VERSION + 1)

    with pytest.raises(IncompatibleError, match="needs a reader"):
        take(acceptor, frame_fence(control, fence))


def test_unknown_type_in_its_place_stops_the_reader(driver: Driver) -> None:
    before = driver.head.chain
    driver.internal(Resigned("newer"))
    *known, newest = driver.records
    rest = newest.value[AFTER_CHAIN:]
    framed = LATER_TYPE + next_chain(before, LATER_TYPE, rest) + rest

    with pytest.raises(IncompatibleError):
        reader_of(known).take(framed)


def test_body_that_cannot_be_read_is_damage(driver: Driver) -> None:
    with pytest.raises(LogDamagedError, match="position 5"):
        event_of(driver.events[-1].control, b"no event")


def test_fence_for_later_readers_stops_this_one(driver: Driver) -> None:
    acceptor = reader_of(driver.records)
    other = Driver()
    other.open_session()
    other.fence()

    with pytest.raises(IncompatibleError, match="needs a reader"):
        other.fence(min_reader=READER_VERSION + 1)
    with pytest.raises(LogDamagedError, match="position"):
        acceptor.take(b"\x00garbage")


def test_readers_that_know_no_rows_are_stopped_by_the_fence(driver: Driver) -> None:
    """Version 3 knew only the first schemas: it would have shown rows that are deleted."""
    fences = [event.body for event in driver.events if isinstance(event.body, Fenced)]
    rows_since = 4

    assert {fence.min_reader for fence in fences} == {READER_VERSION}
    assert rows_since <= READER_VERSION


def rival(framed: bytes) -> bytes:
    """Return the fence of another claimant of the same epoch."""
    control, body = decode_event(framed)
    assert isinstance(body, Fenced), f"not a fence but {body}"
    return frame_fence(control, body._replace(nonce=b"another nonce..."))


def flipped(framed: bytes, at: int) -> bytes:
    changed = bytearray(framed)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("last", [-1, -2], ids=["a fence", "an ordinary event"])
def test_the_last_record_is_confirmed(driver: Driver, last: int) -> None:
    records = driver.records[: len(driver.records) + last + 1]
    head = head_from(head_form(reader_of(records).head))

    assert Acceptor(head).confirms(records[-1].value)


@pytest.mark.parametrize(
    ("last", "instead"),
    [
        (-1, lambda records: rival(records[-1])),
        (-1, lambda records: records[0]),
        (-1, lambda records: records[-2]),
        (-2, lambda records: rival(records[0])),
        (-2, lambda records: records[0]),
        (-2, lambda records: flipped(records[-2], CHAIN_AT)),
        (-2, lambda records: flipped(records[-2], -1)),
        (-2, lambda records: records[-2][:-1]),
        (-2, lambda _: b"garbage"),
    ],
    ids=[
        "a rival's fence of the same epoch",
        "an older fence",
        "an event for a fence",
        "a late fence of the epoch for an event",
        "the fence of its epoch for an event",
        "a changed chain",
        "a changed body",
        "cut short",
        "no event",
    ],
)
def test_another_record_is_not_confirmed(
    driver: Driver, last: int, instead: Callable[[list[bytes]], bytes]
) -> None:
    records = [record.value for record in driver.records]
    acceptor = reader_of(driver.records[: len(records) + last + 1])

    assert not acceptor.confirms(instead(records))
