"""Run benchmarks: `python -m tests.benchmarks [ID ...]` measures all of them, or those named.

One JSON line a figure goes to stdout, at the end a table for people; progress goes to stderr. Both
sides of a ratio are measured in one run, in turn, and the median of the ratios is told. What peers
need is installed on first use; where that is not possible, their benchmarks say why they are left.
"""

import argparse
import os
import platform
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from ledger.machine.kafka.broker import Broker
from ledger.machine.process import set_up_logging
from tests.benchmarks import (
    against_delta,
    against_sql,
    backup,
    cache_apply,
    cache_reads,
    catch_up,
    closed_loop,
    commands,
    conflict_checks,
    file_commits,
    growth,
    iceberg_commits,
    idle,
    images,
    inlined_commits,
    inlined_reads,
    log_bytes,
    peer,
    planning,
    postgres,
    published,
    recovery,
    round_trip,
    row_bytes,
    row_decisions,
    row_rewrites,
    row_scans,
    row_updates,
    sequencer_loop,
    spark_sql,
    table_rows,
    take_over,
    topics_ingested,
    unused_blocks,
    valid_list,
    visibility,
)
from tests.benchmarks.figure import FAILED, Figure, SkippedError, failed, show, skipped
from tests.benchmarks.inlined_reads import Load
from tests.benchmarks.row_rewrites import Span
from tests.benchmarks.topics import Durability

STDERR: Final = 2
LAST_LINES: Final = 20


class Benchmark(NamedTuple):
    """Something to measure, what it is in a few words, and what must be there before."""

    measure: Callable[[Broker], list[Figure]]
    what: str
    needs: Sequence[Callable[[TextIO], None]] = ()

    def figures(self, name: str, broker: Broker, terminal: TextIO) -> list[Figure]:
        """Return the figures, or one that says why there are none, be it an error."""
        try:
            for prepare in self.needs:
                prepare(terminal)
            return self.measure(broker)
        except SkippedError as reason:
            print(f"{name}: skipped: {reason}", file=terminal, flush=True)
            return [skipped(name, reason)]
        except Exception as error:  # noqa: BLE001 - the others are measured all the same
            print(f"{name}: failed", file=terminal)
            traceback.print_exc(file=terminal)
            terminal.flush()
            return [failed(name, error)]


