"""What `lakeledger status` says of the leader and of how far the rows are."""

from contextlib import closing

import pytest

from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.state_reads.reads import StateReads
from projections.cli.status import leader_heard, tell_of_rows
from tests.driver import Driver

WAIT_S = 0.05
BEAT = b'{"epoch": 3, "sequencer": "one/7"}'
STRAY = [b"", b"\xff", b"7", b"[1, 2]", b'{"epoch": "x"}']


def heard(records: list[bytes]) -> dict[str, object] | None:
    """Return the leader in some records, as somebody hears it who waits."""
    log = MemoryLog()
    with closing(log.writer(Topic.BEATS)) as writer:
        for record in records:
            writer.append(b"0", record)
    with closing(log.reader(Topic.BEATS, 0)) as beats:
        return leader_heard(beats, WAIT_S)


@pytest.mark.parametrize(
    ("records", "leader"),
    [
        ([BEAT], {"epoch": 3, "sequencer": "one/7"}),
        ([*STRAY, BEAT], {"epoch": 3, "sequencer": "one/7"}),
        (STRAY, None),
        ([], None),
    ],
    ids=["beat", "beat behind strays", "strays", "silence"],
)
def test_leader_heard(records: list[bytes], leader: dict[str, object] | None) -> None:
    """What no leader wrote is passed over."""
    assert heard(records) == leader


@pytest.mark.parametrize(("ahead", "is_well"), [(0, True), (1, False)])
def test_rows_that_are_behind(
    capsys: pytest.CaptureFixture[str], ahead: int, *, is_well: bool
) -> None:
    """Rows that do not come to the end of the log in time are no good sign, and that is said."""
    driver = Driver()
    end = driver.head.position + ahead

    assert tell_of_rows(StateReads(driver.log), end, 0.0) == is_well
    assert (f"the log at {end}" not in capsys.readouterr().err) == is_well
