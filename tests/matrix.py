"""The conflict matrix, made by the rules themselves: each statement after each other one.

`python -m tests.matrix` prints what stands in docs/isolation.md; `make docs` writes it there, and a
test compares both.
Two statements read the same state of a table partitioned by `part`; the winner commits first. The
loser's files and the winner's lie in partition 1, or in different ones.
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Final, NamedTuple

from ledger.core.commands import (
    LEVELS,
    Column,
    CreateTable,
    Footprint,
    IsolationLevel,
    Property,
    TableDefinition,
    TableWrite,
)
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed
from ledger.core.decide.evidence import RULES, Rule
from ledger.core.events.events import TxnAborted, TxnCommitted
from tests.conditions import predicate_tree
from tests.driver import CATALOG, Driver

SHORT: Final[Mapping[str, str]] = {
    "ConcurrentAppend": "append",
    "ConcurrentDeleteRead": "delete/read",
    "ConcurrentDeleteDelete": "delete/delete",
    "MetadataChanged": "metadata",
}
PASSES: Final = "·"
WIDTH: Final = 140


class Statement(NamedTuple):
    """What a statement does in a partition: reads it, adds a file to it, removes the one there."""

    name: str
    operation: str
    reads: bool
    adds: bool
    removes: bool
    data_change: bool = True


STATEMENTS: Final = (
    Statement("INSERT", "WRITE", reads=False, adds=True, removes=False),
    Statement("INSERT … SELECT from itself", "WRITE", reads=True, adds=True, removes=False),
    Statement("UPDATE", "UPDATE", reads=True, adds=True, removes=True),
    Statement("DELETE of whole files", "DELETE", reads=True, adds=False, removes=True),
    Statement("MERGE", "MERGE", reads=True, adds=True, removes=True),
    Statement("OPTIMIZE", "OPTIMIZE", reads=True, adds=True, removes=True, data_change=False),
)


def footprint(statement: Statement, part: int, side: str) -> Footprint:
    """Return what a statement leaves behind in one partition."""
    there = f"part={part}/there"
    return EMPTY_FOOTPRINT._replace(
        operation=statement.operation,
        reads=[predicate_tree(f"part = {part}")] if statement.reads else [],
        read_files=packed([there]) if statement.reads else b"",
        adds=[f'["{part}"]'] if statement.adds else [],
        removes=packed([there]) if statement.removes else b"",
        removes_in=[f'["{part}"]'] if statement.removes else [],
        data_change=statement.data_change,
        files=side.encode(),
    )


def outcome(
    loser: Statement, winner: Statement, level: IsolationLevel, *, same_partition: bool
) -> str:
    """Return how the loser ends: `·` if it commits, else the exception in a word."""
    driver = Driver()
    ada, bob = driver.open_session("ada"), driver.open_session("bob")
    columns = [Column(name, "int", nullable=True, id=0) for name in ("part", "x")]
    definition = TableDefinition(
        "managed", "listed", "", columns, ["part"], [Property("delta.isolationLevel", level)]
    )
    driver.ask(CreateTable(*driver.asks(ada), 0, 0, CATALOG, "t", definition))
    read_at = driver.state.position
    won = driver.commit(ada, 0, TableWrite(1, read_at, (), footprint(winner, 1, "winner")))
    assert isinstance(won.body, TxnCommitted), "the first committer lost"
    part = 1 if same_partition else 2
    ended = driver.commit(bob, 0, TableWrite(1, read_at, (), footprint(loser, part, "loser"))).body
    if isinstance(ended, TxnAborted) and ended.evidence is not None:
        return SHORT[ended.evidence.exception]
    assert isinstance(ended, TxnCommitted), f"neither committed nor lost: {ended}"
    return PASSES


def matrix(level: IsolationLevel) -> Iterator[str]:
    """Return the lines of the table of one level: rows lose, columns won before them."""
    yield (
        f"| {level}: loser \\ winner | "
        + " | ".join(statement.name for statement in STATEMENTS)
        + " |"
    )
    yield "|---" * (len(STATEMENTS) + 1) + "|"
    for loser in STATEMENTS:
        cells = [outcome(loser, winner, level, same_partition=True) for winner in STATEMENTS]
        yield f"| **{loser.name}** | " + " | ".join(cells) + " |"


def page() -> str:
    """Return the tables of all levels."""
    return "\n\n".join("\n".join(matrix(level)) for level in reversed(LEVELS))


def rules_list() -> str:
    """Return the rules by which a commit loses: the exception of each and what avoids it."""
    items = (f"- `{name}` ({rule.exception}): {helps(rule)}" for name, rule in RULES.items())
    return "\n".join("\n".join(wrap(item, WIDTH, subsequent_indent="  ")) for item in items)


def helps(rule: Rule) -> str:
    """Return what helps against a rule, in any table and in one with partition columns."""
    if not rule.by_partition:
        return rule.remedy
    return f"{rule.remedy}; in a table with partition columns, {rule.by_partition}"


if __name__ == "__main__":
    print(page(), rules_list(), sep="\n\n")  # noqa: T201 - it is what was asked for
