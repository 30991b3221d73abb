"""The acceptor: the accept rule over bytes, as every reader of the events topic applies it.

Sequencer, SDK, follower and Spark feeder each own one acceptor, and no other code judges records.
An SDK decodes only the control fields of records that are not its own; the others decode whole
events.
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
from ledger.log.wire.codec import UnreadableError, decode_event, read_control, record_kind
from ledger.version import READER_VERSION

Rule = Callable[[LogHead, Control, RecordKind, bytes], Verdict]


class Acceptor:
    """Judges records in log order; `head` is the end of the accepted log.

    `dropped` counts the dropped records by verdict. `rule` is the accept rule; only tests that show
    why each part of it is needed pass another one.
    """

    def __init__(self, head: LogHead, rule: Rule = accept) -> None:
        self.head = head
        self.dropped: Counter[Verdict] = Counter()
        self._rule = rule

    def anew(self, head: LogHead) -> "Acceptor":
        """Return an acceptor with the same rule for the log behind a head."""
        return Acceptor(head, self._rule)

    def take(self, framed: bytes) -> Event | None:
        """Return the event with its place in the log, or None if the record does not count.

        Raises LogDamagedError for bytes that no sequencer wrote, IncompatibleError for an event of
        a later version that counts.
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
        """Drop a record that cannot be decoded and does not count by its control fields.

        A reader of control fields alone drops it too, without noticing the damage, so all readers
        agree. Raises LogDamagedError for any other record.
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
        """Tell whether a record counts, given the control fields that it holds."""
        verdict = self._rule(self.head, control, kind, framed)
        if verdict is Verdict.ACCEPTED:
            return True
        self.dropped[verdict] += 1
        return False

    def confirms(self, framed: bytes) -> bool:
        """Tell whether `framed` is the record that `head` ends with.

        Every start checks the last applied record in this way, and `BatchAcceptor` does so in
        between. It detects a log that lost its end and grew a different one. Epoch and kind are no
        proof: two claimants may take the same epoch, and a late `Fenced` may have the offset of any
        other record. The chain identifies a record and all before it. A `Fenced`, which carries no
        chain, is identified by its bytes, which include its nonce.
        """
        if chain_after(self.head.before, framed) != self.head.chain:
            return False
        written = framed[CHAIN_AT:AFTER_CHAIN]
        return record_kind(framed) is RecordKind.FENCED or written == self.head.chain


def event_of(control: Control, framed: bytes) -> Event:
    """Return the whole event of a record for which `take_control` returned `control`.

    Raises as `Acceptor.take`.
    """
    try:
        return Event(control, decode_event(framed).body)
    except UnreadableError as error:
        raise LogDamagedError(control.position, str(error)) from error


def check_version(fenced: Fenced) -> None:
    """Raise IncompatibleError if an old reader would fold the events that follow differently."""
    if fenced.min_reader > READER_VERSION:
        raise IncompatibleError(
            f"from here on the log needs a reader of version {fenced.min_reader}, this one is "
            f"{READER_VERSION}; update this reader"
        )
