"""A process of an ingest over HTTP: its health and its metrics."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.config.settings import UNLOCKED, IngestSettings, WebSettings
from ledger.ingest.ingest import Ingest
from ledger.ingest.tally import IngestTally
from projections.web.roles.health import Check
from projections.web.roles.metrics import count, count_by, gauge
from projections.web.roles.role import ProcessPart, Role
from projections.web.server.server import WebServer

NAMED_MAX: Final = 1_000


def serve_ingest(
    ingest: Ingest, settings: IngestSettings, doors: WebSettings = UNLOCKED
) -> WebServer:
    """Serve health and metrics of an ingest; raises SettingsError if it cannot listen."""
    tally = ingest.tally
    return Role(
        "ingest",
        lambda: ProcessPart(ingest, lambda: tally.position),
        {
            "commits": lambda _: commits_check(tally),
            "topics": lambda _: topics_check(tally),
            "partitions": lambda _: partitions_check(tally),
            "waiting": lambda _: waiting_check(ingest, settings.lag_max_s),
        },
        lambda: None,
        lambda _lag: measures(ingest),
    ).serve(settings, doors)


def commits_check(tally: IngestTally) -> Check:
    """Return whether records can be committed now."""
    text = f"{tally.commits} commits, the last at position {tally.position}"
    return Check(not tally.problem, f"{text}; {tally.problem}" if tally.problem else text)


def topics_check(tally: IngestTally) -> Check:
    """Return whether the topics could be read when their brokers were asked last."""
    return Check(not tally.away, tally.away or "the topics can be read")


def partitions_check(tally: IngestTally) -> Check:
    """Return which partitions this process has; none is fine where several share them."""
    lag = dict(tally.lag)
    told = ", ".join(f"{partition}: {behind}" for partition, behind in sorted(lag.items()))
    return Check(is_up=True, detail=f"records to go: {told}" if told else "no partition is here")


def waiting_check(ingest: Ingest, lag_max_s: float) -> Check:
    """Return whether records wait for no longer than a bound."""
    waited_s = ingest.waited_s()
    return Check(waited_s <= lag_max_s, f"records wait for {waited_s:.1f} s, bound {lag_max_s} s")


def measures(ingest: Ingest) -> Iterator[Metric]:
    """Yield the metrics of an ingest, by topic; the lag by partition."""
    tally = ingest.tally
    yield count_by("ingest_records", "Records committed", "topic", tally.records)
    yield count_by("ingest_rows", "Rows that they made or changed", "topic", tally.rows)
    yield count_by("ingest_bad_records", "Records that did not fit", "topic", tally.bad)
    yield count_by("ingest_lost_records", "Records that were deleted unread", "topic", tally.lost)
    yield count("ingest_repeats", "Attempts that were not committed", tally.repeats)
    yield gauge("ingest_position", "Position of the last commit", tally.position)
    yield gauge(
        "ingest_stuck", "1 while records wait for a topic or the ledger", bool(tally.trouble)
    )
    yield gauge("ingest_waiting_seconds", "For how long records have waited", ingest.waited_s())
    yield SummaryMetricFamily(
        "lakeledger_ingest_commit_seconds",
        "Time from the last record taken to the commit",
        count_value=tally.commits,
        sum_value=tally.seconds,
    )
    lag = GaugeMetricFamily(
        "lakeledger_ingest_lag_records",
        "Records of a partition that are not committed",
        labels=("topic", "partition"),
    )
    for partition, behind in sorted(dict(tally.lag).items())[:NAMED_MAX]:
        lag.add_metric((partition.topic, str(partition.number)), behind)
    yield lag
