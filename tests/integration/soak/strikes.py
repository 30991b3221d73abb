"""Strikes: one process after the other is killed, and has to come back by itself."""

from collections.abc import Mapping
from contextlib import closing
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from ledger.errors import LedgerError
from projections.queries import open_reads
from tests.integration.soak.observer import Observer
from tests.integration.soak.questions import Questions
from tests.integration.soak.roles import Roles

# Spark takes its time to start where all others want the machine as well.
BACK_S: Final = 300.0
LEADER: Final = "leader"


class Strike(NamedTuple):
    """One process killed: its name, when, where the log was, and the process id it had."""

    name: str
    at_s: float
    position: int
    pid: int


class Strikes:
    """Kills in turn, and looks who is back.

    Attributes:
        back_s: for each process how long it took, every time, until it worked again.
        lost: those that did not come back in time.
    """

    def __init__(
        self,
        roles: Roles,
        observer: Observer,
        questions: Mapping[str, Questions],
        stores: Mapping[str, Path],
    ) -> None:
        self.back_s: dict[str, list[float]] = {}
        self.lost: list[str] = []
        self._roles = roles
        self._observer = observer
        self._questions = questions
        self._stores = stores
        self._away: list[Strike] = []
        self._turns = cycle(turns(roles))

    @property
    def away(self) -> list[str]:
        """The processes that are not back yet."""
        return [strike.name for strike in self._away]

    def next(self) -> str:
        """Kill the next process whose turn it is; return its name, "" if it is still away."""
        turn = next(self._turns)
        name = self._leader() if turn == LEADER else turn
        if not name or name in self.away or not self._roles.runs(name):
            return ""
        if name in self._questions:
            self._questions[name].note_status(self._roles.pid(name))
        position = self._observer.position
        self._away.append(Strike(name, monotonic(), position, self._roles.kill(name)))
        return name

    def look(self) -> None:
        """Look who is back, and who should be."""
        for strike in list(self._away):
            took_s = monotonic() - strike.at_s
            if self._is_back(strike):
                self.back_s.setdefault(strike.name, []).append(took_s)
                self._away.remove(strike)
            elif took_s > BACK_S:
                self.lost.append(f"{strike.name} was killed and not back after {BACK_S:.0f} s")
                self._away.remove(strike)

    def _leader(self) -> str:
        """Return the sequencer that leads, "" while nobody does."""
        name, _, pid = self._observer.term.sequencer.partition("/")
        is_leading = self._observer.term.answered and self._roles.pid(name) == int(pid)
        return name if is_leading else ""

    def _is_back(self, strike: Strike) -> bool:
        """Tell whether a process runs again and has done what it is for since."""
        name, observer = strike.name, self._observer
        if not self._roles.runs(name) or self._roles.pid(name) == strike.pid:
            return False
        if name in self._questions:
            status = self._questions[name].note_status(self._roles.pid(name))
            return status is not None and not status.is_loading and is_at(status.position, strike)
        if name in self._stores:
            return is_at(position_of(self._stores[name]), strike)
        if name.startswith("writer"):
            return observer.sessions.get(name, 0) > strike.position
        return observer.term.answered > strike.position


def turns(roles: Roles) -> list[str]:
    """Return who is killed in which order: the leader is whoever leads by then."""
    names = [name for name in roles.names() if not name.startswith("sequencer")]
    return [*names[: len(names) // 2], LEADER, *names[len(names) // 2 :], LEADER]


def is_at(position: int, strike: Strike) -> bool:
    """Tell whether somebody has come at least to where the log was at a strike."""
    return position >= strike.position


def position_of(store: Path) -> int:
    """Return the position of the rows of a store, 0 while they cannot be read."""
    try:
        with closing(open_reads(store)) as reads:
            return reads.position()
    except LedgerError:
        return 0
