"""Conditions of DELETE and of overwrites, which Spark's side sends in the wire form."""

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
    """Return the conjunction of conditions, None for none; raises NotUnderstoodError."""
    nodes = list(map(node_of, trees))
    if any(isinstance(each, Unknown | Odd) for node in nodes for each in walked(node)):
        raise NotUnderstoodError
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
