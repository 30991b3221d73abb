"""A table as plain rows in memory, and what each statement makes of it.

Each row has a number of its own, and a changed row gets another one. So a txn is the rows that it
took away from its snapshot and the rows that it put there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from tests.tables.laws.terms import Term
from tests.tables.row_files import plain

NUMBERS = count(1)
NARROW = {"int": "bigint", "float": "double"}


class ModelColumn(NamedTuple):
    """What a table of the model knows of a column."""

    id: int
    name: str
    type: str


@dataclass
class TableModel:
    """The columns of a table, the ids of those it is partitioned by, and its rows."""

    columns: Sequence[ModelColumn]
    by: Sequence[int] = ()
    rows: dict[int, dict[int, Any]] = field(default_factory=dict)
    highest: int = 0

    def __post_init__(self) -> None:
        self.highest = max(self.highest, *(column.id for column in self.columns))

    def copy(self) -> "TableModel":
        """Return the same table, which can be changed alone."""
        return TableModel(self.columns, self.by, dict(self.rows), self.highest)

    @property
    def names(self) -> Mapping[int, str]:
        """The names of the columns in a text, by id."""
        return {column.id: quoted(column.name) for column in self.columns}

    @property
    def types(self) -> Mapping[int, str]:
        return {column.id: column.type for column in self.columns}

    @property
    def definition(self) -> tuple[Any, ...]:
        """The columns and the partitioning."""
        return tuple(self.columns), tuple(self.by)

    def put(self, rows: Iterable[Mapping[int, Any]]) -> int:
        """Add rows, and return how many."""
        before = len(self.rows)
        self.rows.update((next(NUMBERS), dict(row)) for row in rows)
        return len(self.rows) - before

    def matching(self, where: Term | None) -> list[int]:
        """Return the numbers of the rows that fulfil a condition."""
        return [at for at, row in self.rows.items() if where is None or where.value(row) is True]

    def take(self, numbers: Iterable[int]) -> list[dict[int, Any]]:
        return [self.rows.pop(number) for number in numbers]

    def counted(self, where: Term | None = None, ids: Sequence[int] | None = None) -> Counter[Any]:
        """Return the rows of a condition as tuples, counted, with all columns or some."""
        wanted = [column.id for column in self.columns] if ids is None else ids
        rows = (self.rows[each] for each in self.matching(where))
        return Counter(tuple(plain(row.get(each)) for each in wanted) for row in rows)

    def later(self, before: "TableModel", own: "TableModel") -> "TableModel":
        """Return this table after the commit of a txn that made `own` from `before`.

        A row that the txn took away must still be there: else an update is lost.
        """
        gone = before.rows.keys() - own.rows.keys()
        lost = gone - self.rows.keys()
        assert not lost, f"the txn changed rows that an earlier commit had changed: {lost}"
        new = {at: row for at, row in own.rows.items() if at not in before.rows}
        kept = {at: row for at, row in self.rows.items() if at not in gone}
        made = own if own.definition != before.definition else self
        return TableModel(made.columns, made.by, kept | new, max(self.highest, own.highest))


def quoted(name: str) -> str:
    """Return a name as Spark SQL quotes it."""
    return f"`{name.replace('`', '``')}`"
