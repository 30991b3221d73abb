"""Footprints as such: what is blind, what only rearranges, and at which level a part is judged."""

from typing import Any

import pytest

from ledger.core.commands import Domain, Footprint, IsolationLevel, Protocol
from ledger.core.conflicts.footprints import (
    CHANGES_DATA,
    effective_level,
    hashes,
    is_blind,
    joined,
    joined_names,
    operations_of,
    packed,
    path_hash,
    rearranges,
    won,
)
from ledger.core.limits import HASH_BYTES
from ledger.core.state.traits import features_of
from tests.core.parts import footprint

SI, WS, SER = "SnapshotIsolation", "WriteSerializable", "Serializable"
CLUSTERING = Domain("delta.clustering", "{}", removed=False)
ROW_TRACKING = Domain("delta.rowTracking", "{}", removed=False)
MOVES: dict[str, Any] = {"remove": ["a"], "adds": ["[]"], "data_change": False}


# Facts c.1: only adds, nothing read, nothing else asked.
BLIND = [
    ("an append", footprint(adds=["[]"]), True),
    ("no file at all", footprint("SET TBLPROPERTIES"), True),
    ("an append that recorded progress", footprint(adds=["[]"], read_apps=["loader"]), True),
    ("a scan", footprint(adds=["[]"], reads=["null"]), False),
    ("a file read", footprint(adds=["[]"], read=["a"]), False),
    ("the whole table read", footprint(adds=["[]"], reads_whole=True), False),
    ("a file removed", footprint(adds=["[]"], remove=["a"]), False),
    ("an append that denies it", footprint(adds=["[]"], not_blind=True), False),
]


@pytest.mark.parametrize(
    ("said", "expected"), [row[1:] for row in BLIND], ids=[row[0] for row in BLIND]
)
def test_blind(said: Footprint, expected: bool) -> None:  # noqa: FBT001
    """A part is blind if it only adds and read nothing, whatever the table is."""
    assert is_blind(said) == expected


REARRANGES = [
    ("files moved", footprint("OPTIMIZE", **MOVES), False, True),
    ("nothing at all", footprint("OPTIMIZE", data_change=False), False, True),
    ("data changed", footprint("OPTIMIZE", remove=["a"]), False, False),
    ("metadata changed", footprint("OPTIMIZE", **MOVES), True, False),
    (
        "a protocol action",
        footprint("OPTIMIZE", protocol=Protocol(1, 2, []), **MOVES),
        False,
        False,
    ),
    ("progress", footprint("OPTIMIZE", apps=[("loader", 1)], **MOVES), False, False),
    (
        "an import's",
        footprint("OPTIMIZE", apps=[("lakeledger.import:x@0", 3)], **MOVES),
        False,
        True,
    ),
    (
        "an import's and another",
        footprint("OPTIMIZE", apps=[("lakeledger.import:x@0", 3), ("loader", 1)], **MOVES),
        False,
        False,
    ),
    ("a domain", footprint("OPTIMIZE", domains=[CLUSTERING], **MOVES), False, False),
    ("the domain of row ids", footprint("OPTIMIZE", domains=[ROW_TRACKING], **MOVES), False, True),
]


@pytest.mark.parametrize(
    ("said", "changes", "expected"),
    [row[1:] for row in REARRANGES],
    ids=[row[0] for row in REARRANGES],
)
def test_rearranges(said: Footprint, changes: bool, expected: bool) -> None:  # noqa: FBT001
    """Only files may be in a part that rearranges, and none of them changes data (a.2)."""
    assert rearranges(said, does_more=changes) == expected


APPEND = footprint(adds=["[]"])
OPTIMIZE = footprint("OPTIMIZE", **MOVES)
EMPTY_DELETE = footprint("DELETE", data_change=False)
READ = footprint("", reads=["null"], data_change=False)
# Level of the table, level asked for, part, whether it alters the table, level it is judged at.
LEVELS = [
    (WS, "", APPEND, False, WS),
    (SER, "", APPEND, False, SER),
    (SI, "", APPEND, False, SI),
    (WS, SER, APPEND, False, SER),
    (SER, WS, APPEND, False, SER),
    (SER, SI, APPEND, False, SER),
    (WS, SI, APPEND, False, WS),
    (SI, WS, APPEND, False, WS),
    (WS, "", OPTIMIZE, False, SI),
    (SER, "", OPTIMIZE, False, SI),
    (SI, "", OPTIMIZE, False, SI),
    (WS, SER, OPTIMIZE, False, SI),
    (SER, SER, OPTIMIZE, False, SI),
    (WS, "", OPTIMIZE, True, WS),
    (SER, "", OPTIMIZE, True, SER),
    (WS, SER, OPTIMIZE, True, SER),
    (SER, "", footprint("OPTIMIZE", remove=["a"]), False, SER),
    (SER, "", EMPTY_DELETE, False, SI),
    (WS, "", EMPTY_DELETE, False, WS),
    (WS, SER, EMPTY_DELETE, False, SER),
    (WS, "", READ, False, WS),
    (SER, "", READ, False, SER),
    (WS, SER, READ, False, SER),
]


def judged_at(
    table: IsolationLevel, asked: str, said: Footprint, *, does_more: bool = False
) -> IsolationLevel:
    return effective_level(table, asked, said, rearranging=rearranges(said, does_more=does_more))


