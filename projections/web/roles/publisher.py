"""Serving a publisher of Delta logs: its status over HTTP, its health, and its metrics."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, PublisherSettings, WebSettings, hosts_of
from ledger.errors import LedgerError
from ledger.machine.endpoints import Endpoint
from ledger.reads.remote.publisher import PublisherStatus, StoppedStatus
from projections.delta.publisher import DeltaPublisher
from projections.fold.lag import Lag
from projections.web.answers.questions import Question
from projections.web.app import WebPages
from projections.web.roles.health import Check, Health, lag_check
from projections.web.roles.metrics import LagCollector, Metrics, gauge
from projections.web.server.readers import Readers
from projections.web.server.server import WebServer
from projections.web.server.waiting import PositionWaiting

# More stopped tables than these have one series in sum only.
NAMED_MAX: Final = 100


class PublisherSource:
    """A publisher as a source of answers."""

    def __init__(self, publisher: DeltaPublisher) -> None:
        self.publisher = publisher

    def position(self) -> int:
        """Return the position of the last event whose versions are written."""
        return self.publisher.position

    def close(self) -> None:
        """Do nothing: the role ends its publisher."""

    def status(self) -> PublisherStatus:
        """Return how the publisher is."""
        publisher = self.publisher
        try:
            lag: Lag | None = publisher.lag()
        except LedgerError:
            lag = None
        stopped = publisher.stopped_now()
        return PublisherStatus(
            publisher.position,
            publisher.is_caught_up,
            None if lag is None else lag.records,
            None if lag is None else lag.behind_ms,
            sum(each.behind for each in stopped),
            publisher.published(),
            publisher.written,
            stopped,
        )


PUBLISHER_QUESTIONS: Final[Sequence[Question[PublisherSource]]] = (
    Question("/publisher", lambda source, _: source.status()),
)


class PublisherHealth(Health):
    """Checks a publisher; a table that stopped is named, and does not make the others wait."""

    role = "publisher"

    def __init__(
        self, waiting: PositionWaiting[Any], publisher: DeltaPublisher, *, lag_max_s: float
    ) -> None:
        super().__init__(waiting)
        self._publisher = publisher
        self._lag_max_s = lag_max_s

    async def checks(self) -> Mapping[str, Check]:
        """Return whether it has caught up, how far behind it is, and which tables stopped."""
        position = self._publisher.position
        caught_up = self._publisher.is_caught_up
        text = f"versions up to position {position} are written"
        return {
            "position": Check(caught_up, text if caught_up else f"catching up, {text}"),
            "lag": lag_check(await self.lag(), self._lag_max_s),
            "tables": Check(is_up=True, detail=self._tables()),
        }

    def _measure(self) -> Lag | None:
        return self._publisher.lag()

    def _tables(self) -> str:
        stopped = self._publisher.stopped_now()
        names = ", ".join(map(named, stopped[:NAMED_MAX])) or "none"
        return f"{self._publisher.published()} published, stopped: {names}"


def named(stopped: StoppedStatus) -> str:
    """Return the name of a stopped table, with what comes of it."""
    return f"{stopped.name} (tried again)" if stopped.is_retried else stopped.name


class PublisherCollector(LagCollector):
    """Collects the metrics of a publisher."""

    def __init__(self, publisher: DeltaPublisher) -> None:
        self._publisher = publisher

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of now."""
        publisher, stopped = self._publisher, self._publisher.stopped_now()
        behind = sum(each.behind for each in stopped)
        position = publisher.position
        yield gauge("publisher_position", "Position up to which versions are written", position)
        yield gauge("publisher_lag_versions", "Versions read that no log has", behind)
        if self.lag is not None:
            records, behind_s = self.lag.records, self.lag.behind_ms / 1000
            yield gauge("publisher_lag_positions", "Records of the log not read", records)
            yield gauge("publisher_lag_seconds", "For how long records have been unread", behind_s)
        yield gauge("publisher_tables", "Tables that are published", publisher.published())
        yield gauge("publisher_stopped_tables", "Published tables that stopped", len(stopped))
        retried = sum(each.is_retried for each in stopped)
        yield gauge("publisher_retried_tables", "Stopped tables that are tried again", retried)
        yield CounterMetricFamily(
            "lakeledger_publisher_versions_written",
            "Versions that were not there before",
            publisher.written,
        )
        named = GaugeMetricFamily(
            "lakeledger_publisher_stopped_table_behind",
            "Versions that the log of a stopped table lacks",
            labels=("table",),
        )
        for each in stopped[:NAMED_MAX]:
            named.add_metric((each.name,), each.behind)
        yield named


def serve_publisher(
    publisher: DeltaPublisher, settings: PublisherSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve status, health and metrics of a publisher; raises SettingsError if it cannot listen."""
    endpoint = Endpoint.parse(settings.http)
    source = PublisherSource(publisher)
    readers = Readers(lambda: source)
    health = PublisherHealth(PositionWaiting(readers), publisher, lag_max_s=settings.lag_max_s)
    pages = WebPages(readers, PUBLISHER_QUESTIONS, health, Metrics(PublisherCollector(publisher)))
    hosts = hosts_of(settings.hosts)
    return WebServer.start(pages, endpoint, hosts=hosts, setting="publisher.hosts", doors=doors)
