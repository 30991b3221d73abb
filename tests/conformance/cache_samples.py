"""Small cases of suite `cache` that pass, with every operation in at least one of them."""

from collections.abc import Sequence
from typing import Any

Steps = Sequence[dict[str, Any]]
LISTED = "13:7,8,12"


def step(op: str, **fields: Any) -> dict[str, Any]:
    return {"op": op, **fields}


def given(*caches: str, **table: Any) -> dict[str, Any]:
    """Return the start: one table `db.t` with open and aborted ids, and caches that hold it."""
    fields = {
        "table": "db.t",
        "table_id": 1,
        "kind": "managed",
        "metadata": "v0",
        "list": LISTED,
        "open": {"T7": 7, "T12": 12},
        **table,
    }
    held = [{"cache": name, "tables": [fields["table"]]} for name in caches]
    return step("given", tables=[fields], caches=held)


def external(cache: str) -> dict[str, Any]:
    """Return the start with an external table."""
    return given(cache, table="db.x", table_id=5, kind="external", metadata="x0", list=None)


def writes(txn: str, write_id: int, table: str = "db.t") -> Steps:
    """Return the steps that open a txn and give it a write id."""
    return [
        step("open_txn", txn=txn),
        step("allocate_write_id", txn=txn, table=table, write_id=write_id),
    ]


def alters(txn: str | None, metadata: str, write_id: int | None, **fields: Any) -> dict[str, Any]:
    changed = {"table": "db.t", "metadata": metadata, "write_id": write_id}
    return step("alter_table", txn=txn, **{**changed, **fields})


def reads(snapshot: str | None, one: str, multi: str = "", **fields: Any) -> dict[str, Any]:
    """Return a read by what each mode answers, as `cache v0`; the word `none` is no table."""
    asked = {"cache": "M", "table": "db.t", "reader_snapshot": snapshot, **fields}
    expected = {"expect": answer(one), "expect_multi_version": answer(multi or one)}
    return step("read", **asked, **expected)


def answer(text: str) -> dict[str, Any]:
    """Return the expectation of a source and a word."""
    source, word = text.split()
    return {"source": source, "metadata": None if word == "none" else word}


