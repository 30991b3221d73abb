"""Progress of applications: a batch is applied once, in all of its tables or in none."""

from typing import Any

import pytest

from ledger.core.commands import AppVersion, CommitTxn, TableWrite
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.events.parts import AbortedPart
from ledger.core.invariants import assert_invariants
from ledger.core.refusals import Reason
from tests.core.arena import Arena, serializable
from tests.core.parts import part


def batch(table: int, version: int, **others: Any) -> TableWrite:
    return part(table, apps=[AppVersion("loader", version)], **others)


def progressed(*versions: int) -> Arena:
    """Return an arena in which the loader has come so far in each of the two tables."""
    arena = Arena()
    for table, version in zip((arena.table, arena.other), versions, strict=False):
        arena.wins(batch(table, version))
    return arena


APPLIED = [
    ("the same version", (7,), (7,), True),
    ("an earlier one", (7,), (3,), True),
    ("the next one", (7,), (8,), False),
    ("the first one", (), (0,), False),
    ("both tables have it", (7, 9), (7, 8), True),
    ("neither table has it", (7, 7), (8, 8), False),
]


@pytest.mark.parametrize(
    ("before", "asked", "applied"), [row[1:] for row in APPLIED], ids=[row[0] for row in APPLIED]
)
@pytest.mark.parametrize("one_shot", [True, False])
def test_a_batch_whose_progress_is_in_all_its_tables_is_not_applied_again(
    before: tuple[int, ...],
    asked: tuple[int, ...],
    applied: bool,  # noqa: FBT001
    one_shot: bool,  # noqa: FBT001
) -> None:
    arena = progressed(*before)
    newest = arena.state.position
    tables = zip((arena.table, arena.other), asked, strict=False)
    parts = [batch(table, version) for table, version in tables]
    answer = arena.follows(*parts) if one_shot else arena.ends(*parts)

    assert isinstance(answer, TxnAborted if applied else TxnCommitted)
    assert getattr(answer, "reason", "") == ("already_applied" if applied else "")
    assert getattr(answer, "first", 0) == (newest if applied else 0)
    assert getattr(answer, "evidence", None) is None


def test_already_applied_comes_before_conflicts() -> None:
    arena = progressed(7)
    arena.wins(arena.part("DELETE", remove=["a"]))
    answer = arena.follows(batch(arena.table, 7, remove=["a"], read_apps=["loader"]))

    assert answer.reason == "already_applied"


def test_already_applied_comes_before_a_plan_that_is_too_old() -> None:
    """A batch that is sent again is told so, however long ago its plan was made."""
    arena = progressed(7)
    arena.state.winners.floor = arena.state.position
    answer = arena.follows(batch(arena.table, 7))

    assert answer.reason == "already_applied"


def test_what_a_txn_wrote_that_was_applied_already_is_data_of_an_abort() -> None:
    arena = progressed(7)
    answer = arena.ends(batch(arena.table, 7))

    assert answer.parts == [AbortedPart(arena.table, 0, 0, wrote=True)]
    assert arena.state.txns.status(arena.mine)[0] == "aborted"
    assert arena.state.tables.by_id[arena.table].version == 1
    assert_invariants(arena.state)


def test_already_applied_is_remembered() -> None:
    arena = progressed(7)
    command = CommitTxn(*arena.asks(arena.ada), 0, [batch(arena.table, 7)])
    first: Any = arena.ask(command).body
    again: Any = arena.ask(command).body

    assert (again.outcome, again.first) == ("already_applied", first.first)


def test_progress_of_dropped_tables_is_gone() -> None:
    """A new table under an old name knows of no progress: keys are ids, not names."""
    arena = progressed(7)
    arena.drop_table(arena.bob, arena.table)
    again = arena.create_table(arena.bob, "flights", made=serializable())

    assert isinstance(arena.commit(arena.ada, 0, batch(again, 7)).body, TxnCommitted)


@pytest.mark.parametrize("versions", [(5, 2), (2, 5)])
def test_one_version_of_an_application(versions: tuple[int, ...]) -> None:
    """A part that names two versions of one application is refused: neither can be its progress."""
    arena = Arena()
    said = part(arena.table, apps=[AppVersion("loader", version) for version in versions])
    answer = arena.follows(said)

    assert getattr(answer, "reason", "") == Reason.COMMAND_INVALID
