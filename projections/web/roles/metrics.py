"""Metrics, in the names and units of Prometheus: of requests, and of a follower.

Counters of the process are collected at each request for metrics; only requests are counted here.
Labels are bounded: types of events, exceptions, paths of questions, status codes.
"""

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from projections.fold.follower import Follower
from projections.fold.lag import Lag
from projections.web.roles.health import Followed

BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
FAULT: Final = 500


class LagCollector(Collector):
    """Collects the metrics of a process; `lag` is None if it cannot be measured."""

    lag: Lag | None = None


class Metrics:
    """The metrics at `/metrics`."""

    def __init__(self, process: LagCollector) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "lakeledger_http_requests",
            "Questions answered, by path and status",
            ("path", "status"),
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "lakeledger_http_request_seconds",
            "How long answers took, those that wait for a position included",
            ("path",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._process = process
        self._registry.register(process)
        for collect in (ProcessCollector, PlatformCollector, GCCollector):
            collect(registry=self._registry)

    def text(self, lag: Lag | None) -> bytes:
        """Return all metrics as Prometheus text; `lag` is None if it cannot be measured."""
        self._process.lag = lag
        return generate_latest(self._registry)


class FollowerCollector(LagCollector):
    """Collects the metrics of a follower, none before it exists."""

    def __init__(self, followed: Followed) -> None:
        self._followed = followed

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of now."""
        follower = self._followed()
        if follower is not None:
            yield from counters(follower)
            yield from gauges(follower, self.lag)


def counters(follower: Follower) -> Iterator[Metric]:
    """Yield the counters since the follower started."""
    tally = follower.fold.tally
    events = CounterMetricFamily(
        "lakeledger_events_applied", "Events that became rows", labels=("type",)
    )
    for name, count in sorted(dict(tally.events).items()):
        events.add_metric((name,), count)
    conflicts = CounterMetricFamily(
        "lakeledger_conflicts", "Commits that lost against an earlier one", labels=("exception",)
    )
    for name, count in sorted(dict(tally.conflicts).items()):
        conflicts.add_metric((name,), count)
    yield events
    yield conflicts
    yield CounterMetricFamily(
        "lakeledger_anomalies", "Impossible file changes in commits", tally.anomalies
    )
    yield SummaryMetricFamily(
        "lakeledger_apply_seconds",
        "Time to make the rows of a batch of events and write them",
        count_value=tally.batches,
        sum_value=tally.seconds,
    )


def gauges(follower: Follower, lag: Lag | None) -> Iterator[Metric]:
    """Yield the gauges."""
    fold = follower.fold
    txns = fold.state.txns
    yield gauge("position", "Position up to which rows are stored", fold.mark.position)
    yield gauge("open_txns", "Txns that are open, read-only ones too", len(txns.open))
    yield gauge("aborted_txns", "Aborted txns that are not forgotten", len(txns.aborted))
    yield gauge("cleanup_watermark", "Txn id below which mappings may go", txns.watermark)
    if lag is not None:
        yield gauge("lag_positions", "Records of the log that are not rows yet", lag.records)
        yield gauge("lag_seconds", "For how long records have been unread", lag.behind_ms / 1000)


def gauge(name: str, about: str, value: float) -> Metric:
    """Return a number that goes up and down."""
    return GaugeMetricFamily(f"lakeledger_{name}", about, value)


class CountedPath:
    """Counts and times the requests of one path."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, path: str) -> None:
        self._app = app
        self._metrics = metrics
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        status, began_s = FAULT, perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._metrics.requests.labels(self._path, str(status)).inc()
            self._metrics.request_seconds.labels(self._path).observe(perf_counter() - began_s)
