"""Each rule of a conflict: who won, who lost, in what they met, and what the loser is told.

Conflicts over rows of files stand in `lost`, statements in `test_conflict_matrix`, what is no
conflict in `test_conflict_kept`.
"""

import pytest

from ledger.core.commands import AppVersion
from ledger.core.conflicts.footprints import path_hash
from ledger.core.decide.evidence import RULES
from ledger.core.events.events import TxnAborted
from ledger.core.events.parts import Evidence, Side
from tests.core.arena import (
    APPEND,
    BEYOND,
    CLUSTERING,
    COMMENTED,
    DAY_1,
    ENFORCING,
    LOADED,
    NEWEST,
    ROWS,
    TABLE,
    UNPARTITIONED,
    VECTORS,
    WIDER,
    WITH_VECTORS,
    WITHOUT,
    Arena,
    day,
    serializable,
)
from tests.core.lost import LOST_BY_ROW, Lost
from tests.core.parts import above, equals, part, partition
from tests.core.scene import last

FILE_A = f"file {path_hash('a').hex()}"


LOST = [
    Lost(
        "protocol_twice", "protocol", "WRITE",
        lambda a: a.wins(a.part("UPGRADE PROTOCOL", protocol=VECTORS)),
        lambda a: a.follows(a.part(protocol=VECTORS)),
        winner="UPGRADE PROTOCOL",
    ),
    Lost(
        "feature_dropped", "protocol", "WRITE",
        lambda a: a.wins(a.part("DROP FEATURE", protocol=WITHOUT)),
        lambda a: a.follows(a.part(**APPEND)),
        winner="DROP FEATURE",
    ),
    Lost(
        "feature_dropped", "protocol", "update",
        lambda a: a.wins(a.part("DROP FEATURE", protocol=WITHOUT)),
        lambda a: a.follows(a.coarse(day("1"))),
        winner="DROP FEATURE",
    ),
    Lost(
        "feature_dropped", "protocol", "WRITE",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=NEWEST)),
        lambda a: a.follows(a.part(**APPEND)),
        winner="ADD FEATURE",
        made=ENFORCING,
    ),
    Lost(
        "feature_beyond_known", "protocol", "WRITE",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=BEYOND)),
        lambda a: a.follows(a.part(**APPEND)),
        winner="ADD FEATURE",
    ),
    Lost(
        "feature_beyond_known", "protocol", "update",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=BEYOND)),
        lambda a: a.follows(a.coarse(day("1"))),
        winner="ADD FEATURE",
    ),
    Lost(
        "feature_beyond_known", "protocol", "UPGRADE PROTOCOL",
        lambda a: a.wins(a.part("ADD FEATURE", protocol=BEYOND)),
        lambda a: a.follows(a.part("UPGRADE PROTOCOL", protocol=WITHOUT)),
        winner="ADD FEATURE",
        made=ENFORCING,
    ),
    Lost(
        "feature_drop_overtaken", "protocol", "DROP FEATURE",
        lambda a: a.wins(a.part(**APPEND)),
        lambda a: a.follows(a.part("DROP FEATURE", protocol=WITHOUT)),
        winner="WRITE",
    ),
    Lost(
        "replaced_twice", "protocol", "REPLACE TABLE AS SELECT",
        lambda a: last(
            a.prepares(WIDER, "REPLACE TABLE"), a.alters(WIDER, "CREATE OR REPLACE TABLE")
        ),
        lambda a: a.ends(a.part("REPLACE TABLE AS SELECT", **APPEND)),
        winner="CREATE OR REPLACE TABLE",
    ),
    Lost(
        "metadata_twice", "metadata", "SET TBLPROPERTIES",
        lambda a: last(a.prepares(WIDER), a.alters(COMMENTED)),
        lambda a: a.ends(),
        winner="SET TBLPROPERTIES",
    ),
    Lost(
        "metadata_twice", "metadata", "SET TBLPROPERTIES",
        lambda a: last(a.prepares(WITH_VECTORS), a.alters_with(WITH_VECTORS)),
        lambda a: a.ends(),
        winner="SET TBLPROPERTIES",
    ),
    Lost(
        "metadata_changed", "shape", "WRITE",
        lambda a: a.alters(WIDER, "ADD COLUMNS"),
        lambda a: a.follows(a.part(**APPEND)),
        winner="ADD COLUMNS",
    ),
    Lost(
        "metadata_changed", "shape", "update",
        lambda a: a.alters(WIDER, "ADD COLUMNS"),
        lambda a: a.follows(a.coarse(day("1"))),
        winner="ADD COLUMNS",
    ),
    Lost(
        "metadata_changed", "properties", "OPTIMIZE",
        lambda a: a.alters(COMMENTED, "COMMENT"),
        lambda a: a.follows(a.does("OPTIMIZE")),
        winner="COMMENT",
        level="SnapshotIsolation",
    ),
    Lost(
        "metadata_changed", "properties", "WRITE",
        lambda a: a.alters(WITH_VECTORS),
        lambda a: a.follows(a.part(**APPEND)),
        winner="SET TBLPROPERTIES",
    ),
    Lost(
        "domain_twice", "domain delta.clustering", "WRITE",
        lambda a: a.wins(a.part("CLUSTER BY", domains=[CLUSTERING])),
        lambda a: a.follows(a.part(domains=[CLUSTERING._replace(removed=True)])),
        winner="CLUSTER BY",
    ),
    Lost(
        "app_progressed", "app loader", "STREAMING UPDATE",
        lambda a: a.wins(a.part(apps=LOADED)),
        lambda a: a.follows(a.part("STREAMING UPDATE", read_apps=["other", "loader"])),
        winner="WRITE",
    ),
    Lost(
        "app_progressed", "app loader", "STREAMING UPDATE",
        lambda a: a.wins(a.part(apps=LOADED)),
        lambda a: a.follows(
            a.part("STREAMING UPDATE", read_apps=["loader"], apps=[AppVersion("loader", 8)])
        ),
        winner="WRITE",
    ),
    Lost(
        "file_added", 'partition ["1"]', "UPDATE",
        lambda a: a.wins(a.part("MERGE", adds=[partition("2"), partition("1")], not_blind=True)),
        lambda a: a.follows(a.does("UPDATE")),
        predicate=DAY_1,
        winner="MERGE",
    ),
    Lost(
        "file_added", 'partition ["1"]', "UPDATE",
        lambda a: a.wins(a.part(**APPEND)),
        lambda a: a.follows(a.does("UPDATE")),
        predicate=DAY_1,
        level="Serializable",
        winner="WRITE",
        made=serializable(),
    ),
    Lost(
        "file_added", 'partition ["3"]', "WRITE",
        lambda a: a.wins(a.part("MERGE", adds=[partition("3"), partition("0")], not_blind=True)),
        lambda a: a.follows(a.part(reads=[DAY_1, above("day", "2")])),
        predicate=above("day", "2"),
        winner="MERGE",
    ),
    Lost(
        "file_added", "table", "WRITE",
        lambda a: a.wins(a.part("MERGE", adds=[partition("9")], not_blind=True)),
        lambda a: a.follows(a.part(reads=[equals("delay", "1", "int")])),
        predicate=equals("delay", "1", "int"),
        winner="MERGE",
    ),
    Lost(
        "file_added", "table", "DELETE",
        lambda a: a.wins(a.part("MERGE", adds=["[]"], not_blind=True)),
        lambda a: a.follows(a.part("DELETE", remove=["z"])),
        winner="MERGE",
        made=UNPARTITIONED,
    ),
    Lost(
        "file_added", "table", "DELETE",
        lambda a: a.wins(a.part("MERGE", adds=[partition("9")], not_blind=True)),
        lambda a: a.follows(a.part("DELETE", reads_whole=True)),
        winner="MERGE",
    ),
    Lost(
        "file_added", "table", "ADD CONSTRAINT",
        lambda a: last(a.prepares(WITH_VECTORS), a.wins(a.part(**APPEND))),
        lambda a: a.ends(a.part("ADD CONSTRAINT", reads_whole=True)),
        winner="WRITE",
    ),
    Lost(
        "file_added", 'partition ["1"]', "UPDATE",
        lambda a: a.wins(a.coarse(day("1", "delete"))),
        lambda a: a.follows(a.does("UPDATE")),
        predicate=DAY_1,
        winner="delete",
    ),
    Lost(
        "file_added", "partition *", "UPDATE",
        lambda a: a.wins(a.coarse(TABLE)),
        lambda a: a.follows(a.does("UPDATE")),
        predicate=DAY_1,
        winner="update",
    ),
    Lost(
        "file_added", 'partition ["1"]', "READ",
        lambda a: a.wins(a.part(**APPEND)),
        lambda a: a.follows(a.part("", reads=[DAY_1]), part(a.other)),
        predicate=DAY_1,
        level="Serializable",
        winner="WRITE",
        made=serializable(),
    ),
    Lost(
        "file_read_removed", FILE_A, "WRITE",
        lambda a: a.wins(a.part("DELETE", remove=["b", "a"])),
        lambda a: a.follows(a.part(read=["c", "a"])),
        winner="DELETE",
    ),
    Lost(
        "file_read_removed", "table", "WRITE",
        lambda a: a.wins(a.part("DELETE", remove=["a"])),
        lambda a: a.follows(a.part(reads_whole=True)),
        winner="DELETE",
    ),
    Lost(
        "file_read_removed", "table", "WRITE",
        lambda a: a.wins(a.coarse(day("9"))),
        lambda a: a.follows(a.part(read=["a"])),
        winner="update",
    ),
    Lost(
        "file_removed_twice", FILE_A, "DELETE",
        lambda a: a.wins(a.part("DELETE", remove=["a"])),
        lambda a: a.follows(a.part("DELETE", remove=["b", "a"])),
        winner="DELETE",
    ),
    Lost(
        "file_removed_twice", FILE_A, "OPTIMIZE",
        lambda a: a.wins(a.does("OPTIMIZE")),
        lambda a: a.follows(a.does("OPTIMIZE")),
        level="SnapshotIsolation",
        winner="OPTIMIZE",
    ),
    Lost(
        "coarse_write_write", "partition day=1", "delete",
        lambda a: a.wins(a.coarse(day("1"))),
        lambda a: a.follows(a.coarse(day("2", "insert"), day("1", "delete"))),
        winner="update",
    ),
    Lost(
        "coarse_write_write", "partition day=1", "update",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
        lambda a: a.follows(a.coarse(day("1"))),
        winner="DELETE",
    ),
    Lost(
        "coarse_write_write", "partition", "DELETE",
        lambda a: a.wins(a.coarse(day("1"))),
        lambda a: a.follows(a.part("DELETE", remove=["a"], removes_in=[partition("1")])),
        winner="update",
    ),
    # What is no value of its column's type may be any partition.
    Lost(
        "coarse_write_write", "partition day=1", "update",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=[partition("x")])),
        lambda a: a.follows(a.coarse(day("1"))),
        winner="DELETE",
    ),
    Lost(
        "coarse_write_write", "partition", "DELETE",
        lambda a: a.wins(a.coarse(day("1"))),
        lambda a: a.follows(a.part("DELETE", remove=["a"], removes_in=[partition("x")])),
        winner="update",
    ),
    Lost(
        "coarse_write_write", "unpartitioned", "update",
        lambda a: a.wins(a.part("DELETE", remove=["a"], removes_in=["[]"])),
        lambda a: a.follows(a.coarse(ROWS)),
        winner="DELETE",
        made=UNPARTITIONED,
    ),
    Lost(
        "file_added", 'partition ["1"]', "OPTIMIZE",
        lambda a: a.wins(a.part(**APPEND)),
        lambda a: a.follows(
            a.part("OPTIMIZE", reads=[DAY_1], data_change=False, **APPEND)._replace(
                writes=[day("2")]
            )
        ),
        level="Serializable",
        winner="WRITE",
        made=serializable(),
        predicate=DAY_1,
    ),
    Lost(
        "name_claimed", "new", "create",
        lambda a: last(
            a.create_table(a.ada, "new", txn=a.mine),
            a.create_table(a.bob, "new", txn=a.theirs),
            a.won(a.commit(a.bob, a.theirs)),
        ),
        lambda a: a.ends(),
        level="",
        winner="create",
    ),
    Lost(
        "table_dropped", "table", "",
        lambda a: a.drop_table(a.bob, a.table),
        lambda a: a.follows(a.part(**APPEND)),
        level="",
        winner="drop",
    ),
    Lost(
        "table_dropped", "table", "",
        lambda a: a.drop_table(a.bob, a.table),
        lambda a: a.follows(a.part("", reads=[DAY_1]), part(a.other)),
        level="",
        winner="drop",
    ),
]  # fmt: skip
EVERY = [*LOST, *LOST_BY_ROW]


