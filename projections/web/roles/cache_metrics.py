"""Metrics of a cache, collected at each request; all labels are bounded."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from projections.cache.reads import MetadataCache
from projections.fold.lag import Lag
from projections.web.roles.metrics import count, count_by, gauge

VERSIONS: Final = (0, 1, 2, 4, 8, 16, 32, 64)


def measures(cache: MetadataCache, lag: Lag | None) -> Iterator[Metric]:
    """Yield answers by source, contents, position, and the lag if it is known."""
    yield from answers(cache)
    yield from contents(cache)
    yield gauge("cache_position", "Position the cache has applied", cache.position())
    if lag is not None:
        yield gauge("cache_lag_positions", "Records of the log not applied", lag.records)
        behind_s = lag.behind_ms / 1000
        yield gauge("cache_lag_seconds", "For how long records have been unread", behind_s)


def answers(cache: MetadataCache) -> Iterator[Metric]:
    """Yield counters of reads, misses, waits and comparisons."""
    reads = CounterMetricFamily(
        "lakeledger_cache_reads", "Reads by where they were answered", labels=("source", "reason")
    )
    for labels, number in sorted(dict(cache.counts).items()):
        reads.add_metric(labels, number)
    yield reads
    fills = {str(kept).lower(): cache.fills[kept] for kept in (True, False)}
    yield count_by("cache_fills", "Answers of the store to misses", "kept", fills)
    yield HistogramMetricFamily(
        "lakeledger_cache_wait_seconds",
        "How long readers waited for the log",
        buckets=cache.waits.buckets(),
        sum_value=cache.waits.seconds,
    )
    yield count("cache_wait_timeouts", "Waits for the log that were in vain", cache.waits.timeouts)
    yield count("cache_tables_compared", "Tables that the sampler compared", cache.sampler.compared)
    yield count(
        "cache_verify_mismatches", "Compared tables that differed", cache.sampler.mismatched
    )


def contents(cache: MetadataCache) -> Iterator[Metric]:
    """Yield metrics of held and evicted tables."""
    tables, lengths = cache.entries.tables, list(cache.entries.lengths().values())
    yield gauge("cache_entries", "Tables whose objects are held", len(tables.tables()))
    yield gauge("cache_bytes", "About how many bytes held objects take", tables.bytes_used)
    yield gauge("cache_bytes_max", "How many bytes held objects may take", tables.bytes_max)
    yield count("cache_evictions", "Tables evicted for lack of room", tables.evictions)
    yield count(
        "cache_cut_versions", "Versions dropped behind the watermark", cache.sampler.cut_versions
    )
    yield HistogramMetricFamily(
        "lakeledger_cache_versions_per_table",
        "Versions held of each table",
        buckets=buckets(lengths),
        sum_value=sum(lengths),
    )


def buckets(lengths: Sequence[int]) -> list[tuple[str, float]]:
    """Return for each bound how many tables have at most that many versions."""
    ascending = sorted(lengths)
    bounded = [(str(bound), float(bisect_right(ascending, bound))) for bound in VERSIONS]
    return [*bounded, ("+Inf", float(len(ascending)))]
