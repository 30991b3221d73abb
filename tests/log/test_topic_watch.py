"""The watch on topics says what changed while a ledger runs, once, and when it is right again."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs

from ledger.errors import LogUnavailableError
from ledger.log.kafka.topic_settings import NEVER, topic_name
from ledger.log.kafka.topic_watch import TopicWatch, repeating
from ledger.log.kafka.topics import LookedTopics, create_topics, look_at_topics, mend_topics
from ledger.log.port import Topic
from ledger.machine.kafka.broker import Broker
from ledger.machine.own_topics import kept_right
from ledger.machine.up_settings import Administered, UpSettings
from tests.log.kafka_bench import eventually
from tests.log.test_topics import alter

LOST, UNSAFE = "a topic may lose records", "a topic is less safe than it was"
RIGHT, AWAY = "all topics are as they must be", "the settings of topics cannot be read"
OFTEN_S = 0.02

FINE, SHORT = LookedTopics([], []), LookedTopics(["short"], [])
SHORTER, BOTH = LookedTopics(["shorter"], []), LookedTopics(["short", "small"], [])
ONE_COPY, UNFLUSHED = LookedTopics([], ["one copy"]), LookedTopics([], ["one copy", "no flush"])

# What the looks find one after another (None = no answer), what is logged, and the faults at last.
LOOKS: list[tuple[list[LookedTopics | None], list[str], tuple[str, ...]]] = [
    ([FINE, FINE], [], ()),
    ([ONE_COPY, ONE_COPY], [], ()),
    ([ONE_COPY, UNFLUSHED, UNFLUSHED], [UNSAFE], ()),
    ([SHORT, SHORT, SHORT], [LOST], ("short",)),
    ([SHORT, BOTH], [LOST, LOST], ("short", "small")),
    ([SHORT, SHORTER], [LOST, LOST], ("shorter",)),
    ([SHORT, FINE, FINE], [LOST, RIGHT], ()),
    ([SHORT, None, None], [LOST, AWAY], ("short",)),
    ([None, FINE, None], [AWAY, AWAY], ()),
]


@pytest.mark.parametrize(("looks", "said", "faults"), LOOKS)
def test_each_change_of_a_topic_is_logged_once(
    looks: list[LookedTopics | None], said: list[str], faults: tuple[str, ...]
) -> None:
    coming: Iterator[LookedTopics | None] = iter(looks)

    def look() -> LookedTopics:
        if (found := next(coming)) is None:
            raise LogUnavailableError("no answer")
        return found

    watch = TopicWatch(look)
    with capture_logs() as lines:
        for _ in looks:
            watch.look()
    assert [line["event"] for line in lines] == said
    assert watch.faults == faults


# A change of a running ledger, and whether records may be lost by it, or it is only less safe.
CHANGES = [
    (Topic.EVENTS, "retention.ms", "604800000", LOST),
    (Topic.EVENTS, "retention.bytes", "1000000000", LOST),
    (Topic.EVENTS, "cleanup.policy", "compact", LOST),
    (Topic.EVENTS, "max.message.bytes", "2000", LOST),
    (Topic.EVENTS, "min.insync.replicas", "2", LOST),
    (Topic.EVENTS, "flush.messages", NEVER, UNSAFE),
    (Topic.EVENTS, "compression.type", "zstd", ""),
    (Topic.COMMANDS, "compression.type", "producer", LOST),
    (Topic.COMMANDS, "retention.ms", "1000", LOST),
    (Topic.HEARTBEATS, "cleanup.policy", "compact", LOST),
    (Topic.BEATS, "message.timestamp.type", "CreateTime", LOST),
    (Topic.CHECKPOINTS, "cleanup.policy", "delete", LOST),
    (Topic.CATALOGS, "flush.messages", NEVER, UNSAFE),
]


def has_line(lines: list[Any], said: str, wanted: str) -> bool:
    """Tell whether something was logged about a setting of a topic."""
    return any(line["event"] == said and line["what"].startswith(wanted) for line in lines)


@pytest.mark.kafka
def test_each_changed_setting_and_its_mending_is_seen(broker: Broker, ledger_name: str) -> None:
    create_topics(broker.bootstrap, ledger_name)
    watch = TopicWatch(partial(look_at_topics, broker.bootstrap, ledger_name))
    watch.look()
    for topic, setting, value, said in CHANGES:
        name = topic_name(ledger_name, topic)
        with capture_logs() as lines:
            alter(broker.bootstrap, name, setting, value)
            watch.look()
            assert has_line(lines, said, f"{name} has {setting}={value}") is bool(said), lines
            assert bool(watch.faults) is (said == LOST)
            mend_topics(broker.bootstrap, ledger_name, flush=True)
            watch.look()
            assert watch.faults == ()
            assert {line["event"] for line in lines} == (
                {LOST, RIGHT} if said == LOST else {said} - {""}
            )


@pytest.mark.kafka
def test_the_watch_sees_a_change_of_a_broker_of_ones_own(broker: Broker, ledger_name: str) -> None:
    create_topics(broker.bootstrap, ledger_name)
    watch = TopicWatch(partial(look_at_topics, broker.bootstrap, ledger_name))
    name, said = topic_name(ledger_name, Topic.EVENTS), list[str]()
    own, reached = UpSettings(ledger=ledger_name), Administered(broker.bootstrap, {})
    with repeating(watch.look, OFTEN_S):
        alter(broker.bootstrap, name, "retention.ms", "604800000")
        eventually(lambda: watch.faults)
        with kept_right(own, reached, said.append, OFTEN_S):
            eventually(lambda: not watch.faults)
    assert said == [f"mended {name}: retention.ms was 604800000, is -1"]
    alter(broker.bootstrap, name, "retention.ms", "604800000")
    with kept_right(replace(own, bootstrap=broker.bootstrap), reached, said.append, OFTEN_S):
        watch.look()
    assert len(watch.faults) == 1