DELTA: Final = (peer.DELTA.prepare,)
METASTORE: Final = (postgres.prepare, peer.SQL.prepare)
DUCKLAKE: Final = (postgres.prepare, peer.DUCKLAKE.prepare)
METASTORE_AND_DELTA: Final = (*METASTORE, *DELTA)
PYICEBERG: Final = (postgres.prepare, peer.PYICEBERG.prepare)

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "R1": Benchmark(sequencer_loop.measure, "the sequencer's loop : raw consume and produce"),
    "R13": Benchmark(round_trip.measure, "a command and its answer : one raw hop"),
    "CL1": Benchmark(closed_loop.measure_one, "transactions of one session in a closed loop"),
    "CL4": Benchmark(closed_loop.measure_four, "transactions of four sessions"),
    "CL16": Benchmark(closed_loop.measure_sixteen, "transactions of sixteen sessions"),
    "CL64": Benchmark(closed_loop.measure_sixty_four, "transactions of sixty-four sessions"),
    "R4": Benchmark(against_sql.measure_sixteen, "16 sessions : a metastore's SQL", METASTORE),
    "R6": Benchmark(against_sql.measure_one, "one session : a metastore's SQL", METASTORE),
    "R8": Benchmark(against_delta.measure_rate, "commits to one table : deltalake", DELTA),
    "R9": Benchmark(against_delta.measure_latency, "p99 of deltalake : of the ledger", DELTA),
    "R10": Benchmark(against_delta.measure_failures, "commits failed without conflict", DELTA),
    "R8d": Benchmark(against_sql.measure_ducklake, "commits to one table : DuckLake", DUCKLAKE),
    "R12": Benchmark(against_delta.measure_behind, "commits 500 versions late", DELTA),
    "R11": Benchmark(conflict_checks.measure, "conflict checks, many winners : one"),
    "R16": Benchmark(valid_list.measure, "snapshots and valid lists : sort and text"),
    "R17": Benchmark(file_commits.measure, "commits of 100 files : of none"),
    "R18": Benchmark(recovery.measure, "recovery : raw consume"),
    "GROW-fold": Benchmark(growth.measure_fold, "one event more, long history : short"),
    "GROW-snapshot": Benchmark(growth.measure_snapshot, "a valid list, long history : short"),
    "GROW-watermark": Benchmark(growth.measure_watermark, "the watermark, long : short"),
    "GROW-check": Benchmark(growth.measure_check, "a commit decided, long : short"),
    "GROW-recovery": Benchmark(growth.measure_recovery, "recovery, long history : short"),
    "T1": Benchmark(spark_sql.measure, "T1 to T5: Spark SQL : plain Parquet, delta-spark"),
    "T4v": Benchmark(spark_sql.measure_marks, "UPDATE and MERGE, marks : delta-spark's vectors"),
    "T6": Benchmark(planning.measure, "planning one partition : planning the table"),
    "T7": Benchmark(planning.measure_listing, "listing 500,000 files : deltalake"),
    "T8": Benchmark(table_rows.measure_appends, "100,000 rows appended : deltalake"),
    "T8-one": Benchmark(table_rows.measure_one, "one row appended : one file's name"),
    "T9": Benchmark(table_rows.measure_scans, "a month of flights read : deltalake, DuckDB"),
    "RL1": Benchmark(row_updates.measure_refused, "updates of one file refused, and by peers"),
    "RL2": Benchmark(row_updates.measure_rate, "updates of one file : the best peer"),
    "RL3": Benchmark(row_bytes.measure, "bytes of an update of one row, marks : rewrite"),
    "RL4": Benchmark(row_rewrites.measure, "statements beside OPTIMIZE in a loop"),
    "RL5": Benchmark(row_scans.measure, "a scan with marks : without"),
    "RL6": Benchmark(row_decisions.measure, "decisions over marked rows, many winners : one"),
    "RI1": Benchmark(
        inlined_commits.measure_one, "rows in the log, one writer : DuckLake", DUCKLAKE
    ),
    "RI2": Benchmark(inlined_commits.measure_sixteen, "the same, 16 writers : its four", DUCKLAKE),
    "RI3": Benchmark(inlined_reads.measure_readable, "a commit until its rows are read elsewhere"),
    "RI4": Benchmark(
        inlined_reads.measure_queries, "queries of rows in the log : DuckLake", DUCKLAKE
    ),
    "RI5": Benchmark(
        inlined_reads.measure_flush, "a flush of rows in the log : DuckLake", DUCKLAKE
    ),
    "RI6": Benchmark(inlined_commits.measure_dict, "one dict appended, in the log : in a file"),
    "RI7": Benchmark(inlined_reads.measure_files, "files after appends and a flush", DUCKLAKE),
    "RI8": Benchmark(
        unused_blocks.measure, "R4, R8, catch-up without rows in the log", METASTORE_AND_DELTA
    ),
    "I1": Benchmark(iceberg_commits.measure_commits, "commits of pyiceberg : on SQL", PYICEBERG),
    "I2": Benchmark(iceberg_commits.measure_loads, "a load, many versions : few"),
    "I3": Benchmark(iceberg_commits.measure_scans, "DuckDB by the catalog : by delta_scan"),
    "IN1": Benchmark(topics_ingested.measure_rate, "three topics ingested : Spark's streaming"),
    "IN2": Benchmark(topics_ingested.measure_freshness, "a record until its row is readable"),
    "T10": Benchmark(published.measure, "from a commit to deltalake, through the published log"),
    "TO": Benchmark(take_over.measure, "from kill -9 of the leader to the next one's answer"),
    "S1": Benchmark(visibility.measure, "from a commit to its rows in the Spark feeder's store"),
    "S1-follower": Benchmark(visibility.measure_follower, "the same within a follower's process"),
    "S1-secondary": Benchmark(visibility.measure_secondary, "the same in a follower's store"),
    "S2": Benchmark(catch_up.measure, "rows made by Spark : by the follower : raw consume"),
    "cache-hits": Benchmark(cache_reads.measure_hits, "reads a cache answers, many versions : one"),
    "cache-latency": Benchmark(cache_reads.measure_latency, "a hit of the cache : a miss"),
    "cache-apply": Benchmark(cache_apply.measure, "events into a cache : into the state"),
    "BYTES": Benchmark(log_bytes.measure, "bytes of log of a transaction"),
    "BACKUP": Benchmark(backup.measure, "a million events to files and back"),
    "B1": Benchmark(images.measure, "rows from an image : from a million events"),
    "T11": Benchmark(commands.measure, "processor time of --help and of status"),
    "IDLE": Benchmark(idle.measure, "CPU of processes nobody asks anything of"),
    "idle-feeder": Benchmark(idle.measure_feeder, "the same of a Spark feeder and its JVM"),
}


