"""OtherTopics: what the other topics tell of a log, compared with it before a sequencer claims.

State checkpoints name a position, a chain and an epoch, beats an epoch, and the mark of a restore a
position. Only sequencers and operators write there. Each tells of what was in the log before, so a
log that does not hold it has lost its end: whoever led it would give ids again. A cut that an
operator appended accounts for what it left out.

Heartbeats name sessions and epochs too and are no witness: every client may write them, and what
stops a ledger must not be anybody's to write.
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
"""How many of the last beats are heard at a start: epochs only grow."""

LASTS_S: Final = 10.0
"""How long a log must contradict its witnesses before that is believed.

Kafka may let a broker that was cut off answer for nine seconds, and events then end too early.
"""


class Told(NamedTuple):
    """What tells of a log: a position and an epoch that it had, 0 = does not tell.

    `head` and `offset` are where a checkpoint stood, to be compared with the log.
    """

    name: str
    position: int = 0
    epoch: int = 0
    head: LogHead | None = None
    offset: int = 0

    @property
    def chain(self) -> str:
        """The chain of the log at the position, in hex digits, "" where it is not told."""
        return "" if self.head is None else self.head.chain.hex()


class OtherTopics:
    """What a sequencer was told: the witnesses that it found at its start, and the beats since.

    A checkpoint that the sequencer has begun with, up to `begun`, was compared then.
    """

    def __init__(self, log: Log, domain: int, values: Mapping[bytes, bytes], begun: int) -> None:
        self._log = log
        self._key = str(domain).encode()
        told = [*of_checkpoints(values, domain), *of_restore(log, domain)]
        self._found = [each for each in told if each.position > begun]
        self._epoch = 0

    def hear(self, beat: Record) -> None:
        """Note a beat."""
        if beat.key == self._key:
            self._epoch = max(self._epoch, beat_epoch(beat.value))

    def contradiction(self, head: LogHead, cuts: Sequence[Cut]) -> LogDamagedError | None:
        """Return what a log that was read up to `head` does not hold, None if it holds all."""
        for each in (*self._found, Told("a beat", epoch=self._epoch)):
            if is_left_out(each.position, cuts):
                continue
            if each.position > head.position or each.epoch > head.epoch:
                return not_held(each, head)
            if not self._is_there(each):
                return not_held(each, head)
        # What the log holds it goes on to hold: every reader of it sees to that.
        self._found = []
        return None

    def _is_there(self, witness: Told) -> bool:
        if witness.head is None:
            return True
        batches = BatchAcceptor(self._log, Acceptor(witness.head.copy()), witness.offset)
        try:
            batches.open().close()
        except LogDamagedError:
            return False
        return True


def of_checkpoints(values: Mapping[bytes, bytes], domain: int) -> Iterator[Told]:
    """Yield what state checkpoints tell, those too of which a part is gone."""
    for manifest in manifests(dict(values), domain):
        with suppress(ValueError, TypeError, AttributeError):
            head, offset = head_of(manifest)
            yield Told(CHECKPOINT, head.position, head.epoch, head, offset)


def of_restore(log: Log, domain: int) -> Iterator[Told]:
    """Yield what the mark of a restore into this very topic tells."""
    with suppress(TopicMissingError):
        found = read_restored(log, domain)
        if found is not None and found.is_whole and found.topic == log.topic_id(Topic.EVENTS):
            yield Told("the mark of a restore", found.position)


def beat_epoch(value: bytes) -> int:
    """Return the epoch of a beat, -1 for what is none."""
    try:
        return int(json.loads(value)["epoch"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return -1


def is_left_out(position: int, cuts: Sequence[Cut]) -> bool:
    """Tell whether a cut accounts for a position that the log does not hold."""
    return any(each.base < position < each.position for each in cuts)


def not_held(witness: Told, head: LogHead | None) -> LogDamagedError:
    """Return the error for a log that does not hold what a witness tells.

    `head` is where the log ends, None if it was not read.
    """
    told = [
        f"position {witness.position}" if witness.position else "",
        f"chain {witness.chain}" if witness.chain else "",
        f"epoch {witness.epoch}" if witness.epoch else "",
    ]
    ends = "" if head is None else f", which ends at position {head.position} of epoch {head.epoch}"
    return LogDamagedError(
        witness.position if head is None else head.position + 1,
        f"{witness.name} tells of {', '.join(filter(None, told))}. The log does not hold that"
        f"{ends}: it lost its end. No sequencer leads it, for it would give again what was given",
    )
