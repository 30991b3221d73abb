"""Small cases of suite `hive` that pass, with every operation in at least one of them."""

from collections.abc import Sequence
from typing import Any

Steps = Sequence[dict[str, Any]]


def step(op: str, **fields: Any) -> dict[str, Any]:
    return {"op": op, **fields}


def opened(name: str, **fields: Any) -> dict[str, Any]:
    """Return the step that opens a txn."""
    return {"op": "open_txn", "as": name, **fields}


def seen(txn: str | None, name: str) -> dict[str, Any]:
    """Return the step that takes a snapshot."""
    return {"op": "snapshot", "txn": txn, "as": name}


def wrote(op: str, table: str = "db.t", **fields: Any) -> list[dict[str, Any]]:
    """Return one write of a commit or abort."""
    return [{"table": table, "op": op, **fields}]


CASES: dict[str, Steps] = {
    "write ids": [
        opened("T1"),
        opened("T2", type="DEFAULT"),
        opened("R", type="READ_ONLY"),
        step("allocate_write_id", txn="T2", table="db.t", expect=1),
        step("allocate_write_id", txn=["T2", "T1"], table="DB.u", expect=[1, 2]),
        step("allocate_write_id", txn="T2", table="db.U", expect=2),
        step("allocate_write_id", txn="R", table="db.t", expect="not_open"),
        step("allocate_write_id", txn="T404", table="db.t", expect="not_open"),
    ],
    "snapshots": [
        seen(None, "S0"),
        step("valid_txns", snapshot="S0", expect={"hwm": "none", "open": [], "aborted": []}),
        opened("T1"),
        opened("T2"),
        opened("T3"),
        step("allocate_write_id", txn="T2", table="db.t", expect=1),
        step("allocate_write_id", txn="T1", table="db.t", expect=2),
        step("abort", txn="T1", writes=wrote("insert"), expect="ok"),
        seen("T3", "S"),
        step(
            "valid_txns",
            snapshot="S",
            expect={"hwm": "T3", "open": ["T2"], "aborted": ["T1"], "min_open": "T2"},
        ),
        step("commit", txn="T2", writes=wrote("insert"), expect="ok"),
        step(
            "valid_write_ids",
            snapshot="S",
            table="db.t",
            expect={"hwm": 1, "min_open": 1, "open": [1], "aborted": []},
            expect_full={"hwm": 2, "min_open": 1, "open": [1], "aborted": [2]},
        ),
        step("is_write_id_valid", snapshot="S", table="db.t", write_id=1, expect=False),
        seen("T3", "later"),
        step("is_write_id_valid", snapshot="later", table="db.t", write_id=1, expect=True),
    ],
    "ends": [
        opened("T1"),
        opened("T2"),
        step("heartbeat", txn="T1", expect="ok"),
        step("commit", txn="T1", expect="ok"),
        step("commit", txn="T1", expect="ok"),
        step("abort", txn="T1", expect="no_such_txn"),
        step("heartbeat", txn="T1", expect="no_such_txn"),
        step("abort", txn="T2", expect="ok"),
        step("abort", txn="T2", expect="ok"),
        step("commit", txn="T2", expect="txn_aborted"),
        step("heartbeat", txn="T2", expect="txn_aborted"),
        step("commit", txn="T404", expect="no_such_txn"),
        step("abort", txn="T404", expect="no_such_txn"),
        step("heartbeat", txn="T404", expect="no_such_txn"),
    ],
    "conflicts": [
        opened("T1"),
        opened("T2"),
        opened("T3"),
        opened("T4"),
        step("commit", txn="T1", writes=wrote("update", partition="p=1"), expect="ok"),
        step("commit", txn="T2", writes=wrote("delete", partition="p=2"), expect="ok"),
        step("commit", txn="T3", writes=wrote("delete", partition="p=1"), expect="write_conflict"),
        step("commit", txn="T3", expect="txn_aborted"),
        step("commit", txn="T4", writes=wrote("update"), expect="ok"),
    ],
    "types": [
        opened("V", type="MATER_VIEW_REBUILD"),
        opened("B", type="REBALANCE_COMPACTION"),
        opened("T1"),
        seen("T1", "S"),
        step("valid_txns", snapshot="S", expect={"hwm": "T1", "open": ["V", "B"], "aborted": []}),
        step("commit", txn="B", expect="ok"),
        step("commit", txn="T1", writes=wrote("update"), expect="ok"),
        step("commit", txn="V", writes=wrote("update"), expect="write_conflict"),
    ],
    "timeouts": [
        opened("T1"),
        opened("T2"),
        opened("P", type="REPL_CREATED"),
        step("allocate_write_id", txn="T1", table="db.t", expect=1),
        step("timeout", txn="T1", writes=wrote("insert"), expect="aborted"),
        step("timeout", txn="P", expect="still_open"),
        step("commit", txn="T1", expect="txn_aborted"),
        step("abort", txn="T1", expect="ok"),
        step("commit", txn="T2", expect="ok"),
        step("watermark", expect="T1"),
    ],
    "a timeout after ids taken together": [
        opened("T1"),
        opened("T2"),
        opened("P", type="REPL_CREATED"),
        step("allocate_write_id", txns=["P", "T1", "T2"], table="db.t", expect=[1, 2, 3]),
        step("timeout", txn="T1", writes=wrote("insert"), expect="aborted"),
        step("timeout", txn="P", expect="still_open"),
        step("commit", txn="T2", writes=wrote("insert"), expect="ok"),
        step("commit", txn="P", expect="ok"),
        step("watermark", expect="T1"),
    ],
    "timeouts of writers": [
        opened("T1"),
        step("timeout", txn="T1", writes=wrote("update"), expect="aborted"),
        opened("T2"),
        step("watermark", expect="T1"),
        step("allocate_write_id", txn="T2", table="db.t", expect=1),
        step("allocate_write_id", txn="T2", table="db.u", expect=1),
        step("timeout", txn="T2", writes=wrote("insert"), expect="aborted"),
        opened("T3"),
        step("allocate_write_id", txn="T3", table="db.t", expect=2),
        step("timeout", txn="T3", expect="aborted"),
        opened("P", type="REPL_CREATED"),
        step("timeout", txn="P", writes=wrote("insert", "db.v"), expect="still_open"),
        step("abort", txn="P", expect="ok"),
        opened("T4"),
        step("compact_aborted", txn="T1"),
        step("watermark", expect="T2"),
        step("drop_table", table="db.t"),
        step("watermark", expect="P"),
        step("drop_table", table="db.v"),
        step("watermark", expect="T4"),
    ],
    "a list of a reader older than a writer": [
        opened("T1"),
        step("allocate_write_id", txn="T1", table="db.t", expect=1),
        step("commit", txn="T1", writes=wrote("insert"), expect="ok"),
        opened("R"),
        seen("R", "S"),
        opened("T2"),
        step("allocate_write_id", txn="T2", table="db.t", expect=2),
        step(
            "valid_write_ids",
            snapshot="S",
            table="db.t",
            expect={"hwm": 1, "min_open": None, "open": [], "aborted": []},
        ),
        step("t2w_entries", table="db.t", expect=["T2"]),
        step("valid_write_ids", snapshot="S", table="db.t", expect={"hwm": 2, "open": [2]}),
    ],
    "cleaning": [
        step("watermark", expect="next"),
        opened("T1"),
        opened("T2"),
        step("allocate_write_id", txn="T1", table="db.t", expect=1),
        step("abort", txn="T1", writes=wrote("insert"), expect="ok"),
        step("allocate_write_id", txn="T2", table="db.t", expect=2),
        step("commit", txn="T2", writes=wrote("insert"), expect="ok"),
        step("watermark", expect="T1"),
        step("t2w_entries", table="db.t", expect=["T1", "T2"]),
        step("compact_aborted", txn="T1"),
        step("t2w_entries", table="db.t", expect=["T1", "T2"], clean=False),
        step("t2w_entries", table="db.t", expect=[]),
        step("watermark", expect="next", expect_writeset="T1"),
    ],
    "tables": [
        opened("T1"),
        step("allocate_write_id", txn="T1", table="db.t", expect=1),
        step("allocate_write_id", txn="T1", table="tmp.a", expect=1),
        step("allocate_write_id", txn="T1", table="tmp.b", expect=1),
        step("abort", txn="T1", writes=[*wrote("insert"), *wrote("insert", "tmp.a")], expect="ok"),
        opened("T2"),
        step("rename_table", table="db.t", to="db.s"),
        step("allocate_write_id", txn="T2", table="db.t", expect=1),
        step("allocate_write_id", txn="T2", table="db.s", expect=2),
        step("drop_database", db="TMP"),
        step("t2w_entries", table="tmp.b", expect=[]),
        step("watermark", expect="T1"),
        step("drop_table", table="db.s"),
        step("watermark", expect="T2"),
    ],
    "names read before they are given": [
        opened("T1"),
        step("allocate_write_id", txn="T1", table="db.t", expect=1),
        step("t2w_entries", table="db.s", expect=[], clean=False),
        step("rename_table", table="db.t", to="db.s"),
        step("t2w_entries", table="db.s", expect=["T1"], clean=False),
        seen("T1", "S"),
        step("valid_write_ids", snapshot="S", table="db.t", expect={"hwm": 0}),
        step("is_write_id_valid", snapshot="S", table="db.t", write_id=1, expect=False),
        step("rename_table", table="db.s", to="db.t"),
        step("valid_write_ids", snapshot="S", table="db.t", expect={"hwm": 1}),
    ],
}
