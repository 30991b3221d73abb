"""The log in Kafka: the adapter that keeps real data.

Readers are assigned their partition by hand and never join a group. Writers are idempotent and wait
for all replicas. Neither uses Kafka's transactions.

A reader cannot detect this case alone: the topic was deleted and created anew while the reader was
paused or cut off, and now holds more records than it had read. Reading then continues at the same
offset. So after a pause, a caller compares `topic_id` or reads its last record again.
"""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ledger.log.kafka.client import PROCESS, ask_ends, check_process, made
from ledger.log.kafka.connection import Connection, as_log_error
from ledger.log.kafka.reader import KafkaReader
from ledger.log.kafka.rights import READ
from ledger.log.kafka.topic_settings import topic_name
from ledger.log.kafka.writer import KafkaWriter
from ledger.log.port import Topic


class KafkaLog:
    """The topics of one ledger in one cluster; `domain` is the partition. Threads may share it.

    `client` holds librdkafka settings of the deployment, such as the login. `linger_ms` above 0
    trades latency for fewer requests; a record not acknowledged within `delivery_timeout_s` counts
    as not delivered. With `gather_s` events are read that much later, many at once; it is meant for
    a sequencer, which reads back its own events. No request is sent before the first use.

    Raises SettingsError for a name or a setting that cannot be used.
    """

    def __init__(
        self,
        bootstrap: str,
        ledger: str,
        *,
        client: Mapping[str, Any] = {},
        domain: int = 0,
        linger_ms: float = 0.0,
        delivery_timeout_s: float = 30.0,
        gather_s: float = 0.0,
    ) -> None:
        self.ledger = ledger
        self.domain = domain
        self._connection = Connection(bootstrap, client)
        self._linger_ms = linger_ms
        self._delivery_timeout_s = delivery_timeout_s
        self._gather_s = gather_s
        self._names = {topic: topic_name(ledger, topic) for topic in Topic}
        self._process = PROCESS.id
        self._trouble = self._connection.trouble()
        self._asking = Lock()
        self._asker = made(Consumer, self._connection.reader(self._trouble))

    def reader(self, topic: Topic, offset: int) -> KafkaReader:
        """Return a reader that starts at `offset`, which is not checked before the first read."""
        check_process(self._process)
        if offset < 0:
            raise AssertionError("negative offsets have a special meaning for the client")
        trouble = self._connection.trouble()
        gather_s = self._gather_s if topic is Topic.EVENTS else 0.0
        settings = self._connection.reader(trouble, gather_s=gather_s)
        return KafkaReader(made(Consumer, settings), trouble, self._partition(topic, offset))

    def writer(self, topic: Topic) -> KafkaWriter:
        """Return a new writer, which no other caller shares."""
        return self._writer_to(self._partition(topic))

    def writer_to(self, topic: str, headers: Mapping[str, str]) -> KafkaWriter:
        """Return a new writer to another topic of the cluster, not one of the ledger's.

        A topic that does not exist is created with the broker's defaults. Each record has the
        `headers`.
        """
        from ledger.log.kafka.topics import create_other  # noqa: PLC0415 - loads the admin client

        create_other(self._connection.bootstrap, topic, client=self._connection.client)
        return self._writer_to(TopicPartition(topic, 0), headers)

    def _writer_to(
        self, target: TopicPartition, headers: Mapping[str, str] | None = None
    ) -> KafkaWriter:
        check_process(self._process)
        trouble = self._connection.trouble()
        settings = self._connection.writer(
            trouble, linger_ms=self._linger_ms, delivery_timeout_s=self._delivery_timeout_s
        )
        return KafkaWriter(settings, trouble, target, headers)

    def ends(self, topic: Topic, timeout_s: float = 5.0) -> tuple[int, int]:
        """Return the present first and end offset from the broker."""
        check_process(self._process)
        with self._asking:
            try:
                found = ask_ends(self._asker, self._partition(topic), timeout_s, self._trouble)
            except KafkaException as problem:
                raise as_log_error(
                    problem.args[0],
                    self._names[topic],
                    because=self._trouble.last,
                    right=READ,
                    user=self._trouble.user,
                ) from problem
            self._trouble.clear()
        return found

    def topic_id(self, topic: Topic) -> str:
        """Return the broker's id of the topic, which changes when the topic is re-created.

        Raises LogUnavailableError if there is no such topic, or no answer.
        """
        check_process(self._process)
        bootstrap, client = self._connection.bootstrap, self._connection.client
        from ledger.log.kafka.topics import topic_ids  # noqa: PLC0415 - loads the admin client

        ids = topic_ids(bootstrap, self.ledger, [topic], client=client)
        if topic not in ids:
            raise as_log_error(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), self._names[topic])
        return ids[topic]

    def close(self) -> None:
        """Close the shared client; closing twice is allowed."""
        if PROCESS.id == self._process:
            self._asker.close()

    def _partition(self, topic: Topic, offset: int = 0) -> TopicPartition:
        return TopicPartition(self._names[topic], self.domain, offset)
