"""The time of events: the leader's clock, bounded by the broker's, and told where it is off."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger.clock import SystemClock
from ledger.errors import UnknownVersionError
from ledger.log.memory import MemoryLog
from ledger.sequencer.bounded_clock import AHEAD_MAX_MS, BoundedClock
from ledger.testing import FixedClock, InMemoryLedger

NOW_MS = 1_700_000_000_000
YEARS_MS = 3 * 365 * 24 * 3_600_000


class JumpingClock(SystemClock):
    """A clock whose wall time jumps, and whose monotonic time does not."""

    jump_ms = 0

    def now_ms(self) -> int:
        """Return the wall time in milliseconds."""
        return super().now_ms() + self.jump_ms


# How far the own clock is ahead, how late a record is read, and how far `now_ms` then is ahead.
BOUNDS = [
    (0, 0, 0),
    (AHEAD_MAX_MS, 0, AHEAD_MAX_MS),
    (AHEAD_MAX_MS + 1, 0, AHEAD_MAX_MS),
    (YEARS_MS, 0, AHEAD_MAX_MS),
    (-YEARS_MS, 0, -YEARS_MS),
    (0, YEARS_MS, AHEAD_MAX_MS - YEARS_MS),
]


@pytest.mark.parametrize(("ahead_ms", "late_ms", "counts_ms"), BOUNDS)
def test_bounds(ahead_ms: int, late_ms: int, counts_ms: int) -> None:
    """The time is at most a minute above what the broker stamped, whatever the own clock says."""
    own = FixedClock(NOW_MS + ahead_ms)
    clock = BoundedClock(own)
    assert clock.now_ms() == own.now_ms()
    clock.hear(NOW_MS - late_ms)
    assert clock.now_ms() == NOW_MS + counts_ms
    own.advance(3_600)
    clock.hear(NOW_MS - YEARS_MS)
    assert clock.now_ms() == NOW_MS + counts_ms + 3_600_000
    assert clock.is_right() is (ahead_ms + late_ms <= AHEAD_MAX_MS)
    clock.hear(own.now_ms())
    assert clock.is_right()


@pytest.mark.parametrize("is_fresh", [True, False])
def test_no_commit_of_a_clock_that_is_ahead(*, is_fresh: bool) -> None:
    log = MemoryLog()
    with InMemoryLedger(log=log) as memory:
        memory.connect().create_table("s", [("id", "int")], layout="directories")
    wrong = JumpingClock()
    wrong.jump_ms = YEARS_MS if is_fresh else 0
    with InMemoryLedger(log=log, clock=wrong) as memory:
        ledger = memory.connect()
        ledger.create_table("t", [("id", "int")], layout="directories")
        wrong.jump_ms = YEARS_MS
        ledger.create_table("u", [("id", "int")], layout="directories")
        reads = ledger.reads()
        newest = reads.history(reads.position() - 1, 1)[0]
        assert newest.at < SystemClock().now_ms() + 2 * AHEAD_MAX_MS
        assert memory.leader.sequencer.clock.ahead_ms() > YEARS_MS - AHEAD_MAX_MS
    with InMemoryLedger(log=log) as memory:
        memory.connect().create_table("v", [("id", "int")], layout="directories")
        assert memory.leader.sequencer.clock.ahead_ms() < AHEAD_MAX_MS


@pytest.mark.parametrize("ahead_ms", [30_000, YEARS_MS])
def test_now_leaves_nothing_out(tmp_path: Path, ahead_ms: int) -> None:
    """What was committed counts at `now`, also with a time that is yet to come."""
    clock = FixedClock(SystemClock().now_ms() - YEARS_MS)
    with InMemoryLedger(clock=clock) as memory:
        ledger = memory.connect()
        ledger.create_table("t", [("id", "int")], location=tmp_path)
        ledger.append("t", [{"id": 1}])
        clock.advance((YEARS_MS + ahead_ms) / 1000)
        ledger.append("t", [{"id": 2}])
        now = datetime.now(UTC)
        assert ledger.scan("t", at=now).to_arrow().num_rows == 2
        assert ledger.sql("SELECT * FROM t", at=now).to_arrow().num_rows == 2
        at_ms = int(now.timestamp() * 1000)
        found = ledger.reads().version_row(ledger.table("t").table, at=at_ms)
        assert found is not None
        assert found.version == 2
        before = now - timedelta(days=1)
        if ahead_ms > AHEAD_MAX_MS:
            with pytest.raises(UnknownVersionError, match="yet to come"):
                ledger.scan("t", at=before)
        else:
            assert ledger.scan("t", at=before).to_arrow().num_rows == 1
        with pytest.raises(UnknownVersionError, match="its first is of"):
            ledger.scan("t", at=now - timedelta(days=10_000))
