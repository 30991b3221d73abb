"""The board of Grafana and the alert rules of Prometheus, from the metrics that the roles define.

`python -m tests.web.board` writes the files in `deploy`. Metrics come from roles in this process.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from ledger.config.settings import IngestSettings, NotifierSettings
from ledger.machine.room import HostPlaces
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from projections.notifier.delivery import Delivery
from projections.notifier.notifier import Notifier
from projections.notifier.open_lineage import run_event
from projections.notifier.receivers import FileReceiver
from projections.web.roles.ingest import serve_ingest
from projections.web.roles.notifier import serve_notifier
from projections.web.roles.publisher import serve_publisher
from tests.docs.pages import ROOT
from tests.iceberg.door.doors import answering
from tests.ingest.benches import IngestBench
from tests.notifier.receiving import Running
from tests.web.looks import seen
from tests.web.served import Served
from tests.web.test_cache import ServedCache
from tests.web.test_health import followed, played
from tests.web.test_publisher import ANYWHERE
from tests.web.test_sequencer_probes import led, probing

DEPLOY: Final = ROOT / "deploy"
BOARD: Final = DEPLOY / "grafana" / "lakeledger.json"
ALERTS: Final = DEPLOY / "alerts.yml"
OURS: Final = "lakeledger_"
SPAN: Final = "[5m]"
NOWHERE: Final = NotifierSettings(http="127.0.0.1:0")
WIDTH, HEIGHT, ACROSS = 8, 7, 3


def of_sequencer() -> str:
    with led() as (log, clock, leader, _), probing(lambda: leader, log, clock) as served:
        return metrics_of(served)


def of_follower() -> str:
    with (
        TemporaryDirectory() as folder,
        followed(played(), places_in(Path(folder)), seen) as served,
    ):
        return metrics_of(served)


def places_in(folder: Path) -> HostPlaces:
    """Return the places of a host where a backup was taken."""
    places = HostPlaces(folder / "store")
    places.note_backup("/backups/lake", 1)
    return places


def of_cache() -> str:
    with ExitStack() as own:
        cached = ServedCache(own)
        cached.start()
        return metrics_of(cached.served)


def of_publisher() -> str:
    with closing(Served(serve_publisher(DeltaPublisher(played().log), ANYWHERE))) as served:
        return metrics_of(served)


def of_notifier() -> str:
    with TemporaryDirectory() as folder:
        file = FileReceiver(Path(folder) / "lines")
        notifier = Notifier([Delivery("openlineage", file, run_event, place=Path(folder))])
        running = Running(played().log, notifier)
        try:
            running.wait_for(lambda: notifier.position > 0)
            with closing(Served(serve_notifier(notifier, NOWHERE))) as served:
                return metrics_of(served)
        finally:
            running.end()
            notifier.close()


def of_ingest() -> str:
    with TemporaryDirectory() as folder, InMemoryLedger() as memory:
        bench = IngestBench(memory, Path(folder))
        bench.ledger.create_table("t", [("id", "INT")])
        bench.topics.create("t")
        ingest, _ = bench.process({"topic": "t", "table": "t"})
        bench.topics.put("t", b'{"id": 1}')
        bench.drain(ingest)
        with closing(Served(serve_ingest(ingest, IngestSettings(http=NOWHERE.http)))) as served:
            return metrics_of(served)


def of_iceberg() -> str:
    with (
        TemporaryDirectory() as folder,
        InMemoryLedger() as memory,
        answering(memory, Path(folder)) as door,
    ):
        return door.ask("/metrics").data.decode()


ROLES: Final[Mapping[str, Callable[[], str]]] = {
    "Sequencers": of_sequencer,
    "Followers": of_follower,
    "Caches": of_cache,
    "Publisher": of_publisher,
    "Iceberg catalog": of_iceberg,
    "Notifier": of_notifier,
    "Ingest": of_ingest,
}
# Labels are known only where a sample has them; these have none before something happens.
LABELS: Final[Mapping[str, str]] = {
    "lakeledger_sequencer_conflicts": "exception",
    "lakeledger_sequencer_refusals": "reason",
    "lakeledger_conflicts": "exception",
    "lakeledger_events_applied": "type",
    "lakeledger_cache_reads": "source, reason",
    "lakeledger_cache_fills": "kept",
    "lakeledger_http_requests": "path, status",
    "lakeledger_notifier_delivered": "receiver",
    "lakeledger_notifier_refused": "receiver",
    "lakeledger_iceberg_changes": "route, status",
}


def metrics_of(served: Served) -> str:
    """Return the metrics of a server, after a question that is counted."""
    served.ask("/v1/position")
    return served.ask("/metrics").data.decode()


def families(text: str) -> list[Metric]:
    """Return our metrics in a text, without the times at which counters were made."""
    found = text_string_to_metric_families(text)
    return [each for each in found if each.name.startswith(OURS) and not made_at(each)]


def made_at(metric: Metric) -> bool:
    """Return whether a metric is the time at which another one was made."""
    return metric.type == "gauge" and metric.name.endswith("_created")


def query(metric: Metric) -> str:
    """Return the query of a panel, by the kind of its metric."""
    name = metric.name
    by = f" by ({LABELS[name]})" if name in LABELS else " by (instance)"
    match metric.type:
        case "counter":
            return f"sum{by} (rate({name}_total{SPAN}))"
        case "summary":
            return f"rate({name}_sum{SPAN}) / rate({name}_count{SPAN})"
        case "histogram":
            return f"histogram_quantile(0.99, sum by (le) (rate({name}_bucket{SPAN})))"
        case _:
            return name


def board() -> str:
    """Return the board: a row for each role, a panel for each of its metrics."""
    panels, seen, y = list[Any](), set[str](), 0
    for role, text in ROLES.items():
        place = {"x": 0, "y": y, "w": WIDTH * ACROSS, "h": 1}
        panels.append({"type": "row", "title": role, "gridPos": place, "id": len(panels) + 1})
        y += 1
        new = [family for family in families(text()) if family.name not in seen]
        seen |= {each.name for each in new}
        for number, metric in enumerate(new):
            at = {"x": number % ACROSS * WIDTH, "y": y + number // ACROSS * HEIGHT}
            panels.append(panel(metric, {**at, "w": WIDTH, "h": HEIGHT}, len(panels) + 1))
        y += -(-len(new) // ACROSS) * HEIGHT
    shown = {
        "uid": "lakeledger",
        "title": "LakeLedger",
        "schemaVersion": 41,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "panels": panels,
    }
    return json.dumps(shown, indent=1) + "\n"


def panel(metric: Metric, place: Mapping[str, int], number: int) -> dict[str, Any]:
    """Return the panel of the dashboard that shows a metric."""
    unit = "s" if metric.name.endswith("seconds") else "short"
    return {
        "id": number,
        "type": "timeseries",
        "title": metric.documentation,
        "description": metric.name,
        "gridPos": place,
        "datasource": {"type": "prometheus", "uid": "lakeledger"},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"expr": query(metric), "refId": "A"}],
    }


class Alert(NamedTuple):
    """A rule: its name, the query that is true while it fires, for how long, and what to do."""

    name: str
    query: str
    lasts: str
    severity: str
    says: str


BEHIND: Final = "lakeledger_consumer_behind_positions"

RULES: Final[Sequence[Alert]] = (
    Alert(
        *("LedgerRoleDown", 'up{job="lakeledger"} == 0', "1m", "page"),
        "A process does not answer: see its log.",
    ),
    Alert(
        *("LedgerWithoutLeader", "sum(lakeledger_sequencer_leads) < 1", "30s", "page"),
        "No sequencer leads: commits wait. See lakeledger status.",
    ),
    Alert(
        *("LedgerQueue", "min(lakeledger_sequencer_queue_seconds) > 10", "1m", "page"),
        "Commands wait for an answer: see the log of the leader.",
    ),
    Alert(
        *("LedgerTakeOvers", "sum(increase(lakeledger_sequencer_takeovers_total[15m])) > 3"),
        *("0s", "ticket", "The leader changes often: see why sequencers end."),
    ),
    Alert(
        *("LedgerClockAhead", "max(lakeledger_sequencer_clock_ahead_seconds) > 60", "1m", "page"),
        "The clock of a sequencer is ahead of the broker's: set it right.",
    ),
    Alert(
        *("LedgerTimesAhead", "max(lakeledger_sequencer_log_ahead_seconds) > 60", "1m", "page"),
        "Times of commits are ahead of the clock: see lakeledger status.",
    ),
    Alert(
        *("LedgerTopicFaults", "max(lakeledger_sequencer_topic_faults) > 0", "0s", "page"),
        "A topic may lose records by its settings: see lakeledger status.",
    ),
    Alert(
        *("FollowerBehind", "lakeledger_lag_seconds > 60", "1m", "page"),
        "Rows are behind the log: see whether the follower keeps up.",
    ),
    Alert(
        *("LedgerDiskFilling", "lakeledger_disk_free_bytes / lakeledger_disk_bytes < 0.1", "5m"),
        *("ticket", "A disk of the ledger has little room: lakeledger status shows which."),
    ),
    Alert(
        *("LedgerBackupOld", "min(lakeledger_backup_age_seconds) > 90000", "5m", "ticket"),
        "The last backup is more than a day old: see why lakeledger backup does not run.",
    ),
    Alert(
        *("LedgerWithoutBackup", "absent(lakeledger_backup_age_seconds)", "1d", "ticket"),
        "No follower's host took a backup: run lakeledger backup there.",
    ),
    Alert(
        *("LedgerTxnOld", "max(lakeledger_oldest_open_txn_seconds) > 86400", "5m", "ticket"),
        "A txn is open for a day and holds cleaning back: lakeledger status names it.",
    ),
    Alert(
        *("LedgerDiskFull", "min(lakeledger_disk_days_left) < 30", "1h", "ticket"),
        "A disk of the ledger is full in less than 30 days: trim the log, or make room.",
    ),
    Alert(
        *("LedgerImageOld", "min(lakeledger_image_age_seconds) > 172800", "5m", "ticket"),
        "A new process reads two days of the log: run lakeledger backup on a host with rows.",
    ),
    Alert(
        *("LedgerImageUnreadable", "min(lakeledger_image_unreadable) > 0", "15m", "ticket"),
        "No follower can read the newest image of rows: /v1/log of each says why.",
    ),
    Alert(
        *("LedgerTrimRefused", "max(lakeledger_trim_refused_seconds) > 86400", "5m", "ticket"),
        "Trims are refused for a day: lakeledger status has the reason.",
    ),
    Alert(
        *("RowsWaitInLog", "max(lakeledger_logged_oldest_seconds) > 600", "5m", "ticket"),
        "Rows wait in the log, not in files: start a flusher, or see its log.",
    ),
    Alert(
        "LedgerLogUnseen",
        "min(lakeledger_log_look_age_seconds) > 900 or absent(lakeledger_log_look_age_seconds)",
        *("15m", "ticket", "No follower can look at the log: see /v1/log of a follower."),
    ),
    Alert(
        "ConsumerSilent",
        "min by (role, name) (lakeledger_consumer_silent_seconds) > 1800",
        *("5m", "ticket"),
        "A process no longer says how far it is: start it, or run lakeledger consumers forget.",
    ),
    Alert(
        "ConsumerBehind",
        f'min by (role, name) ({BEHIND}{{role!~"pin|cache"}}) > 100000',
        *("30m", "ticket", "A process is behind, and trims wait for it: see its log."),
    ),
    Alert(
        *("CacheBehind", "lakeledger_cache_lag_seconds > 60", "1m", "ticket"),
        "A cache is behind the log: see its /readyz.",
    ),
    Alert(
        *("CacheDiffers", "increase(lakeledger_cache_verify_mismatches_total[10m]) > 0"),
        *("0s", "page", "A cache differs from its store: run lakeledger cache verify."),
    ),
    Alert(
        *("PublisherBehind", "lakeledger_publisher_lag_seconds > 300", "1m", "ticket"),
        "Delta logs are behind the log: see the publisher's /readyz.",
    ),
    Alert(
        *("PublishedTableStopped", "lakeledger_publisher_stopped_tables > 0", "5m", "ticket"),
        "A published table stopped: lakeledger status names it and the reason.",
    ),
    Alert(
        *("NotifierBehind", "lakeledger_notifier_lag_seconds > 300", "1m", "ticket"),
        "A receiver does not take what happens: see the notifier's /readyz.",
    ),
    Alert(
        *("IngestBehind", "lakeledger_ingest_waiting_seconds > 60", "1m", "page"),
        "Records of a topic wait for their commit: see the ingest's /readyz.",
    ),
    Alert(
        *("IngestStuck", "lakeledger_ingest_stuck > 0", "1m", "page"),
        "Records of a topic do not come into their table: the ingest's /readyz says why.",
    ),
    Alert(
        "IngestLag",
        "max by (topic, partition) (lakeledger_ingest_lag_records) > 100000",
        *("15m", "ticket"),
        "An ingest is behind its topic: start more processes, or see its log.",
    ),
    Alert(
        *("IngestLostRecords", "increase(lakeledger_ingest_lost_records_total[15m]) > 0"),
        *("0s", "page"),
        "Records were deleted before they were read: give the topic a longer retention.",
    ),
    Alert(
        *("IngestBadRecords", "increase(lakeledger_ingest_bad_records_total[15m]) > 0", "0s"),
        *("ticket", "Records of a topic do not fit their table: see its table of bad records."),
    ),
    Alert(
        *("ImpossibleCommits", "increase(lakeledger_anomalies_total[15m]) > 0", "0s", "ticket"),
        "Commits say what cannot be: run lakeledger anomaly list.",
    ),
)


def alerts() -> str:
    """Return the file of the alert rules."""
    return "".join(["groups:\n  - name: lakeledger\n    rules:\n", *map(rule, RULES)])


def rule(alert: Alert) -> str:
    """Return a rule as YAML; a text as JSON is one of YAML, too."""
    return (
        f"      - alert: {alert.name}\n"
        f"        expr: {json.dumps(alert.query)}\n"
        f"        for: {alert.lasts}\n"
        f"        labels: {{ severity: {alert.severity} }}\n"
        f"        annotations: {{ summary: {json.dumps(alert.says)} }}\n"
    )


def queries() -> Iterator[str]:
    """Yield every query of the committed board and rules."""
    for each in json.loads(BOARD.read_text(encoding="utf-8"))["panels"]:
        yield from (target["expr"] for target in each.get("targets", ()))
    yield from (each.query for each in RULES)


if __name__ == "__main__":
    BOARD.write_text(board(), encoding="utf-8")
    ALERTS.write_text(alerts(), encoding="utf-8")
