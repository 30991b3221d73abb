"""Nodes that only rows understand: the rows' side of a `RowForm`."""

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.core.predicates.tree import Node


@dataclass(frozen=True, slots=True)
class QualifiedColumn(Node):
    """A column with the name of its table, or a field of a struct."""

    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class FieldOf(Node):
    """A field of a struct that is no column."""

    value: Node
    name: str


@dataclass(frozen=True, slots=True)
class Between(Node):
    """BETWEEN, which compares a text of CHAR otherwise than two comparisons do."""

    value: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class Case(Node):
    """CASE; `value` is compared with each condition, None if the conditions stand alone."""

    value: Node | None
    branches: Sequence[tuple[Node, Node]]
    default: Node | None


@dataclass(frozen=True, slots=True)
class RefusedForm(Node):
    """A form that rows do not support; an error in `parts` comes first."""

    what: str
    parts: Sequence[Node] = ()


@dataclass(frozen=True, slots=True)
class Ungrouped(Node):
    """A text that Spark groups in another way than most engines."""

    sql: str
