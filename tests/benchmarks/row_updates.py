"""RL1 and RL2: sixteen sessions update single rows of one file, the ledger against its peers.

No row is updated twice, so no update has a reason to lose. All sides have the same rows, the same
statements and as many sessions, in turn, and begin a refused update again at once. Peers have what
helps them: delta-spark deletion vectors, DuckLake its rows inlined in the catalog.
"""

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import repeat
from statistics import median
from time import perf_counter
from typing import Any, Final

import pyarrow as pa

from ledger.machine.kafka.broker import Broker
from ledger.properties.known_properties import MARKS, ROWS
from tests.benchmarks import peer, postgres, spark_sql
from tests.benchmarks.closed_loop import warm_broker
from tests.benchmarks.figure import Figure, SkippedError, against, skipped
from tests.benchmarks.peers import crew, one_file
from tests.benchmarks.spark_sql import Sides
from tests.benchmarks.table_rows import Lake, up
from tests.benchmarks.worked import Worked, tree_cpu_s

LINES: Final = 1_000_000
ROUNDS: Final = 3
SECONDS: Final = 15.0
PROCESSES: Final = 2
SESSIONS_EACH: Final = 8
WARM_UP: Final = 3
LEDGER: Final = "rl1"
LOAD: Final = (
    f"{PROCESSES * SESSIONS_EACH} sessions update single rows of one file of {LINES:,} rows, each "
    "row once"
)

Load = Callable[[], Worked]


def measure_refused(broker: Broker) -> list[Figure]:
    """Return RL1: how many updates were refused, and the shares of the peers."""
    found = rounds(broker)
    ours = found.pop("ledger")
    figures = [Figure("RL1", refused(ours), "refused updates", note=f"of {tried(ours)}; {LOAD}")]
    for name, rows in found.items():
        figure_id = f"RL1-{name}"
        if isinstance(rows, SkippedError):
            figures.append(skipped(figure_id, rows))
        else:
            figures.append(share_of(figure_id, rows))
    return figures


def measure_rate(broker: Broker) -> list[Figure]:
    """Return RL2: updates a second against the best peer, and against each of them."""
    found = rounds(broker)
    ours = found.pop("ledger")
    peers = {name: rows for name, rows in found.items() if not isinstance(rows, SkippedError)}
    if not peers:
        raise SkippedError("no peer can be had")
    best = max(peers, key=lambda name: median(each.rate for each in peers[name]))
    return [
        rate_figure("RL2", ours, peers[best], f"{best}, the best of {', '.join(peers)}"),
        *(rate_figure(f"RL2-{name}", ours, rows, name) for name, rows in peers.items()),
    ]


def refused(found: Iterable[Worked]) -> int:
    return sum(each.failed for each in found)


def tried(found: Iterable[Worked]) -> int:
    """Return how many commits were tried, refused ones included."""
    return sum(len(each.took_ms) + each.failed for each in found)


def share_of(figure_id: str, found: Sequence[Worked]) -> Figure:
    """Return the share of updates that a peer refused."""
    share = 100 * refused(found) / max(1, tried(found))
    why = next((text for each in found for text in each.errors), "")
    note = f"{refused(found)} of {tried(found)} updates refused; {why[:160]}"
    return Figure(figure_id, round(share, 1), "% refused", note=note)


def rate_figure(
    figure_id: str, ours: Sequence[Worked], other: Sequence[Worked], who: str
) -> Figure:
    # A peer that committed nothing has no rate to compare with.
    rates = [(mine.rate, max(theirs.rate, 0.1)) for mine, theirs in zip(ours, other, strict=True)]
    return against(figure_id, "commits/s", rates, f"{LOAD}, against {who}; refused ones again")


def rounds(broker: Broker) -> dict[str, Any]:
    """Return what each side did, round by round, or why a peer did nothing."""
    return dict(measured(broker))


@cache
def measured(broker: Broker) -> Mapping[str, Any]:
    """Return the rounds of all sides; measured once for RL1 and RL2."""
    warm_broker(broker)
    found: defaultdict[str, Any] = defaultdict(list)
    with ExitStack() as held:
        lake = held.enter_context(up(broker, LEDGER))
        loads: dict[str, Load] = {"ledger": lambda: ours(broker, lake)}
        for name, opened in PEERS.items():
            try:
                loads[name] = held.enter_context(opened(lake))
            except SkippedError as reason:
                found[name] = reason
        for _ in range(ROUNDS):
            for name, load in loads.items():
                found[name].append(load())
    return found


