"""Conditions of Spark, which its side sends in the wire form: one tree for each conjunct."""

from collections.abc import Sequence
from typing import Any

from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import (
    And,
    Node,
    Odd,
    RowForm,
    Unknown,
    connected,
    fits,
    node_of,
    shown_unknown,
    walked,
)


class NotUnderstoodError(Exception):
    """A condition has a part that cannot be said exactly."""


def condition_of(trees: Sequence[Any]) -> Node | None:
    """Return the condition of a DELETE or an overwrite, None for none; raises NotUnderstoodError.

    Rows outside it must stay, so no part of it may be unknown.
    """
    nodes = list(map(node_of, trees))
    if any(isinstance(each, Unknown | Odd) for node in nodes for each in walked(node)):
        raise NotUnderstoodError
    return conjunction(nodes)


def conjunction(nodes: Sequence[Node]) -> Node | None:
    """Return the conjunction of conditions, None for none; one that is too large is unknown."""
    if not nodes:
        return None
    made = connected(And, nodes)
    return made if fits(made) else RowForm(shown_unknown(sql_of_node(made)), made)


def is_understood(trees: Sequence[Any]) -> bool:
    """Return whether conditions can be said exactly."""
    try:
        condition_of(trees)
    except NotUnderstoodError:
        return False
    return True
