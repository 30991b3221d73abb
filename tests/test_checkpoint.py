"""State checkpoints: what of them stays in the topic."""

from contextlib import closing

import pytest

from ledger.checkpoint import (
    KEPT,
    Checkpoint,
    CheckpointWriter,
    chunk_key,
    read_newest,
    read_values,
    written,
)
from ledger.core.acceptance import LogHead
from ledger.core.state import DomainState
from ledger.log.memory import MemoryLog
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


def test_half_a_checkpoint() -> None:
    """Chunks that a killed process left without a manifest go before any whole checkpoint."""
    log = MemoryLog()
    writer = log.writer(Topic.CHECKPOINTS)
    CheckpointWriter(writer, 0).write(at_position(1))
    for number in (0, 2):
        writer.append(chunk_key(0, 2, number), b"half")
    writer.append(chunk_key(1, 2, 0), b"of another domain")
    before = written(read_values(log, *log.ends(Topic.CHECKPOINTS)), 0)

    CheckpointWriter(writer, 0, before).write(at_position(3))

    left = read_values(log, *log.ends(Topic.CHECKPOINTS))
    assert before == [(2, 3), (1, 1)]
    assert written(left, 0) == [(1, 1), (3, 1)]
    assert left[chunk_key(1, 2, 0)]


def at_position(position: int) -> Checkpoint:
    """Return a checkpoint of an empty state."""
    return Checkpoint(DomainState(position=position), LogHead(1, position), 0)
