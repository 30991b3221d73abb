"""What if: which commits of a ledger another isolation level would have decided otherwise."""

from collections.abc import Iterator

from ledger.core.commands import IsolationLevel
from ledger.core.decide.whatif import Redecided, redecide
from ledger.core.evolve.evolve import evolve
from ledger.core.state.domain import DomainState
from ledger.log.port import Log
from ledger.replay import Progress, Replay


def what_if(
    log: Log,
    level: IsolationLevel,
    *,
    since: int = 0,
    progress: Progress = lambda _done, _end: None,
) -> Iterator[Redecided]:
    """Return every commit and lost conflict from position `since` on, judged again at `level`.

    The log is read, never written. Raises LogDamagedError where it is damaged.
    """
    state = DomainState()
    for event in Replay(log, progress):
        if event.control.position >= since:
            found = redecide(state, event, level)
            if found is not None:
                yield found
        evolve(state, event)
