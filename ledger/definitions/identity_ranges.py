"""Numbers for identity columns: a client takes a range of them by a small commit of its own.

The commit raises the mark of the column in the definition of the table, and nothing else. Commits
in flight survive it. Two clients that raise the mark at once cannot both commit: the second reads
the mark again. So no number is taken twice, whatever becomes of the rows. A range of which not all
numbers are given to rows leaves a gap.
"""

import random
import time
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final

from ledger.core.commands import AlterTable, SessionCommand
from ledger.core.events.events import TableAltered
from ledger.core.refusals import Reason
from ledger.definitions.client_reads import View
from ledger.errors import MetadataChangedException, OutcomeUnknownError, UnknownTableError
from ledger.properties.column_values import raised
from ledger.session.refusals import body_as
from ledger.session.session import UNNUMBERED, CommandAnswer

RANGE: Final = 1000
"""The least count of numbers that a client takes at once."""

OPERATION: Final = "TAKE IDENTITY RANGE"
DEADLINE_S: Final = 30.0
PAUSE_S: Final = 0.05


class IdentityRanges:
    """The numbers that one client has taken and not used for rows; threads may share it."""

    def __init__(self, view: View, ask: Callable[[SessionCommand], CommandAnswer]) -> None:
        self._view, self._ask = view, ask
        self._left: dict[tuple[int, int], range] = {}
        self._turn = Lock()

    def take(self, table: int, column: int, count: int) -> range:
        """Return numbers of a column that no row has, and no other call gets.

        Raises ValueError if the column has no numbers left, and MetadataChangedException if other
        writers are always faster.
        """
        with self._turn:
            left = self._left.get((table, column), range(0))
            if len(left) < count:
                left = self._taken(table, column, max(count, RANGE))
            self._left[table, column] = left[count:]
            return left[:count]

    def _taken(self, table: int, column: int, count: int) -> range:
        """Raise the mark of a column; an attempt without an answer leaves a gap at worst."""
        ends_s, place = monotonic() + DEADLINE_S, 0
        while True:
            reads = self._view.reads(place)
            position, row = reads.position(), reads.table(table)
            if row is None:
                raise UnknownTableError(
                    f"there is no table {table}", reason=Reason.UNKNOWN_TABLE.value, subject=table
                )
            definition, found = raised(row.definition, column, count)
            command = AlterTable(*UNNUMBERED, 0, position, table, definition, OPERATION)
            try:
                body_as(TableAltered, self._ask(command))
            except (MetadataChangedException, OutcomeUnknownError) as overtaken:
                if monotonic() > ends_s:
                    raise
                if isinstance(overtaken, MetadataChangedException):
                    place = overtaken.position
                time.sleep(random.uniform(0, PAUSE_S))  # noqa: S311 - no secret
            else:
                return found
