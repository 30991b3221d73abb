"""Told rows: they take away conflicts that cannot be real, and never one that is."""

import json
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.commands import CoarseWrite, Footprint, TableDefinition
from ledger.core.conflicts.attempts import Attempt, Hit
from ledger.core.conflicts.checks import first_hit
from ledger.core.conflicts.index import TableWinners
from ledger.core.conflicts.told_rows import is_inside, told_columns
from ledger.core.limits import COLUMN_NAMES_MAX
from ledger.core.partitions.keys import NoValue, key_of
from ledger.core.predicates.predicates import Predicates, compile_predicate
from ledger.core.rows.changes import AddedRows, ToldColumn
from tests.core.parts import NO_ROWS, above, equals, footprint, partition, table_of
from tests.core.predicate_trees import SCHEMA, VALUES, condition
from tests.core.won import winners, won_at

Row = dict[str, str | None]
TYPES = dict(SCHEMA)
EVERY = table_of(*SCHEMA, by=["i"])
FLAT = table_of(("id", "int"), ("name", "string"), ("x", "double"))
BY_DAY = table_of(("day", "int"), ("id", "int"), ("name", "string"), by=["day"])


def won(
    table: TableDefinition, *said: Footprint, coarse: Sequence[CoarseWrite] = ()
) -> TableWinners:
    """Return the winners of a table, at the positions from 1 on."""
    parts = (won_at(position, each, coarse) for position, each in enumerate(said, 1))
    return winners(schema_of(table), *parts)


def schema_of(table: TableDefinition) -> tuple[tuple[str, str], ...]:
    types = {column.name: column.type for column in table.columns}
    return tuple((name, types[name]) for name in table.partition_columns)


def adds(*added: AddedRows) -> Footprint:
    partitions = list(dict.fromkeys(each.partition for each in added))
    return footprint("MERGE", adds=partitions, rows=NO_ROWS._replace(added=added))


def told(names: str, *rows: Sequence[str | None], at: str = "[]") -> AddedRows:
    """Return new rows that tell the values of some columns of `FLAT`."""
    return AddedRows(at, columns(FLAT, names.split()), [partition(*row) for row in rows], "", "")


def bounded(names: str, low: Sequence[str | None], high: Sequence[str | None]) -> AddedRows:
    """Return new rows that tell the bounds of some columns of `FLAT`."""
    return AddedRows("[]", columns(FLAT, names.split()), [], partition(*low), partition(*high))


def columns(table: TableDefinition, names: Iterable[str]) -> list[ToldColumn]:
    types = {column.name: column.type for column in table.columns}
    return [ToldColumn(name, types[name]) for name in names]


def hit(table: TableDefinition, index: TableWinners, *scans: str, **others: Any) -> Hit | None:
    """Return the conflict of an UPDATE that read before all winners."""
    said = footprint("UPDATE", reads=list(scans), **others)
    return first_hit(index, attempt_of(said, table), Predicates())


def attempt_of(said: Footprint, table: TableDefinition) -> Attempt:
    flags = ("blind", "rearranges", "changes", "alters", "replaces", "breaks")
    others: dict[str, Any] = dict.fromkeys(flags, False)
    return Attempt(0, "WriteSerializable", [], said, **others, definition=table)


