"""Clients of Kafka: how one is made, which process may use it, and what any of them can ask.

A client lives in the process that made it and is lost in its forked children, so everything that
holds one checks that before it is used.
"""

import os
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ledger.errors import LogError, SettingsError
from ledger.log.kafka.connection import NO_LEADER, WAITED
from ledger.log.kafka.trouble import NO_RIGHT, NOT_CONNECTED, UNKNOWN_HERE, Trouble

Client = TypeVar("Client")

# A refusal is told beside the records and does not end a wait, so long waits are cut.
SLICE_S: Final = 0.5
_SPREAD_S: Final = 2.0
_LEADER_S: Final = 0.05
# Whether a topic is there is asked even of one whose time is over, who would else be told wrong.
_CONFIRM_S: Final = 0.2


class Process:
    """This process, known without asking the system: that would cost as much as a record."""

    def __init__(self) -> None:
        self.note()
        os.register_at_fork(after_in_child=self.note)

    def note(self) -> None:
        """Ask the system."""
        self.id = os.getpid()


PROCESS: Final = Process()


def made(kind: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    """Return a new client; raises SettingsError for a setting that it does not take."""
    try:
        return kind(settings)
    except KafkaException as problem:
        raise SettingsError(
            f"Kafka's client does not take its settings: {problem.args[0].str()}. Correct or "
            "remove the one it names"
        ) from problem


def check_process(maker: int) -> None:
    """Raise LogError in any process but `maker`: the threads of a client do not survive a fork."""
    if PROCESS.id != maker:
        raise LogError(
            f"this part of the log was made in process {maker} and is used in {PROCESS.id}, where "
            "its threads do not run. Make the log after the fork, or start processes by spawn"
        )


def ask_ends(
    client: Consumer, partition: TopicPartition, timeout_s: float, trouble: Trouble
) -> tuple[int, int]:
    """Return the first and the end offset; raises KafkaException, after `client` told its trouble.

    A refusal ends the wait: of the login once it stood for a moment, of a right at once.

    A partition whose leader is changing is asked again until the time is over, and for a moment one
    that is not known: what was just created is not known everywhere at once. That moment begins
    with the first answer, which a busy machine may be slow to give. As long as no broker is
    connected nothing was asked, and the wait is cut, so that a signal is heard in between.
    """
    deadline = time.monotonic() + timeout_s
    slice_s = SLICE_S
    answered_s: float | None = None
    is_there = False
    while True:
        left_s = max(0.0, deadline - time.monotonic())
        try:
            return client.get_watermark_offsets(partition, min(left_s, slice_s), cached=False)
        except KafkaException as problem:
            name, now_s = problem.args[0].name(), time.monotonic()
            # A client that was never answered may hear a little later why it is not connected.
            is_new_here = name == NOT_CONNECTED and not trouble.has_answered
            if is_cut := name in WAITED and (SLICE_S if is_new_here else slice_s) < left_s:
                # Of a broker that was asked the answer may take all the time that is left.
                slice_s = next_slice(name, slice_s, timeout_s, is_new_here=is_new_here)
            elif answered_s is None:
                answered_s = now_s
            is_unknown = name == UNKNOWN_HERE
            if is_unknown and not is_there:
                check_right(client, partition.topic, left_s)
            is_new = left_s > 0 and now_s - (answered_s or now_s) < _SPREAD_S
            if is_unknown and not (is_new or is_there):
                check_topic(client, partition.topic, left_s)
                is_there = True
            if is_there and left_s == 0:
                raise without_leader() from problem
            if not (is_cut or is_unknown or name in NO_LEADER) or left_s == 0:
                raise
        finally:
            client.poll(0)  # Only so does the client tell what it heard.
        if (refusal := trouble.standing()) is not None:
            raise KafkaException(refusal)
        time.sleep(min(left_s, _LEADER_S))


def next_slice(name: str, slice_s: float, timeout_s: float, *, is_new_here: bool) -> float:
    """Return how long to wait at a time after an error: short as long as no broker is connected."""
    if is_new_here:
        return SLICE_S
    return slice_s if name == NOT_CONNECTED else timeout_s


def check_right(client: Consumer, topic: str, timeout_s: float) -> None:
    """Raise KafkaException if the cluster says that this user may not know of the topic."""
    described = client.list_topics(topic, max(timeout_s, _CONFIRM_S)).topics[topic]
    if described.error is not None and described.error.name() in NO_RIGHT:
        raise KafkaException(described.error)


def check_topic(client: Consumer, topic: str, timeout_s: float) -> None:
    """Raise KafkaException if the cluster says that there is no such topic, or says nothing.

    A client does not know a partition either whose leader is away, or the broker that it asked.
    """
    described = client.list_topics(topic, max(timeout_s, _CONFIRM_S)).topics[topic]
    if described.error is not None:
        raise KafkaException(described.error)


def without_leader() -> KafkaException:
    """Return the error for a partition of a topic that is there, which no broker leads."""
    text = "no broker is known to lead the partition"
    return KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, text))
