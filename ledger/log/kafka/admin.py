"""The admin client: describes, creates and deletes topics, and raises the ledger's errors."""

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

from ledger.errors import LogError, LogUnavailableError, SettingsError
from ledger.log.kafka.client import NEW_SLICE_S, made
from ledger.log.kafka.connection import NO_LEADER, Connection, as_log_error
from ledger.log.kafka.rights import ALTER_CONFIGS, CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS, Right
from ledger.log.kafka.topic_settings import FoundTopic, topic_name
from ledger.log.kafka.trouble import NO_TOPIC
from ledger.log.port import REQUIRED, Topic

_PAUSE_S: Final = 0.02


class KafkaAdmin:
    """An admin client for the topics of a cluster."""

    def __init__(self, bootstrap: str, client: Mapping[str, Any], timeout_s: float) -> None:
        self._bootstrap = bootstrap
        self._timeout_s = timeout_s
        connection = Connection(bootstrap, client)
        self._trouble = connection.trouble()
        self._client = made(AdminClient, connection.admin(self._trouble))

    def describe(self, names: list[str]) -> dict[str, TopicDescription]:
        """Return the descriptions of the topics that exist."""
        asked = self._client.describe_topics(
            TopicCollection(names), request_timeout=self._timeout_s
        )
        found = {name: self._answer(name, answer, DESCRIBE) for name, answer in asked.items()}
        return {name: each for name, each in found.items() if each is not None}

    def look(
        self, ledger: str, topics: Iterable[Topic] = REQUIRED
    ) -> dict[Topic, FoundTopic | None]:
        """Return the topics of a ledger with their settings, None for one that does not exist."""
        names = {topic: topic_name(ledger, topic) for topic in topics}
        described = self.describe(list(names.values()))
        return {
            topic: self._found(described[name]) if name in described else None
            for topic, name in names.items()
        }

    def create(self, topics: list[NewTopic]) -> list[str]:
        """Create topics and wait until they can be used; return the names of the new ones."""
        asked = self._client.create_topics(topics, request_timeout=self._timeout_s)
        made = [name for name, answer in asked.items() if self._is_made(name, answer)]
        deadline = time.monotonic() + self._timeout_s
        while len(self.describe(list(asked))) < len(asked) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        return made

    def alter(self, name: str, changes: Mapping[str, str]) -> None:
        """Give a topic other values of some settings."""
        how = AlterConfigOpType.SET
        entries = [
            ConfigEntry(setting, value, incremental_operation=how)
            for setting, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        asked = self._client.incremental_alter_configs([resource], request_timeout=self._timeout_s)
        self._answer(name, asked[resource], ALTER_CONFIGS)

    def delete(self, names: list[str]) -> None:
        """Delete topics and wait until all of them are gone."""
        if not names:
            return
        asked = self._client.delete_topics(names, request_timeout=self._timeout_s)
        for name, answer in asked.items():
            self._answer(name, answer, DELETE)
        deadline = time.monotonic() + self._timeout_s
        while left := self.describe(names):
            if time.monotonic() > deadline:
                raise LogUnavailableError(
                    f"{', '.join(left)} still exist {self._timeout_s:.0f} s after they were "
                    "deleted; see whether all brokers run, then repeat this command"
                )
            time.sleep(_PAUSE_S)

    def remove_below(self, ledger: str, topic: Topic, offset: int) -> None:
        """Remove the records of a topic below an offset, for good."""
        name = topic_name(ledger, topic)
        place = TopicPartition(name, 0, offset)
        asked = self._client.delete_records([place], request_timeout=self._timeout_s)
        for answer in asked.values():
            self._answer(name, answer, DELETE)

    def ends(self, ledger: str, topics: Iterable[Topic]) -> dict[Topic, int]:
        """Return the end offset of partition 0 of each topic that exists."""
        names = {topic_name(ledger, topic): topic for topic in topics}
        left = set(self.describe(list(names)))
        found: dict[str, int] = {}
        deadline = time.monotonic() + self._timeout_s
        while left:
            places = {TopicPartition(name, 0): OffsetSpec.latest() for name in left}  # type: ignore[no-untyped-call]
            asked = self._client.list_offsets(places, request_timeout=self._timeout_s)
            for place, answer in asked.items():
                # A topic that was just created may not have a leader yet.
                if (end := self._end(place.topic, answer, deadline)) is not None:
                    found[place.topic] = end
            left -= found.keys()
            time.sleep(_PAUSE_S if left else 0.0)
        return {names[name]: end for name, end in found.items()}

    def _end(self, name: str, answer: "Future[Any]", deadline: float) -> int | None:
        """Return the end offset in an answer, None while the leader of the partition changes."""
        try:
            return int(self._answered(answer).offset)
        except KafkaException as problem:
            if problem.args[0].name() in NO_LEADER | NO_TOPIC and time.monotonic() < deadline:
                return None
            raise self._as_log_error(problem, name, DESCRIBE) from problem

    def _found(self, description: TopicDescription) -> FoundTopic:
        name = description.name
        resource = ConfigResource(ResourceType.TOPIC, name)
        asked = self._client.describe_configs([resource], request_timeout=self._timeout_s)
        entries = self._answer(name, asked[resource], DESCRIBE_CONFIGS) or {}
        replicas = [len(partition.replicas) for partition in description.partitions]
        settings = {setting: entry.value for setting, entry in entries.items()}
        return FoundTopic(name, len(replicas), min(replicas), settings)

    def _is_made(self, name: str, answer: "Future[None]") -> bool:
        """Return True if a topic was created now, False if it existed before."""
        try:
            self._answered(answer)
        except KafkaException as problem:
            error = problem.args[0]
            if error.name() == "TOPIC_ALREADY_EXISTS":
                return False
            if error.name() == "INVALID_REPLICATION_FACTOR":
                raise SettingsError(
                    f"{name} cannot have so many replicas: {error.str()} Start more brokers, or "
                    "request fewer replicas with --replication of lakeledger init"
                ) from problem
            raise self._as_log_error(problem, name, CREATE) from problem
        return True

    def _answer(self, name: str, answer: "Future[Any]", right: Right) -> Any:
        """Return the result of an answer, None if there is no such topic.

        `right` is the right that the request needs.
        """
        try:
            return self._answered(answer)
        except KafkaException as problem:
            if problem.args[0].name() in NO_TOPIC:
                return None
            raise self._as_log_error(problem, name, right) from problem

    def _answered(self, answer: "Future[Any]") -> Any:
        """Wait for an answer and return its result; raises KafkaException, also on a refused login.

        The wait is cut into slices, so that signals are handled in between.
        """
        while not wait([answer], NEW_SLICE_S).done:
            self._client.poll(0)
            if (refusal := self._trouble.standing()) is not None:
                raise KafkaException(refusal)
        found = answer.result()
        self._trouble.clear()
        return found

    def _as_log_error(self, problem: KafkaException, subject: str, right: Right) -> LogError:
        self._client.poll(0)  # The client calls error_cb only inside its own calls.
        trouble = self._trouble
        return as_log_error(
            problem.args[0], subject, because=trouble.last, right=right, user=trouble.user
        )
