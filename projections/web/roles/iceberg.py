"""An Iceberg REST catalog over HTTP: its routes, its health by named checks, and its metrics.

The server writes: it executes what clients of Iceberg ask, each as the user of its token.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, IcebergSettings, WebSettings
from ledger.errors import LedgerError
from projections.fold.lag import Lag
from projections.web.app import WebPages
from projections.web.iceberg.document import DOCUMENT, iceberg_document
from projections.web.iceberg.lake import IcebergLake
from projections.web.iceberg.refusals import iceberg_problem
from projections.web.iceberg.serving import IcebergServing, document_endpoint
from projections.web.roles.health import Check, Look
from projections.web.roles.metrics import gauge
from projections.web.roles.role import ProcessPart, Role, serve_pages
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.server import WebServer

# A change that is under way when the server stops is answered: it waits for the log.
STOP_S: Final = 10
ICEBERG_LIMITS: Final = replace(LIMITS, stop_s=STOP_S)

LookAtBroker = Callable[[], object]
"""Raises LogUnavailableError if the broker does not answer."""


def serve_iceberg(
    lake: IcebergLake,
    broker: LookAtBroker,
    settings: IcebergSettings,
    doors: WebSettings = UNLOCKED,
) -> WebServer:
    """Serve the catalog, health and metrics; raises SettingsError if it cannot listen."""
    return serve_pages("iceberg", iceberg_pages(lake, broker), settings, doors)


def iceberg_pages(
    lake: IcebergLake, broker: LookAtBroker, limits: WebLimits = ICEBERG_LIMITS
) -> WebPages[ProcessPart[IcebergLake]]:
    """Return the application that answers for the catalog."""
    servings: list[IcebergServing] = []

    def look() -> Lag | None:
        """Look at the broker; how far the rows are behind is the follower's own health."""
        broker()
        return None

    pages = Role(
        "iceberg",
        lambda: ProcessPart(lake, lake.position),
        {"rows": rows_check, "broker": broker_check},
        look,
        lambda _lag: measures(lake, servings),
        problem_form=iceberg_problem,
        tells_position=False,
    ).pages(limits)
    serving = IcebergServing(pages, lake)
    servings.append(serving)
    document = pages.route(DOCUMENT, document_endpoint(iceberg_document))
    pages.add_routes([*serving.routes(), document])
    return pages


def rows_check(look: Look) -> Check:
    """Return whether the rows can be read."""
    if isinstance(look.position, int):
        return Check(is_up=True, detail=f"read up to position {look.position}")
    return Check(is_up=False, detail=str(look.position))


def broker_check(look: Look) -> Check:
    """Return whether the broker answers, without which nothing can be changed."""
    if isinstance(look.lag, LedgerError):
        return Check(is_up=False, detail=str(look.lag))
    return Check(is_up=True, detail="it answers")


def measures(lake: IcebergLake, servings: list[IcebergServing]) -> Iterator[Metric]:
    """Yield the metrics of a catalog; labels are bounded."""
    with suppress(LedgerError):
        yield gauge("iceberg_position", "Position of the rows that are served", lake.position())
    yield gauge("iceberg_users", "Users with an open ledger", lake.users())
    changes = CounterMetricFamily(
        "lakeledger_iceberg_changes", "Changes asked for", labels=("route", "status")
    )
    for serving in servings:
        yield gauge("iceberg_kept_answers", "Answers kept for repeats", len(serving.kept))
        for labels, number in sorted(dict(serving.outcomes).items()):
            changes.add_metric(labels, number)
    yield changes
