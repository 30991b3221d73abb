"""Commits at the edges of the rules: what is known of a base, of a unit, of what rows are given."""

from typing import Any

import pytest

from ledger.core.commands import AppVersion, Domain, Protocol, StageWrites, TableWrite
from ledger.core.decide.whatif import redecide
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.evolve.evolve import evolve
from ledger.core.limits import ENTRIES_LEAVING_MAX, FOOTPRINT_READS_MAX
from ledger.core.refusals import Reason
from ledger.core.state.domain import DomainState
from tests.core.arena import (
    BEYOND,
    BY_DAY,
    CLUSTERING,
    DAY_1,
    NEWEST,
    ROW_TRACKING,
    UNPARTITIONED,
    VECTORS,
    WIDER,
    Arena,
    day,
    statement,
)
from tests.core.parts import after, equals, footprint, partition, table_of

SNAPSHOT = BY_DAY._replace(
    properties=table_of(delta__isolationLevel="SnapshotIsolation").properties
)
SUPPORTING = Protocol(3, 7, ["appendOnly", "invariants", "rowTracking"])
TRACKED = table_of(("day", "int"), by=["day"], delta__enableRowTracking="true")


@pytest.mark.parametrize(
    ("planned", "rule"),
    [
        ({"read_apps": ["loader"]}, "app_progressed"),
        ({"domains": [CLUSTERING]}, "domain_twice"),
        ({"protocol": NEWEST}, "feature_drop_overtaken"),
        ({"domains": [ROW_TRACKING]}, ""),
        ({"read_apps": ["feed"], "apps": [AppVersion("feed", 1)]}, ""),
    ],
)
def test_what_depends_on_a_base_names_it(planned: dict[str, Any], rule: str) -> None:
    """An append that looked something up loses to who changed that, and says as of when it did."""
    won: dict[str, Any] = {
        "apps": [AppVersion("loader", 7)],
        "domains": [CLUSTERING],
        "protocol": VECTORS,
    }
    arena = Arena()
    arena.wins(arena.part(adds=[partition("1")], **won))
    mine = arena.part(adds=[partition("1")], **planned)
    bare: Any = arena.commit(arena.ada, 0, mine).body
    based = arena.follows(mine)

    assert isinstance(bare, TxnCommitted) == (not rule)
    if rule:
        assert bare.reason == Reason.READ_AT_REQUIRED
        assert based.evidence.rule == rule


@pytest.mark.parametrize(
    ("made", "texts"), [(BY_DAY, ["[]"]), (BY_DAY, ['["1","5"]']), (UNPARTITIONED, ['["1"]'])]
)
def test_unknown_partition_is_anywhere(made: Any, texts: list[str]) -> None:
    arena = Arena(made)
    arena.wins(arena.coarse(day("1")))
    body = arena.follows(arena.part("DELETE", remove=["a"], removes_in=texts))

    assert isinstance(body, TxnAborted)


@pytest.mark.parametrize(
    ("mine", "meets"),
    [
        ({"read": ["a"], "reads": [DAY_1]}, True),
        ({"read": ["a"]}, True),
        ({"reads": [DAY_1]}, False),
        ({"read": ["a"], "reads": [DAY_1], "remove": ["a"], "removes_in": [partition("2")]}, False),
    ],
)
def test_read_file_under_a_coarse_write(mine: dict[str, Any], *, meets: bool) -> None:
    """At SnapshotIsolation scans are not asked, so a file that was read may have been changed."""
    arena = Arena(SNAPSHOT)
    arena.wins(arena.coarse(day("1")))
    body = arena.follows(arena.part("MERGE", adds=[partition("2")], **mine))

    assert isinstance(body, TxnAborted) == meets


@pytest.mark.parametrize(
    ("protocol", "why"), [(SUPPORTING, "lost a feature"), (BEYOND, "gained an unknown feature")]
)
def test_a_plan_for_other_features_is_applied_after_a_read(protocol: Protocol, why: str) -> None:
    arena = Arena()
    arena.wins(arena.part(protocol=VECTORS))
    base = arena.state.position
    arena.wins(arena.part(protocol=protocol))
    told: Any = arena.alter_table(arena.ada, arena.table, WIDER, "ADD COLUMNS", read_at=base).body
    again: Any = arena.alter_table(
        arena.ada, arena.table, WIDER, "ADD COLUMNS", read_at=arena.state.position
    ).body

    assert (told.reason, why in told.message) == (Reason.METADATA_CHANGED, True)
    assert again.definition == WIDER


