"""Failover: a ledger on three brokers, whose leaders are killed, stopped and left hanging.

    python -m tests.integration.failover [--rounds 3 --seed 1]

Each strike hits the broker that leads a topic the ledger lives by, in the middle of the work of a
crowd and of producers, while one client holds a txn open and does nothing but beat. With one broker
out the ledger must go on by itself. With two out nothing may be acknowledged any more, and it goes
on once one of them is back. A follower makes rows all the while. At the end the log is audited, and
its rows are compared with rows made anew. Exit status 1 if a law does not hold.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from threading import Event as Signal
from threading import Thread
from typing import Final, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from ledger.client import Ledger
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import create_topics, verify_topics
from ledger.log.log_end import last_position
from ledger.log.port import Topic
from ledger.machine.process import set_up_logging
from projections.fold.follower import follow
from projections.queries import open_reads
from tests.integration.audit import Audit, Check, show_checks, told
from tests.integration.cluster import NODES, REPLICATION, Cluster
from tests.integration.crowd import Crowd
from tests.integration.fleet import Fleet
from tests.integration.producers import Producers
from tests.integration.soak.ends import PATIENCE_MS, rebuild, rows_of

SEQUENCERS: Final = 2
SESSIONS: Final = 4
LANES: Final = 10
SDK_SESSIONS: Final = 2
SDK_THREADS: Final = 2
UNDER_WAY: Final = SESSIONS * LANES + SDK_SESSIONS * SDK_THREADS
# What was under way may have been decided before; what comes after so many was asked later.
ENOUGH: Final = 2 * UNDER_WAY
RECEIPTS: Final = 4 * SDK_SESSIONS * SDK_THREADS
# In this time a cluster without a majority would show that it goes on all the same.
SILENCE_S: Final = 5.0
FOLLOW_S: Final = 60.0
KEPT: Final = "kept"
ANEW: Final = "anew"

Fault = Literal["kill", "stop", "hang", "majority"]
FAULTS: Final[tuple[Fault, ...]] = ("kill", "stop", "hang", "majority")
LED: Final = (Topic.EVENTS, Topic.HEARTBEATS, Topic.COMMANDS, Topic.BEATS)


class Strike(NamedTuple):
    """One strike at the leader of a topic.

    `answered_s` is how long it took until commands sent later were answered, from when on a
    majority was there; `acknowledged` is what was answered while there was none.
    """

    fault: Fault
    topic: Topic
    answered_s: float
    acknowledged: int


class Series(NamedTuple):
    """What came of a series."""

    strikes: Sequence[Strike]
    checks: Sequence[Check]
    facts: Mapping[str, int]


class Work(NamedTuple):
    """Who works on the ledger while brokers are struck."""

    cluster: Cluster
    ledger: str
    crowd: Crowd
    producers: Producers

    def strike(self, fault: Fault, topic: Topic) -> Strike:
        """Strike the leader of a topic, and bring everything back once the ledger went on."""
        self.cluster.wait_in_sync(self.ledger)
        leader = self.cluster.leader_of(self.ledger, topic)
        began_s = time.monotonic()
        match fault:
            case "kill":
                self.cluster.kill(leader)
                took_s = self._went_on(began_s)
                self.cluster.start(leader)
            case "stop":
                self.cluster.stop(leader)
                took_s = self._went_on(began_s)
                self.cluster.start(leader)
            case "hang":
                self.cluster.pause(leader)
                took_s = self._went_on(began_s)
                self.cluster.resume(leader)
            case "majority":
                return self._lose_majority(leader, topic)
        return Strike(fault, topic, took_s, 0)

    def _lose_majority(self, leader: int, topic: Topic) -> Strike:
        other = next(number for number in NODES if number != leader)
        self.cluster.kill(leader)
        self.cluster.kill(other)
        # What had been acknowledged by then is still on its way to those who read.
        self._watch(SILENCE_S)
        before = len(self.crowd.returned)
        self._watch(SILENCE_S)
        acknowledged = len(self.crowd.returned) - before
        began_s = time.monotonic()
        self.cluster.start(other)
        took_s = self._went_on(began_s)
        self.cluster.start(leader)
        return Strike("majority", topic, took_s, acknowledged)

    def _watch(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        self.crowd.wait_until(lambda: time.monotonic() > until_s, "time goes by")

    def _went_on(self, began_s: float) -> float:
        """Wait until crowd and producers are answered again; return the seconds it took."""
        crowd, receipts = self.crowd, self.producers.receipts
        enough, receipts_enough = len(crowd.returned) + ENOUGH, len(receipts) + RECEIPTS
        crowd.wait_until(
            lambda: len(crowd.returned) >= enough and len(receipts) >= receipts_enough,
            "the ledger goes on",
        )
        return time.monotonic() - began_s


def run(cluster: Cluster, ledger: str, folder: Path, faults: Sequence[Fault], seed: int) -> Series:
    """Run a series on a new ledger, audit its log and compare its rows."""
    create_topics(cluster.bootstrap, ledger, replication=REPLICATION)
    doubts = verify_topics(cluster.bootstrap, ledger)
    with closing(KafkaLog(cluster.bootstrap, ledger)) as log:
        crowd = Crowd(log, sessions=SESSIONS, lanes=LANES, seed=seed)
        with (
            following(cluster.bootstrap, ledger, folder / KEPT),
            Fleet(cluster.bootstrap, ledger, SEQUENCERS) as fleet,
        ):
            crowd.start()
            crowd.wait_until(lambda: len(crowd.returned) > ENOUGH, "the crowd works")
            where = cluster.bootstrap, ledger
            with (
                Ledger.connect(*where) as holder,
                holder.transaction(),
                Producers(
                    *where, crowd.tables, sessions=SDK_SESSIONS, threads=SDK_THREADS
                ) as producers,
            ):
                work = Work(cluster, ledger, crowd, producers)
                strikes = [
                    work.strike(fault, LED[number % len(LED)])
                    for number, fault in enumerate(faults)
                ]
            crowd.finish()
            restarts = fleet.restarts
        cluster.wait_in_sync(ledger)
        crowd.read_on()
        audit = Audit(log)
        lost = other_rows(log, folder, audit.acceptor.head.position)
        checks = [
            Check("nothing is said against topics with three replicas", told(doubts)),
            *audit.check(crowd.returned),
            *audit.check_receipts(producers.receipts),
            *checks_of(strikes),
            Check("rows kept all along equal rows made anew", lost),
        ]
    facts = {
        "answers": len(crowd.returned) + len(producers.receipts) * 3,
        "events": audit.acceptor.head.position,
        "epochs": audit.acceptor.head.epoch,
        "restarts": restarts,
        "repeats": audit.kinds["CommandRepeated"],
        "dropped": sum(audit.acceptor.dropped.values()),
    }
    return Series(strikes, checks, facts)


def checks_of(strikes: Sequence[Strike]) -> Iterator[Check]:
    wrong = [strike for strike in strikes if strike.acknowledged]
    if any(strike.fault == "majority" for strike in strikes):
        yield Check("without a majority nothing is acknowledged", told(wrong))


@contextmanager
def following(bootstrap: str, ledger: str, root: Path) -> Iterator[None]:
    """Follow the ledger into rows at `root` as long as a `with` block; raise what ended that.

    The last event is that of the last sequencer that ends, just before the block does: the rows
    come to it.
    """
    stop, failures = Signal(), list[BaseException]()
    with closing(KafkaLog(bootstrap, ledger)) as log:

        def run() -> None:
            try:
                follow(log, root, stop)
            except BaseException as error:  # noqa: BLE001 - raised again where the series ends
                failures.append(error)

        thread = Thread(target=run, name="follower", daemon=True)
        thread.start()
        yield
        try:
            with closing(open_reads(root)) as reads:
                reads.wait(last_position(log, 0), PATIENCE_MS)
        finally:
            stop.set()
            thread.join(FOLLOW_S)
            if failures:
                raise failures[0]


def other_rows(log: KafkaLog, folder: Path, position: int) -> str:
    """Return what differs between the rows kept all along and rows made of the whole log now."""
    rebuild(log, folder / ANEW)
    kept, anew = rows_of(folder / KEPT, position), rows_of(folder / ANEW, position)
    return "" if kept == anew else f"{kept} is not {anew}"


def show(series: Series) -> None:
    """Print the figures, the laws and the verdict."""
    out = Console(width=120)
    times = Table(title="seconds until the ledger goes on", title_justify="left")
    for name in ("fault", "at the leader of", "seconds"):
        times.add_column(name, justify="right" if name == "seconds" else "left")
    for strike in series.strikes:
        times.add_row(strike.fault, str(strike.topic), f"{strike.answered_s:.1f}")
    out.print(times)
    show_checks(out, series.facts, series.checks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.failover")
    parser.add_argument("--rounds", type=int, default=3, help="how often each fault strikes")
    parser.add_argument("--seed", type=int, default=1, help="of the order and the workload")
    options = parser.parse_args(arguments)
    faults = [*FAULTS] * options.rounds
    Random(options.seed).shuffle(faults)  # noqa: S311 - repeatable on purpose
    set_up_logging()
    with tempfile.TemporaryDirectory() as scratch, Cluster(Path(scratch) / "kafka") as cluster:
        series = run(cluster, "failover", Path(scratch), faults, options.seed)
    show(series)
    return 0 if all(check.holds for check in series.checks) else 1


if __name__ == "__main__":
    sys.exit(main())
