"""The administrator of a cluster: describes, creates and deletes topics, in our words.

Nothing here is called while a ledger runs.
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

from ledger.errors import LogError, LogUnavailableError, SettingsError
from ledger.log.kafka.client import made
from ledger.log.kafka.connection import NO_LEADER, Connection, as_log_error
from ledger.log.kafka.rights import ALTER_CONFIGS, CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS, Right
from ledger.log.kafka.topic_settings import FoundTopic, topic_name
from ledger.log.kafka.trouble import NO_TOPIC
from ledger.log.port import REQUIRED, Topic

_PAUSE_S: Final = 0.02
_SLICE_S: Final = 0.5


class KafkaAdmin:
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

    def delete(self, names: list[str]) -> None:
        """Delete topics and wait until none of them is there."""
        if not names:
            return
        asked = self._client.delete_topics(names, request_timeout=self._timeout_s)
        for name, answer in asked.items():
            self._answer(name, answer, DELETE)
        deadline = time.monotonic() + self._timeout_s
        while left := self.describe(names):
            if time.monotonic() > deadline:
                raise LogUnavailableError(
                    f"{', '.join(left)} are still there {self._timeout_s:.0f} s after they were "
                    "deleted; see whether all brokers run, then do the same again"
                )
            time.sleep(_PAUSE_S)

    def ends(self, ledger: str, topics: Iterable[Topic]) -> dict[Topic, int]:
        """Return the offset behind the last record of each topic that exists, of partition 0."""
        names = {topic_name(ledger, topic): topic for topic in topics}
        left = set(self.describe(list(names)))
        found: dict[str, int] = {}
        deadline = time.monotonic() + self._timeout_s
        while left:
            places = {TopicPartition(name, 0): OffsetSpec.latest() for name in left}  # type: ignore[no-untyped-call]
            asked = self._client.list_offsets(places, request_timeout=self._timeout_s)
            for place, answer in asked.items():
                # A topic that was just created is not led at once.
                if (end := self._end(place.topic, answer, deadline)) is not None:
                    found[place.topic] = end
            left -= found.keys()
            time.sleep(_PAUSE_S if left else 0.0)
        return {names[name]: end for name, end in found.items()}

    def _end(self, name: str, answer: "Future[Any]", deadline: float) -> int | None:
        """Return the end that was asked for, None while another broker begins to lead there."""
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