def test_asked_again_a_table_that_only_has_a_write_id_is_as_little_judged_as_it_was() -> None:
    arena = Arena()
    arena.allocate(arena.ada, [arena.mine], [arena.table])
    arena.alters(WIDER)
    event = arena.commit(arena.ada, arena.mine, TableWrite(arena.other, 0, [], statement("INSERT")))
    state = DomainState()
    for each in arena.events[:-1]:
        evolve(state, each)

    found = redecide(state, event, "WriteSerializable")
    assert found is not None
    assert (found.committed, found.would_commit) == (True, True)


def test_rows_have_ids_once_the_protocol_supports_it() -> None:
    arena = Arena()
    arena.wins(arena.part(protocol=SUPPORTING))
    backfill = arena.part(
        "ROW TRACKING BACKFILL", adds=[partition("1")], rows_added=100, data_change=False
    )
    first: Any = arena.wins(backfill).body
    arena.alters(TRACKED)
    second: Any = arena.wins(arena.part(adds=[partition("1")], rows_added=7)).body

    assert [body.parts[0].first_row_id for body in (first, second)] == [0, 100]
    assert arena.state.tables.by_id[arena.table].next_row_id == 107


def test_rows_that_come_with_the_property_that_asks_for_ids_get_them() -> None:
    arena = Arena()
    event: Any = arena.alters_with(TRACKED, arena.part(adds=[partition("1")], rows_added=5))

    assert event.body.parts[0].first_row_id == 0


def test_scans_of_all_chunks_count() -> None:
    arena = Arena()
    scans = [equals("day", str(number), "int") for number in range(FOOTPRINT_READS_MAX + 1)]
    chunk = footprint(adds=[partition("1")], reads=scans[:-1])
    arena.ask(StageWrites(*arena.asks(arena.ada), arena.mine, arena.table, 1, chunk))
    last = after([chunk], footprint(adds=[partition("1")], reads=scans[-1:]))
    told = arena.ends(TableWrite(arena.table, 0, [], last))

    assert (told.reason, f"got {FOOTPRINT_READS_MAX + 1}" in told.message) == (
        Reason.COMMAND_INVALID,
        True,
    )


def test_winner_keeps_nothing_it_read() -> None:
    arena = Arena()
    arena.wins(arena.part("MERGE", remove=["a"], read=["a", "b"], reads=[DAY_1], read_apps=["x"]))
    kept = arena.state.winners.parts[-1].footprint

    assert kept is not None
    assert (kept.read_files, kept.reads, kept.read_apps) == (b"", [], [])


def test_the_first_commit_after_its_end_pays_for_no_more_of_it_than_any_other() -> None:
    arena = Arena()
    paths = [f"{number}.parquet" for number in range(ENTRIES_LEAVING_MAX)]
    for turn in range(60):
        removed = [f"{turn}-{path}" for path in paths]
        arena.wins(arena.part("DELETE", remove=removed, removes_in=[partition("1")]))
    held = arena.state.winners.entries
    arena.abort(arena.ada, arena.mine)
    arena.abort(arena.bob, arena.theirs)
    arena.wins(arena.does("INSERT"))
    left = held - arena.state.winners.entries

    assert ENTRIES_LEAVING_MAX <= left <= 2 * ENTRIES_LEAVING_MAX


def test_aborted_creation_is_no_drop() -> None:
    arena = Arena()
    arena.create_table(arena.ada, "never", txn=arena.mine)
    arena.abort(arena.ada, arena.mine)

    assert not arena.state.tables.dropped


def test_domain_of_another_name() -> None:
    arena = Arena()
    arena.wins(arena.part(domains=[CLUSTERING]))
    body = arena.follows(arena.part(domains=[Domain("delta.other", "{}", removed=False)]))

    assert isinstance(body, TxnCommitted)