ID_7 = equals("id", "7", "int")
MEETS: list[tuple[str, str, AddedRows, bool]] = [
    ("the value", ID_7, told("id", ["7"]), True),
    ("another value", ID_7, told("id", ["8"]), False),
    ("one of several", ID_7, told("id", ["8"], ["7"]), True),
    ("another spelling of the value", ID_7, told("id", ["07"]), True),
    ("NULL", ID_7, told("id", [None]), False),
    ("NULL, where NULL is asked for", '["is_null",["col","id"]]', told("id", [None]), True),
    ("a text that is no value", ID_7, told("id", ["x"]), True),
    ("a range that has it", above("id", "6"), told("id", ["7"]), True),
    ("a range that has it not", above("id", "7"), told("id", ["7"]), False),
    ("a list", '["in",["col","id"],[["lit","7","int"]]]', told("id", ["8"]), False),
    ("a negation", json.dumps(["not", json.loads(ID_7)]), told("id", ["7"]), False),
    ("another type of number", equals("id", "7", "bigint"), told("id", ["7"]), True),
    ("a number as a text", equals("id", "7"), told("id", ["8"]), False),
    ("a name in other letters", equals("ID", "7", "int"), told("id", ["8"]), False),
    ("a column that is not told", equals("name", "a"), told("id", ["8"]), True),
    ("a column of no table", equals("age", "7", "int"), told("id", ["8"]), True),
    ("one of two columns", ID_7, told("id name", ["8", "a"]), False),
    ("two columns", ID_7, told("name id", ["a", "8"], ["b", "7"]), True),
    ("a function that is not known", '["=",["call","f",["col","id"]],["lit","7","int"]]',
     told("id", ["8"]), True),
    ("a condition that is not understood", '["unknown","f(id)",["id"]]', told("id", ["8"]), True),
    ("no condition", "null", told("id", ["8"]), True),
    ("no JSON", "{", told("id", ["8"]), True),
    ("nothing told", ID_7, told(""), True),
    ("NaN", equals("x", "NaN", "double"), told("x", ["NaN"]), True),
    ("a zero below zero", equals("x", "0.0", "double"), told("x", ["-0.0"]), True),
    ("bounds with it", ID_7, bounded("id", ["5"], ["9"]), True),
    ("the lower bound", ID_7, bounded("id", ["7"], ["9"]), True),
    ("the upper bound", ID_7, bounded("id", ["5"], ["7"]), True),
    ("bounds above", ID_7, bounded("id", ["8"], ["9"]), False),
    ("bounds below", ID_7, bounded("id", ["5"], ["6"]), False),
    ("numbers, not texts", ID_7, bounded("id", ["5"], ["60"]), True),
    ("no lower bound", ID_7, bounded("id", [None], ["6"]), True),
    ("no upper bound", ID_7, bounded("id", ["8"], [None]), True),
    ("bounds that are no values", ID_7, bounded("id", ["x"], ["y"]), True),
    ("bounds with NaN", equals("x", "7", "double"), bounded("x", ["NaN"], ["NaN"]), True),
    ("bounds of another column", ID_7, bounded("name", ["a"], ["b"]), True),
    ("bounds of two columns", ID_7, bounded("name id", ["a", "8"], ["b", "9"]), False),
    ("a range over bounds", above("id", "10"), bounded("id", ["5"], ["9"]), True),
    ("a list over bounds", '["in",["col","id"],[["lit","1","int"],["lit","8","int"]]]',
     bounded("id", ["5"], ["9"]), True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scan", "added", "meets"), [row[1:] for row in MEETS], ids=[row[0] for row in MEETS]
)
def test_a_scan_meets_new_rows_that_may_fulfil_it(
    scan: str,
    added: AddedRows,
    meets: bool,  # noqa: FBT001
) -> None:
    assert (hit(FLAT, won(FLAT, adds(added)), scan) is not None) == meets


def test_the_first_winner_that_meets_is_named_with_its_row() -> None:
    days = [told("id", [each], at=partition(day)) for each, day in (("8", "1"), ("7", "2"))]
    others = [told("id", [each], at=partition("1")) for each in ("9", "7")]
    found = won(BY_DAY, *map(adds, others[:1]), adds(*days), *map(adds, others[1:]))

    assert hit(BY_DAY, found, ID_7) == Hit(2, 6, "file_added", "row id = 7", ID_7)
    assert hit(BY_DAY, found, equals("id", "10", "int"), ID_7) == hit(BY_DAY, found, ID_7)
    assert hit(FLAT, won(FLAT, adds(told("id", ["7"]))), ID_7) == Hit(
        1, 6, "file_added", "row id = 7", ID_7
    )


@pytest.mark.parametrize(
    ("scan", "meets"),
    [(equals("day", "2", "int"), False), (equals("day", "1", "int"), True), (ID_7, False)],
)
def test_partitions_and_told_columns_are_judged_together(scan: str, meets: bool) -> None:  # noqa: FBT001
    found = won(BY_DAY, adds(told("id", ["8"], at=partition("1"))))

    assert (hit(BY_DAY, found, scan) is not None) == meets


WITHOUT = adds(AddedRows("[]", [], [], "", ""))
NOT_TOLD: dict[str, TableWinners] = {
    "by a program that tells nothing": won(FLAT, footprint("MERGE", adds=["[]"])),
    "of which one winner tells nothing": won(FLAT, adds(told("id", ["8"])), WITHOUT),
    "of which one partition tells nothing": won(
        FLAT, adds(told("id", ["8"]), AddedRows("[]", [], [], "", ""))
    ),
    "by units": won(
        FLAT, adds(told("id", ["8"])), coarse=[CoarseWrite("unpartitioned", "", "insert")]
    ),
}


@pytest.mark.parametrize("name", NOT_TOLD)
def test_new_rows_of_which_something_is_not_told_meet(name: str) -> None:
    found = hit(FLAT, NOT_TOLD[name], ID_7)

    assert found is not None
    assert found.rule == "file_added"


def test_rows_that_a_rewrite_moved_are_not_new() -> None:
    moving = footprint("UPDATE", adds=["[]"], rows=NO_ROWS)

    assert hit(FLAT, won(FLAT, moving), "null") is None


@pytest.mark.parametrize(
    "table",
    [
        table_of(("name", "string")),
        table_of(("id", "bigint")),
        table_of(("ID", "int")),
        table_of(("id", "int"), by=["id"]),
        None,
    ],
    ids=["gone", "of another type", "of another name", "a partition column", "unknown"],
)
def test_columns_that_are_not_as_they_were_told_do_not_count(table: TableDefinition | None) -> None:
    found = won(FLAT, adds(told("id", ["8"])))
    schema = schema_of(table) if table is not None else ()

    assert list(told_columns(found, table, schema)) == []


def test_many_columns_are_too_many() -> None:
    """Each set of columns is another compilation of a scan."""
    names = [(f"c{number}", "int") for number in range(COLUMN_NAMES_MAX + 1)]
    table = table_of(*names)
    said = [adds(AddedRows("[]", columns(table, [name]), ['["1"]'], "", "")) for name, _ in names]

    assert len(told_columns(won(table, *said[:-1]), table, ())) == COLUMN_NAMES_MAX
    assert told_columns(won(table, *said), table, ()) == ()


def test_a_scan_that_would_take_too_long_meets() -> None:
    found = won(FLAT, adds(told("id", *([str(each)] for each in range(1_000)))))
    said = footprint("UPDATE", reads=[above("id", "5000")])
    attempt = attempt_of(said, FLAT)

    assert first_hit(found, attempt, Predicates(asked_max=1_000)) is None
    assert first_hit(found, attempt, Predicates(asked_max=999)) is not None


@pytest.mark.parametrize(
    ("key", "low", "high", "expected"),
    [
        (5, 1, 9, True),
        (0, 1, 9, False),
        (5, "a", 9, True),
        (NoValue.NULL, 1, 9, True),
        (5, NoValue.UNCASTABLE, 2, True),
        (float("nan"), 1.0, 2.0, True),
        (5.0, float("nan"), 2.0, True),
    ],
)
def test_a_value_may_lie_between_bounds(key: Any, low: Any, high: Any, expected: bool) -> None:  # noqa: FBT001
    assert is_inside(key, low, high) == expected


def added_rows(random: Random, day: str | None, rows: Sequence[Row]) -> AddedRows:
    """Return what a writer tells of new rows of one partition: values, bounds or nothing."""
    names = random.sample([name for name, _ in SCHEMA[1:]], random.randint(0, 4))
    shown = columns(EVERY, names)
    match random.randrange(3) if names else 0:
        case 0:
            return AddedRows(partition(day), shown, [], "", "")
        case 1 if all(row[name] != "" for row in rows for name in names):
            values = dict.fromkeys(partition(*(row[name] for name in names)) for row in rows)
            return AddedRows(partition(day), shown, list(values), "", "")
        case _:
            pairs = [bounds_of(name, [row[name] for row in rows]) for name in names]
            lowest, highest = (partition(*(pair[at] for pair in pairs)) for at in (0, 1))
            return AddedRows(partition(day), shown, [], lowest, highest)


def bounds_of(name: str, texts: Sequence[str | None]) -> tuple[str | None, str | None]:
    """Return the texts of the least and the greatest value, None for an unknown one."""
    keys = {text: key_of(text, TYPES[name]) for text in texts if text}
    if not keys or NoValue.UNCASTABLE in keys.values():
        return None, None
    ordered = sorted(keys, key=lambda text: keys[text])  # type: ignore[arg-type,return-value]
    return ordered[0], ordered[-1]


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_a_row_that_fulfils_a_condition_is_never_hidden(random: Random) -> None:
    histories: list[list[Row]] = []
    said = []
    for _ in range(random.randint(1, 4)):
        rows = [{name: random.choice(VALUES[name]) for name, _ in SCHEMA} for _ in range(3)]
        by_day: dict[str | None, list[Row]] = {}
        for row in rows:
            by_day.setdefault(row["i"], []).append(row)
        histories.append(rows)
        said.append(adds(*(added_rows(random, day, each) for day, each in by_day.items())))
    index = won(EVERY, *said)
    for _ in range(10):
        scan = json.dumps(condition(random))
        whole = compile_predicate(scan, SCHEMA, derive=False)
        meeting = [
            position
            for position, rows in enumerate(histories, 1)
            if any(whole.matches(tuple(row[name] for name, _ in SCHEMA)) for row in rows)
        ]
        found = hit(EVERY, index, scan)

        assert not meeting or (found is not None and found.position <= meeting[0])
