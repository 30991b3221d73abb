"""The versions that a read of changes by time begins and ends with, and times yet to come."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.errors import UnknownVersionError
from ledger.testing import FixedClock, InMemoryLedger
from spark_sink.catalog.read.versions import VersionRange, first_of, range_of
from spark_sink.catalog.session.open_statements import Refusal

DAY_S: Final = 86_400
AHEAD_S: Final = 30
YEARS_S: Final = 10 * 365 * DAY_S
EVERY: Final = 2

FAR: Final = ("startingtimestamp", "endingtimestamp")


class Scene:
    """A table with versions 0 and 1 of two days ago and one day ago, and 2 at a time ahead."""

    def __init__(self, ledger: Ledger, clock: FixedClock, ahead_s: float, folder: Path) -> None:
        self.now_s = clock.now_ms() / 1000 + 2 * DAY_S
        self._ledger = ledger
        ledger.create_table("t", [("id", "int")], location=folder)
        for passed_s in (DAY_S, DAY_S + ahead_s):
            clock.advance(passed_s)
            ledger.append("t", [{"id": 1}])

    def micros(self, after_now_s: float) -> int:
        return round((self.now_s + after_now_s) * 1_000_000)

    def found(self, **options: float) -> VersionRange:
        """Return the versions between times that are given in seconds after now."""
        reads, row = self._ledger.reads(), self._ledger.table("t")
        given = {name: self.micros(each) for name, each in options.items()}
        return range_of(reads, row, given, reads.position())

    def first(self, after_now_s: float) -> int | None:
        reads, row = self._ledger.reads(), self._ledger.table("t")
        return first_of(reads, row, {"startingtimestamp": self.micros(after_now_s)}, row.version)


@pytest.fixture(params=[0, AHEAD_S], ids=["a right clock", "a leader ahead"])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Return a table whose newest commit is of now, or of a time that is yet to come."""
    clock = FixedClock(SystemClock().now_ms() - 2 * DAY_S * 1000)
    with InMemoryLedger(clock=clock) as memory:
        yield Scene(memory.connect(), clock, request.param, tmp_path)


def test_now_leaves_nothing_out(scene: Scene) -> None:
    since_s = SystemClock().now_ms() / 1000 - scene.now_s
    assert scene.found(endingtimestamp=since_s)[:2] == (0, EVERY)
    for end_s in (DAY_S, YEARS_S):
        assert scene.found(endingtimestamp=end_s) == (0, EVERY, True)
        assert scene.found(startingtimestamp=-DAY_S, endingtimestamp=end_s) == (1, EVERY, True)
    assert scene.found(endingtimestamp=-DAY_S) == (0, 1, False)
    assert scene.found(endingtimestamp=-DAY_S - 1) == (0, 0, False)


def test_a_start_in_the_future_is_refused(scene: Scene) -> None:
    for after_s in (DAY_S, YEARS_S):
        with pytest.raises(Refusal, match="startingTimestamp must be a time that has come"):
            scene.found(startingtimestamp=after_s)
        with pytest.raises(Refusal, match=r"got 20\d\d-"):
            scene.first(DAY_S / 24)
    since_s = SystemClock().now_ms() / 1000 - scene.now_s
    assert scene.first(since_s) in {EVERY, EVERY + 1}
    assert scene.first(-1) == EVERY


@pytest.mark.parametrize("option", FAR)
def test_a_version_of_a_wrong_time(tmp_path: Path, option: str) -> None:
    """Between versions with right and with wrong times no version is known to a time."""
    clock = FixedClock(SystemClock().now_ms() - 2 * DAY_S * 1000)
    with InMemoryLedger(clock=clock) as memory:
        scene = Scene(memory.connect(), clock, YEARS_S, tmp_path)
        with pytest.raises(UnknownVersionError, match="yet to come"):
            scene.found(**{option: -DAY_S / 2})
        since_s = SystemClock().now_ms() / 1000 - scene.now_s
        assert scene.found(endingtimestamp=since_s) == (0, EVERY, True)
