"""What a projection is: pure functions from what an event did to changes of rows.

A projection holds nothing and reads nothing but the `Applied` it is given, so the rows of a store
are a function of the log alone, whatever crashed between: the stored rows that it may look up there
are themselves one, that of the position before. No rule of the ledger is written again here: states
come from the core's own `evolve`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, get_args

from ledger.core.events.events import Body
from projections.rows.applied import Applied
from projections.store.batch import LateChange

EVERY: Final = frozenset[type](get_args(Body))
"""The types of all events."""

Rows = Callable[[Applied, Any], Iterable[LateChange]]
"""Returns what rows to put or delete for one event, given what it did and its body.

Of two changes of one key the later one holds.
"""


class Projection(Protocol):
    """One part of the read model; a module with this name is one."""

    @property
    def ROWS(self) -> Mapping[type, Rows]:  # noqa: N802 - a constant of the module
        """What returns the rows of an event, by its type; of others there are none."""
        ...
