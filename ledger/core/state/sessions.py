"""Sessions and their answers: the memory that makes a repeated command harmless.

A session keeps the answers to its last 1,024 commands. An ended session is kept with its answers
until newer ended sessions displace it, so a late repeat still gets the first answer.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.limits import REMEMBERED_ANSWERS_MAX, REMEMBERED_SESSIONS_MAX, WINDOW


class Answered(NamedTuple):
    """The first answer to a command: position, outcome, and `size` ids from `first` on."""

    position: int
    outcome: str
    first: int
    size: int


@dataclass(slots=True)
class Session:
    """One session; its number is the position of its SessionOpened."""

    number: int
    nonce: bytes
    user: str
    host: str
    application: str
    lease_ms: int
    is_open: bool = True
    last_n: int = 0
    answers: dict[int, Answered] = field(default_factory=dict)
    txns: dict[int, None] = field(default_factory=dict)

    def remember(self, n: int, answer: Answered) -> int:
        """Keep the answer to command `n` and return the growth in the number of kept answers.

        A number outside the window was refused, so its answer is not kept.
        """
        answers = self.answers
        if n == self.last_n + 1:
            self.last_n = n
            answers[n] = answer
            return 0 if answers.pop(n - WINDOW, None) else 1
        if not 0 < n <= self.last_n + WINDOW:
            return 0
        before = len(answers)
        if n > self.last_n:
            for old in range(self.last_n - WINDOW + 1, n - WINDOW + 1):
                answers.pop(old, None)
            self.last_n = n
        if n > self.last_n - WINDOW:
            answers.setdefault(n, answer)
        return len(answers) - before


@dataclass(slots=True)
class Sessions:
    """Open sessions and the remembered ended ones, by number and by nonce."""

    by_number: dict[int, Session] = field(default_factory=dict)
    by_nonce: dict[bytes, int] = field(default_factory=dict)
    ended: OrderedDict[int, None] = field(default_factory=OrderedDict)
    ended_answers: int = 0

    def open_count(self) -> int:
        """Return the number of open sessions."""
        return len(self.by_number) - len(self.ended)

    def add(self, session: Session) -> None:
        """Add a session just opened."""
        self.by_number[session.number] = session
        self.by_nonce[session.nonce] = session.number

    def end(self, number: int) -> None:
        """End a session, and forget the oldest ended sessions beyond the maximum."""
        session = self.by_number[number]
        if not session.is_open:
            raise AssertionError(f"session {number} ended twice")
        session.is_open = False
        self.ended[number] = None
        self.ended_answers += len(session.answers)
        self._crowd_out()

    def remember(self, session: Session, n: int, answer: Answered) -> None:
        """Keep an answer; the first answer to a command stays."""
        grown = session.remember(n, answer)
        if not session.is_open:
            self.ended_answers += grown
            self._crowd_out()

    def answered_at(self, session: int, outcome: str, first: int) -> int:
        """Return the position of a session's answer with this outcome and id, 0 if not kept."""
        known = self.by_number.get(session)
        answers = known.answers.values() if known is not None else ()
        found = (answer.position for answer in answers if answer[1:3] == (outcome, first))
        return next(found, 0)

    def _crowd_out(self) -> None:
        while self.ended and (
            len(self.ended) > REMEMBERED_SESSIONS_MAX or self.ended_answers > REMEMBERED_ANSWERS_MAX
        ):
            number, _ = self.ended.popitem(last=False)
            gone = self.by_number.pop(number)
            del self.by_nonce[gone.nonce]
            self.ended_answers -= len(gone.answers)
