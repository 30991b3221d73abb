"""Readers that were ahead of a log that lost its end notice it, whatever they read from."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from ledger.client import Ledger
from ledger.core.decide.cut import beyond, seen_in
from ledger.errors import LogRewrittenError, ReaderBehindError
from ledger.log.port import Log
from ledger.reads.port import Identity, Reached, Reads
from ledger.testing import InMemoryLedger
from projections.queries import StoreReads
from tests.core.cutting import cut, filled, shortened
from tests.driver import LEDGER, Driver
from tests.lost_end import domain, fill
from tests.oracle.reads import StateReads
from tests.projections.followed import rows_of
from tests.web.served import Served, serving

Way = Callable[[Driver], AbstractContextManager[Reads]]


@contextmanager
def from_state(driver: Driver) -> Iterator[Reads]:
    yield StateReads(driver.log)


@contextmanager
def from_rows(driver: Driver) -> Iterator[Reads]:
    yield StoreReads(rows_of(driver).reader())


@contextmanager
def over_http(driver: Driver) -> Iterator[Reads]:
    """Read from rows of another host."""
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        yield served.reads


MARGIN = 20
WAYS: list[Way] = [from_state, from_rows, over_http]


def rewritten(length: int) -> Driver:
    """Return the domain as another history has it: its genesis, then events of others."""
    theirs = Driver()
    fill(theirs, length)
    return theirs


@pytest.mark.parametrize("way", WAYS)
def test_what_was_seen_is_confirmed_at_any_position(way: Way) -> None:
    ours = domain()
    with way(ours) as reads:
        seen = reads.reach(0, Reached(), 0)
        assert (seen.position, len(bytes.fromhex(seen.chain))) == (ours.state.position, 8)
        assert reads.reach(seen.position, seen, 0) == seen
        with pytest.raises(ReaderBehindError) as behind:
            reads.reach(seen.position + 1, seen, 1)
    assert behind.value.wanted == seen.position + 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("more", [0, 3])
def test_a_log_that_lost_its_end(way: Way, more: int) -> None:
    """A log that goes on otherwise is told apart by what was seen of it, and names that."""
    ours = domain()
    seen = StateReads(ours.log).reach(0, Reached(), 0)
    theirs = rewritten(len(ours.records) + more)
    with way(theirs) as reads, pytest.raises(LogRewrittenError) as caught:
        reads.reach(0, seen, 0)
    assert (caught.value.position, caught.value.seen) == (seen.position, seen.chain)
    assert caught.value.found not in {"", seen.chain}
    assert seen.chain in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_log_that_ends_before_what_was_seen_is_waited_for(way: Way) -> None:
    ours = domain()
    seen = StateReads(ours.log).reach(0, Reached(), 0)
    with way(Driver()) as reads, pytest.raises(ReaderBehindError) as caught:
        reads.reach(0, seen, 1)
    assert caught.value.wanted == seen.position


class Moved(StateReads):
    """Reads of a log that is another one from some moment on."""

    whose: Identity | None = None

    def move(self, log: Log) -> None:
        """Read another log of the same ledger from now on."""
        self.whose = self.identity()
        StateReads.__init__(self, log)

    def identity(self) -> Identity:
        """Return who the ledger is, and was before."""
        return self.whose or super().identity()


def written(ledger: Ledger) -> None:
    ledger.create_table("flights")


def read(ledger: Ledger) -> None:
    ledger.tables()


@pytest.mark.parametrize("act", [written, read])
def test_a_client_that_was_ahead(act: Callable[[Ledger], None]) -> None:
    with InMemoryLedger() as memory:
        memory.connect().create_table("planes")
        reads = Moved(memory.log)
        with Ledger.connect(log=memory.log, reads=reads, timeout_s=5.0) as ledger:
            act(ledger)
            seen = ledger.token.position if act is written else reads.position()
            reads.move(rewritten(seen + 5).log)
            with pytest.raises(LogRewrittenError) as caught:
                ledger.tables()
    assert caught.value.position == seen


@contextmanager
def served_cut() -> Iterator[tuple[Served, Driver, Driver]]:
    """Serve rows of a domain that lost its last event and was cut; give it, whole and as it is."""
    whole = Driver()
    session = whole.open_session()
    for name in ("planes", "flights"):
        whole.create_table(session, name)
    short = shortened(whole, len(whole.records) - 1)
    cut(short, beyond(seen_in(whole.state, whole.head.epoch), MARGIN))
    list(filled(short))
    store = rows_of(short)
    with serving(lambda: StoreReads(store.reader())) as served:
        yield served, whole, short


def told(served: Served, token: object) -> tuple[int, str]:
    path = f"/v1/metadata?table_id=1&max_wait_ms=20&token={token}"
    answer = served.ask(path)
    return (answer.status, "") if answer.status == 200 else answer.error


def test_a_token_left_out_by_a_cut_is_refused_over_http() -> None:
    with served_cut() as (served, whole, short):
        lost, last = whole.events[-1].control, whole.events[-2].control
        end = short.head
        place = f"{LEDGER}:0:"
        assert [
            told(served, token)
            for token in (
                last.position,
                f"{place}{last.position}",
                f"{place}{last.position}:{last.chain.hex()}",
                f"{place}{end.position}:{end.chain.hex()}",
            )
        ] == [(200, "")] * 4
        assert [
            told(served, token)
            for token in (
                lost.position,
                f"{place}{lost.position}",
                f"{place}{lost.position}:{lost.chain.hex()}",
                f"{place}{last.position}:{lost.chain.hex()}",
            )
        ] == [(409, "LogRewrittenError")] * 4
        assert told(served, end.position + 1) == (409, "ReaderBehindError")
        assert told(served, f"another:0:{last.position}") == (400, "BadRequest")
        assert told(served, f"{place}x") == (400, "BadRequest")


def test_what_is_lost_travels() -> None:
    """The error names the cut and what was seen, to a client on another host too."""
    with served_cut() as (served, whole, short):
        control = whole.events[-1].control
        with pytest.raises(LogRewrittenError) as caught:
            served.reads.reach(0, Reached(control.position, control.chain.hex()), 0)
    error = caught.value
    assert (error.position, error.seen, error.found, error.cut) == (
        control.position,
        control.chain.hex(),
        "",
        short.state.cuts[-1].position,
    )
