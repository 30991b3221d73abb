"""The observer: reads the log for itself while it grows, and knows what readers may hold.

It folds every event with the core alone. Now and then it notes the lists that readers of all tables
hold at that moment, those in open txns too; that is what caches are asked with, soon or much later.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from random import Random
from threading import Condition, Thread
from time import monotonic
from typing import Final, NamedTuple

from ledger.core.acceptance import LogHead
from ledger.core.events.events import Event, Fenced, SessionOpened
from ledger.core.evolve.evolve import evolve
from ledger.core.lists.valid_lists import ValidTxnList
from ledger.core.state.domain import DomainState
from ledger.log.acceptor import Acceptor
from ledger.log.port import Log, LogReader, Topic
from tests.projections.cache_history import Reader, note_opened, readers_of

READ_MAX: Final = 2_000
READ_WAIT_S: Final = 0.05
NOTED_EVERY_S: Final = 0.5
PATIENCE_S: Final = 60.0
YOUNG: Final = 10


class Term(NamedTuple):
    """Who leads: the epoch, the sequencer as the log names it, and its first answer; 0 = none."""

    epoch: int
    sequencer: str
    answered: int = 0


class Observer:
    """Follows a log in a thread of its own, from `start` to `close`.

    Attributes:
        events: all of them, the first at position 1.
        state: the state behind them.
        sessions: the position at which each application opened a session last.
        term: who leads.
    """

    def __init__(self, log: Log) -> None:
        self.events: list[Event] = []
        self.state = DomainState()
        self.sessions: dict[str, int] = {}
        self.term = Term(0, "")
        self._acceptor = Acceptor(LogHead())
        self._log = log
        self._offset = 0
        self._opened: dict[int, ValidTxnList] = {}
        self._noted: list[Sequence[Reader]] = []
        self._noted_s = 0.0
        self._is_ending = False
        self._failure: BaseException | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="observer", daemon=True)

    @property
    def position(self) -> int:
        """The position of the last event."""
        return len(self.events)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def check(self) -> None:
        """Raise what ended the following, if something did."""
        if self._failure is not None:
            raise self._failure

    def wait_for_end(self) -> int:
        """Return the last position, once all is read that the log holds now."""
        end, until_s = self._log.ends(Topic.EVENTS)[1], monotonic() + PATIENCE_S
        with self._changed:
            while self._offset < end and self._failure is None and monotonic() < until_s:
                self._changed.wait(READ_WAIT_S)
        self.check()
        assert self._offset >= end, f"the log was read up to {self._offset} of {end}"
        return self.position

    def readers(self, chance: Random, number: int) -> list[Reader]:
        """Return some readers whose lists are of one moment, mostly of now or not long ago."""
        noted = self._noted
        age = chance.choice([0, 0, chance.randint(1, YOUNG), chance.randint(0, len(noted))])
        moment = noted[-min(age, len(noted))] if age and noted else self.readers_now()
        return chance.sample(moment, min(number, len(moment)))

    def readers_now(self) -> list[Reader]:
        """Return who may read what now."""
        with self._changed:
            return list(readers_of(self.state, self._opened))

    def ever(self) -> list[Reader]:
        return list(dict.fromkeys(reader for moment in self._noted for reader in moment))

    def kinds(self) -> Mapping[str, int]:
        """Return how many events of each type there were."""
        return Counter(type(event.body).__name__ for event in self.events)

    def close(self) -> None:
        """Stop following."""
        self._is_ending = True
        self._thread.join()

    def _run(self) -> None:
        try:
            with closing(self._log.reader(Topic.EVENTS, 0)) as reader:
                while not self._is_ending:
                    self._read(reader)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._failure = error

    def _read(self, reader: LogReader) -> None:
        records = reader.read(READ_MAX, READ_WAIT_S)
        with self._changed:
            for record in records:
                event = self._acceptor.take(record.value)
                if event is not None:
                    self._take(event)
            self._offset = reader.next_offset()
            if monotonic() - self._noted_s > NOTED_EVERY_S:
                self._noted.append(list(readers_of(self.state, self._opened)))
                self._noted_s = monotonic()
            self._changed.notify_all()

    def _take(self, event: Event) -> None:
        evolve(self.state, event)
        self.events.append(event)
        note_opened(self._opened, event)
        control, body = event
        match body:
            case Fenced():
                self.term = Term(control.epoch, body.sequencer)
            case SessionOpened():
                self.sessions[body.application] = control.position
            case _:
                pass
        if control.session and not self.term.answered:
            self.term = self.term._replace(answered=control.position)
