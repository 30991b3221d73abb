"""What a projection is: a pure function from what an event did to changes of rows.

A projection holds nothing and reads nothing but the `Applied` it is given, so the rows of a store
are a function of the log alone, whatever crashed between: the stored rows that it may look up there
are themselves one, that of the position before. No rule of the ledger is written again here: states
come from the core's own `evolve`.
"""

from collections.abc import Collection, Iterable
from typing import Final, Protocol, get_args

from ledger.core.events import Body
from projections.applied import Applied
from projections.store.batch import LateChange

EVERY: Final = frozenset[type](get_args(Body))
"""The types of all events."""


class Projection(Protocol):
    """One part of the read model; a module with these two names is one."""

    @property
    def EVENTS(self) -> Collection[type]:  # noqa: N802 - a constant of the module
        """The types of events that it may have rows for; it is asked about no others."""
        ...

    def rows(self, applied: Applied) -> Iterable[LateChange]:
        """Return the rows to put or delete; of two changes of one key the later one holds."""
        ...
