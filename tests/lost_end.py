"""A log that loses its end and grows another one, just as long, while it is read.

So does a broker after an unclean election: the offsets go on as if nothing had happened, and what
tells is one record behind the end that was read.
"""

from collections.abc import Callable
from typing import Final

from ledger.core.events.events import CatalogCreated
from ledger.log.port import Topic
from tests.driver import CATALOG, Driver

Rewrite = Callable[[Driver, int], None]
"""Continues a new domain to as many records as given, and by one more."""


def by_event(theirs: Driver, length: int) -> None:
    """Go on with the event of the very next position."""
    fill(theirs, length)
    theirs.open_session("bob")


def by_fence(theirs: Driver, length: int) -> None:
    """Go on with the Fenced of another leader."""
    fill(theirs, length)
    theirs.fence()


def by_old_fence(theirs: Driver, length: int) -> None:
    """Go on with a Fenced that came late."""
    fill(theirs, length)
    theirs.append(theirs.records[0].value)


def by_zombie(theirs: Driver, length: int) -> None:
    """Go on with an event of a leader that was replaced."""
    fill(theirs, length)
    theirs.zombie(CatalogCreated("late"))


def by_event_elsewhere(theirs: Driver, length: int) -> None:
    """Go on with an event whose position was already read, for fewer records counted."""
    theirs.zombie(CatalogCreated("late"))
    fill(theirs, length)
    theirs.open_session("bob")


REWRITES: Final[tuple[Rewrite, ...]] = (
    by_event,
    by_fence,
    by_old_fence,
    by_zombie,
    by_event_elsewhere,
)


def fill(theirs: Driver, length: int) -> None:
    """Open sessions until the log has as many records."""
    while len(theirs.records) < length:
        theirs.open_session("bob")


def domain() -> Driver:
    """Return the domain that is read: its genesis, which the other shares, and some events."""
    driver = Driver()
    driver.open_txn(driver.open_session("ada"))
    return driver


def lose_end(driver: Driver, rewrite: Rewrite) -> None:
    """Let the log of `domain` lose what follows its genesis and grow another end at once."""
    theirs = Driver()
    shared = len(theirs.records)
    rewrite(theirs, len(driver.records))
    log = driver.log
    with log.changed:
        log.cut(Topic.EVENTS, shared)
        writer = log.writer(Topic.EVENTS)
        for record in theirs.records[shared:]:
            writer.append(CATALOG.encode(), record.value)