def job_of(lake: Lake, **more: Any) -> dict[str, Any]:
    """Return the job of the sessions of a side."""
    load = {"processes": PROCESSES, "sessions": SESSIONS_EACH, "warm_up": 0}
    path = tempfile.mkdtemp(dir=lake.folder)
    return {**load, "seconds": SECONDS, "rows": LINES, "path": path, **more}


def ours(broker: Broker, lake: Lake) -> Worked:
    """Return what sessions of the ledger did to a new table."""
    ids = pa.array(range(LINES), pa.int64())
    names = pa.array([f"name {number % 1000}" for number in range(LINES)])
    rows = pa.table({"id": ids, "n": pa.array([0] * LINES, pa.int64()), "name": names})
    job = job_of(lake, bootstrap=broker.bootstrap, ledger=LEDGER, store=str(lake.store))
    table = lake.ledger.create_table(
        f"db.t{len(lake.ledger.tables())}", rows, location=job["path"], properties={ROWS: MARKS}
    )
    assert len(list(lake.ledger.read(table))) == 1, "the rows must lie in one file"
    done = peer.work("row_session", {**job, "table": table.name}, is_ours=True)
    (total,) = lake.ledger.sql(f"SELECT sum(n) AS n FROM {table.name}").to_pylist()  # noqa: S608
    assert total["n"] == len(done.took_ms), f"{total} after {len(done.took_ms)} updates"
    return done


@contextmanager
def deltalake(lake: Lake) -> Iterator[Load]:
    """Yield what runs its sessions on a new table."""
    peer.DELTA.prepare(sys.stderr)
    yield lambda: peer.work("delta_rows", job_of(lake))


@contextmanager
def ducklake(lake: Lake) -> Iterator[Load]:
    """Yield what runs its sessions on a new catalog, or say why it cannot be had."""
    postgres.prepare(sys.stderr)
    peer.DUCKLAKE.prepare(sys.stderr)
    with postgres.postgres() as port:
        where = {"port": port, "user": postgres.USER, "inlined": True}
        yield lambda: peer.work("ducklake_rows", job_of(lake, **where))


@contextmanager
def delta_spark(lake: Lake) -> Iterator[Load]:
    """Yield what runs threads of one session on a new table."""
    with spark_sql.sides(lake) as both:
        yield lambda: in_spark(both, lake)


def in_spark(both: Sides, lake: Lake) -> Worked:
    """Return what threads of a session did to a new table of delta-spark."""
    table = f"lines_{len(both.spark.catalog.listTables())}"
    both.sql(
        f"CREATE TABLE {table} (id BIGINT, n BIGINT, name STRING) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    rows = both.spark.range(0, LINES, 1, 1).selectExpr(
        "id", "0L AS n", "concat('name ', id % 1000) AS name"
    )
    rows.writeTo(table).append()
    sessions = PROCESSES * SESSIONS_EACH

    def updating(session: int) -> crew.Call:
        def update(row: int) -> None:
            both.sql(f"UPDATE {table} SET n = n + 1 WHERE id = {row}")  # noqa: S608

        return one_file.one_after_the_other({**job_of(lake), "session": session}, update)

    calls = list(map(updating, range(sessions)))
    warm_up = updating(sessions)
    for number in range(WARM_UP):
        warm_up(number)
    before_s, until_s = tree_cpu_s(), perf_counter() + SECONDS
    with ThreadPoolExecutor(sessions) as threads:
        done = list(threads.map(crew.loop, calls, repeat(until_s)))
    errors = sum((each for _, each in done), Counter[str]())
    said = [f"{count} times: {text}" for text, count in errors.most_common(3)]
    took_ms = [each for took, _ in done for each in took]
    return Worked(took_ms, errors.total(), SECONDS, tree_cpu_s() - before_s, said)


PEERS: Final[Mapping[str, Callable[[Lake], Any]]] = {
    "delta-spark": delta_spark,
    "deltalake": deltalake,
    "DuckLake": ducklake,
}
