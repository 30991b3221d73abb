"""The truth about commands: what every offset of every commands topic really held."""

from typing import NamedTuple

from ledger.core.commands import OpenSession
from ledger.log.port import Record
from ledger.log.wire.codec import decode_command


class Asked(NamedTuple):
    """Who asked: a session's number of a command, or the nonce of one that asks for a session."""

    session: int
    n: int
    nonce: bytes

    def matches(self, told: "Asked") -> bool:
        """Tell whether an answer that names `told` is the answer to this."""
        return self[:2] == told[:2] and (not self.nonce or self.nonce == told.nonce)


class CommandsTruth:
    """Every record that ever stood in a commands topic, by topic id and offset.

    Kafka does not tell a reader that a topic was re-created. One that was cut off meanwhile reads
    on at its offset, so what stands for an offset of a topic may be what the next one holds there.
    """

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, list[Asked]]] = {}
        self._removed_below: dict[str, int] = {}
        self._lost_from: dict[str, list[int]] = {}

    def begin(self, topic: str) -> None:
        """Note that a topic exists from now on, in the place of the one before."""
        self._topics[topic] = {}
        self._removed_below[topic] = 0
        self._lost_from[topic] = []

    def add(self, topic: str, record: Record) -> None:
        command = decode_command(record.value)
        nonce = command.nonce if isinstance(command, OpenSession) else b""
        held = self._topics[topic].setdefault(record.offset, [])
        held.append(Asked(command.session, command.n, nonce))

    def remove_below(self, topic: str, offset: int) -> None:
        """Note that retention removed what stood below `offset`."""
        self._removed_below[topic] = offset

    def lose(self, topic: str, offset: int) -> None:
        """Note that the broker lost what stood at `offset` and behind; others may come there."""
        self._lost_from[topic].append(offset)

    def has_lost(self, topic: str, offset: int) -> bool:
        """Tell whether the broker ever lost what stood at an offset."""
        return any(
            lost_from <= offset for each in self._from(topic) for lost_from in self._lost_from[each]
        )

    def exists(self, topic: str) -> bool:
        """Tell whether there was ever a topic of this id."""
        return topic in self._topics

    def at(self, topic: str, offset: int) -> list[Asked]:
        held = (self._topics[each].get(offset, ()) for each in self._from(topic))
        return [asked for every in held for asked in every]

    def is_gone(self, topic: str, offset: int) -> bool:
        """Tell whether an offset never held a record, or retention or the broker lost it."""
        return self.has_lost(topic, offset) or any(
            offset not in self._topics[each] or offset < self._removed_below[each]
            for each in self._from(topic)
        )

    def _from(self, topic: str) -> list[str]:
        """Return a topic and those that came in its place."""
        topics = list(self._topics)
        return topics[topics.index(topic) :]
