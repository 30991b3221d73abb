"""What a follower shows of its log: over HTTP and in metrics."""

from ledger.reads.remote.http_form import form_of
from ledger.trimming.watch import LogSeen
from projections.web.roles.log_seen import CONSUMERS_MAX, log_metrics
from tests.web.lake import HOSTILE, Lake
from tests.web.looks import LOOK, consumer, seen
from tests.web.served import Served, rows_in, samples, serving


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
    without = LogSeen(LOOK._replace(consumers=None))
    with serving(rows_in(lake), seen=lambda: without) as blind:
        assert blind.ask("/v1/consumers").error == (404, "NothingFound")


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
        "lakeledger_consumer_behind_positions cache metadata": 10,
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
