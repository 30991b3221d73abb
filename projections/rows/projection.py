"""A projection: pure functions from an applied event to changes of rows.

A projection has no state and reads only its `Applied`, so the rows of a store are a function of the
log alone, after any crash. That holds for the stored rows that it may look up too: they are the
rows of the position before. No rule of the ledger is repeated here: states come from the core's own
`evolve`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol, get_args

from ledger.core.events.events import Body
from projections.rows.applied import Applied
from projections.store.batch import LateChange

EVERY: Final = frozenset[type](get_args(Body))
"""The types of all events."""

Rows = Callable[[Applied, Any], Iterable[LateChange]]
"""Returns the rows to put or delete for one event, given its effects and its body.

Of two changes of one key the later one holds.
"""


class Projection(Protocol):
    """One part of the read model; a module with `ROWS` is one."""

    @property
    def ROWS(self) -> Mapping[type, Rows]:  # noqa: N802 - a constant of the module
        """The functions that return the rows of an event, by its type; other types have no rows."""
        ...
