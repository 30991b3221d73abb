"""The conflict matrix of tables with marks: real statements, side by side, on one file.

`python -m tests.row_matrix` prints the tables that stand in docs/isolation.md; `make docs` writes
them there, and a test compares both. Two txns of a ledger in memory read the same state of a table
with `lakeledger.rows` = `marks` and run a statement each; the winner commits first. All rows that
the statements name lie in one file.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from ledger.core.commands import LEVEL_PROPERTY, LEVELS, IsolationLevel
from ledger.errors import ConflictError
from ledger.properties.known_properties import MARKS, ROWS
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.matrix import PASSES, SHORT

TABLE: Final = "db.t"
FILE_ROWS: Final = 100
"""The rows of each of the two files: one row of them is few enough for a mark."""
ONE: Final = 7
OTHER: Final = 3
NEW: Final = 1_000
CITY: Final = "Oslo"
ELSEWHERE: Final = "Rome"
BEFORE: Final = "Bergen"
SAME: Final = f"city = '{CITY}'"

Work = Callable[[Transaction], object]
Cell = Callable[[str, str, IsolationLevel], str]


class Pair(NamedTuple):
    """What the loser and the winner run."""

    loser: Work
    winner: Work


def row(number: int, city: str = ELSEWHERE) -> dict[str, Any]:
    return {"id": number, "city": city, "n": 0}


def merge(rows: Sequence[dict[str, Any]], on: str) -> Work:
    """Return a MERGE that updates the rows that match and inserts the others."""
    return lambda txn: txn.merge(
        TABLE, rows, on, when_matched_update=True, when_not_matched_insert=True
    )


def insert(city: str) -> Work:
    return lambda txn: txn.insert(TABLE, [row(NEW, city)])


def update(where: str, **changes: Any) -> Work:
    return lambda txn: txn.update(TABLE, changes or {"n": "n + 1"}, where)


def delete(where: str) -> Work:
    return lambda txn: txn.delete(TABLE, where)


BY_ID: Final = "target.id = source.id"
BY_CITY: Final = "target.city = source.city"
BY_BOTH: Final = f"{BY_ID} AND {BY_CITY}"
STATEMENTS: Final[dict[str, Callable[[int], Work]]] = {
    "INSERT": lambda _: insert(ELSEWHERE),
    "UPDATE": lambda number: update(f"id = {number}"),
    "DELETE": lambda number: delete(f"id = {number}"),
    "MERGE": lambda number: merge([row(number)], BY_ID),
    "OPTIMIZE": lambda _: lambda txn: txn.optimize(TABLE),
    "INSERT OVERWRITE": lambda _: lambda txn: txn.overwrite(TABLE, [row(NEW)]),
}
"""Statements over the row of an id, if they name one."""
NAME_A_ROW: Final = ("UPDATE", "DELETE", "MERGE")
READERS: Final[dict[str, Work]] = {
    f"UPDATE … WHERE {SAME}": update(SAME),
    f"DELETE … WHERE {SAME}": delete(SAME),
    "MERGE ON city": merge([row(NEW + 1, CITY)], BY_CITY),
}
"""Statements that find rows by a city."""
BRINGERS: Final[dict[str, Callable[[str], Work]]] = {
    "INSERT of a row": insert,
    "UPDATE … SET city": lambda city: update(f"id = {OTHER}", city=f"'{city}'"),
    "MERGE that inserts": lambda city: merge([row(NEW, city)], BY_BOTH),
}
"""Statements that bring a row of a city."""


def outcome(pair: Pair, level: IsolationLevel) -> str:
    """Return how the loser ends: `·` if it commits, else the exception in a word."""
    others = range(FILE_ROWS, 2 * FILE_ROWS)
    with TemporaryDirectory() as folder, InMemoryLedger() as memory:
        one, two = (memory.connect(warehouse=folder) for _ in range(2))
        rows = [row(number, CITY if number == ONE else BEFORE) for number in range(FILE_ROWS)]
        one.create_table(TABLE, rows, properties={ROWS: MARKS, LEVEL_PROPERTY: level})
        # OPTIMIZE needs a second file to join the first one with.
        one.append(TABLE, [row(number, BEFORE) for number in others])
        winner, loser = one.begin(), two.begin()
        pair.winner(winner)
        pair.loser(loser)
        winner.commit()
        try:
            loser.commit()
        except ConflictError as error:
            return SHORT[error.evidence.exception]
        return PASSES


@cache
def side_by_side(loser: str, winner: str, level: IsolationLevel, *, one_row: bool) -> str:
    """Return how a statement ends that names another row than the winner, or the same one."""
    pair = Pair(STATEMENTS[loser](ONE), STATEMENTS[winner](ONE if one_row else OTHER))
    return outcome(pair, level)


@cache
def against_new_row(reader: str, bringer: str, level: IsolationLevel, *, fulfils: bool) -> str:
    """Return how a statement ends if a new row came that fulfils its condition, or does not."""
    city = CITY if fulfils else ELSEWHERE
    return outcome(Pair(READERS[reader], BRINGERS[bringer](city)), level)


def side_by_side_cell(loser: str, winner: str, level: IsolationLevel) -> str:
    """Return the outcome for different rows, and the one for one row where it is another."""
    apart = side_by_side(loser, winner, level, one_row=False)
    if loser in NAME_A_ROW and winner in NAME_A_ROW:
        return both(apart, side_by_side(loser, winner, level, one_row=True))
    return apart


def new_row_cell(reader: str, bringer: str, level: IsolationLevel) -> str:
    """Return the outcome for a row that misses the condition, and for one that fulfils it."""
    return both(*(against_new_row(reader, bringer, level, fulfils=it) for it in (False, True)))


def both(first: str, second: str) -> str:
    """Return two outcomes as one cell."""
    return first if first == second else f"{first}, {second}"


def lines(
    level: IsolationLevel, losers: Iterable[str], winners: Sequence[str], cell: Cell
) -> Iterator[str]:
    """Yield the lines of the table of one level: rows lose, columns won before them."""
    yield f"| {level}: loser \\ winner | " + " | ".join(winners) + " |"
    yield "|---" * (len(winners) + 1) + "|"
    for loser in losers:
        cells = [cell(loser, winner, level) for winner in winners]
        yield f"| **{loser}** | " + " | ".join(cells) + " |"


def tables(losers: Iterable[str], winners: Iterable[str], cell: Cell) -> str:
    """Return the tables of all levels."""
    made = (lines(level, losers, list(winners), cell) for level in reversed(LEVELS))
    return "\n\n".join("\n".join(table) for table in made)


def page() -> str:
    """Return the tables of statements side by side."""
    return tables(STATEMENTS, STATEMENTS, side_by_side_cell)


def new_rows() -> str:
    """Return the tables of statements against new rows."""
    return tables(READERS, BRINGERS, new_row_cell)


if __name__ == "__main__":
    print(page(), new_rows(), sep="\n\n")  # noqa: T201 - it is what was asked for
