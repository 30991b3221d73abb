"""A notifier over HTTP: its health and its metrics; a receiver that takes nothing is named."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, NotifierSettings, WebSettings
from projections.fold.lag import Lag
from projections.notifier.notifier import Notifier
from projections.web.roles.health import Check, lag_check, registered_check
from projections.web.roles.metrics import gauge
from projections.web.roles.role import ProcessPart, Role
from projections.web.server.server import WebServer


def serve_notifier(
    notifier: Notifier, settings: NotifierSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve health and metrics of a notifier; raises SettingsError if it cannot listen."""
    return Role(
        "notifier",
        lambda: ProcessPart(notifier, lambda: notifier.position),
        {
            "position": lambda _: position_check(notifier),
            "receivers": lambda _: receivers_check(notifier),
            "lag": lambda look: lag_check(look.lag, settings.lag_max_s),
            "registered": lambda _: registered_check(*(to.entry for to in notifier.deliveries)),
        },
        notifier.lag,
        lambda lag: measures(notifier, lag),
    ).serve(settings, doors)


def position_check(notifier: Notifier) -> Check:
    """Return whether each receiver has come to the end that the log had at the start."""
    late = [to.name for to in notifier.deliveries if not to.is_caught_up]
    text = f"each receiver has everything up to position {notifier.position}"
    return Check(not late, f"{text}, not yet caught up: {', '.join(late)}" if late else text)


def receivers_check(notifier: Notifier) -> Check:
    """Return which receivers take no message now; the process itself is of use all the same."""
    told = [f"{to.name}: {to.problem}" for to in notifier.deliveries if to.problem]
    return Check(is_up=True, detail="; ".join(told) or "all take messages")


def measures(notifier: Notifier, lag: Lag | None) -> Iterator[Metric]:
    """Yield the metrics of a notifier, by receiver, and the lag of the slowest one."""
    place = GaugeMetricFamily(
        "lakeledger_notifier_position",
        "Position up to which a receiver has everything",
        labels=("receiver",),
    )
    refusing = GaugeMetricFamily(
        "lakeledger_notifier_refusing", "1 while a receiver takes no message", labels=("receiver",)
    )
    delivered = CounterMetricFamily(
        "lakeledger_notifier_delivered", "Messages that a receiver took", labels=("receiver",)
    )
    refused = CounterMetricFamily(
        "lakeledger_notifier_refused", "How often a receiver took none", labels=("receiver",)
    )
    for to in notifier.deliveries:
        place.add_metric((to.name,), to.position)
        refusing.add_metric((to.name,), bool(to.problem))
        delivered.add_metric((to.name,), to.delivered)
        refused.add_metric((to.name,), to.refused)
    yield from (place, refusing, delivered, refused)
    if lag is not None:
        yield gauge("notifier_lag_positions", "Records not told to the slowest", lag.records)
        behind_s = lag.behind_ms / 1000
        yield gauge("notifier_lag_seconds", "For how long records have been untold", behind_s)
