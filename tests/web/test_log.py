"""What a follower shows of its log: over HTTP, in metrics, and on a page."""

import pytest

from ledger.cli.machine.log_shown import image_text
from ledger.reads.remote.http_form import form_of
from ledger.trimming.look import LastTrim
from ledger.trimming.watch import LogSeen
from projections.web.roles.log_seen import CONSUMERS_MAX, log_metrics
from tests.web.lake import HOSTILE, Lake
from tests.web.looks import LOOK, REFUSED, consumer, seen
from tests.web.served import Served, rows_in, samples, serving
from tests.web.test_ui import page

AWAY = "the broker does not answer"


def test_the_answers_over_http_are_the_last_look(served: Served) -> None:
    answer = served.ask("/v1/log")
    assert (answer.status, answer.form) == (200, form_of(seen()))
    assert served.ask("/v1/consumers").form == form_of(LOOK.consumers)
    assert served.ask("/v1/log?position=3").error == (400, "BadRequest")


def test_before_the_first_look_and_without_the_topic_there_is_no_list(lake: Lake) -> None:
    with serving(rows_in(lake)) as blind:
        assert blind.ask("/v1/consumers").error == (503, "ReadsUnavailableError")
        form = blind.ask("/v1/log").form
        assert (form["look"], form["problem"]) == (None, "this process does not look at the log")
        assert not [name for name in samples(blind) if name.startswith("lakeledger_log_")]
        assert "not seen this process does not look at the log" in page(blind, "/ui/log").text
    without = LogSeen(LOOK._replace(consumers=None))
    with serving(rows_in(lake), seen=lambda: without) as blind:
        assert blind.ask("/v1/consumers").error == (404, "NothingFound")
        assert "no topic of consumers" in page(blind, "/ui/log").text


def test_metrics_tell_what_an_alert_must_know(served: Served) -> None:
    expected = {
        "lakeledger_log_look_age_seconds": 60,
        "lakeledger_log_first_position": 3,
        "lakeledger_image_unreadable": 0,
        "lakeledger_image_position": 30,
        "lakeledger_image_age_seconds": 7_200,
        "lakeledger_day_bytes log": 120_000,
        "lakeledger_day_bytes rows": 40_000,
        "lakeledger_disk_days_left": 12.25,
        "lakeledger_trim_policy_age_seconds": 3_600,
        "lakeledger_trim_refused_seconds": 10_800,
        "lakeledger_consumer_behind_positions audit pin": 36,
        "lakeledger_consumer_behind_positions cache metadata": 37,
        "lakeledger_consumer_behind_positions follower rows-1": 2,
        f"lakeledger_consumer_behind_positions {HOSTILE} publisher": 30,
        "lakeledger_consumer_silent_seconds follower rows-1": 20,
        f"lakeledger_consumer_silent_seconds {HOSTILE} publisher": 5_000,
    }
    named = ("log_look", "log_first", "image", "day_", "disk_days", "trim", "consumer")
    ours = tuple(f"lakeledger_{name}" for name in named)
    found = {name: value for name, value in samples(served).items() if name.startswith(ours)}
    assert found == expected


def test_an_image_that_cannot_be_read_has_no_age() -> None:
    image = LOOK.image
    assert image is not None
    look = LOOK._replace(image=image._replace(problem="it is damaged"), days_left=None, a_day=None)
    found = {metric.name: metric.samples for metric in log_metrics(LogSeen(look))}
    assert found["lakeledger_image_unreadable"][0].value == 1
    assert not found.keys() & {"lakeledger_image_age_seconds", "lakeledger_day_bytes"}


@pytest.mark.parametrize(("trim", "expected"), [(LOOK.trim, [1]), (None, [])])
def test_no_image_is_an_alert_once_the_log_was_trimmed(
    trim: LastTrim | None, expected: list[int]
) -> None:
    look = LOOK._replace(image=None, trim=trim)
    found = {metric.name: metric.samples for metric in log_metrics(LogSeen(look))}
    assert [each.value for each in found.get("lakeledger_image_unreadable", ())] == expected
    assert not found.keys() & {"lakeledger_image_age_seconds", "lakeledger_image_position"}
    assert (image_text(look) is None) is (trim is None)


def test_only_the_slowest_of_many_consumers_have_series() -> None:
    many = [consumer("client", f"name-{n}", n, 1) for n in reversed(range(2 * CONSUMERS_MAX))]
    found = {
        metric.name: [sample.labels["name"] for sample in metric.samples]
        for metric in log_metrics(LogSeen(LOOK._replace(consumers=many)))
        if "consumer" in metric.name
    }
    slowest = [f"name-{n}" for n in range(CONSUMERS_MAX)]
    assert found == {
        "lakeledger_consumer_behind_positions": slowest,
        "lakeledger_consumer_silent_seconds": slowest,
    }


def test_the_page_of_the_log_shows_its_beginning_what_follows_it_and_its_growth(
    lake: Lake, served: Served
) -> None:
    text = page(served, "/ui/log").text
    trimmer = lake.reads.session(lake.ada)
    assert trimmer is not None
    for part in (
        "The log has the events of positions 3 to 40.",
        "It was looked at 60 seconds ago.",
        f"Below position 3, 2 records in all, by ada@{trimmer.host}",
        "The events are in /backups/lake.",
        "It keeps 30 days",
        f"Refused for 3 hours: {REFUSED}",
        "Of position 30, in /backups/lake; it lacks events of the last 2 hours.",
        "1,000 events, 117.2 KiB of log, 39.1 KiB of rows",
        "in 12 days",
        "A trim waits first for pin audit, at position 4.",
        "cache metadata here 3 37 2 hours ago, ended",
        "follower rows-1 here 38 2 20 seconds ago",
        "audit keeps the events from position 4, since 2023-11-14",
    ):
        assert part in text
    assert text.index("cache metadata") < text.index("publisher <script>") < text.index("rows-1")


@pytest.mark.parametrize(
    ("trim", "said"),
    [
        (LOOK.trim, "None that this host finds. The last trim relied on one of position 30."),
        (None, "None: a new process reads the log from its beginning."),
    ],
)
def test_the_page_says_what_it_means_that_there_is_no_image(
    lake: Lake, trim: LastTrim | None, said: str
) -> None:
    without = LogSeen(LOOK._replace(image=None, trim=trim, policy=None, days_left=0.5))
    with serving(rows_in(lake), seen=lambda: without) as served:
        text = page(served, "/ui/log").text
    for part in (said, "is not set, or no leader has tried", "in less than a day"):
        assert part in text


def test_a_look_that_failed_is_told_beside_the_last_one(lake: Lake) -> None:
    later = LogSeen(LOOK, 600, AWAY)
    with serving(rows_in(lake), seen=lambda: later) as stale:
        text = page(stale, "/ui/log").text
        assert f"It was looked at 10 minutes ago. The last try failed: {AWAY}" in text
        assert "positions 3 to 40" in text
        form = stale.ask("/v1/log").form
        assert (form["problem"], form["look"]["last"]) == (AWAY, 40)
        assert samples(stale)["lakeledger_log_look_age_seconds"] == 600
