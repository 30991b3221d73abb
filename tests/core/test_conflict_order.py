"""The order of a check: which rule is asked first, and which of several winners is named."""

from typing import Any

import pytest

from ledger.core.commands import TableWrite
from tests.core.arena import (
    APPEND,
    CLUSTERING,
    DAY_1,
    LOADED,
    MARKED,
    VECTORS,
    WITH_VECTORS,
    Arena,
    serializable,
    statement,
)
from tests.core.parts import part, partition

# One winner that everything stands against, and losers that avoid its steps one after another.
EVERYTHING = {
    "protocol": VECTORS,
    "domains": [CLUSTERING],
    "apps": LOADED,
    "adds": [partition("1")],
    "remove": ["a", "b"],
    "removes_in": [partition("1")],
}
EXPOSED: list[tuple[str, dict[str, Any]]] = [
    ("protocol_twice", {"protocol": VECTORS}),
    ("domain_twice", {"domains": [CLUSTERING]}),
    ("app_progressed", {"read_apps": ["loader"]}),
    ("file_added", {"reads": [DAY_1]}),
    ("file_read_removed", {"read": ["a"]}),
    ("file_removed_twice", {"remove": ["b"], "removes_in": [partition("1")]}),
]


@pytest.mark.parametrize("step", range(len(EXPOSED)), ids=[rule for rule, _ in EXPOSED])
def test_within_one_winner_the_documented_order_of_checks_decides(step: int) -> None:
    arena = Arena()
    arena.alters_with(WITH_VECTORS, arena.part("MERGE", **EVERYTHING))
    exposed = {key: each for _, fields in EXPOSED[step:] for key, each in fields.items()}
    lost = arena.follows(arena.part("MERGE", **exposed))

    assert lost.evidence.rule == EXPOSED[step][0]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"protocol": VECTORS, "reads": [DAY_1]}, "protocol_twice"),
        ({"domains": [CLUSTERING], "reads": [DAY_1], "remove": ["b"]}, "metadata_twice"),
    ],
)
def test_metadata_stands_between_protocol_and_domains(said: Any, expected: str) -> None:
    arena = Arena()
    arena.prepares(WITH_VECTORS)
    arena.alters_with(WITH_VECTORS, arena.part("MERGE", **EVERYTHING))

    assert arena.ends(arena.part("MERGE", **said)).evidence.rule == expected


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_of_several_winners_the_first_to_commit_is_named(order: tuple[str, ...]) -> None:
    arena = Arena()
    said: dict[str, dict[str, Any]] = {
        "a": {"adds": [partition("1")], "not_blind": True},
        "b": {"domains": [CLUSTERING]},
        "c": {"remove": ["c"], "removes_in": [partition("1")]},
    }
    rules = {"a": "file_added", "b": "domain_twice", "c": "file_removed_twice"}
    positions = [arena.wins(arena.part(**said[each])).control.position for each in order]
    lost = arena.follows(arena.part(reads=[DAY_1], domains=[CLUSTERING], remove=["c"]))

    assert (lost.evidence.rule, lost.evidence.winner.position) == (rules[order[0]], positions[0])


def test_a_rename_that_came_before_rows_is_the_first_winner_to_a_txn_that_changes_both() -> None:
    arena = Arena()
    arena.rename_table(arena.ada, arena.table, "mine", txn=arena.mine)
    renamed = arena.rename_table(arena.bob, arena.table, "theirs").control.position
    arena.wins(arena.part("DELETE", remove=["a"]))
    lost = arena.ends(arena.part("DELETE", remove=["a"]))

    assert (lost.evidence.rule, lost.evidence.winner.position) == ("metadata_twice", renamed)


@pytest.mark.parametrize("reverse", [False, True])
def test_earlier_winner_of_two_tables(reverse: bool) -> None:  # noqa: FBT001
    arena = Arena()
    tables = [arena.table, arena.other]
    tables.sort(reverse=reverse)
    for table in tables:
        arena.wins(part(table, "DELETE", remove=["a"]))
    lost = arena.follows(*(part(table, "DELETE", remove=["a"]) for table in sorted(tables)))

    assert lost.evidence.table == tables[0]


def test_of_two_tables_in_which_one_commit_won_the_one_with_the_earlier_step_is_named() -> None:
    arena = Arena()
    arena.wins(part(arena.table, "DELETE", remove=["a"]), part(arena.other, domains=[CLUSTERING]))
    lost = arena.follows(
        part(arena.table, "DELETE", remove=["a"]), part(arena.other, domains=[CLUSTERING])
    )

    assert (lost.evidence.table, lost.evidence.rule) == (arena.other, "domain_twice")


def test_of_two_tables_in_which_one_commit_won_by_one_rule_the_least_is_named() -> None:
    arena = Arena()
    both = [part(table, "DELETE", remove=["a"]) for table in (arena.other, arena.table)]
    arena.wins(*both)

    assert arena.follows(*both).evidence.table == arena.table


def test_written_and_read_tables_compete() -> None:
    arena = Arena(serializable())
    arena.wins(part(arena.other, **APPEND))
    arena.wins(part(arena.table, "DELETE", remove=["a"]))
    lost = arena.follows(
        part(arena.table, "DELETE", remove=["a"]), part(arena.other, "", reads=[DAY_1])
    )

    assert (lost.evidence.table, lost.evidence.operation) == (arena.other, "READ")


def test_both_rearrange_then_both_removed() -> None:
    """Two commits that only rearrange have both removed the file: DeleteDelete, not DeleteRead."""
    arena = Arena()
    moves = statement("OPTIMIZE")
    arena.wins(TableWrite(arena.table, 0, [], moves))
    lost = arena.follows(TableWrite(arena.table, 0, [], moves))

    assert lost.evidence.exception == "ConcurrentDeleteDelete"


@pytest.mark.parametrize(("winner", "loser"), [("OPTIMIZE", "UPDATE"), ("UPDATE", "OPTIMIZE")])
def test_one_rearranges_then_the_other_read(winner: str, loser: str) -> None:
    arena = Arena()
    arena.wins(TableWrite(arena.table, 0, [], statement(winner)._replace(adds=[])))
    lost = arena.follows(TableWrite(arena.table, 0, [], statement(loser)))

    assert lost.evidence.exception == "ConcurrentDeleteRead"


def test_identity_mark_before_another_change() -> None:
    """After an identity mark, which is not taken on, any other change differs in two things."""
    arena = Arena()
    arena.wins(arena.part("ADD FEATURE", protocol=VECTORS))
    arena.alters(MARKED, "WRITE")
    changed = arena.alters(MARKED._replace(properties=WITH_VECTORS.properties)).control.position
    lost = arena.follows(arena.part(**APPEND))

    assert (lost.evidence.rule, lost.evidence.winner.position) == ("metadata_changed", changed)
