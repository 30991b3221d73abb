"""cache-hits and cache-latency: what metadata caches answer while tables are altered.

For cache-hits the cache with many versions and the one with a single version of each table, as on
Hive's design page, follow the same log and are asked the same. Nobody waits: what the entries
cannot tell at once is a miss. Both must give a reader the same answer, wherever it comes from.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from time import perf_counter
from typing import Final, NamedTuple

from ledger.machine.kafka.broker import Broker
from ledger.reads.metadata import MetadataAnswer, Source
from projections.cache.entries.bootstrap import bootstrap
from projections.cache.reads import MetadataCache
from tests.benchmarks.altered_lake import (
    ABORTED_EACH,
    OPEN_S,
    Lake,
    Span,
    altered_lake,
    altering,
    following,
    readings,
)
from tests.benchmarks.figure import Figure, percentile
from tests.benchmarks.repeated import US
from tests.demo.metastores.one_version import OneVersion

SLOW: Final = 1.0
FAST: Final = 50.0
LONG: Final = Span(30.0, 8.0)
SHORT: Final = Span(3.0, 7.0)
SHARES: Final = {"": 0.5, "-p99": 0.99}


class Timed(NamedTuple):
    """What a reader was told, after how many microseconds, and whether its list was of then."""

    is_new: bool
    answer: MetadataAnswer
    us: float


def measure_hits(broker: Broker) -> list[Figure]:
    """Return cache-hits at both paces, of readers of any age and of new ones."""
    with altered_lake(broker, "cache-hits") as lake:
        return [figure for rate in (SLOW, FAST) for figure in hits(lake, rate, LONG)]


def measure_latency(broker: Broker) -> list[Figure]:
    """Return cache-latency in process and over rows, at the median and the 99th percentile."""
    with altered_lake(broker, "cache-latency") as lake:
        return latencies(lake, FAST, SHORT)


def hits(lake: Lake, rate: float, span: Span) -> list[Figure]:
    """Return which part of the reads each cache answers while so many alters a second happen."""
    with (
        altering(lake, rate) as altered,
        following(lake, bootstrap) as many,
        following(lake, OneVersion) as one,
    ):
        ours, plain = read_all(lake, span, [many, one])
        done = altered()
    for first, second in zip(ours, plain, strict=True):
        assert first.answer.value == second.answer.value, f"for one list {first} and {second}"
    sides = {"": (False, f"lists 0 to {span.held_s:.0f} s old"), "-new": (True, "new lists")}
    return [
        more(
            f"cache-hits-{rate:.0f}{end}",
            [each for each in ours if each.is_new == is_new],
            [each for each in plain if each.is_new == is_new],
            f"{whose}, nobody waits; {pace(lake, done)}",
        )
        for end, (is_new, whose) in sides.items()
    ]


def more(name: str, ours: Sequence[Timed], plain: Sequence[Timed], note: str) -> Figure:
    """Return the hit ratio of many versions against that of one."""
    value, baseline = hit_ratio(ours), hit_ratio(plain)
    ratio = float(f"{value / baseline:.4g}") if baseline else None
    why = f"many versions: {reasons(ours)}; one version: {reasons(plain)}"
    note = f"{len(ours)} reads with {note}; {why}"
    return Figure(name, value, "of reads", baseline, ratio, note)


def latencies(lake: Lake, rate: float, span: Span) -> list[Figure]:
    """Return how long a hit in process and one over rows take, each against a miss.

    Misses are those of the cache with one version, which has many of them.
    """
    with (
        altering(lake, rate) as altered,
        following(lake, bootstrap) as many,
        closing(MetadataCache.open(lake.store, lake.client.catalog)) as rows,
        following(lake, OneVersion) as one,
    ):
        in_process, over_rows, missing = read_all(lake, span, [many, rows, one])
        done = altered()
    misses = took_us(missing, "store")
    against = f"against {len(misses)} reads that the store answers; {pace(lake, done)}"
    sides = {
        "cache-latency": (took_us(in_process, "cache"), "entries that follow the log"),
        "cache-latency-rows": (took_us(over_rows, "cache"), "entries over a follower's store"),
    }
    return [
        faster(f"{name}{end}", share, hits, misses, f"{len(hits)} hits in {where}, {against}")
        for name, (hits, where) in sides.items()
        for end, share in SHARES.items()
    ]


def read_all(lake: Lake, span: Span, caches: Sequence[MetadataCache]) -> list[list[Timed]]:
    """Return what each cache told all readers that count; those before them warm it."""
    told: list[list[Timed]] = [[] for _ in caches]
    for table, write_ids, is_new, counts in readings(lake, span):
        for cache, kept in zip(caches, told, strict=True):
            began_s = perf_counter()
            answer = cache.read(table, write_ids, max_wait_ms=0)
            took_s = perf_counter() - began_s
            if counts:
                kept.append(Timed(is_new, answer, took_s * US))
    return told


def hit_ratio(told: Sequence[Timed]) -> float:
    """Return which part of the reads the entries answered."""
    return round(len(took_us(told, "cache")) / len(told), 4)


def took_us(told: Iterable[Timed], source: Source) -> list[float]:
    """Return the microseconds of the reads that were answered from there."""
    return [each.us for each in told if each.answer.source == source]


def reasons(told: Iterable[Timed]) -> str:
    """Return how many reads there were of each reason."""
    counts = Counter(each.answer.reason for each in told)
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


def pace(lake: Lake, done: float) -> str:
    """Return in words what the writer did, `done` alters a second."""
    return (
        f"{done:.1f} alters/s of {len(lake.tables)} tables in txns open for {OPEN_S} s, one in "
        f"{ABORTED_EACH} aborted"
    )


def faster(
    name: str, share: float, hits: Sequence[float], misses: Sequence[float], note: str
) -> Figure:
    """Return a percentile of hits against the same one of misses."""
    ours, other = percentile(hits, share), percentile(misses, share)
    unit = f"us p{share * 100:.0f}"
    return Figure(name, round(ours, 1), unit, round(other, 1), float(f"{ours / other:.4g}"), note)
