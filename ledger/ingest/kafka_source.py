"""Topics of Kafka as the source of an ingest.

The group of consumers only hands out partitions. No offset is committed to it, and none is read
from it: a partition continues where the ledger says.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ledger.errors import AccessDeniedError, LogError
from ledger.ingest.source import Assignment, Held, Partition, SeenTopic, TopicRecord, missing
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.client import ask_ends, made
from ledger.log.kafka.connection import Connection, as_log_error
from ledger.log.kafka.rights import READ
from ledger.log.kafka.trouble import NO_GROUP, NO_TOPIC, ClientError

ANSWER_S: Final = 10.0
LOOK_S: Final = 5.0
"""A look at topics takes no longer, since no record is taken meanwhile."""

GROUP: Final = {
    "isolation.level": "read_committed",
    "partition.assignment.strategy": "cooperative-sticky",
    # A process that was killed loses its partitions after this.
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 1_500,
    "enable.partition.eof": False,
    "queued.max.messages.kbytes": 64 * 1024,
}


class KafkaSource:
    """The topics of an ingest in one cluster; for one thread.

    `group` names the consumer group, `client` holds librdkafka settings such as the login.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Iterable[str],
        assignment: Assignment,
        client: Mapping[str, Any] = {},
    ) -> None:
        connection = Connection(bootstrap, client)
        self._trouble = connection.trouble()
        self._admin = KafkaAdmin(bootstrap, client, LOOK_S)
        settings = {**connection.reader(self._trouble), **GROUP, "group.id": group}
        self._group, self._assignment = group, assignment
        self._consumer = made(Consumer, settings)
        self._places: dict[tuple[str, int], Partition] = {}
        self._late: LogError | None = None
        self._consumer.subscribe([*topics], on_assign=self._came, on_revoke=self._went)

    def take(self, limit: int, wait_s: float) -> Sequence[TopicRecord]:
        """Return up to `limit` records, and wait up to `wait_s` for the first.

        An error behind records is raised by the next call, since these records come only once.
        """
        late, self._late = self._late, None
        if late is not None:
            raise late
        records: list[TopicRecord] = []
        message: Any = self._consumer.poll(wait_s)
        while message is not None:
            if (error := message.error()) is not None:
                self._late = self._log_error(error, message.topic() or self._group)
                break
            place = message.topic(), message.partition()
            partition = self._places.get(place)
            if partition is None:
                partition = self._places.setdefault(place, Partition(*place))
            key, value, at = message.key(), message.value(), message.timestamp()[1]
            records.append(TopicRecord(partition, message.offset(), key, value, at))
            message = self._consumer.poll(0) if len(records) < limit else None
        if records:
            self._trouble.clear()
        elif self._late is None and (refusal := self._trouble.refusal) is not None:
            self._trouble.clear()
            self._late = self._log_error(refusal, self._group)
        return records if records or self._late is None else self.take(limit, wait_s)

    def seek(self, partition: Partition, offset: int) -> None:
        """Let an assigned partition go on at an offset."""
        place = TopicPartition(*partition, offset)
        try:
            self._consumer.incremental_unassign([TopicPartition(*partition)])
            self._consumer.incremental_assign([place])
        except KafkaException as problem:
            raise self._log_error(problem.args[0], partition.topic) from problem

    def seen(self, topics: Iterable[str]) -> Mapping[str, SeenTopic]:
        """Ask for topics as they are now; one that does not exist is left out."""
        return {
            name: SeenTopic(
                str(found.topic_id),
                tuple(Partition(name, each.id) for each in found.partitions),
                tuple(Partition(name, each.id) for each in found.partitions if not each.leader),
            )
            for name, found in self._admin.describe([*topics]).items()
        }

    def held(self, partition: Partition) -> Held:
        """Return the offsets that a partition holds now."""
        place = TopicPartition(*partition)
        try:
            return Held(*ask_ends(self._consumer, place, ANSWER_S, self._trouble))
        except KafkaException as problem:
            raise self._log_error(problem.args[0], partition.topic) from problem

    def end(self, partition: Partition) -> int:
        """Return the end that the last answer of the broker named, -1 for none."""
        try:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        except KafkaException:
            return -1
        return max(-1, end)

    def close(self) -> None:
        """Leave the group, so that other processes get the partitions at once."""
        self._consumer.close()

    def _came(self, _consumer: Any, places: Sequence[TopicPartition]) -> None:
        """Begin new partitions where the ledger is, not where the group was."""
        found = self._assignment.came([Partition(each.topic, each.partition) for each in places])
        self._consumer.incremental_assign(
            [TopicPartition(*partition, offset) for partition, offset in found.items()]
        )

    def _went(self, _consumer: Any, places: Sequence[TopicPartition]) -> None:
        self._assignment.went([Partition(each.topic, each.partition) for each in places])
        self._consumer.incremental_unassign(list(places))

    def _log_error(self, error: ClientError, topic: str) -> LogError:
        if error.name() == NO_GROUP:
            return AccessDeniedError(
                f"this user lacks READ on the consumer group {self._group}; grant it",
                topic=self._group,
                right=READ,
            )
        if error.name() in NO_TOPIC and topic != self._group:
            return missing(topic)
        return as_log_error(
            error, topic, because=self._trouble.last, right=READ, user=self._trouble.user
        )
