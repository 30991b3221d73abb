"""Histories of an ingest: records come, processes take over, are killed, or know nothing of it.

A history is a list of steps. It is played against a ledger in memory, and at its end a last
process reads what is left. Then each table must be what its topic says, record by record.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.ingest.ingest import Ingest
from ledger.ingest.offsets import recorded
from ledger.ingest.source import TopicRecord
from ledger.log.lossy import LossyLog, LossyWriter
from ledger.log.memory import MemoryTopic
from ledger.log.port import Topic
from ledger.testing import InMemoryLedger
from tests.ingest.benches import NAME, IngestBench
from tests.ingest.topics import MemorySource
from tests.sdk.conftest import ALERT, IMPATIENT

PARTITIONS: Final = 3
PLACE: Final = {
    "id": "id",
    "amount": "amount",
    "partition": {"record": "partition"},
    "offset": {"record": "offset"},
}
COLUMNS: Final = (
    ("id", "BIGINT NOT NULL"),
    ("amount", "DECIMAL(6,2)"),
    ("partition", "INT"),
    ("offset", "BIGINT"),
)
ADDED: Final[dict[str, Any]] = {
    "topic": "added",
    "table": "db.added",
    "columns": PLACE,
    "bad": "table",
    "bad_table": "db.bad",
}
MERGED: Final[dict[str, Any]] = {**ADDED, "topic": "merged", "table": "db.merged", "key": ["id"]}


class Killed(BaseException):
    """A process of a history was killed."""


class Step(NamedTuple):
    """A step: what happens, to which process or partition, and a number that says more."""

    what: str
    at: int
    number: int


class KillingLog(LossyLog):
    """The log of a ledger as one process sees it, which is killed at one of its commands.

    Attributes:
        kill_in: how many commands are sent before that, None = it is not killed.
        is_written: whether the command at which it is killed is written.
    """

    def __init__(self, of: LossyLog) -> None:
        super().__init__(of)
        self.kill_in: int | None = None
        self.is_written = False

    def writer(self, topic: Topic) -> LossyWriter:
        self.writers[topic] += 1
        return KillingWriter(self, self.topics[topic])


class KillingWriter(LossyWriter):
    """Sends commands until the process is killed, and none afterwards."""

    def __init__(self, log: KillingLog, topic: MemoryTopic) -> None:
        super().__init__(log, topic)
        self._killing = log

    def append(self, key: bytes, value: bytes) -> None:
        log = self._killing
        is_due = self._name is Topic.COMMANDS and log.kill_in is not None
        # Heartbeats come from a thread of their own.
        if not is_due or current_thread() is not main_thread():
            super().append(key, value)
            return
        assert log.kill_in is not None
        log.kill_in -= 1
        if log.kill_in > 0:
            super().append(key, value)
            return
        if log.kill_in == 0 and log.is_written:
            super().append(key, value)
        raise Killed


class Process(NamedTuple):
    """A process of the ingest with what only it has."""

    ingest: Ingest
    source: MemorySource
    log: KillingLog
    ledger: Ledger


class Play:
    """A history that is played."""

    def __init__(self, memory: InMemoryLedger, log: LossyLog, folder: Path) -> None:
        self.bench, self._log = IngestBench(memory, folder), log
        for name in ("added", "merged"):
            properties = {"lakeledger.rows": "marks"} if name == "merged" else {}
            self.bench.ledger.create_table(f"db.{name}", COLUMNS, properties=properties)
            self.bench.topics.create(name, PARTITIONS)
        self.processes = [self.begun(), self.begun()]
        self.bench.topics.give(self.processes[0].source)

    def begun(self) -> Process:
        """Return a new process, which owns nothing yet."""
        view = KillingLog(self._log)
        ledger = self.bench.memory.connect(
            warehouse=self.bench.folder, log=view, settings=IMPATIENT
        )
        ingest, source = self.bench.process(ADDED, MERGED, owns=False, ledger=ledger)
        return Process(ingest, source, view, ledger)

    def step(self, step: Step) -> None:
        """Do one step; a process that is killed by it is replaced by a new one."""
        at = step.at % len(self.processes)
        process = self.processes[at]
        try:
            self._do(step, process)
        except Killed:
            self.replace(at)

    def replace(self, at: int) -> None:
        """Let a new process take the place of one, and the partitions of that one move to it."""
        gone, new = self.processes[at], self.begun()
        gone.log.kill_in = None
        moved = [p for p, owner in self.bench.topics.owners.items() if owner is gone.source]
        if moved:
            self.bench.topics.give(new.source, *moved)
        self.processes[at] = new

    def end(self) -> None:
        """Let a last process read all that is left."""
        for process in self.processes:
            process.log.kill_in = None
        last = self.begun()
        self.bench.topics.give(last.source)
        self.bench.drain(last.ingest, rounds=50)

    def _do(self, step: Step, process: Process) -> None:
        topics, number = self.bench.topics, step.number
        match step.what:
            case "record":
                put(self.bench, step)
            case "gather":
                process.ingest.gather()
            case "commit":
                process.ingest.commit()
            case "work":
                process.ingest.gather()
                process.ingest.commit()
            case "move":
                places = sorted(topics.records)
                topics.give(process.source, *places[number % 3 :: 1 + number % 2])
            case "deaf":
                process.source.is_deaf = not process.source.is_deaf
            case "race":
                self._race(step, process, self.processes[(step.at + 1) % len(self.processes)])
            case "kill":
                raise Killed
            case "kill at":
                process.log.kill_in, process.log.is_written = 1 + number % 4, number % 8 > 3
            case _:
                self._strike(step.what, process)

    def _race(self, step: Step, late: Process, new: Process) -> None:
        """Let two processes take the same records, and commit them one after the other.

        The late one hears nothing of the move. Bits of the number say which of them has more
        records and which commits first.
        """
        number = step.number
        self._put_several(step, 1)
        late.source.is_deaf = False
        self.bench.topics.give(late.source)
        late.ingest.gather()
        late.source.is_deaf = True
        if number & 1:
            self._put_several(step, 2)
        self.bench.topics.give(new.source)
        new.source.is_deaf = False
        new.ingest.gather()
        if number & 2:
            self._put_several(step, 3)
            late.ingest.gather()
        pair = (late, new) if number & 4 else (new, late)
        for process in pair:
            process.ingest.commit()
        if number & 16:
            # The late process goes on as if the records were still its own.
            self._put_several(step, 4)
            late.ingest.gather()
            late.ingest.commit()
        late.source.is_deaf = bool(number & 8)

    def _put_several(self, step: Step, turn: int) -> None:
        for more in range(4):
            put(self.bench, Step("record", step.at + more, step.number + 31 * turn + more))

    def _strike(self, fault: str, process: Process) -> None:
        getattr(process.log, fault)[Topic.COMMANDS] = 1


FAULTS: Final = ("lost", "unacknowledged", "refused", "doubled")
WORK: Final = ("gather", "commit", "work", "work")
STEPS: Final = (
    "record",
    "record",
    "race",
    "race",
    *WORK,
    "move",
    "deaf",
    "kill",
    "kill at",
    *FAULTS,
)


def put(bench: IngestBench, step: Step) -> None:
    """Let a record come: a good one, a tombstone, or a bad one."""
    number = step.number
    topic = ("added", "merged")[number % 2]
    partition = step.at % PARTITIONS
    # A key is always in one partition.
    key = partition + PARTITIONS * (number % 5)
    kinds = {
        3: b"no json",
        5: json.dumps({"id": str(key)}).encode(),
        7: json.dumps({"id": key, "amount": "1.234"}).encode(),
    }
    value: bytes | None = (
        kinds.get(number % 11) or json.dumps({"id": key, "amount": f"{number % 100}.5"}).encode()
    )
    if number % 7 == 0:
        value = None
    bench.topics.put(topic, value, b"%d" % key, partition, gap=number % 13 == 0)


def play(steps: Sequence[Step], folder: Path) -> None:
    """Play a history, and compare the tables with the topics."""
    log = LossyLog()
    with InMemoryLedger(log=log, settings=ALERT) as memory:
        made = Play(memory, log, folder)
        for step in steps:
            made.step(step)
        made.end()
        compare(made.bench)


def compare(bench: IngestBench) -> None:
    """Compare each table with its topic, record by record, and the offsets with the ends."""
    added: list[tuple[Any, ...]] = []
    merged: dict[int, tuple[Any, ...]] = {}
    bad: list[tuple[Any, ...]] = []
    for partition, records in sorted(bench.topics.records.items()):
        for record in records:
            place = (*partition, record.offset)
            row = row_of(record)
            if record.value is None and partition.topic == "merged":
                merged.pop(int(record.key or b""), None)
            elif row is None:
                bad.append(place)
            elif partition.topic == "added":
                added.append(row)
            else:
                merged[row[0]] = row
    names = [name for name, _ in COLUMNS]
    assert sorted(added) == lines(bench, "db.added", names)
    assert sorted(merged.values()) == lines(bench, "db.merged", names)
    assert sorted(bad) == lines(bench, "db.bad", ["topic", "partition", "offset"])
    ends = {each: bench.topics.end(each) for each in bench.topics.records}
    assert ends == {each.partition: each.offset for each in recorded(bench.ledger, NAME)}


def row_of(record: TopicRecord) -> tuple[Any, ...] | None:
    """Return the row of a record, None for a bad one."""
    try:
        fields: Mapping[str, Any] = json.loads(record.value or b"")
    except ValueError:
        return None
    if not isinstance(fields["id"], int) or len(fields.get("amount", "").partition(".")[2]) > 2:
        return None
    amount = float(fields["amount"])
    return fields["id"], amount, record.partition.number, record.offset


def lines(bench: IngestBench, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return rows of a table as tuples, sorted."""
    return sorted(
        tuple(float(row[name]) if name == "amount" else row[name] for name in names)
        for row in bench.rows(table, names[0])
    )
