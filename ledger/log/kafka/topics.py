"""The topics of a ledger in a cluster: their creation and comparison, and the wait for a broker.

Their settings are in `topic_settings`. `client` holds librdkafka settings of the deployment, such
as the login, and `timeout_s` bounds each request.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from ledger.errors import AccessDeniedError, LogUnavailableError, SettingsError
from ledger.log.beginning import TRACES, Trace, events_lost
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.topic_settings import (
    PARTITIONS,
    FoundTopic,
    breaches,
    changes,
    doubts,
    settings_for,
    topic_name,
)
from ledger.log.port import MADE, REQUIRED, Topic

ANSWER_S: Final = 10.0
_PAUSE_S: Final = 0.02
_BROKER_DEFAULT: Final = -1
_SILENT: Final = 0  # The client must not print errors about a broker that is still starting.


class LookedTopics(NamedTuple):
    """The state of a ledger's topics: why it cannot run on them, and what is not safe."""

    faults: list[str]
    doubts: list[str]


def create_topics(
    bootstrap: str,
    ledger: str,
    *,
    replication: int = 1,
    flush: bool = True,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> list[str]:
    """Create the topics of a new ledger; return the names of the ones that were not there.

    With fewer than three copies an event is flushed before it is acknowledged, unless `flush` is
    false. Existing topics stay as they are, see `verify_topics`. Raises SettingsError if the
    cluster cannot keep that number of replicas, LogUnavailableError if it does not answer or
    refuses, EventsLostError if the ledger existed before and its events are gone.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    check_new(admin, ledger)
    return admin.create([new_topic(ledger, topic, replication, flush=flush) for topic in MADE])


def mend_topics(
    bootstrap: str,
    ledger: str,
    *,
    flush: bool,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> list[str]:
    """Set the existing topics of a ledger as they are created; return what was changed.

    It is for the embedded broker: its topics are the ledger's alone. Raises LogUnavailableError if
    the cluster does not answer or refuses.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    mended: list[str] = []
    for topic, found in admin.look(ledger, Topic).items():
        if found is None or not (wrong := changes(topic, found, flush=flush)):
            continue
        admin.alter(found.name, wrong)
        mended += [
            f"{found.name}: {setting} was {found.settings.get(setting)}, is {value}"
            for setting, value in wrong.items()
        ]
        await_changes(admin, ledger, topic, flush=flush, timeout_s=timeout_s)
    return mended


def await_changes(
    admin: KafkaAdmin, ledger: str, topic: Topic, *, flush: bool, timeout_s: float
) -> None:
    """Wait until the broker describes a topic as it was changed: it may answer by its old state."""
    until_s = time.monotonic() + timeout_s
    while (found := admin.look(ledger, [topic])[topic]) is not None and changes(
        topic, found, flush=flush
    ):
        if time.monotonic() > until_s:
            raise LogUnavailableError(
                f"{found.name} does not have its changed settings after {timeout_s:.0f} s; start "
                "the broker again"
            )
        time.sleep(_PAUSE_S)


def check_new(admin: KafkaAdmin, ledger: str) -> None:
    """Raise EventsLostError if a ledger without events existed before.

    Topics whose records would have to be read are left to the sequencer: catalogs may hold the mark
    of an interrupted restore, and commands may only open sessions of a ledger that begins later.
    """
    needed = [topic for topic in TRACES if topic in REQUIRED]
    ends = admin.ends(ledger, needed)
    # The role that creates or verifies topics needs no right on the topic of caches.
    with suppress(AccessDeniedError):
        ends |= admin.ends(ledger, [topic for topic in TRACES if topic not in REQUIRED])
    traces = [Trace(topic, end) for topic, end in ends.items() if end]
    # Looked up last, because a sequencer that begins a ledger writes its events first.
    events = admin.ends(ledger, [Topic.EVENTS])
    # All topics are created at once, so commands are a trace if the events topic is missing.
    no_traces = {Topic.CATALOGS, *({Topic.COMMANDS} if events else ())}
    if not events.get(Topic.EVENTS) and any(topic not in no_traces for topic, _ in traces):
        raise events_lost(traces)


def add_topic(
    bootstrap: str,
    ledger: str,
    topic: Topic,
    *,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> None:
    """Create an optional topic, with as many replicas as the events topic has.

    An existing topic is verified. Raises as `create_topics` and `verify_topics`.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    events = admin.look(ledger, [Topic.EVENTS])[Topic.EVENTS]
    check(ledger, faults_of(bootstrap, ledger, {Topic.EVENTS: events}))
    replication = events.replicas if events is not None else 1
    admin.create([new_topic(ledger, topic, replication)])
    check(ledger, faults_of(bootstrap, ledger, admin.look(ledger, [topic])))


def create_other(
    bootstrap: str, name: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> None:
    """Create a topic outside a ledger, with one partition, if it does not exist.

    Raises as `create_topics`.
    """
    admin = KafkaAdmin(bootstrap, client, timeout_s)
    if not admin.describe([name]):
        admin.create([NewTopic(name, 1, _BROKER_DEFAULT)])


def new_topic(ledger: str, topic: Topic, replication: int, *, flush: bool = True) -> NewTopic:
    """Return the description of a topic to create."""
    settings = settings_for(topic, replication, flush=flush)
    return NewTopic(topic_name(ledger, topic), PARTITIONS, replication, config=settings)


def verify_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> list[str]:
    """Return warnings about the topics of a ledger.

    Raises SettingsError with every topic and setting on which the ledger cannot run, the found and
    the wanted value, and the command that mends it. Raises EventsLostError if the ledger existed
    before and its events are gone, LogUnavailableError if the cluster does not answer.
    """
    check_new(KafkaAdmin(bootstrap, client, timeout_s), ledger)
    looked = look_at_topics(bootstrap, ledger, client=client, timeout_s=timeout_s)
    check(ledger, looked.faults)
    return looked.doubts


def look_at_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> LookedTopics:
    """Return what is wrong with the topics that every ledger has, and the remedies.

    Raises AccessDeniedError without the rights to see it, LogUnavailableError if the cluster does
    not answer.
    """
    found = KafkaAdmin(bootstrap, client, timeout_s).look(ledger)
    there = {topic: each for topic, each in found.items() if each is not None}
    unsafe = [line for topic, each in there.items() for line in doubts(topic, each, bootstrap)]
    return LookedTopics(faults_of(bootstrap, ledger, found), unsafe)


def faults_of(bootstrap: str, ledger: str, found: Mapping[Topic, FoundTopic | None]) -> list[str]:
    """Return why a ledger cannot run on the topics that were found, with the remedies."""
    replicas = max((each.replicas for each in found.values() if each is not None), default=0)
    return [
        line
        for topic, each in found.items()
        for line in breaches(bootstrap, ledger, topic, each, replicas)
    ]


def check(ledger: str, faults: list[str]) -> None:
    """Raise SettingsError if a ledger cannot run on its topics."""
    if faults:
        raise SettingsError("\n  ".join([f"ledger {ledger} cannot run on its topics:", *faults]))


def topic_ids(
    bootstrap: str,
    ledger: str,
    topics: Iterable[Topic] = Topic,
    *,
    client: Mapping[str, Any] = {},
    timeout_s: float = ANSWER_S,
) -> dict[Topic, str]:
    """Return the broker's ids of the topics that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    names = {topic_name(ledger, topic): topic for topic in topics}
    described = KafkaAdmin(bootstrap, client, timeout_s).describe(list(names))
    return {names[name]: str(each.topic_id) for name, each in described.items()}


def found_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, FoundTopic]:
    """Return the topics that exist, with their settings.

    Raises LogUnavailableError if the cluster does not answer.
    """
    found = KafkaAdmin(bootstrap, client, timeout_s).look(ledger, Topic)
    return {topic: each for topic, each in found.items() if each is not None}


def topic_ends(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, int]:
    """Return the end offsets of the topics that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    return KafkaAdmin(bootstrap, client, timeout_s).ends(ledger, Topic)


def wait_until_ready(bootstrap: str, timeout_s: float, *, client: Mapping[str, Any] = {}) -> bool:
    """Wait until a broker is ready; return whether it was in time.

    While a broker registers, it already answers but lists no broker that could hold a topic.
    """
    deadline = time.monotonic() + timeout_s
    admin = AdminClient({**client, "bootstrap.servers": bootstrap, "log_level": _SILENT})
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            if admin.list_topics(timeout=left_s).brokers:
                return True
        except KafkaException:
            pass  # Not reachable yet; the deadline decides.
        time.sleep(_PAUSE_S)
    return False
