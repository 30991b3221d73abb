"""Witnesses of the log in other topics, compared with the log before a sequencer claims.

A state checkpoint names a position, a chain and an epoch, a beat an epoch, and the mark of a
restore a position. Only sequencers and operators write to these topics. Each of these was in the
log once, so a log without it has lost its end, and a leader of it would give out ids again. A cut
that an operator appended accounts for the positions it left out.

Heartbeats also name sessions and epochs but are no witnesses: every client may write them, and a
client must not be able to stop a ledger.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.state.domain import Cut
from ledger.errors import LogDamagedError, TopicMissingError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.checkpoints import head_of, manifests
from ledger.log.port import Log, Record, Topic
from ledger.log.restored import read_restored

CHECKPOINT: Final = "a state checkpoint"
BEATS_LOOKED: Final = 100
"""The number of last beats that are read at a start; that is enough, because epochs only grow."""

LASTS_S: Final = 10.0
"""The time for which a log must contradict its witnesses before it counts as damaged.

A broker that was cut off may answer for nine more seconds, with an end of events that is too low.
"""


class TopicWitness(NamedTuple):
    """A witness of a log: a position and an epoch that the log had, 0 = unknown.

    `head` and `offset` come from a checkpoint, and are compared with the log.
    """

    name: str
    position: int = 0
    epoch: int = 0
    head: LogHead | None = None
    offset: int = 0

    @property
    def chain(self) -> str:
        """The chain of the log at the position, in hex digits, "" if unknown."""
        return "" if self.head is None else self.head.chain.hex()


class OtherTopics:
    """The witnesses that a sequencer found at its start, and the beats since.

    Witnesses up to `begun`, the position of the checkpoint that the sequencer started from, are
    left out: that checkpoint was compared with the log at the start.
    """

    def __init__(self, log: Log, domain: int, values: Mapping[bytes, bytes], begun: int) -> None:
        self._log = log
        self._key = str(domain).encode()
        found = [*of_checkpoints(values, domain), *of_restore(log, domain)]
        self._found = [each for each in found if each.position > begun]
        self._epoch = 0

    def hear(self, beat: Record) -> None:
        """Keep the largest epoch of the beats in this domain."""
        if beat.key == self._key:
            self._epoch = max(self._epoch, beat_epoch(beat.value))

    def contradiction(self, head: LogHead, cuts: Sequence[Cut]) -> LogDamagedError | None:
        """Return the error for a log, read up to `head`, that contradicts a witness, or None."""
        for each in (*self._found, TopicWitness("a beat", epoch=self._epoch)):
            if is_left_out(each.position, cuts):
                continue
            if each.position > head.position or each.epoch > head.epoch:
                return not_held(each, head)
            if not self._is_there(each):
                return not_held(each, head)
        # Every reader checks that the log keeps what it holds, so no witness is needed again.
        self._found = []
        return None

    def _is_there(self, witness: TopicWitness) -> bool:
        if witness.head is None:
            return True
        batches = BatchAcceptor(self._log, Acceptor(witness.head.copy()), witness.offset)
        try:
            batches.open().close()
        except LogDamagedError:
            return False
        return True


def of_checkpoints(values: Mapping[bytes, bytes], domain: int) -> Iterator[TopicWitness]:
    """Yield a witness for each state checkpoint, also for incomplete ones."""
    for manifest in manifests(dict(values), domain):
        with suppress(ValueError, TypeError, AttributeError):
            head, offset = head_of(manifest)
            yield TopicWitness(CHECKPOINT, head.position, head.epoch, head, offset)


def of_restore(log: Log, domain: int) -> Iterator[TopicWitness]:
    """Yield a witness for the mark of a restore into this very topic."""
    with suppress(TopicMissingError):
        found = read_restored(log, domain)
        if found is not None and found.is_whole and found.topic == log.topic_id(Topic.EVENTS):
            yield TopicWitness("the mark of a restore", found.position)


def beat_epoch(value: bytes) -> int:
    """Return the epoch of a beat, -1 for bytes that no sequencer wrote."""
    try:
        return int(json.loads(value)["epoch"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return -1


def is_left_out(position: int, cuts: Sequence[Cut]) -> bool:
    """Tell whether a cut accounts for a position that the log does not hold."""
    return any(cut.base < position < cut.position for cut in cuts)


def not_held(witness: TopicWitness, head: LogHead | None) -> LogDamagedError:
    """Return the error for a log that contradicts a witness.

    `head` is where the log ends, None if it was not read.
    """
    parts = [
        f"position {witness.position}" if witness.position else "",
        f"chain {witness.chain}" if witness.chain else "",
        f"epoch {witness.epoch}" if witness.epoch else "",
    ]
    ends = "" if head is None else f", which ends at position {head.position} of epoch {head.epoch}"
    return LogDamagedError(
        witness.position if head is None else head.position + 1,
        f"{witness.name} names {', '.join(filter(None, parts))}. The log does not hold that"
        f"{ends}: it lost its end. No sequencer leads it, since it would give out ids again",
    )