def lost_name(row: Lost) -> str:
    return f"{row.rule}: {row.winner} before {row.operation or 'any'}, {row.unit}"


@pytest.mark.parametrize("row", EVERY, ids=lost_name)
def test_the_loser_is_told_rule_winner_place_scan_and_what_helps(row: Lost) -> None:
    arena = Arena(row.made)
    won = row.wins(arena).control
    answer = row.follows(arena)
    told = answer.evidence
    rule = RULES[row.rule]
    helps = rule.remedy
    if row.rule == "file_added" and row.made.partition_columns:
        helps = f"{rule.remedy}; {rule.by_partition}"
    named = row.rule in {"table_dropped", "name_claimed"}
    side = Side(won.txn, won.position, row.winner, "bob@host etl", 0 if named else won.at)

    assert isinstance(answer, TxnAborted)
    assert answer.reason == "conflict"
    assert told == Evidence(
        rule=row.rule,
        exception=rule.exception,
        table=arena.other + 1 if row.rule == "name_claimed" else arena.table,
        unit=row.unit,
        operation=row.operation,
        read_at=told.read_at,
        winner=side,
        remedy=helps,
        predicate=row.predicate,
        level=row.level,
    )
    assert told.read_at < won.position


def test_every_rule_has_a_row() -> None:
    assert {row.rule for row in EVERY} == set(RULES)
