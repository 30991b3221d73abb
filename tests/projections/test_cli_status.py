"""The leader that `lakeledger status` names is one that beats."""

from contextlib import closing

import pytest

from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from projections.cli.status import leader_heard

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
