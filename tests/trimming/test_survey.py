"""The survey of a trim: how far a trim by age goes, and which open txn holds it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import pytest

from ledger.core.acceptance import LogHead
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.errors import TrimRefusedError
from ledger.log.acceptor import Acceptor
from ledger.log.checkpoints import Checkpoint, CheckpointWriter
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.testing import InMemoryLedger
from ledger.trimming.survey import check_open, position_before
from tests.log.test_trimmed import log_of, trim

LATER_MS: Final = 1_000_000


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    """Return a ledger with some events."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        for number in range(5):
            ledger.create_table(f"t{number}", [("id", "bigint")])
        yield memory


def write_checkpoint(log: MemoryLog, position: int) -> None:
    """Write the state checkpoint of a position."""
    state, acceptor = DomainState(), Acceptor(LogHead())
    for record in log.topics[Topic.EVENTS].records:
        event = acceptor.take(record.value)
        if event is not None:
            evolve(state, event)
        if acceptor.head.position == position:
            with closing(log.writer(Topic.CHECKPOINTS)) as writer:
                head = Checkpoint(state, acceptor.head, record.offset + 1)
                CheckpointWriter(writer, 0).write(head)
            return
    raise AssertionError(f"the log has no position {position}")


@pytest.mark.parametrize(
    ("checkpoint", "trimmed", "found"),
    [(0, 0, None), (1, 0, None), (2, 0, 2), (4, 0, 4), (4, 4, None), (6, 4, 6)],
)
def test_old_events_that_only_a_checkpoint_keeps_are_told_of(
    memory: InMemoryLedger, checkpoint: int, trimmed: int, found: int | None
) -> None:
    log = log_of(memory)
    if checkpoint:
        write_checkpoint(log, checkpoint)
    if trimmed:
        trim(log, trimmed)
    at_ms = log.now_ms() + LATER_MS
    if found is not None:
        assert position_before(log, at_ms) == found
        return
    with pytest.raises(TrimRefusedError, match=f"checkpoint is of position {checkpoint}, ") as why:
        position_before(log, at_ms)
    assert type(why.value) is TrimRefusedError


def test_young_events_are_no_refusal(memory: InMemoryLedger) -> None:
    assert position_before(log_of(memory), 0) <= 1


@pytest.mark.parametrize("checkpoint", [3, 0])
def test_an_open_txn_holds_the_events_from_its_open_on(
    memory: InMemoryLedger, checkpoint: int
) -> None:
    log = log_of(memory)
    with memory.connect() as ledger:
        txn = ledger.begin()
        opened = txn.opened
        # The checkpoint is in front of the open, or behind it.
        write_checkpoint(log, checkpoint or opened)
        check_open(log, 0, opened)
        with pytest.raises(TrimRefusedError, match=f"txn {txn.id} is open since position {opened}"):
            check_open(log, 0, opened + 1)
        txn.abort()
    check_open(log, 0, opened + 1)