@pytest.mark.parametrize(("table", "asked", "said", "changes", "expected"), LEVELS)
def test_a_request_raises_the_level(
    table: IsolationLevel,
    asked: str,
    said: Footprint,
    changes: bool,  # noqa: FBT001
    expected: str,
) -> None:
    assert (
        effective_level(table, asked, said, rearranging=rearranges(said, does_more=changes))
        == expected
    )


@pytest.mark.parametrize("operation", sorted(CHANGES_DATA))
def test_what_changes_data_by_its_name_keeps_write_serializable(operation: str) -> None:
    empty = footprint(operation, data_change=False)

    assert (
        effective_level(
            "WriteSerializable", "", empty, rearranging=rearranges(empty, does_more=False)
        )
        == WS
    )
    assert judged_at("Serializable", "", empty) == SI


@pytest.mark.parametrize("operation", ["OPTIMIZE", "REORG", "SET TBLPROPERTIES", "Manual Update"])
def test_all_others_are_judged_at_the_weakest_level_without_data_changes(operation: str) -> None:
    empty = footprint(operation, data_change=False)

    assert (
        effective_level(
            "WriteSerializable", "", empty, rearranging=rearranges(empty, does_more=False)
        )
        == SI
    )


@pytest.mark.parametrize(
    ("protocol", "has", "lacks"),
    [
        (Protocol(1, 2, []), {"appendOnly", "invariants"}, {"checkConstraints"}),
        (Protocol(1, 3, []), {"appendOnly", "checkConstraints"}, {"generatedColumns"}),
        (Protocol(1, 4, []), {"changeDataFeed", "generatedColumns"}, {"columnMapping"}),
        (Protocol(2, 5, []), {"columnMapping", "changeDataFeed"}, {"identityColumns"}),
        (Protocol(2, 6, []), {"identityColumns", "columnMapping"}, {"deletionVectors"}),
        (Protocol(3, 7, ["deletionVectors"]), {"deletionVectors"}, {"appendOnly"}),
        (Protocol(1, 1, []), set(), {"appendOnly"}),
    ],
)
def test_features(protocol: Protocol, has: set[str], lacks: set[str]) -> None:
    """A legacy protocol has the features of its version, a later one those it names."""
    assert has <= features_of(protocol)
    assert not lacks & features_of(protocol)


def test_paths_are_compared_by_file() -> None:
    spellings = ["day=1/a", "day%3D1/a", "./day=1/a", "day=1//a"]

    assert len({path_hash(path) for path in spellings}) == 1
    assert path_hash("day=1/A") != path_hash("day=1/a")
    assert packed(["b", "./a", "a", "b"]) == path_hash("b") + path_hash("a")
    assert list(hashes(packed(["b", "a"]))) == [path_hash("b"), path_hash("a")]
    assert len(path_hash("")) == HASH_BYTES


def test_chunks_are_joined() -> None:
    """Chunks make one footprint: everything read, removed and added, each partition once."""
    chunks = [
        footprint(
            "X", reads=["1"], read=["a"], remove=["a"], removes_in=["[]"], adds=["[]"], rows_added=1
        ),
        footprint("X", reads_whole=True, read_apps=["p"], data_change=False),
    ]
    last = footprint(
        "UPDATE", reads=["1", "2"], remove=["c"], removes_in=["[]"], adds=["[]"], data_change=False
    )
    whole = joined(chunks, last)

    assert whole == footprint(
        "UPDATE",
        reads=["1", "2"],
        read=["a"],
        remove=["a", "c"],
        adds=["[]"],
        rows_added=1,
        reads_whole=True,
        read_apps=["p"],
        removes_in=["[]"],
    )
    assert joined([], last) is last


@pytest.mark.parametrize("unsaid", [0, 1, 2])
def test_one_chunk_without_partitions_leaves_all_of_them_unknown(unsaid: int) -> None:
    said = [footprint(remove=[path], removes_in=["[]"]) for path in "abc"]
    said[unsaid] = said[unsaid]._replace(removes_in=[])

    # A list, as a checkpoint brings it back: states are compared.
    assert joined(said[:2], said[2]).removes_in == []


def test_what_is_remembered_of_a_winner() -> None:
    """Later commits are held against what a winner did: neither what it read nor what it set."""
    said = footprint(reads_whole=True, domains=[Domain("d", "x" * 100, removed=False)])

    assert (won(said).reads_whole, won(said).domains) == (False, [Domain("d", "", removed=False)])


@pytest.mark.parametrize(
    ("names", "joined_name"),
    [((), ""), (("UPDATE",), "UPDATE"), (("UPDATE", "", "DELETE", "UPDATE"), "UPDATE, DELETE")],
)
def test_names_of_several_operations(names: tuple[str, ...], joined_name: str) -> None:
    """Several operations of one txn on a table are named in order, each once."""
    assert joined_names(names) == joined_name
    assert [*dict.fromkeys(name for name in names if name)] or [
        *operations_of(footprint()._replace(operation=joined_name))
    ] == [""]


@pytest.mark.parametrize(
    ("operation", "level"), [("OPTIMIZE", SI), ("UPDATE, OPTIMIZE", WS), ("DELETE", WS)]
)
def test_level_of_several_operations(operation: str, level: IsolationLevel) -> None:
    made = footprint(operation=operation, remove=["a"], data_change=False)
    assert (
        effective_level(
            "WriteSerializable", "", made, rearranging=rearranges(made, does_more=False)
        )
        == level
    )
