"""Commits without an answer: the ledger is asked what became of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.core.limits import DEFAULT_LIMITS
from ledger.log.lossy import LossyLog, LossyWriter
from ledger.log.memory import MemoryTopic
from ledger.log.port import Topic
from ledger.testing import InMemoryLedger
from tests.ingest.benches import IngestBench
from tests.ingest.test_ingest import EVENTS, ids, made, put
from tests.sdk.conftest import ALERT
from tests.sdk.test_retries import HASTY

FOR_EVER = 10**9


class BlindLog(LossyLog):
    """The log as a process sees it that gets no more answers behind one of its commands.

    Attributes:
        blind_in: the number of commands until then, 0 = it sees all.
        reads: how many reads fail then.
    """

    def __init__(self, of: LossyLog) -> None:
        super().__init__(of)
        self.blind_in, self.reads = 0, FOR_EVER

    def writer(self, topic: Topic) -> LossyWriter:
        self.writers[topic] += 1
        return BlindWriter(self, self.topics[topic])


class BlindWriter(LossyWriter):
    """Writes commands, and blinds its process behind one of them."""

    def __init__(self, log: BlindLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._blind = log

    def append(self, key: bytes, value: bytes) -> None:
        if self._name is Topic.COMMANDS and self._blind.blind_in:
            self._blind.blind_in -= 1
            if not self._blind.blind_in:
                self._blind.away[Topic.EVENTS] = self._blind.reads
        super().append(key, value)


@pytest.fixture
def log() -> LossyLog:
    return LossyLog()


@pytest.fixture
def bench(log: LossyLog, tmp_path: Path) -> Iterator[IngestBench]:
    with InMemoryLedger(log=log, settings=ALERT) as memory:
        yield IngestBench(memory, tmp_path)


@pytest.mark.parametrize("command", [1, 2])
def test_a_commit_without_an_answer_is_looked_up_and_not_made_twice(
    bench: IngestBench, log: LossyLog, command: int
) -> None:
    """The first command opens the txn, the second one commits it."""
    made(bench)
    view = BlindLog(log)
    ledger = bench.memory.connect(log=view, settings=HASTY, warehouse=bench.folder)
    ingest, _ = bench.process(EVENTS, ledger=ledger)
    bench.drain(ingest)
    put(bench, 1, 2)
    ingest.gather()
    view.blind_in = command

    unknown = ingest.commit()
    view.heal()
    put(bench, 3)
    bench.drain(ingest)

    assert unknown is None
    assert ids(bench) == [1, 2, 3]
    assert ingest.tally.repeats == 1


def test_an_offset_that_was_looked_up_long_ago_is_looked_up_again(tmp_path: Path) -> None:
    """The ledger remembers few commits, and the process was idle for longer."""
    limits = DEFAULT_LIMITS._replace(conflict_entries_min=5, conflict_entries_max=200_000)
    with InMemoryLedger(limits=limits) as memory:
        bench = IngestBench(memory, tmp_path)
        made(bench)
        ingest, _ = bench.process(EVENTS)
        bench.drain(ingest)
        for number in range(30):
            bench.ledger.append("db.events", [{"id": 100 + number}])
        put(bench, 1)
        ingest.gather()

        refused = ingest.commit()
        bench.drain(ingest)

        assert refused is None
        assert ids(bench)[0] == 1
