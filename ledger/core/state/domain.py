"""The state of one domain: the result of the fold of its events.

Only `evolve` changes it, in place, and one fold owns it. `decide` and `housekeep` only read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.conflicts.index import ConflictIndex
from ledger.core.events.events import Control, LedgerCreated
from ledger.core.events.parts import Limits
from ledger.core.limits import DEFAULT_LIMITS
from ledger.core.predicates.predicates import Predicates
from ledger.core.state.namespaces import Namespaces
from ledger.core.state.sessions import Sessions
from ledger.core.state.tables import Tables
from ledger.core.state.txns import Txns


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of the log: no event exists after `base` and before `position`.

    Ids continue at `next_txn`, and above the last write ids and versions in `floors`, by table.
    """

    position: int
    base: int
    next_txn: int
    floors: Mapping[int, tuple[int, int]]


class TrimmedLog(NamedTuple):
    """The last trim of the log: its position, and what its event said."""

    position: int
    below: int
    archive: str
    image: int
    digest: bytes


@dataclass(slots=True)
class DomainState:
    """Everything a decision may depend on; `position` and `at` are of the last event.

    `cuts` are in order, oldest first. `trimmed` is the last trim that was decided, None if none
    was. `begins` is the position of the first event in the log, as far as leaders saw it.
    """

    position: int = 0
    last_cmd: int = -1
    at: int = 0
    genesis: LedgerCreated | None = None
    commands_topic: str = ""
    limits: Limits = DEFAULT_LIMITS
    catalogs: set[str] = field(default_factory=set)
    sessions: Sessions = field(default_factory=Sessions)
    txns: Txns = field(default_factory=Txns)
    tables: Tables = field(default_factory=Tables)
    namespaces: Namespaces = field(default_factory=Namespaces)
    winners: ConflictIndex = field(default_factory=ConflictIndex)
    cuts: list[Cut] = field(default_factory=list)
    trimmed: TrimmedLog | None = None
    begins: int = 1
    # A cache, not part of the state: predicates in compiled form.
    predicates: Predicates = field(default_factory=Predicates, compare=False, repr=False)

    def is_filling(self, control: Control) -> bool:
        """Tell whether an event takes up what the last cut lost.

        It has the session of the cut, and answers no command.
        """
        return bool(self.cuts) and control.session == self.cuts[-1].position and not control.n
