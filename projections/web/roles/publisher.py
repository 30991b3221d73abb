"""A publisher of Delta logs over HTTP: its status, its health, and its metrics."""

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, PublisherSettings, WebSettings
from ledger.errors import LedgerError
from ledger.reads.remote.publisher import PublisherStatus, StoppedStatus
from projections.delta.publisher import DeltaPublisher
from projections.fold.lag import Lag
from projections.web.answers.questions import Question
from projections.web.roles.health import Check, lag_check, registered_check
from projections.web.roles.metrics import count, gauge
from projections.web.roles.role import ProcessPart, Role
from projections.web.server.server import WebServer

# More stopped tables than these have one series in sum only.
NAMED_MAX: Final = 100

PUBLISHER_QUESTIONS: Final[Sequence[Question[ProcessPart[DeltaPublisher]]]] = (
    Question("/publisher", lambda source, _: status_of(source.whole)),
)


def serve_publisher(
    publisher: DeltaPublisher, settings: PublisherSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve status, health and metrics of a publisher; raises SettingsError if it cannot listen.

    A table that stopped is named, and does not make the others wait.
    """
    return Role(
        "publisher",
        lambda: ProcessPart(publisher, lambda: publisher.position),
        {
            "position": lambda _: position_check(publisher),
            "lag": lambda look: lag_check(look.lag, settings.lag_max_s),
            "tables": lambda _: tables_check(publisher),
            "registered": lambda _: registered_check(publisher.entry),
        },
        publisher.lag,
        lambda lag: measures(publisher, lag),
        PUBLISHER_QUESTIONS,
    ).serve(settings, doors)


def status_of(publisher: DeltaPublisher) -> PublisherStatus:
    """Return how far a publisher is, what it wrote, and which tables stopped."""
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
        publisher.waiting_ms(),
    )


def position_check(publisher: DeltaPublisher) -> Check:
    """Return whether a publisher has caught up."""
    caught_up = publisher.is_caught_up
    text = f"versions up to position {publisher.position} are written"
    return Check(caught_up, text if caught_up else f"catching up, {text}")


def tables_check(publisher: DeltaPublisher) -> Check:
    """Return the number of published tables, and the names of those that stopped."""
    stopped = publisher.stopped_now()
    names = ", ".join(map(name_stopped, stopped[:NAMED_MAX])) or "none"
    return Check(is_up=True, detail=f"{publisher.published()} published, stopped: {names}")


def name_stopped(stopped: StoppedStatus) -> str:
    """Return the name of a stopped table, with what comes of it."""
    return f"{stopped.name} (tried again)" if stopped.is_retried else stopped.name


def measures(publisher: DeltaPublisher, lag: Lag | None) -> Iterator[Metric]:
    """Yield the metrics of a publisher; labels are bounded."""
    stopped = publisher.stopped_now()
    behind = sum(each.behind for each in stopped)
    position = publisher.position
    yield gauge("publisher_position", "Position up to which versions are written", position)
    yield gauge("publisher_lag_versions", "Versions read that no log has", behind)
    if lag is not None:
        yield gauge("publisher_lag_positions", "Records of the log not read", lag.records)
        behind_s = lag.behind_ms / 1000
        yield gauge("publisher_lag_seconds", "For how long records have been unread", behind_s)
    waiting_s = publisher.waiting_ms() / 1000
    yield gauge("publisher_waiting_seconds", "For how long rows wait for readers", waiting_s)
    yield gauge("publisher_tables", "Tables that are published", publisher.published())
    yield gauge("publisher_stopped_tables", "Published tables that stopped", len(stopped))
    retried = sum(each.is_retried for each in stopped)
    yield gauge("publisher_retried_tables", "Stopped tables that are tried again", retried)
    written = publisher.written
    yield count("publisher_versions_written", "Versions that were not there before", written)
    behind_of = GaugeMetricFamily(
        "lakeledger_publisher_stopped_table_behind",
        "Versions that the log of a stopped table lacks",
        labels=("table",),
    )
    for table in stopped[:NAMED_MAX]:
        behind_of.add_metric((table.name,), table.behind)
    yield behind_of
