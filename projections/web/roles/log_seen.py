"""What a follower shows of the log over HTTP: its answers, and its metrics with bounded labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.errors import ReadsUnavailableError
from ledger.reads.port import Reads
from ledger.trimming.look import ConsumerSeen, LogLook
from ledger.trimming.watch import LogSeen
from projections.web.answers.questions import Question
from projections.web.roles.metrics import gauge

# More consumers than these have no series of their own; the slowest have.
CONSUMERS_MAX: Final = 100

Seen = Callable[[], LogSeen]


def unseen() -> LogSeen:
    """Return what a process without a watch of the log saw."""
    return LogSeen(problem="this process does not look at the log")


def log_questions(seen: Seen) -> Sequence[Question[Reads]]:
    """Return the questions about the log, which the last look answers."""
    return (
        Question("/log", lambda _reads, _asked: seen()),
        Question("/consumers", lambda _reads, _asked: consumers_of(seen())),
    )


def consumers_of(seen: LogSeen) -> list[ConsumerSeen] | None:
    """Return the consumers of a look, None if the ledger shows none.

    Raises ReadsUnavailableError before the first look.
    """
    if seen.look is None:
        raise ReadsUnavailableError(seen.problem)
    return seen.look.consumers


def log_metrics(seen: LogSeen) -> Iterator[Metric]:
    """Yield the metrics of the last look, none before the first one."""
    look = seen.look
    if look is None:
        return
    yield gauge("log_look_age_seconds", "Age of the last look at the log", seen.age_s)
    yield gauge("log_first_position", "Position of the first event in the log", look.first)
    yield from image_metrics(look)
    yield from growth_metrics(look)
    yield from consumer_metrics(look.consumers or ())
    if (policy := look.policy) is not None:
        tried_s, refused_s = (look.at - policy.at) / 1000, policy.refused_s(look.at)
        yield gauge("trim_policy_age_seconds", "Time since the policy last tried a trim", tried_s)
        yield gauge("trim_refused_seconds", "For how long all its trims were refused", refused_s)


def image_metrics(look: LogLook) -> Iterator[Metric]:
    """Yield how old the image of rows is with which a new process would begin."""
    image = look.image
    if image is None and look.trim is None:
        return
    # A new process cannot read the events that left, so without an image it cannot begin.
    is_unreadable = image is None or bool(image.problem)
    yield gauge("image_unreadable", "1 if the newest image cannot be read", is_unreadable)
    if image is not None and not image.problem:
        yield gauge("image_position", "Position of the newest image of rows", image.position)
        yield gauge("image_age_seconds", "For how long an event is not in an image", image.age_s)


def growth_metrics(look: LogLook) -> Iterator[Metric]:
    """Yield what a day adds, and for how long the disks of this host last."""
    if look.a_day is not None and look.a_day.is_known:
        added = GaugeMetricFamily("lakeledger_day_bytes", "Bytes that a day adds", labels=("what",))
        added.add_metric(("log",), look.a_day.log_bytes)
        added.add_metric(("rows",), look.a_day.row_bytes)
        yield added
    if look.days_left is not None:
        yield gauge("disk_days_left", "Days until the first disk is full", look.days_left)


def consumer_metrics(consumers: Iterable[ConsumerSeen]) -> Iterator[Metric]:
    """Yield how far each of the slowest consumers is, and how old its word is.

    A pin and a cache need not say anything, so they have no age.
    """
    slowest = sorted(consumers, key=lambda consumer: consumer.position)[:CONSUMERS_MAX]
    labels = ("role", "name")
    behind = GaugeMetricFamily(
        "lakeledger_consumer_behind_positions",
        "Positions that a consumer would read if it began anew",
        labels=labels,
    )
    silent = GaugeMetricFamily(
        "lakeledger_consumer_silent_seconds", "Time since a consumer said its place", labels=labels
    )
    for consumer in slowest:
        behind.add_metric(consumer[:2], consumer.behind)
        if consumer.is_waited_for:
            silent.add_metric(consumer[:2], consumer.age_s)
    yield from (behind, silent)
