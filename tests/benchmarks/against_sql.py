"""R4, R6 and R8d: the ledger against PostgreSQL and against DuckLake on it, with fsync.

R4 and R6 compare open, allocate and commit with the SQL that a metastore of Hive keeps for them
(`peers/metastore.py`). In R4 sixteen sessions of one producer process stand against sixteen
connections with a process each, in R4-spread both are spread over two processes. R8d compares
appends of one file with inserts of one row, its sessions as those of R4 and of R4-spread. Kafka has
one copy. It flushes as PostgreSQL does, unless the run is asked for `--no-flush`.
"""

import tempfile
from collections import defaultdict
from functools import cache
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from ledger.machine.kafka.broker import Broker
from tests.benchmarks import against_delta, closed_loop, peer
from tests.benchmarks.closed_loop import ONE, SIXTEEN, Crew, Job, work
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.postgres import USER, postgres
from tests.benchmarks.topics import create_topics
from tests.benchmarks.worked import CPU_NOTE, Worked
from tests.integration.fleet import Fleet

ROUNDS: Final = 3
SECONDS: Final = 3.0
WARM_UP: Final = 10
WRITERS: Final = 4
TOGETHER: Final = Crew(1, 16)
APART: Final = Crew(16, 1)
DURABILITY: Final = "Kafka with one copy, PostgreSQL with fsync"


class Sides(NamedTuple):
    """Which crew of ours stands against which on PostgreSQL."""

    ours: Crew
    sql: Crew


class Round(NamedTuple):
    """What a crew of ours did, in two round trips and in three, and one on PostgreSQL."""

    ours: Worked
    apart: Worked
    sql: Worked


IN_ONE: Final = Sides(TOGETHER, APART)
SPREAD: Final = Sides(SIXTEEN, SIXTEEN)
ALONE: Final = Sides(ONE, ONE)


def measure_sixteen(broker: Broker) -> list[Figure]:
    """Return R4."""
    return [*figures(broker, "R4", IN_ONE), *figures(broker, "R4-spread", SPREAD)]


def measure_one(broker: Broker) -> list[Figure]:
    """Return R6."""
    return figures(broker, "R6", ALONE)


def figures(broker: Broker, name: str, sides: Sides) -> list[Figure]:
    """Return transactions a second against those of SQL, and the CPU of one on either side."""
    found = rounds(broker)[sides]
    rates = [(each.ours.rate, each.sql.rate) for each in found]
    apart = [(each.apart.rate, each.sql.rate) for each in found]
    cpu = [(each.ours.cpu_us, each.sql.cpu_us) for each in found]
    who = f"{sides.sql.sessions} connection(s) in {sides.sql.processes} process(es)"
    peer_is = f"{sides.ours.who}, against a metastore's SQL on {who}; {DURABILITY}"
    return [
        against(name, "txn/s", rates, f"{closed_loop.TWO_TRIPS}, {peer_is}"),
        against(f"{name}-apart", "txn/s", apart, f"{closed_loop.THREE_TRIPS}, {peer_is}"),
        against(f"{name}-cpu", "us of CPU per txn", cpu, CPU_NOTE),
    ]


@cache
def rounds(broker: Broker) -> dict[Sides, list[Round]]:
    """Return what all did with one and with sixteen at a time; measured once for R4 and R6."""
    closed_loop.warm_broker(broker)
    name = "r4"
    create_topics(broker.bootstrap, name)
    found = defaultdict[Sides, list[Round]](list)
    with Fleet(broker.bootstrap, name, 1), postgres() as port:
        with Ledger.connect(broker.bootstrap, name) as client:
            table = closed_loop.create_table(client)
        for _ in range(ROUNDS):
            for sides in (IN_ONE, SPREAD, ALONE):
                job = Job(broker.bootstrap, name, table, sides.ours)
                ours, apart = inserted(job), inserted(job._replace(what="transact apart"))
                sql = peer.work("metastore", job_of(sides.sql, port))
                found[sides].append(Round(ours, apart, sql))
    return found


def inserted(job: Job) -> Worked:
    """Return what a crew of ours did, which no conflict can keep from it."""
    worked = work(job._replace(seconds=SECONDS))
    assert worked.failed == 0, f"{worked.failed} inserts failed"
    return worked


def job_of(crew: Crew, port: int) -> dict[str, Any]:
    """Return the job of a crew on PostgreSQL."""
    sessions = {"processes": crew.processes, "sessions": crew.sessions_each, "warm_up": WARM_UP}
    return {**sessions, "seconds": SECONDS, "port": port, "user": USER}


def measure_ducklake(broker: Broker) -> list[Figure]:
    """Return R8d."""
    closed_loop.warm_broker(broker)
    name = "r8d"
    create_topics(broker.bootstrap, name)
    with Fleet(broker.bootstrap, name, 1), postgres() as port:
        with Ledger.connect(broker.bootstrap, name) as client:
            table = against_delta.create_table(client).table
        job = Job(broker.bootstrap, name, table, TOGETHER, SECONDS, what="append")
        spread = job._replace(crew=SIXTEEN)
        rates = [
            (work(job).rate, work(spread).rate, ducklake_rate(broker, port)) for _ in range(ROUNDS)
        ]
    return [
        appends_figure("R8d", TOGETHER, [(ours, theirs) for ours, _, theirs in rates]),
        appends_figure("R8d-spread", SIXTEEN, [(ours, theirs) for _, ours, theirs in rates]),
    ]


def appends_figure(name: str, crew: Crew, rates: list[tuple[float, float]]) -> Figure:
    """Return the appends a second of a crew against those of DuckLake."""
    note = (
        f"one-shot appends of 1 file to one table, {crew.who}, against inserts of 1 row by "
        f"{WRITERS} writers of DuckLake, one file each; {DURABILITY}"
    )
    return against(name, "commits/s", rates, note)


def ducklake_rate(broker: Broker, port: int) -> float:
    """Return the commits a second of the writers of DuckLake to a new table."""
    with tempfile.TemporaryDirectory(dir=broker.folder.parent) as data:
        job = {**job_of(Crew(WRITERS, 1), port), "warm_up": 1, "path": data, "inlined": False}
        return peer.work("ducklake", job).rate