def main() -> None:
    """Measure what was asked for; one broker serves all of it."""
    asked = chosen()
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        lines_kept(Path(folder) / "lines") as terminal,
        Broker.start(Path(folder) / "kafka", lasting=True) as broker,
    ):
        set_up_logging()
        for name in asked:
            began_s = time.monotonic()
            print(f"{name}: {BENCHMARKS[name].what} ...", file=terminal, flush=True)
            for figure in BENCHMARKS[name].figures(name, broker, terminal):
                print(figure.line(), flush=True)
                figures.append(figure)
            took_s = time.monotonic() - began_s
            print(f"{name}: measured in {took_s:.0f} s", file=terminal, flush=True)
    show(figures, machine())
    if any(each.note.startswith(FAILED) for each in figures):
        raise SystemExit(1)


def chosen() -> list[str]:
    """Return the benchmarks that the command line names, all of them if none."""
    told = "\n".join(f"  {name:16}{each.what}" for name, each in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        epilog=f"benchmarks:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="measure only these")
    parser.add_argument(
        "--no-flush", action="store_true", help="acknowledge what is not on the disk yet"
    )
    parser.add_argument(
        "--seconds", type=float, default=Span.seconds, help="how long the writers of RL4 work"
    )
    parser.add_argument(
        "--batches", type=int, default=Load.batches, help="how many appends RI4, RI5 and RI7 load"
    )
    asked = parser.parse_args()
    Durability.flush = not asked.no_flush
    Span.seconds = asked.seconds
    Load.batches = asked.batches
    ids: list[str] = asked.ids
    unknown = [name for name in ids if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return ids or list(BENCHMARKS)


@contextmanager
def lines_kept(file: Path) -> Iterator[TextIO]:
    """Keep what all processes say about their work out of the way, and show its end on an error.

    Yields the terminal, or whatever standard error was.
    """
    before = os.dup(STDERR)
    with file.open("w") as lines, os.fdopen(os.dup(before), "w") as terminal:
        os.dup2(lines.fileno(), STDERR)
        try:
            yield terminal
        except BaseException:
            said = file.read_text(encoding="utf-8", errors="replace").splitlines()
            print(*said[-LAST_LINES:], sep="\n", file=terminal)
            raise
        finally:
            os.dup2(before, STDERR)
            os.close(before)


def machine() -> str:
    """Return the shape of this machine."""
    disk = "events flushed" if Durability.flush else "no fsync"
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load {os.getloadavg()[0]:.1f}; Kafka on the same cores, one copy, {disk}"
    )


if __name__ == "__main__":
    main()
