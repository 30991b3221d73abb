"""Clients of Kafka: their creation, the check of their process, and the look-up of end offsets.

A client works only in the process that made it, not in forked children. So every owner of a client
checks the process before it uses the client.
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

# A refusal is reported to a callback and does not end a wait, so long waits are cut into slices.
SLICE_S: Final = 0.5
# A client calls its callbacks between slices only, so one that was never answered gets short ones.
NEW_SLICE_S: Final = 0.1
_SPREAD_S: Final = 2.0
_LEADER_S: Final = 0.05
# The time for the look-up of a topic after the caller's timeout is over. Without this look-up the
# error could name the wrong cause.
_CONFIRM_S: Final = 0.2


class Process:
    """The id of this process, cached, because a system call costs as much as a record."""

    def __init__(self) -> None:
        self.note()
        os.register_at_fork(after_in_child=self.note)

    def note(self) -> None:
        """Get the process id from the system."""
        self.id = os.getpid()


PROCESS: Final = Process()


def made(kind: Callable[[dict[str, Any]], Client], settings: dict[str, Any]) -> Client:
    """Return a new client; raises SettingsError for a setting that it does not accept."""
    try:
        return kind(settings)
    except KafkaException as problem:
        raise SettingsError(
            f"Kafka's client does not accept its settings: {problem.args[0].str()}. Correct or "
            "remove the named setting"
        ) from problem


def check_process(maker: int) -> None:
    """Raise LogError in any process but `maker`, since a client's threads do not survive a fork."""
    if PROCESS.id != maker:
        raise LogError(
            f"this Kafka client was made in process {maker} and is used in {PROCESS.id}, where "
            "its threads do not run. Make the log after the fork, or start processes by spawn"
        )


def ask_ends(
    client: Consumer, partition: TopicPartition, timeout_s: float, trouble: Trouble
) -> tuple[int, int]:
    """Return the first and the end offset; raises KafkaException, with the cause in `trouble`.

    A refused right ends the wait at once, a refused login after it has lasted for a moment.

    While the leader of the partition changes, the request is repeated until the timeout. For an
    unknown partition it is repeated for a moment, because a new topic is not known to all brokers
    at once. That moment begins with the first answer, which may be slow on a busy machine. While no
    broker is connected, the wait is cut into slices, so that signals are handled in between.
    """
    deadline = time.monotonic() + timeout_s
    slice_s = SLICE_S if trouble.has_answered else NEW_SLICE_S
    answered_s: float | None = None
    is_there = False
    while True:
        left_s = max(0.0, deadline - time.monotonic())
        try:
            return client.get_watermark_offsets(partition, min(left_s, slice_s), cached=False)
        except KafkaException as problem:
            name, now_s = problem.args[0].name(), time.monotonic()
            # A client without any answer so far may learn a little later why it is not connected.
            is_new_here = name == NOT_CONNECTED and not trouble.has_answered
            if is_cut := name in WAITED and (NEW_SLICE_S if is_new_here else slice_s) < left_s:
                # A connected broker may take all the time that is left for its answer.
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
            client.poll(0)  # The client calls error_cb only inside its own calls.
        if (refusal := trouble.standing()) is not None:
            raise KafkaException(refusal)
        time.sleep(min(left_s, _LEADER_S))


def next_slice(name: str, slice_s: float, timeout_s: float, *, is_new_here: bool) -> float:
    """Return the next slice of a wait after an error: short while no broker is connected."""
    if is_new_here:
        return NEW_SLICE_S
    if name == NOT_CONNECTED:
        return slice_s
    return timeout_s if slice_s >= SLICE_S else SLICE_S


def check_right(client: Consumer, topic: str, timeout_s: float) -> None:
    """Raise KafkaException if the cluster denies this user the description of the topic."""
    described = client.list_topics(topic, max(timeout_s, _CONFIRM_S)).topics[topic]
    if described.error is not None and described.error.name() in NO_RIGHT:
        raise KafkaException(described.error)


def check_topic(client: Consumer, topic: str, timeout_s: float) -> None:
    """Raise KafkaException if the cluster answers that there is no such topic, or does not answer.

    A partition is also unknown to a client while its leader, or the asked broker, is unreachable.
    """
    described = client.list_topics(topic, max(timeout_s, _CONFIRM_S)).topics[topic]
    if described.error is not None:
        raise KafkaException(described.error)


def without_leader() -> KafkaException:
    """Return the error for a partition of an existing topic without a leader."""
    text = "no broker is known to lead the partition"
    return KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, text))
