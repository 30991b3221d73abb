"""State checkpoints: how many of them stay in the topic."""

from contextlib import closing

import pytest

from ledger.checkpoint import KEPT, read_newest, read_values, written
from ledger.log.port import Topic
from ledger.settings import SequencerSettings
from ledger.testing import InMemoryLedger


@pytest.mark.parametrize("each", [1, 2, 5])
def test_kept_over_starts(each: int) -> None:
    """However many processes wrote checkpoints one after another, the newest ones alone stay."""
    with InMemoryLedger(settings=SequencerSettings(checkpoint_positions=1)) as memory:
        ledger = memory.connect()
        for _ in range(4):
            with closing(memory.standby().sequencer) as sequencer:
                for _ in range(each):
                    position = ledger.begin().abort().position
                    while sequencer.state.position < position:
                        sequencer.step(0.0)
        values = read_values(memory.log, *memory.log.ends(Topic.CHECKPOINTS))
        last = read_newest(memory.log, 0)

    assert last is not None
    assert last.head.position == position
    assert len(written(values, 0)) == KEPT
    assert sum(map(bool, values.values())) == KEPT * 2
