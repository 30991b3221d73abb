"""Topics into tables under load, with kills of every process, late owners and a paused broker.

`python -m tests.integration.ingested [--minutes 30 --rate 2000 --topics 3 --every-s 15]` prints how
fresh rows were: the time from a record's production until another process could read its row. Exit
status 1 if counts, sums or keys of a table are not those of its topic.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import quantiles
from threading import Event as Signal
from threading import Thread
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console

from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics
from ledger.machine.kafka.broker import Broker
from ledger.machine.process import ExitCode, set_up_logging
from ledger.machine.supervisor import SupervisedRole, Supervisor
from projections.queries import open_reads
from tests.integration.commands import environment
from tests.integration.soak.roles import Recorded
from tests.integration.soak.strikes import position_of

LEDGER: Final = "ingested"
PARTITIONS: Final = 3
PROCESSES: Final = ("ingest-1", "ingest-2")
COLUMNS: Final = (
    *(("id", "BIGINT NOT NULL"), ("amount", "DECIMAL(12,2)"), ("sent", "BIGINT")),
    *(("partition", "INT"), ("offset", "BIGINT")),
)
KEYS: Final = 5_000
TOMBSTONES: Final = 20
BAD: Final = 50
# Longer than a group waits for a member, so that another process has its partitions by then.
STOPPED_S: Final = 8.0
PAUSED_S: Final = 5.0
PATIENCE_S: Final = 300.0
LOOK_S: Final = 0.02


class Sums(NamedTuple):
    """What a table holds, or should: the rows, the sum of their amounts, and that of their keys."""

    rows: int
    amount: Decimal
    keys: int


class SentTopic:
    """A topic, its producer, and what its table must hold at the end."""

    def __init__(self, number: int) -> None:
        self.name = f"topic-{number}"
        self.table, self.bad_table = f"db.t{number}", f"db.bad{number}"
        self.is_merged, self.has_bad = number % 3 == 1, number % 3 == 2
        self.sums = Sums(0, Decimal(0), 0)
        self.bad = 0
        self._rows: dict[int, Decimal] = {}
        self._chance = Random(number)  # noqa: S311 - repeatable on purpose
        self._next = 0

    def mapping(self) -> dict[str, Any]:
        """Return the part of the mapping that is for this topic."""
        key = {"key": ["id"]} if self.is_merged else {}
        bad = {"bad": "table", "bad_table": self.bad_table} if self.has_bad else {}
        return {"topic": self.name, "table": self.table, **key, **bad}

    def send(self, producer: Producer) -> None:
        """Produce the next record, and note what it does to the table."""
        amount = Decimal(self._chance.randrange(10_000)) / 100
        self._next += 1
        number = self._chance.randrange(KEYS) if self.is_merged else self._next
        key = str(number)
        value: str | None = json.dumps(
            {"id": number, "amount": str(amount), "sent": time.time_ns() // 1_000_000}
        )
        if self.is_merged and self._next % TOMBSTONES == 0:
            value = None
            self._rows.pop(number, None)
        elif self.has_bad and self._next % BAD == 0:
            value = json.dumps({"id": key})
            self.bad += 1
        elif self.is_merged:
            self._rows[number] = amount
        else:
            rows, total, keys = self.sums
            self.sums = Sums(rows + 1, total + amount, keys + number)
        while True:
            with suppress(BufferError):
                producer.produce(self.name, value, key, number % PARTITIONS)
                return
            producer.poll(0.1)

    def expected(self) -> Sums:
        """Return what the table must hold."""
        if not self.is_merged:
            return self.sums
        return Sums(len(self._rows), sum(self._rows.values(), Decimal(0)), sum(self._rows))


class Soaked(NamedTuple):
    """What came of a soak: the freshness in ms, the strikes, and what is not equal."""

    fresh_ms: Sequence[float]
    strikes: Counter[str]
    records: int
    differences: Sequence[str]


class IngestSoak:
    """A ledger, the processes of an ingest, and the topics that they read."""

    def __init__(self, broker: Broker, folder: Path, topics: int, held: ExitStack) -> None:
        self.broker, self.folder, self.where = broker, folder, (broker.bootstrap, LEDGER)
        self.topics = [SentTopic(number) for number in range(topics)]
        self.store = folder / "rows"
        self.strikes: Counter[str] = Counter()
        self.seen: dict[tuple[str, int], float] = {}
        create_topics(broker.bootstrap, LEDGER)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        made = admin.create_topics([NewTopic(each.name, PARTITIONS, 1) for each in self.topics])
        for answer in made.values():
            answer.result()
        self.log = held.enter_context(closing(KafkaLog(*self.where)))
        self.roles: list[SupervisedRole] = []
        self._supervisor = Supervisor(self.roles)
        self._supervisor.environment = environment(folder)
        held.callback(self._supervisor.stop)
        store = ("--store", str(self.store))
        for name in ("sequencer-1", "sequencer-2"):
            self.start(name, "sequencer", "--name", name)
        self.start("follower", "follower", *store, "--no-http")
        self.wait_for(lambda: position_of(self.store) > 0)
        self.ledger = held.enter_context(self.connect(held))
        for topic in self.topics:
            grain = {"lakeledger.rows": "marks"} if topic.is_merged else {}
            properties = {"lakeledger.inline": "on", **grain}
            self.ledger.create_table(
                topic.table, COLUMNS, location=folder / topic.name, properties=properties
            )
        mapping = self.write_mapping()
        for name in PROCESSES:
            warehouse = ("--set", f"warehouse={folder / 'warehouse'}")
            self.start(name, "ingest", str(mapping), *store, "--no-http", *warehouse)
        self.start("flusher", "flusher", *store)

    def start(self, name: str, kind: str, *options: str) -> None:
        """Start a role, which is started again whenever it ends."""
        own = "--bootstrap", self.broker.bootstrap, "--ledger", LEDGER, "--with-parent"
        said = self.folder / f"{name}.log"
        role = Recorded(name, ("serve", kind, *options, *own), said=said)
        self.roles.append(role)
        role.start(self._supervisor.environment)

    def connect(self, held: ExitStack) -> Ledger:
        """Return a client that reads the follower's rows."""
        reads = held.enter_context(closing(open_reads(self.store)))
        return Ledger.connect(*self.where, reads=reads)

    def write_mapping(self) -> Path:
        lines = ['name = "soak"']
        place = 'partition = {record = "partition"}', 'offset = {record = "offset"}'
        names = 'id = "id"', 'amount = "amount"', 'sent = "sent"'
        for topic in self.topics:
            lines.append("[[topics]]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in topic.mapping().items()]
            lines += ["[topics.columns]", *names, *place]
        path = self.folder / "mapping.toml"
        path.write_text("\n".join(lines))
        return path

    def produce(self, rate: int, stop: Signal) -> None:
        """Produce records of all topics in turn, so many a second, until `stop` is set."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": 300_000,
            }
        )
        began_s, sent = time.monotonic(), 0
        while not stop.is_set():
            due = int((time.monotonic() - began_s) * rate)
            for number in range(sent, due):
                self.topics[number % len(self.topics)].send(producer)
            sent = due
            producer.poll(0)
            stop.wait(0.01)
        assert producer.flush(PATIENCE_S) == 0

    def watch(self, stop: Signal) -> None:
        """Note when each version of a table was first readable in this process."""
        newest = dict.fromkeys((topic.table for topic in self.topics), 0)
        while not stop.wait(LOOK_S):
            with suppress(LedgerError):
                now = time.time()
                for table, before in newest.items():
                    newest[table] = self.ledger.table(table).version
                    for version in range(before + 1, newest[table] + 1):
                        self.seen[table, version] = now

    def strike(self, kind: str, stop: Signal) -> None:
        """Kill a process, or let it or the broker hang for a while."""
        what, _, name = kind.partition(" ")
        role = next((each for each in self.roles if each.name == name), None)
        process = None if role is None else role.process
        self.strikes[what] += 1
        if name == "broker":
            signal_to(self.broker.pid, signal.SIGSTOP)
            stop.wait(PAUSED_S)
            signal_to(self.broker.pid, signal.SIGCONT)
        elif process is not None and what == "kill":
            process.kill()
        elif process is not None:
            process.send_signal(signal.SIGSTOP)
            stop.wait(STOPPED_S)
            process.send_signal(signal.SIGCONT)

    def run(self, lasts_s: float, every_s: float, rate: int) -> None:
        """Produce for a while, strike in turn, and wait until all records are in their tables."""
        ended, produced = Signal(), Signal()
        threads = [
            Thread(target=self._supervisor.watch, args=(ended,), daemon=True),
            Thread(target=self.watch, args=(ended,), daemon=True),
        ]
        producing = Thread(target=self.produce, args=(rate, produced), daemon=True)
        for thread in (*threads, producing):
            thread.start()
        kills = ("ingest-1", "follower", "ingest-2", "sequencer-1", "sequencer-2", "flusher")
        kinds = cycle((*(f"kill {name}" for name in kills), "stop ingest-1", "pause broker"))
        until_s = time.monotonic() + lasts_s
        while (left_s := until_s - time.monotonic()) > 0:
            produced.wait(min(every_s, left_s))
            # What hangs near the end would be all that is measured then.
            if until_s - time.monotonic() > every_s:
                self.strike(next(kinds), produced)
        produced.set()
        producing.join()
        try:
            self.wait_for(lambda: not self.differences())
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def differences(self) -> Sequence[str]:
        """Return the tables that do not hold what they must."""
        return [text for topic in self.topics for text in self._differences_in(topic)]

    def _differences_in(self, topic: SentTopic) -> Iterator[str]:
        try:
            held = self.held(topic.table)
            found = self.ledger.scan(topic.bad_table).count() if topic.has_bad else 0
        except LedgerError as problem:
            yield f"{topic.table}: {problem}"
            return
        if held != topic.expected():
            yield f"{topic.table} has {held}, its topic {topic.expected()}"
        if found != topic.bad:
            yield f"{topic.bad_table} has {found} records, its topic {topic.bad}"

    def held(self, table: str) -> Sums:
        """Return what a table holds."""
        rows = self.ledger.scan(table, columns=["id", "amount"]).to_arrow()
        amounts = rows.column("amount").to_pylist()
        return Sums(len(rows), sum(amounts, Decimal(0)), sum(rows.column("id").to_pylist()))

    def fresh_ms(self) -> Iterator[float]:
        """Yield for each row how long after its production it was readable here."""
        for topic in self.topics:
            for commit in self.ledger.changes(topic.table, 1):
                seen = self.seen.get((topic.table, commit.version))
                if seen is None:
                    continue
                rows = commit.rows()
                kinds = rows.column("_change_type").to_pylist()
                for kind, sent in zip(kinds, rows.column("sent").to_pylist(), strict=True):
                    if kind in {"insert", "update_postimage"} and sent is not None:
                        yield seen * 1000 - sent

    def wait_for(self, is_so: Any) -> None:
        """Wait until something is so; raises TimeoutError with what is not equal."""
        until_s = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > until_s:
                raise TimeoutError("; ".join(self.differences()))
            Signal().wait(0.5)


def signal_to(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that this one started."""
    os.kill(pid, number)


def soaked(broker: Broker, folder: Path, options: argparse.Namespace) -> Soaked:
    """Return what comes of a soak."""
    with ExitStack() as held:
        soak = IngestSoak(broker, folder, options.topics, held)
        differences: Sequence[str] = ()
        try:
            soak.run(options.minutes * 60, options.every_s, options.rate)
        except TimeoutError:
            differences = soak.differences()
        records = sum(each._next for each in soak.topics)  # noqa: SLF001 - of this module
        return Soaked(sorted(soak.fresh_ms()), soak.strikes, records, differences)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long records come")
    parser.add_argument("--rate", type=int, default=2_000, help="records a second, of all topics")
    parser.add_argument("--topics", type=int, default=3, help="how many topics there are")
    parser.add_argument("--every-s", type=float, default=15.0, help="how often there is a strike")
    options = parser.parse_args(arguments)
    set_up_logging()
    with tempfile.TemporaryDirectory() as scratch, Broker.start(Path(scratch) / "kafka") as broker:
        found = soaked(broker, Path(scratch), options)
    said = Console()
    strikes = ", ".join(f"{number} of {name}" for name, number in sorted(found.strikes.items()))
    said.print(f"{found.records} records, strikes: {strikes or 'none'}")
    if len(found.fresh_ms) > 1:
        cuts = quantiles(found.fresh_ms, n=100)
        said.print(
            f"fresh after p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms, "
            f"most {found.fresh_ms[-1]:.0f} ms"
        )
    for line in found.differences:
        said.print(line)
    return ExitCode.FAILED if found.differences else ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
