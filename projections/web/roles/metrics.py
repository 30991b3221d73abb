"""Metrics, in the names and units of Prometheus: of requests, of a role, and of its process.

Counters of the process are collected at each request for metrics; only requests are counted here.
Labels are bounded: types of events, exceptions, paths of questions, status codes.
"""

from collections.abc import Callable, Iterable, Mapping
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
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from projections.fold.lag import Lag

BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
FAULT: Final = 500


Measures = Callable[[Lag | None], Iterable[Metric]]
"""Returns the metrics of a role as of now; the lag is None if it cannot be measured."""


class LagCollector(Collector):
    """Collects the measures of a role with the `lag` of the last look."""

    def __init__(self, measures: Measures) -> None:
        self.lag: Lag | None = None
        self._measures = measures

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of now."""
        return self._measures(self.lag)


class Metrics:
    """The metrics at `/metrics`: of the role, of requests, and of the process."""

    def __init__(self, measures: Measures) -> None:
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
        self._role = LagCollector(measures)
        self._registry.register(self._role)
        for collect in (ProcessCollector, PlatformCollector, GCCollector):
            collect(registry=self._registry)

    def text(self, lag: Lag | None) -> bytes:
        """Return all metrics as Prometheus text; `lag` is None if it cannot be measured."""
        self._role.lag = lag
        return generate_latest(self._registry)


def gauge(name: str, about: str, value: float) -> Metric:
    """Return a number that goes up and down."""
    return GaugeMetricFamily(f"lakeledger_{name}", about, value)


def count(name: str, about: str, value: float) -> Metric:
    """Return a number that only grows."""
    return CounterMetricFamily(f"lakeledger_{name}", about, value)


def count_by(name: str, about: str, label: str, numbers: Mapping[str, float]) -> Metric:
    """Return numbers that only grow, by the value of a label."""
    family = CounterMetricFamily(f"lakeledger_{name}", about, labels=(label,))
    for value, number in sorted(dict(numbers).items()):
        family.add_metric((value,), number)
    return family


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
