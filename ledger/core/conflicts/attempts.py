"""Attempts: a table part about to commit as the checks read it, and the conflicts they find."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ledger.core.commands import CoarseWrite, Footprint, IsolationLevel, TableDefinition
from ledger.core.conflicts.index import TableWinners
from ledger.core.predicates.predicates import Predicates


class Attempt(NamedTuple):
    """One table part about to commit, as the check reads it.

    `changes`: it changes metadata. `alters`: one of these changes is more than a rename.
    `rearranges`: its files hold the same rows as before. `breaks`: its protocol action removes a
    feature. `operation` names what it does in a word or two. `definition` is the table's, None if
    the attempt changes it. `by_file`: it is judged as if rows were not known.
    """

    read_at: int
    level: IsolationLevel
    coarse: Sequence[CoarseWrite]
    footprint: Footprint | None
    blind: bool
    rearranges: bool
    changes: bool
    alters: bool
    replaces: bool
    breaks: bool
    operation: str = ""
    definition: TableDefinition | None = None
    by_file: bool = False


class Hit(NamedTuple):
    """A conflict: the winner's position, the step and rule that found it, and where both met.

    `unit` names the place, `predicate` the scan that matched. The least of several hits counts.
    """

    position: int
    step: int
    rule: str
    unit: str
    predicate: str = ""


Check = Callable[[TableWinners, Attempt, Predicates], Iterator[Hit]]
