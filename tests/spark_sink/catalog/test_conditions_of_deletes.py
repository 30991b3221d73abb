"""Conditions of DELETE go to the ledger as trees, with literals of every type."""

from typing import Final

import pytest

from spark_sink import Lake
from spark_sink.catalog.read.conditions import NotUnderstoodError, condition_of
from tests.spark_sink.catalog.sql import done, rows

TYPES: Final = {
    "d": ("DATE", "DATE'2024-02-29'", "DATE'1969-12-31'"),
    "t": ("TIMESTAMP", "TIMESTAMP'2024-02-29 01:02:03.000004Z'", "TIMESTAMP'1969-12-31 23:00:00Z'"),
    "n": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'1969-12-31 23:59:59.5'", "TIMESTAMP_NTZ'2024-01-01'"),
    "m": ("DECIMAL(9,7)", "0.0000001BD", "-1.5BD"),
    "s": ("STRING", "'it\\'s \\\\ a%'", "'x'"),
    "b": ("BOOLEAN", "TRUE", "FALSE"),
    "y": ("TINYINT", "-5Y", "7Y"),
    "l": ("BIGINT", "9007199254740993L", "9007199254740992L"),
}


@pytest.mark.spark
def test_a_delete_by_whole_files_takes_the_rows_of_the_value_and_no_others(lake: Lake) -> None:
    columns = ", ".join(f"{name} {type_}" for name, (type_, _, _) in TYPES.items())
    names = ", ".join(TYPES)
    one, two = (", ".join(each[at] for each in TYPES.values()) for at in (1, 2))
    nulls = ", ".join(["NULL"] * len(TYPES))
    done(
        lake,
        f"CREATE TABLE ledger.db.t (id INT, {columns}) PARTITIONED BY ({names})",
        f"INSERT INTO ledger.db.t VALUES (0, {one}), (1, {two}), (2, {nulls})",
    )
    for name, (_, value, other) in TYPES.items():
        done(
            lake,
            f"INSERT INTO ledger.db.t VALUES (3, {one})",
            f"DELETE FROM ledger.db.t WHERE {name} = {value} AND ({name} <> {other} OR b IS NULL)",
        )
        assert rows(lake, "SELECT id FROM ledger.db.t ORDER BY id") == [(1,), (2,)], name
        assert len(lake.ledger.read("db.t").paths) == 2, name


@pytest.mark.parametrize(
    ("trees", "wire"),
    [
        ([["col", "b"]], '["col","b"]'),
        ([["col", "b"], ["not", ["col", "b"]]], '["and",["col","b"],["not",["col","b"]]]'),
        ([["and", ["col", "b"], ["col", "c"]], ["col", "b"]], '["and",["col","b"],["col","c"]]'),
    ],
)
def test_trees_are_joined(trees: list[object], wire: str) -> None:
    """Several conditions are one."""
    found = condition_of(trees)
    assert found is not None
    assert found.to_wire() == wire


@pytest.mark.parametrize("tree", [["unknown", "f(x)"], ["not", ["unknown", "f(x)"]], ["f"], 5])
def test_what_is_not_exact_is_refused(tree: object) -> None:
    """A part without a form must not count as TRUE: other rows would be deleted."""
    with pytest.raises(NotUnderstoodError):
        condition_of([tree])


def test_nothing_said_means_all_rows() -> None:
    assert condition_of([]) is None
