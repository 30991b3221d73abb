"""The acceptor: the accept rule over bytes, as every reader of the events topic applies it.

Sequencer, SDK, follower and Spark feeder each own one of these and nothing else judges records. An
SDK takes only the control fields of what is not its own, the others take whole events.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from ledger.core.acceptance import (
    AFTER_CHAIN,
    CHAIN_AT,
    LogHead,
    RecordKind,
    Verdict,
    accept,
    chain_after,
    placed,
)
from ledger.core.events.events import Control, Event, Fenced
from ledger.errors import IncompatibleError, LogDamagedError
from ledger.log.codec import UnreadableError, decode_event, read_control, record_kind
from ledger.version import READER_VERSION

Rule = Callable[[LogHead, Control, RecordKind, bytes], Verdict]


class Acceptor:
    """Judges records in log order; `head` ends behind the last accepted one.

    `dropped` counts what did not count, by verdict. `rule` is the accept rule; only tests that show
    why each part of it is needed bring another.
    """

    def __init__(self, head: LogHead, rule: Rule = accept) -> None:
        self.head = head
        self.dropped: Counter[Verdict] = Counter()
        self._rule = rule

    def anew(self) -> "Acceptor":
        """Return an acceptor by the same rule that begins with an empty log."""
        return Acceptor(LogHead(), self._rule)

    def take(self, framed: bytes) -> Event | None:
        """Return the event with its place in the log, or None if the record does not count.

        Raises LogDamagedError for bytes no sequencer wrote, IncompatibleError for an event of a
        later version that counts.
        """
        try:
            event = decode_event(framed)
        except UnreadableError as error:
            self._drop(framed, error)
            return None
        except IncompatibleError:
            if self.take_control(framed) is None:
                return None
            raise
        if not self.judge(event.control, record_kind(framed), framed):
            return None
        if isinstance(event.body, Fenced):
            check_version(event.body)
        return Event(placed(self.head, event.control), event.body)

    def take_control(self, framed: bytes) -> Control | None:
        """Return the control fields of a record that counts, without decoding the rest."""
        try:
            control, kind = read_control(framed)
            body = decode_event(framed).body if kind is RecordKind.FENCED else None
        except UnreadableError as error:
            self._drop(framed, error)
            return None
        if not self.judge(control, kind, framed):
            return None
        if isinstance(body, Fenced):
            check_version(body)
        return placed(self.head, control)

    def _drop(self, framed: bytes, unreadable: UnreadableError) -> None:
        """Drop a record that cannot be read and would not count anyway, so that all readers agree.

        Those who read control fields alone see no damage in the rest of what they drop. Raises
        LogDamagedError for any other.
        """
        head = self.head.copy()
        with suppress(UnreadableError, LogDamagedError):
            control, kind = read_control(framed)
            verdict = self._rule(head, control, kind, framed)
            if verdict is not Verdict.ACCEPTED:
                self.dropped[verdict] += 1
                return
        raise LogDamagedError(self.head.position + 1, str(unreadable)) from unreadable

    def judge(self, control: Control, kind: RecordKind, framed: bytes) -> bool:
        """Tell whether a record counts, given its control fields as they stand in it."""
        verdict = self._rule(self.head, control, kind, framed)
        if verdict is Verdict.ACCEPTED:
            return True
        self.dropped[verdict] += 1
        return False

    def confirms(self, framed: bytes) -> bool:
        """Tell whether `framed` is the record that `head` ends with.

        Asked about the last applied record on every start, and by `BatchAcceptor` in between: a log
        that lost its end and grew another one is found here, not read past. Epoch and kind prove
        nothing: two claimants may take the same epoch, and a `Fenced` that came late may stand
        where any other record was. A `Fenced` is told by its bytes, and so by its nonce; every
        other record by its chain too, and so by all that came before it.
        """
        if chain_after(self.head.before, framed) != self.head.chain:
            return False
        written = framed[CHAIN_AT:AFTER_CHAIN]
        return record_kind(framed) is RecordKind.FENCED or written == self.head.chain


def event_of(control: Control, framed: bytes) -> Event:
    """Return the whole event of a record of which `take_control` returned `control`.

    Raises as `Acceptor.take`.
    """
    try:
        return Event(control, decode_event(framed).body)
    except UnreadableError as error:
        raise LogDamagedError(control.position, str(error)) from error


def check_version(fenced: Fenced) -> None:
    """Stop a reader that would fold what follows to another state than the others."""
    if fenced.min_reader > READER_VERSION:
        raise IncompatibleError(
            f"from here on the log needs a reader of version {fenced.min_reader}, this one is "
            f"{READER_VERSION}; update it before it goes on"
        )
