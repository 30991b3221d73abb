"""The topics of a ledger in a cluster: made, compared; and whether a broker is ready.

How they must be kept is in `topic_settings`. `client` is librdkafka settings of the deployment,
such as the login, and `timeout_s` bounds each question asked. Nothing here is called while a ledger
runs.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from ledger.errors import AccessDeniedError, SettingsError
from ledger.log.beginning import TRACES, Trace, events_lost
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.topic_settings import (
    EACH_RECORD,
    FLUSH,
    FLUSHED,
    PARTITIONS,
    FoundTopic,
    breaches,
    doubts,
    is_flushed,
    settings_for,
    topic_name,
)
from ledger.log.port import REQUIRED, Topic

ANSWER_S: Final = 10.0
_PAUSE_S: Final = 0.02
_SILENT: Final = 0  # A broker that is still starting is no news for the terminal.


def create_topics(
    bootstrap: str,
    ledger: str,
    *,
    replication: int = 1,
    flush: bool = True,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> list[str]:
    """Create the topics that every ledger has; return the names of those created now.

    With fewer than three copies an event is flushed before it is acknowledged, unless `flush` is
    false. Topics that exist stay as they are, see `verify_topics`. Raises SettingsError if the
    cluster cannot keep so many replicas, LogUnavailableError if it does not answer or refuses,
    EventsLostError if the ledger was there before and its events are gone.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    check_new(admin, ledger)
    return admin.create([new_topic(ledger, topic, replication, flush=flush) for topic in REQUIRED])


def set_flush(
    bootstrap: str,
    ledger: str,
    *,
    flush: bool,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> None:
    """Let a broker flush what it acknowledges, or not, in the topics for which that counts.

    Raises LogUnavailableError if the cluster does not answer or refuses.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    for found in admin.look(ledger, FLUSHED).values():
        if found is not None and is_flushed(found) is not flush:
            admin.alter(found.name, FLUSH, EACH_RECORD if flush else None)


def check_new(admin: KafkaAdmin, ledger: str) -> None:
    """Raise EventsLostError if a ledger without events was there before.

    What has to be read to be judged is left to the sequencer: catalogs may be the mark of a restore
    that was interrupted, and commands ask for sessions of a ledger that has not begun.
    """
    needed = [topic for topic in TRACES if topic in REQUIRED]
    ends = admin.ends(ledger, needed)
    # Who makes or verifies the topics of a ledger needs no right on that of its caches.
    with suppress(AccessDeniedError):
        ends |= admin.ends(ledger, [topic for topic in TRACES if topic not in REQUIRED])
    traces = [Trace(topic, end) for topic, end in ends.items() if end]
    # Asked last: who begins a ledger has written its events before anything else.
    events = admin.ends(ledger, [Topic.EVENTS])
    # All topics are made at once, so commands are not there before the events are.
    told_by_none = {Topic.CATALOGS, *({Topic.COMMANDS} if events else ())}
    if not events.get(Topic.EVENTS) and any(topic not in told_by_none for topic, _ in traces):
        raise events_lost(traces)


def add_topic(
    bootstrap: str,
    ledger: str,
    topic: Topic,
    *,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> None:
    """Create a topic that not every ledger has, with as many replicas as its events have.

    One that exists is verified. Raises as `create_topics` and `verify_topics`.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    events = admin.look(ledger, [Topic.EVENTS])[Topic.EVENTS]
    check(bootstrap, ledger, {Topic.EVENTS: events})
    replication = events.replicas if events is not None else 1
    admin.create([new_topic(ledger, topic, replication)])
    check(bootstrap, ledger, admin.look(ledger, [topic]))


def new_topic(ledger: str, topic: Topic, replication: int, *, flush: bool = True) -> NewTopic:
    """Return a topic as it is to be created."""
    settings = settings_for(topic, replication, flush=flush)
    return NewTopic(topic_name(ledger, topic), PARTITIONS, replication, config=settings)


def verify_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> list[str]:
    """Return what should be better about the topics of a ledger.

    Raises SettingsError that lists every topic and setting the ledger cannot run on, with what was
    found, what is wanted and the command that mends it; EventsLostError if the ledger was there
    before and its events are gone, LogUnavailableError if the cluster does not answer.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    check_new(admin, ledger)
    found = admin.look(ledger)
    check(bootstrap, ledger, found)
    return [
        line
        for topic, each in found.items()
        if each is not None
        for line in doubts(topic, each, bootstrap)
    ]


def check(bootstrap: str, ledger: str, found: Mapping[Topic, FoundTopic | None]) -> None:
    """Raise SettingsError if a ledger cannot run on the topics that were found."""
    replicas = max((each.replicas for each in found.values() if each is not None), default=0)
    wrong = [
        line
        for topic, each in found.items()
        for line in breaches(bootstrap, ledger, topic, each, replicas)
    ]
    if wrong:
        raise SettingsError("\n  ".join([f"ledger {ledger} cannot run on its topics:", *wrong]))


def topic_ids(
    bootstrap: str,
    ledger: str,
    topics: Iterable[Topic] = Topic,
    *,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> dict[Topic, str]:
    """Return the broker's ids of those of the topics that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    names = {topic_name(ledger, topic): topic for topic in topics}
    described = KafkaAdmin(bootstrap, client, timeout_s).describe(list(names))
    return {names[name]: str(each.topic_id) for name, each in described.items()}


def found_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, FoundTopic]:
    """Return how those of the topics are kept that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    found = KafkaAdmin(bootstrap, client, timeout_s).look(ledger, Topic)
    return {topic: each for topic, each in found.items() if each is not None}


def topic_ends(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, int]:
    """Return the offsets behind the last records of those of the topics that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    return KafkaAdmin(bootstrap, client, timeout_s).ends(ledger, Topic)


def wait_until_ready(bootstrap: str, timeout_s: float) -> bool:
    """Wait until a broker answers and counts as alive; return whether it did in time.

    While it registers, a broker already answers but names no broker that could take a topic.
    """
    deadline = time.monotonic() + timeout_s
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": _SILENT})
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            if client.list_topics(timeout=left_s).brokers:
                return True
        except KafkaException:
            pass  # Not reachable yet; the deadline decides.
        time.sleep(_PAUSE_S)
    return False