END = step("catch_up", cache="M", upto="end")
CASES: dict[str, Steps] = {
    "alter and commit": [
        given("M", "N"),
        *writes("T14", 14),
        alters("T14", "v14", 14, via_cache="N"),
        step("catch_up", cache="M", upto=2),
        step("entry", cache="M", table="db.t", expect={"list": "14:7,8,12", "committed": False}),
        reads(LISTED, "store v0", "cache v0"),
        reads("14:7,8,12", "store v14", own_txn="T14"),
        reads("14:7,8,12", "store v14", "cache v14", own_txn="T14", token=2),
        step("commit", txn="T14"),
        reads("14:7,8,12", "cache v14", wait_for=3, table_id=1),
        reads("14:7,8,12", "store none", table_id=2),
        reads(LISTED, "store v0", "cache v0"),
    ],
    "aborts": [
        given("M"),
        *writes("T14", 14),
        alters("T14", "v14", 14),
        END,
        step("abort", txn="T14"),
        END,
        step("entry", cache="M", table="db.t", expect=None),
        reads("14:7,8,12,14", "store v0", "cache v0", fill=True),
        reads("14:7,8,12,14", "cache v0"),
        step("forget_aborted", txn="T14"),
        reads("14:7,8,12", "store v0", "cache v0"),
        END,
        reads("14:7,8,12", "cache v0"),
    ],
    "forgotten by write id": [
        given("M"),
        reads("13:7,12", "store v0", "cache v0"),
        step("forget_aborted", table="db.t", write_ids=[8]),
        END,
        reads("13:7,12", "cache v0"),
    ],
    "a commit of its own": [
        given("M"),
        alters(None, "v14", 14),
        reads("14:7,8,12", "store v14"),
        END,
        reads("14:7,8,12", "cache v14"),
        reads(LISTED, "store v0", "cache v0"),
    ],
    "names": [
        given("M"),
        *writes("T14", 14),
        step(
            "rename_table", txn="T14", table="db.t", new_table="db.r", metadata="r14", write_id=14
        ),
        END,
        reads(LISTED, "store v0", "cache v0", table_id=1),
        step("commit", txn="T14"),
        END,
        reads("14:7,8,12", "cache r14", table="DB.R"),
        reads(LISTED, "store v0", "cache v0"),
        step("open_txn", txn="C"),
        step(
            "create_table",
            txn="C",
            table="db.t",
            table_id=9,
            metadata="n1",
            write_id=1,
            kind="managed",
        ),
        step("commit", txn="C"),
        END,
        reads("1:", "cache n1", table_id=9),
        step("drop_table", txn=None, table="db.t"),
        END,
        reads("1:", "store none", table_id=9),
    ],
    "objects": [
        given("M", objects={"partition:ds=1": "p0"}),
        *writes("T14", 14),
        alters("T14", "p14", 14, object="partition:ds=1"),
        step("commit", txn="T14"),
        END,
        reads("14:7,8,12", "cache p14", object="partition:ds=1"),
        reads("14:7,8,12", "cache v0"),
        reads("14:7,8,12", "store none", object="partition:ds=2"),
    ],
    "external": [
        external("M"),
        alters(None, "x1", None, table="db.x"),
        reads(None, "cache x0", table="db.x"),
        reads(None, "store x1", table="db.x", token=0),
        END,
        step("rewind", cache="M", to=0),
        END,
        reads(None, "cache x1", table="db.x", token=0),
    ],
    "out of order": [
        given("M"),
        *writes("T14", 14),
        alters("T14", "v14a", 14),
        alters("T14", "v14b", 14),
        step("commit", txn="T14"),
        step("deliver", cache="M", events=[0, 1, 2, 2, 4]),
        reads("14:7,8,12", "store v14b"),
        step("deliver", cache="M", events=[3]),
        reads("14:7,8,12", "cache v14b"),
    ],
    "bootstrap and memory": [
        given("N"),
        *writes("T14", 14),
        alters("T14", "v14", 14),
        step("prewarm", cache="M", table="db.t", as_of=2, cursor=0),
        reads("14:7,8,12,14", "store v0", "cache v0"),
        step("commit", txn="T14"),
        END,
        reads("14:7,8,12", "cache v14"),
        step("gc", cache="M", table="db.t", floor="14:7,8,12"),
        reads(LISTED, "store v0"),
        step("evict", cache="M", table="db.t"),
        reads("14:7,8,12", "store v14", fill=True),
        reads("14:7,8,12", "cache v14"),
    ],
    "history cut where nothing was altered": [
        given("M"),
        *writes("T14", 14),
        step("commit", txn="T14"),
        *writes("T15", 15),
        step("abort", txn="T15"),
        END,
        reads(LISTED, "store v0", "cache v0"),
        step("gc", cache="M", table="db.t", floor="15:7,8,12"),
        reads(LISTED, "store v0"),
        reads("14:7,8,12", "cache v0"),
        reads("15:7,8,12", "store v0", "cache v0"),
        step("gc", cache="M", table="db.t", floor=LISTED),
        reads(LISTED, "store v0"),
    ],
    "by a name of before": [
        given("M"),
        *writes("T14", 14),
        step(
            "rename_table", txn="T14", table="db.t", new_table="db.r", metadata="r14", write_id=14
        ),
        step("commit", txn="T14"),
        END,
        step("gc", cache="M", table="db.t", floor="14:7,8,12"),
        reads(LISTED, "store v0", table_id=1),
        step("evict", cache="M", table="db.t"),
        step("evict", cache="N", table="db.t"),
        reads("14:7,8,12", "store r14", table="db.r"),
        step("prewarm", cache="N", table="db.t", as_of=1, cursor=2),
        reads("14:7,8,12,14", "cache v0", cache="N", table_id=1),
    ],
    "own reads of what was not written, and afterwards": [
        step(
            "given",
            tables=[
                {"table": "db.t", "table_id": 1, "kind": "managed", "metadata": "v0", "list": "1:"},
                {"table": "db.u", "table_id": 2, "kind": "managed", "metadata": "u0", "list": "1:"},
            ],
            caches=[{"cache": "M", "tables": ["db.t", "db.u"]}],
        ),
        *writes("A", 2),
        END,
        reads("1:", "store v0", "cache v0", own_txn="A", token=1),
        alters("A", "v2", 2),
        END,
        reads("1:", "cache u0", table="db.u", own_txn="A", token=2),
        reads("2:", "store v2", "cache v2", own_txn="A", token=2),
        reads("1:", "store u0", table="db.u", own_txn="A"),
        step("commit", txn="A"),
        reads("2:", "store v2", own_txn="A", token=3),
        END,
        reads("2:", "cache v2", own_txn="A", token=3),
    ],
    "own reads of an external table": [
        external("M"),
        step("open_txn", txn="A"),
        alters("A", "x1", None, table="db.x"),
        END,
        reads(None, "store x1", "cache x1", table="db.x", own_txn="A", token=1),
        reads(None, "cache x0", table="db.x"),
    ],
}
