"""Tokens over a log that lost its end: each is kept, or refused by name, and none is waited for.

What was given before the end was lost stands for a position that the log still holds, or for one
that a cut left out. So it is with tokens of former versions, which know no chain.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, NamedTuple

import pytest

from ledger.client import Ledger
from ledger.config.settings import SequencerSettings
from ledger.core.decide.cut import beyond, seen_in
from ledger.errors import LogRewrittenError, LostByCutError, ReaderBehindError
from ledger.session.receipt import Token
from ledger.testing import InMemoryLedger
from tests.core.cutting import cut, shortened
from tests.driver import CATALOG, Driver

ALERT: Final = SequencerSettings(suspect_s=0.01, jitter_s=0.01)
MARGIN: Final = 20


class Lost(NamedTuple):
    """A ledger whose log lost its end and was cut, and the tokens that were given before.

    `last` is that of the last event that is still there, `lost` that of the first that is not.
    """

    ledger: Ledger
    last: Token
    lost: Token
    cut: int


def lived() -> Driver:
    """Return a ledger that was in use."""
    driver = Driver()
    session = driver.open_session()
    for name in ("planes", "flights", "airports"):
        driver.create_table(session, name)
    return driver


def token_of(driver: Driver, at: int) -> Token:
    control, created = driver.events[at].control, driver.state.genesis
    assert created is not None
    return Token(created.ledger, created.domain, control.position, control.chain.hex())


@pytest.fixture
def lost() -> Iterator[Lost]:
    whole = lived()
    with cut_and_led(whole, len(whole.records) - 2) as ledger:
        yield ledger


@contextmanager
def cut_and_led(whole: Driver, keep: int) -> Iterator[Lost]:
    """Cut the log of a ledger of which so many records are left, lead it, and connect to it."""
    short = shortened(whole, keep)
    event = cut(short, beyond(seen_in(whole.state, whole.head.epoch), MARGIN))
    with (
        InMemoryLedger(catalog=CATALOG, log=short.log, settings=ALERT) as memory,
        memory.connect() as ledger,
    ):
        yield Lost(ledger, token_of(whole, keep - 1), token_of(whole, keep), event.control.position)


def waited(ledger: Ledger, token: Token) -> object:
    return ledger.wait(token)


def waited_for_text(ledger: Ledger, token: Token) -> object:
    return ledger.wait(str(token))


def read_metadata(ledger: Ledger, token: Token) -> object:
    return ledger.metadata("planes", token=token)


def read_files(ledger: Ledger, token: Token) -> object:
    return ledger.read("planes", position=token)


READS: Final[list[Callable[[Ledger, Token], object]]] = [
    waited,
    waited_for_text,
    read_metadata,
    read_files,
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("chained", [True, False], ids=["with its chain", "of before"])
def test_what_a_token_stands_for_is_there_so_it_is_read(
    lost: Lost, read: Callable[[Ledger, Token], object], *, chained: bool
) -> None:
    read(lost.ledger, lost.last if chained else lost.last.at(lost.last.position))


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("chained", [True, False], ids=["with its chain", "of before"])
def test_a_token_of_the_lost_part_is_refused_by_the_cut_and_the_client_reads_on_without_it(
    lost: Lost, read: Callable[[Ledger, Token], object], *, chained: bool
) -> None:
    token = lost.lost if chained else lost.lost.at(lost.lost.position)
    with pytest.raises(LogRewrittenError, match=f"lost by the cut at position {lost.cut}") as told:
        read(lost.ledger, token)
    assert (told.value.position, told.value.seen) == (token.position, token.chain)
    assert [table.name for table in lost.ledger.tables()] == ["planes"]


def test_a_position_that_the_log_has_again_tells_nothing(lost: Lost) -> None:
    other = lost.last.at(lost.last.position, "0123456789abcdef")
    with pytest.raises(LogRewrittenError, match=r"the log has [0-9a-f]{16} there"):
        lost.ledger.wait(other)


def test_what_no_log_tells_of_yet_is_waited_for_as_ever(lost: Lost) -> None:
    with pytest.raises(ReaderBehindError):
        lost.ledger.wait(lost.last.at(lost.cut + 1_000, lost.last.chain), timeout_s=0.01)


def test_writes_from_what_is_lost(lost: Lost) -> None:
    with pytest.raises(LostByCutError, match=f"lost by the cut at position {lost.cut}"):
        lost.ledger.drop_table("planes", read_at=lost.lost)


def test_what_is_written_behind_a_cut_has_tokens_that_another_client_reads_with(lost: Lost) -> None:
    receipt = lost.ledger.rename_table("planes", "jets")
    assert receipt.token.chain
    assert lost.ledger.token.chain
    for token in (receipt.token, lost.ledger.token):
        assert lost.ledger.wait(token) >= lost.cut
        assert Token.parse(str(token)).chain == token.chain


class Counting:
    """Counts how often a client asks how far the rows are."""

    def __init__(self, reads: Any) -> None:
        self._reads = reads
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        self.asked += name == "reach"
        return getattr(self._reads, name)


class CountingLedger(InMemoryLedger):
    """A ledger whose clients' reads are counted."""

    @cached_property
    def reads(self) -> Any:
        return Counting(super().reads)


def test_an_own_token_costs_nothing() -> None:
    with CountingLedger(settings=ALERT) as memory:
        counting = memory.reads
        with memory.connect() as ledger:
            ledger.create_table("planes")
            asked = []
            for place in (0, ledger.token, str(ledger.token)):
                before = counting.asked
                ledger.wait(place)
                asked.append(counting.asked - before)
    assert asked == [1, 1, 1]
