"""Clauses of a MERGE, in the order in which they are tried on each row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ledger.expressions.build import Expression

ClauseKind = Literal["matched", "not_matched", "not_matched_by_source"]
ClauseAction = Literal["update", "delete", "insert"]
Assigned = Mapping[str, Any] | bool | None
"""New values by column; True = each column gets the value of the source's column of that name."""


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A clause of a MERGE: what happens to the rows that fulfil its condition.

    `values` are new values by column, None = the source's columns of the same names. Make clauses
    by the methods: `update` and `delete` for target rows that match a source row, `insert` for
    source rows without a match, `update_unmatched` and `delete_unmatched` for target rows without.
    """

    kind: ClauseKind
    action: ClauseAction
    values: Mapping[str, Any] | None = None
    where: "str | Expression | None" = None

    @classmethod
    def update(
        cls, values: Mapping[str, Any] | None = None, where: "str | Expression | None" = None
    ) -> "MergeClause":
        """WHEN MATCHED [AND where] THEN UPDATE SET ..."""
        return cls("matched", "update", values, where)

    @classmethod
    def delete(cls, where: "str | Expression | None" = None) -> "MergeClause":
        """WHEN MATCHED [AND where] THEN DELETE."""
        return cls("matched", "delete", None, where)

    @classmethod
    def insert(
        cls, values: Mapping[str, Any] | None = None, where: "str | Expression | None" = None
    ) -> "MergeClause":
        """WHEN NOT MATCHED [AND where] THEN INSERT ..."""
        return cls("not_matched", "insert", values, where)

    @classmethod
    def update_unmatched(
        cls, values: Mapping[str, Any], where: "str | Expression | None" = None
    ) -> "MergeClause":
        """WHEN NOT MATCHED BY SOURCE [AND where] THEN UPDATE SET ..."""
        return cls("not_matched_by_source", "update", values, where)

    @classmethod
    def delete_unmatched(cls, where: "str | Expression | None" = None) -> "MergeClause":
        """WHEN NOT MATCHED BY SOURCE [AND where] THEN DELETE."""
        return cls("not_matched_by_source", "delete", None, where)


def clauses_of(
    update: Assigned,
    delete: Any,
    insert: Assigned,
    delete_unmatched: Any,
    clauses: Iterable[MergeClause],
) -> Sequence[MergeClause]:
    """Return the clauses of a MERGE as the caller named them; deletes come before updates.

    Raises ValueError without a clause, and for a clause without a condition before another one of
    its kind; TypeError for anything but a clause.
    """
    found = list(clauses)
    for each in found:
        if not isinstance(each, MergeClause):
            raise TypeError(f"a clause must be a MergeClause, got {each!r}")
    if is_given(delete):
        found.append(MergeClause.delete(condition_in(delete)))
    if is_given(update):
        found.append(MergeClause.update(values_in("when_matched_update", update)))
    if is_given(insert):
        found.append(MergeClause.insert(values_in("when_not_matched_insert", insert)))
    if is_given(delete_unmatched):
        found.append(MergeClause.delete_unmatched(condition_in(delete_unmatched)))
    if not found:
        raise ValueError("a merge must have at least one clause, such as when_matched_update=True")
    for at, each in enumerate(found):
        if each.where is None and any(later.kind == each.kind for later in found[at + 1 :]):
            raise ValueError(
                f"only the last clause for rows that are {each.kind.replace('_', ' ')} may have no "
                f"condition, got {each}"
            )
    return found


def is_given(argument: Any) -> bool:
    """Tell whether a clause was asked for."""
    return argument is not None and argument is not False


def condition_in(argument: Any) -> Any:
    """Return the condition of a clause, None for True."""
    return None if argument is True else argument


def values_in(name: str, argument: Any) -> Mapping[str, Any] | None:
    """Return the values of a clause, None for True; raises TypeError for anything else."""
    if argument is True:
        return None
    if not isinstance(argument, Mapping):
        raise TypeError(f"{name} must be True or a dict of columns and values, got {argument!r}")
    return argument
