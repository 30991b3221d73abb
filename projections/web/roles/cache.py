"""A metadata cache over HTTP: its answers, its health by named checks, and its metrics.

All labels of the metrics are bounded.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, CacheSettings, WebSettings
from ledger.reads.amounts import amount
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.fold.lag import Lag
from projections.web.answers.asked import Asked
from projections.web.answers.metadata_questions import cached
from projections.web.answers.questions import Question, size_whole
from projections.web.roles.health import Check, LagSeen, lag_check, registered_check
from projections.web.roles.metrics import count, count_by, gauge
from projections.web.roles.role import Role
from projections.web.server.server import WebServer

TABLES: Final = 10
# Reads wait for the log in these threads, so there are more threads than concurrent answers.
THREADS: Final = 32
LONG_THREADS: Final = 4
# The bounds of the histogram of versions.
VERSIONS: Final = (0, 1, 2, 4, 8, 16, 32, 64)


def serve_cache(
    process: CacheProcess, settings: CacheSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve reads, health and metrics of a cache; raises SettingsError if it cannot listen."""
    cache = process.cache
    return Role(
        "cache",
        lambda: process,
        {
            "following": lambda _: following_check(cache),
            "lag": lambda look: behind_check(cache, look.lag, settings.lag_max_s),
            "sampler": lambda _: sampler_check(cache),
            "registered": lambda _: registered_check(cache.entries.entry),
        },
        cache.entries.lag,
        lambda lag: measures(cache, lag),
        CACHE_QUESTIONS,
        THREADS,
        LONG_THREADS,
    ).serve(settings, doors)


def verify(process: CacheProcess, asked: Asked) -> Any:
    """Return the result of comparing a number of tables."""
    tables = asked.number_or_none("tables")
    return process.verify(TABLES if tables is None else tables)


CACHE_QUESTIONS: Final[Sequence[Question[CacheProcess]]] = (
    Question("/metadata", cached, ("GET", "POST")),
    Question("/cache", lambda process, _: process.status()),
    Question("/cache/verify", verify, ("POST",), size_whole),
)


def following_check(cache: MetadataCache) -> Check:
    """Return whether the entries still follow their source."""
    problem = cache.entries.problem()
    text = f"events up to position {cache.entries.position()} are applied"
    return Check(not problem, problem or text)


def behind_check(cache: MetadataCache, lag: LagSeen, lag_max_s: float) -> Check:
    """Return whether the lag is within its bound, else also the process that may be the cause."""
    check, remedy = lag_check(lag, lag_max_s), cache.entries.remedy
    if check.is_up or not isinstance(lag, Lag) or not remedy:
        return check
    return check._replace(detail=f"{check.detail}. {remedy}")


def sampler_check(cache: MetadataCache) -> Check:
    """Return whether every table that was compared with the store was the same."""
    sampler = cache.sampler
    text = f"{amount(sampler.compared, 'table')} compared, {sampler.mismatched} differed"
    return Check(not sampler.mismatched, f"{text} {sampler.problem}".strip())


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
