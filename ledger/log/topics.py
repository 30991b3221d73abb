"""The topics of a ledger in a cluster: made, compared; and whether a broker is ready.

How they must be kept is in `topic_settings`. `client` is librdkafka settings of the deployment,
such as the login, and `timeout_s` bounds each question asked. Nothing here is called while a ledger
runs.
"""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from ledger.errors import LogDamagedError, LogError, SettingsError
from ledger.log.connection import Connection, as_log_error
from ledger.log.kafka_client import made
from ledger.log.port import REQUIRED, Topic
from ledger.log.rights import ALTER_CONFIGS, CREATE, DESCRIBE, DESCRIBE_CONFIGS, Right
from ledger.log.topic_settings import (
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
from ledger.log.trouble import NO_TOPIC

ANSWER_S: Final = 10.0
_PAUSE_S: Final = 0.02
_SLICE_S: Final = 0.5
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
    cluster
    cannot keep so many replicas, LogUnavailableError if it does not answer or refuses,
    LogDamagedError if the ledger had a topic of events that is gone.
    """
    admin = _Admin(bootstrap, client, timeout_s)
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
    admin = _Admin(bootstrap, client, timeout_s)
    for found in admin.look(ledger, FLUSHED).values():
        if found is not None and is_flushed(found) is not flush:
            admin.alter(found.name, FLUSH, EACH_RECORD if flush else None)


def check_new(admin: "_Admin", ledger: str) -> None:
    """Raise LogDamagedError if a ledger without events was there before.

    Clients send commands only once its first event has come, so where they did, the events are
    gone. The same commands decided again would tell another history in its name.
    """
    events, commands = topic_name(ledger, Topic.EVENTS), topic_name(ledger, Topic.COMMANDS)
    there = admin.describe([events, commands])
    if events not in there and commands in there and (sent := admin.end(commands)):
        raise LogDamagedError(
            1,
            f"there is no topic {events}, although {commands} goes on to offset {sent}. To begin "
            f"anew under this name, delete the topics {ledger}.* that are left",
        )


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
    admin = _Admin(bootstrap, client, timeout_s)
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
    found, what is wanted and the command that mends it; LogUnavailableError if the cluster does
    not answer.
    """
    found = _Admin(bootstrap, client, timeout_s).look(ledger)
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
    described = _Admin(bootstrap, client, timeout_s).describe(list(names))
    return {names[name]: str(each.topic_id) for name, each in described.items()}


def found_topics(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, FoundTopic]:
    """Return how those of the topics are kept that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    found = _Admin(bootstrap, client, timeout_s).look(ledger, Topic)
    return {topic: each for topic, each in found.items() if each is not None}


def topic_ends(
    bootstrap: str, ledger: str, *, client: Mapping[str, Any] = {}, timeout_s: float = ANSWER_S
) -> dict[Topic, int]:
    """Return the offsets behind the last records of those of the topics that exist.

    Raises LogUnavailableError if the cluster does not answer.
    """
    admin = _Admin(bootstrap, client, timeout_s)
    names = {topic_name(ledger, topic): topic for topic in Topic}
    return {names[name]: admin.end(name) for name in admin.describe(list(names))}


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


class _Admin:
    """Asks a cluster about its topics, and says in our words why it did not answer."""

    def __init__(self, bootstrap: str, client: Mapping[str, Any], timeout_s: float) -> None:
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        connection = Connection(bootstrap, client)
        self._trouble = connection.trouble()
        self._client = made(AdminClient, connection.admin(self._trouble))

    def describe(self, names: list[str]) -> dict[str, TopicDescription]:
        """Return the descriptions of those topics that exist."""
        asked = self._client.describe_topics(
            TopicCollection(names), request_timeout=self._timeout_s
        )
        found = {name: self._answer(name, answer, DESCRIBE) for name, answer in asked.items()}
        return {name: each for name, each in found.items() if each is not None}

    def look(
        self, ledger: str, topics: Iterable[Topic] = REQUIRED
    ) -> dict[Topic, FoundTopic | None]:
        """Return how the topics of a ledger are kept, None for one that does not exist."""
        names = {topic: topic_name(ledger, topic) for topic in topics}
        described = self.describe(list(names.values()))
        return {
            topic: self._found(described[name]) if name in described else None
            for topic, name in names.items()
        }

    def create(self, topics: list[NewTopic]) -> list[str]:
        """Create topics and wait until they can be used; return the names of those created."""
        asked = self._client.create_topics(topics, request_timeout=self._timeout_s)
        made = [name for name, answer in asked.items() if self._is_made(name, answer)]
        deadline = time.monotonic() + self._timeout_s
        while len(self.describe(list(asked))) < len(asked) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        return made

    def alter(self, name: str, setting: str, value: str | None) -> None:
        """Give a topic a setting, None = that of the broker."""
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(setting, value or "", incremental_operation=how)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        asked = self._client.incremental_alter_configs([resource], request_timeout=self._timeout_s)
        self._answer(name, asked[resource], ALTER_CONFIGS)

    def end(self, name: str) -> int:
        """Return the offset behind the last record of a topic that exists, of its one partition."""
        place = TopicPartition(name, 0)
        asked = self._client.list_offsets(
            {place: OffsetSpec.latest()},  # type: ignore[no-untyped-call]
            request_timeout=self._timeout_s,
        )
        found = self._answer(name, asked[place], DESCRIBE)
        return 0 if found is None else int(found.offset)

    def _found(self, description: TopicDescription) -> FoundTopic:
        name = description.name
        resource = ConfigResource(ResourceType.TOPIC, name)
        asked = self._client.describe_configs([resource], request_timeout=self._timeout_s)
        entries = self._answer(name, asked[resource], DESCRIBE_CONFIGS) or {}
        replicas = [len(partition.replicas) for partition in description.partitions]
        settings = {setting: entry.value for setting, entry in entries.items()}
        return FoundTopic(name, len(replicas), min(replicas), settings)

    def _is_made(self, name: str, answer: "Future[None]") -> bool:
        """Tell whether a topic was created now, or was there before."""
        try:
            self._answered(answer)
        except KafkaException as problem:
            error = problem.args[0]
            if error.name() == "TOPIC_ALREADY_EXISTS":
                return False
            if error.name() == "INVALID_REPLICATION_FACTOR":
                raise SettingsError(
                    f"{name} cannot have so many replicas: {error.str()} Start more brokers, or "
                    "ask for fewer: with --replication of lakeledger init"
                ) from problem
            raise self._as_log_error(problem, name, CREATE) from problem
        return True

    def _answer(self, name: str, answer: "Future[Any]", right: Right) -> Any:
        """Return what was asked for, None if there is no such topic; `right` is what that takes."""
        try:
            return self._answered(answer)
        except KafkaException as problem:
            if problem.args[0].name() in NO_TOPIC:
                return None
            raise self._as_log_error(problem, name, right) from problem

    def _answered(self, answer: "Future[Any]") -> Any:
        """Return an answer; raises KafkaException, also where the login is refused meanwhile.

        The wait is cut: a signal that another thread got is heard in between.
        """
        while not wait([answer], _SLICE_S).done:
            self._client.poll(0)
            if (refusal := self._trouble.standing()) is not None:
                raise KafkaException(refusal)
        found = answer.result()
        self._trouble.clear()
        return found

    def _as_log_error(self, problem: KafkaException, subject: str, right: Right) -> LogError:
        self._client.poll(0)  # Only so does the client tell what it heard.
        trouble = self._trouble
        return as_log_error(
            problem.args[0], subject, because=trouble.last, right=right, user=trouble.user
        )
