"""One partition, one identity: units meet by values, whatever the spelling."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.core.commands import CoarseWrite, TableDefinition, TableWrite
from ledger.core.events.events import TxnAborted, TxnCommitted
from ledger.core.limits import COLUMN_NAMES_MAX
from ledger.core.partitions.keys import UNCASTABLE
from ledger.core.partitions.units import untyped_key
from ledger.core.partitions.values import HIVE_NULL
from tests.core.arena import Arena
from tests.core.parts import part, partition, table_of
from tests.driver import definition

UNTOLD = definition()
UNTYPED = UNTOLD._replace(partition_columns=["day"])
BY_TWO = table_of(("day", "int"), ("city", "string"), by=["day", "city"])


def coarse(text: str) -> CoarseWrite:
    return CoarseWrite("partition", text, "update")


def meet(made: TableDefinition, first: Sequence[CoarseWrite], second: CoarseWrite) -> bool:
    """Tell whether two commits that were planned from one position conflict."""
    arena = Arena(made)
    arena.wins(arena.coarse(*first))
    answer = arena.follows(arena.coarse(second))
    assert isinstance(answer, TxnAborted | TxnCommitted)
    return isinstance(answer, TxnAborted)


@pytest.mark.parametrize(
    ("made", "one", "other"),
    [
        (UNTOLD, "day=1", "day=1/"),
        (UNTOLD, "day=1", "/day=1"),
        (UNTOLD, "day=1", "Day=1"),
        (UNTOLD, "day=1/hour=2", "hour=2//day=1"),
        (UNTOLD, "day=1", "day=1/hour=2"),
        (UNTOLD, "day=1", "hour=2"),
        (UNTOLD, "day=1", "day"),
        (UNTOLD, "day=1", "day=1/day=2"),
        (UNTOLD, "day=1", "day=01"),
        (UNTOLD, "day=1", "day=1.0"),
        (UNTOLD, "day=1", "day=+1"),
        (UNTOLD, "day=1", "day= 1"),
        (UNTOLD, "day=1000", "day=1e3"),
        (UNTOLD, "day=1.5", "day=1.50"),
        (UNTOLD, "day=1", "day=TRUE"),
        (UNTOLD, "day=n", "day=False"),
        (UNTOLD, "day=2024-01-02", "day=2024-1-2"),
        (UNTOLD, "day=2024-01-02", "day=2024-01-02 10:00"),
        (UNTOLD, "day=2024-01-02", "day=2024-01-02T00:00:00Z"),
        (UNTOLD, "day=2024-01-01", "day=2024"),
        (UNTOLD, "city=a b", "city=a%20b"),
        (UNTOLD, "city=Zürich", "city=Z%C3%BCrich"),
        (UNTOLD, "city=a", "city=%FF"),
        (UNTOLD, f"day={HIVE_NULL}", "day="),
        (UNTYPED, "day=1", "day=01"),
        (UNTYPED, "day=1", "hour=1"),
        (BY_TWO, "day=1", "city=x/DAY=01"),
        (BY_TWO, "day=1/city=x", "day=1"),
        (BY_TWO, "day=1/city=x", "city=x"),
        (BY_TWO, "day=march/city=x", "day=1/city=y"),
        (BY_TWO, "day=1/city=x", "month=2"),
        (BY_TWO, "day=1/city=", f"day=1/city={HIVE_NULL}"),
        (BY_TWO, "day=1/city=%E6%9D%B1", "city=東/day=1"),
    ],
)
def test_two_spellings_of_one_partition_meet(made: TableDefinition, one: str, other: str) -> None:
    assert meet(made, [coarse(one)], coarse(other))
    assert meet(made, [coarse(other)], coarse(one))


@pytest.mark.parametrize(
    ("made", "one", "other"),
    [
        (UNTOLD, "day=1", "day=2"),
        (UNTOLD, "day=one", "day=two"),
        (UNTOLD, "day=20240101", "day=20240102"),
        (UNTOLD, "day=2024-01-02", "day=2024-01-03"),
        (UNTOLD, "day=1/hour=2", "hour=3/day=1"),
        (UNTOLD, "day=", "day=1"),
        (UNTYPED, "day=1", "day=2"),
        (BY_TWO, "day=1", "day=2"),
        (BY_TWO, "day=1", "day=2/city=x"),
        (BY_TWO, "day=1/city=x", "day=1/city=X"),
        (BY_TWO, "day=1/city=1", "day=1/city=01"),
        (BY_TWO, "day=1/city=a%2520b", "day=1/city=a%20b"),
    ],
)
def test_different_partitions_do_not_meet(made: TableDefinition, one: str, other: str) -> None:
    assert not meet(made, [coarse(one)], coarse(other))
    assert not meet(made, [coarse(other)], coarse(one))


@pytest.mark.parametrize("made", [UNTOLD, UNTYPED._replace(partition_columns=[])])
def test_removed_from_an_untold_table(made: TableDefinition) -> None:
    """A file removed from a table without columns may lie in any partition."""
    arena = Arena(made)
    arena.wins(arena.coarse(coarse("day=1")))
    removal = part(arena.table, "DELETE", remove=["a"], removes_in=[partition()])

    assert isinstance(arena.follows(removal), TxnAborted)


def test_units_of_more_sets_of_columns_than_are_told_apart_each_count_as_the_whole_table() -> None:
    many = [coarse(f"c{number}=1") for number in range(COLUMN_NAMES_MAX + 1)]

    assert meet(UNTOLD, many, coarse("c0=2"))
    assert not meet(UNTOLD, [coarse("c0=1")], coarse("c0=2"))


# A value of each type in several spellings; None is NULL.
SPELLINGS: dict[str, dict[Any, list[str]]] = {
    "int": {1: ["1", "01", "+1", " 1"], 10: ["10", "010"], -1: ["-1", "-01"]},
    "bigint": {7: ["7", "007"], 2**53 + 1: [str(2**53 + 1)], 2**53: [str(2**53)]},
    "double": {0.5: ["0.5", "5e-1", ".5"], 1.0: ["1", "1.0"], 0.0: ["0", "-0.0"]},
    "float": {0.1: ["0.1", "0.10000000149"], 1.0: ["1", "1.0"], 0.5: ["0.5"]},
    "decimal(10,2)": {1: ["1", "1.00", "1.0"], 2: ["2", "2.00"]},
    "boolean": {True: ["true", "TRUE", "1"], False: ["false", "f"]},
    "date": {1: ["2024-01-02", "2024-1-2"], 2: ["2024-01-03"], 3: ["2024-01-01", "2024"]},
    "timestamp": {1: ["2024-01-02 00:00:00", "2024-01-02T00:00"], 2: ["2024-01-02 10:00:00"]},
    "string": {each: [each] for each in ["1", "01", "a b", "A", "a", "ü/東", "100%", "a%20b"]},
}


class Place(NamedTuple):
    """The leading values of a partition, and how they are written."""

    values: tuple[Any, ...]
    texts: tuple[str | None, ...]
    folder: str


def escaped(text: str, *, all_of_it: bool) -> str:
    if all_of_it:
        return "".join(f"%{byte:02X}" for byte in text.encode())
    return quote(text, safe=" üA東")


@st.composite
def places(draw: st.DrawFn, columns: Sequence[tuple[str, str]], *, whole: bool = False) -> Place:
    """Draw the values of all partition columns, or of the first ones, and a spelling of them."""
    count = len(columns) if whole else draw(st.integers(1, len(columns)))
    values: list[Any] = []
    texts: list[str | None] = []
    parts: list[str] = []
    for name, kind in columns[:count]:
        value = draw(st.sampled_from([None, *SPELLINGS[kind]]))
        spelled = [HIVE_NULL, ""] if value is None else SPELLINGS[kind][value]
        text = draw(st.sampled_from(spelled))
        called = name.upper() if draw(st.booleans()) else name
        parts.append(f"{called}={escaped(text, all_of_it=draw(st.booleans()))}")
        values.append(value)
        texts.append(None if value is None else text)
    folder = "/".join(draw(st.permutations(parts))) + draw(st.sampled_from(["", "/"]))
    return Place(tuple(values), tuple(texts), folder)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[TableDefinition, Place, Place, bool]:
    """Draw a table, a place whose rows are updated, another, and whether files are removed."""
    kinds = draw(st.lists(st.sampled_from(sorted(SPELLINGS)), min_size=1, max_size=3))
    columns = [(f"c{number}", kind) for number, kind in enumerate(kinds)]
    made = table_of(*columns, ("x", "int"), by=[name for name, _ in columns])
    removes = draw(st.booleans())
    return made, draw(places(columns)), draw(places(columns, whole=removes)), removes


@given(pairs())
def test_equal_partitions_meet(drawn: tuple[TableDefinition, Place, Place, bool]) -> None:
    """Partitions meet just if their common leading values are equal, both ways round."""
    made, one, other, removes = drawn
    expected = all(map(lambda a, b: a == b, one.values, other.values))

    def writes(arena: Arena) -> tuple[TableWrite, TableWrite]:
        texts = [json.dumps(list(other.texts), separators=(",", ":"))]
        removal = part(arena.table, "DELETE", remove=["a"], removes_in=texts)
        second = removal if removes else arena.coarse(coarse(other.folder))
        return arena.coarse(coarse(one.folder)), second

    for turn in (1, -1):
        arena = Arena(made)
        wins, follows = writes(arena)[::turn]
        arena.wins(wins)
        assert isinstance(arena.follows(follows), TxnAborted) is expected


@given(st.sampled_from(sorted(SPELLINGS.keys() - {"float"})), st.data())
def test_texts_that_a_type_holds_for_equal_are_one_value(kind: str, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(list(SPELLINGS[kind])))
    texts = st.sampled_from(SPELLINGS[kind][value])
    keys = {untyped_key(data.draw(texts)), untyped_key(data.draw(texts))}

    assert len(keys) == 1 or UNCASTABLE in keys
