"""The accept rule: which records of the events topic count.

Kafka cannot append on a condition, so two sequencers may write at once. Every reader applies this
rule, which depends on nothing but the records read so far, so all readers accept the same records:

- A `Fenced` counts iff its epoch is greater than the current one. Its writer could not know where
  it would land, so position and chain are assigned here and never taken from its bytes.
- Any other record counts iff, in this order, its epoch is the current one, its position is the next
  one, its chain continues, and its `cmd` fits: an answer names the command after the last one, an
  internal event names the last one and leaves it, and only `CommandsMoved` sets it.
- A `LogCut` counts iff its epoch and position are above the current ones and its chain continues.
  If another record was accepted meanwhile, the cut was made for a different log and is dropped.

All other records are dropped. Their sequencer had been replaced, or had lost an earlier record.
Two cases cannot come about in this way: the right position with a wrong chain, and an epoch above
the current one without its `Fenced`. Both mean damaged or rewritten bytes, and the reader stops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Any

from ledger.core.events.events import Control
from ledger.errors import LogDamagedError

CHAIN_BYTES = 8
# The framing byte and the schema id come first, then the chain, the first field of every event.
CHAIN_AT = 5
AFTER_CHAIN = CHAIN_AT + CHAIN_BYTES
NO_CHAIN = bytes(CHAIN_BYTES)


class RecordKind(IntEnum):
    """Which part of the rule applies to a record; its schema id alone decides."""

    ORDINARY = 0
    FENCED = 1
    COMMANDS_MOVED = 2
    LOG_CUT = 3


class Verdict(IntEnum):
    """The result for a record; all but ACCEPTED mean that it is dropped."""

    ACCEPTED = 0
    OLD_FENCE = 1
    OLD_EPOCH = 2
    WRONG_POSITION = 3
    WRONG_COMMAND = 4
    OVERTAKEN_CUT = 5


@dataclass(slots=True)
class LogHead:
    """The end of the accepted log of a domain; a new domain is at epoch 0, position 0.

    `before` is the chain that the last accepted record continues. `before` and the bytes of that
    record give `chain` again. That holds for a `Fenced` too, which carries no chain of its own.
    """

    epoch: int = 0
    position: int = 0
    chain: bytes = NO_CHAIN
    last_cmd: int = -1
    before: bytes = NO_CHAIN

    def copy(self) -> "LogHead":
        """Return an independent copy."""
        return LogHead(self.epoch, self.position, self.chain, self.last_cmd, self.before)


def next_chain(chain: bytes, header: bytes, rest: bytes) -> bytes:
    """Return the 8-byte hash over the chain before a framed record and the record's other bytes.

    `header` are the bytes before the record's chain field, `rest` are those after it.
    """
    return blake2b(chain + header + rest, digest_size=CHAIN_BYTES).digest()


def chain_after(chain: bytes, framed: bytes) -> bytes:
    """Return the chain after a framed record; the record's own chain field is ignored."""
    return next_chain(chain, framed[:CHAIN_AT], framed[AFTER_CHAIN:])


def accept(head: LogHead, control: Control, kind: RecordKind, framed: bytes) -> Verdict:
    """Judge one record and, if it counts, move `head` past it.

    Raises LogDamagedError for a record that no sequencer can have written, not even a late one.
    """
    if kind is RecordKind.FENCED:
        return accept_fence(head, control, framed)
    if kind is RecordKind.LOG_CUT:
        return accept_cut(head, control, framed)
    if control.epoch != head.epoch:
        if control.epoch < head.epoch:
            return Verdict.OLD_EPOCH
        raise LogDamagedError(
            head.position + 1,
            f"no Fenced precedes epoch {control.epoch}; the last accepted epoch is {head.epoch}",
        )
    if control.position != head.position + 1:
        return Verdict.WRONG_POSITION
    chain = chain_after(head.chain, framed)
    if control.chain != chain:
        raise LogDamagedError(
            control.position, f"the chain must be {chain.hex()}, got {control.chain.hex()}"
        )
    if kind is not RecordKind.COMMANDS_MOVED and not 0 <= control.cmd - head.last_cmd <= 1:
        return Verdict.WRONG_COMMAND
    head.position = control.position
    head.before, head.chain = head.chain, chain
    head.last_cmd = control.cmd
    return Verdict.ACCEPTED


def accept_fence(head: LogHead, control: Control, framed: bytes) -> Verdict:
    """Judge a Fenced by its epoch alone; position and chain are assigned."""
    if control.epoch <= head.epoch:
        return Verdict.OLD_FENCE
    head.epoch = control.epoch
    head.position += 1
    head.before, head.chain = head.chain, chain_after(head.chain, framed)
    return Verdict.ACCEPTED


def accept_cut(head: LogHead, control: Control, framed: bytes) -> Verdict:
    """Judge a LogCut: it must continue this log, above every position and epoch given in it."""
    if control.epoch <= head.epoch:
        return Verdict.OLD_EPOCH
    chain = chain_after(head.chain, framed)
    if control.position <= head.position or control.chain != chain:
        return Verdict.OVERTAKEN_CUT
    head.epoch, head.position, head.last_cmd = control.epoch, control.position, control.cmd
    head.before, head.chain = head.chain, chain
    return Verdict.ACCEPTED


def placed(head: LogHead, control: Control) -> Control:
    """Return the control fields of the record just accepted, with its assigned place if Fenced."""
    place = (head.position, head.chain, head.last_cmd)
    if (control.position, control.chain, control.cmd) == place:
        return control
    return control._replace(position=head.position, chain=head.chain, cmd=head.last_cmd)


def head_form(head: LogHead) -> list[int | str]:
    """Return a log head as plain values; its chains become hex digits."""
    return [head.epoch, head.position, head.chain.hex(), head.last_cmd, head.before.hex()]


def head_from(form: Sequence[Any]) -> LogHead:
    """Return the log head that `head_form` wrote."""
    epoch, position, chain, last_cmd, before = form
    return LogHead(epoch, position, bytes.fromhex(chain), last_cmd, bytes.fromhex(before))
