"""The rows that commits changed: what is left once copied rows cancel out."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from ledger.cli.tables.changes import json_row_lines, row_lines
from ledger.client import Ledger
from ledger.errors import UnreadableTableError
from ledger.files.data_reading import read_file
from ledger.log.wire.file_list import RemoveFile
from tests.tables.files import inline_vector
from tests.tables.row_files import TABLE, Row, RowFiles, plain, tuples

COLUMNS = [("id", "bigint"), ("tail", "string")]
NAN = float("nan")


@pytest.fixture
def files(ledger: Ledger, tmp_path: Path) -> RowFiles:
    return RowFiles(ledger, tmp_path / "flights", COLUMNS)


def changed(table: pa.Table) -> list[tuple[str, Row]]:
    names = [name for name in table.column_names if not name.startswith("_c") and name[:2] != "_p"]
    kinds = table["_change_type"].to_pylist()
    return sorted(zip(kinds, tuples(table.select(names)), strict=True), key=repr)


def test_each_kind_of_commit(files: RowFiles) -> None:
    first = files.insert((1, "a"), (2, "b"), (2, "b"), (3, None))
    second = files.replace(first, (1, "a"), (2, "b"), (3, None))
    third = files.replace(second, (1, "a"), (2, "x"), (3, None), operation="UPDATE")
    fourth = files.replace(third, (1, "a"), (2, "y"), (4, "d"), operation="MERGE")
    files.replace(fourth)

    found = [changed(change.rows()) for change in files.ledger.changes(TABLE)]
    assert found == [
        [],
        [("insert", each) for each in [(1, "a"), (2, "b"), (2, "b"), (3, None)]],
        [("delete", (2, "b"))],
        [("update_postimage", (2, "x")), ("update_preimage", (2, "b"))],
        [("delete", (2, "x")), ("delete", (3, None)), ("insert", (2, "y")), ("insert", (4, "d"))],
        [("delete", (1, "a")), ("delete", (2, "y")), ("delete", (4, "d"))],
    ]


def test_columns_of_a_change(files: RowFiles) -> None:
    """Each row says what became of it, and names the version, position and time of the commit."""
    files.insert((1, "a"))
    commit = list(files.ledger.changes(TABLE))[-1]
    (row,) = files.ledger.changes(TABLE).rows().read_all().to_pylist()

    assert row == {
        "id": 1,
        "tail": "a",
        "_change_type": "insert",
        "_commit_version": 1,
        "_position": commit.position,
        "_commit_timestamp": commit.at,
    }


def test_the_command_prints_changed_rows_for_people_and_for_programs(files: RowFiles) -> None:
    first = files.insert((1, "a"), (2, None))
    files.replace(first, (2, None))
    found = list(files.ledger.changes(TABLE))

    assert [line for each in found for line in row_lines(each)] == [
        "       1 insert           id 1, tail a",
        "       1 insert           id 2, tail NULL",
        "       2 delete           id 1, tail a",
    ]
    lines = "\n".join(text for each in found for text in json_row_lines(each)).splitlines()
    assert [json.loads(line)["_change_type"] for line in lines] == ["insert", "insert", "delete"]
    assert json.loads(lines[2])["tail"] == "a"


def test_a_commit_that_only_rewrites_files_gives_no_rows(files: RowFiles) -> None:
    old = [*files.insert((1, "a")), *files.insert((2, "b"))]
    with files.ledger.transaction() as txn:
        merged = files.write((2, "b"), (1, "a"), data_change=False)
        txn.rewrite_files(TABLE, [each.path for each in old], merged)
        txn.add_files(TABLE, files.write((3, "c")))

    assert changed(list(files.ledger.changes(TABLE))[-1].rows()) == [("insert", (3, "c"))]


def test_a_txn_that_changes_rows_after_it_moved_them(ledger: Ledger, tmp_path: Path) -> None:
    """Rows that went into another new file than the changed ones did not change."""
    ledger.create_table(TABLE, COLUMNS, location=tmp_path / "t", partition_columns=["tail"])
    for number in range(6):
        ledger.append(TABLE, [{"id": number, "tail": str(number % 3)}])
    with ledger.transaction() as txn:
        txn.optimize(TABLE)
        txn.delete(TABLE, "id = 0")

    assert changed(list(ledger.changes(TABLE))[-1].rows()) == [("delete", (0, "0"))]


VALUES = [
    ("boolean", [True, False, None]),
    ("double", [NAN, 0.0, 1.5, None]),
    ("decimal(20,3)", [Decimal("1.500"), Decimal("-2.000"), None]),
    ("date", [datetime(2026, 1, 31, tzinfo=UTC).date(), None]),
    ("timestamp", [datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC), None]),
    ("timestamp_ntz", [datetime(2026, 1, 31, 12), None]),  # noqa: DTZ001 - it has no zone
    ("binary", [b"\x00\xff", b"", None]),
    ("array<int>", [[1, None], [], None]),
    ("map<string,int>", [[("a", 1), ("b", None)], None]),
    ("struct<a:int,b:array<string>>", [{"a": 1, "b": ["x"]}, {"a": None, "b": None}, None]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[value[0] for value in VALUES])
def test_values_of_every_type(ledger: Ledger, tmp_path: Path, kind: str, values: list[Any]) -> None:
    """Equal values of every type cancel out, and others come as they were written."""
    files = RowFiles(ledger, tmp_path / "flights", [("id", "int"), ("value", kind)])
    first = files.insert(*enumerate(values))
    files.replace(first, *list(enumerate(values))[1:], (99, values[0]), operation="MERGE")

    *_, inserted, merged = (change.rows() for change in ledger.changes(TABLE))
    shown = tuple(map(plain, (0, values[0])))
    assert len(changed(inserted)) == len(values)
    assert changed(merged) == [("delete", shown), ("insert", (99, shown[1]))]
    assert merged.schema == inserted.schema


def test_redefined_columns(files: RowFiles) -> None:
    """Changes have the columns of now: old files have NULL in an added one, and copies cancel."""
    first = files.insert((1, "a"), (2, "b"))
    files.ledger.alter_table(TABLE, columns=[*COLUMNS, ("note", "string")])
    files.replace(first, (1, "a", None), (2, "b", "new"), operation="UPDATE")

    found = list(files.ledger.changes(TABLE))
    assert found[2].schema_changed
    assert changed(found[1].rows()) == [("insert", (1, "a", None)), ("insert", (2, "b", None))]
    assert changed(found[3].rows()) == [
        ("update_postimage", (2, "b", "new")),
        ("update_preimage", (2, "b", None)),
    ]


def test_deletion_vectors(files: RowFiles) -> None:
    """A file under another deletion vector gives the rows that it lost, and back."""
    (file,) = files.insert((1, "a"), (2, "b"), (3, "c"))
    vectors = [None, inline_vector([1]), inline_vector([1, 2]), inline_vector([0])]
    for before, vector in itertools.pairwise(vectors):
        assert vector is not None
        marked = file._replace(deletion_vector=vector, vector=vector.id)
        with files.ledger.transaction() as txn:
            txn.read(TABLE)
            gone = RemoveFile(file.path, vector=before.id if before else "")
            txn.remove_files(TABLE, [gone], operation="DELETE")
            txn.add_files(TABLE, [marked], operation="DELETE")

    assert [changed(change.rows()) for change in files.ledger.changes(TABLE, after=1)] == [
        [("delete", (2, "b"))],
        [("delete", (3, "c"))],
        [("delete", (1, "a")), ("insert", (2, "b")), ("insert", (3, "c"))],
    ]


def test_partitions_and_a_new_name(ledger: Ledger, tmp_path: Path) -> None:
    files = RowFiles(ledger, tmp_path / "t", [("day", "date"), ("id", "bigint")], by=["day"])
    first = files.insert((date(2026, 1, 31), 1), (None, 2))
    day, number = ledger.table(TABLE).definition.columns
    ledger.alter_table(TABLE, columns=[day, number._replace(name="number")])
    files.replace(first, (date(2026, 1, 31), 1), (None, 3))

    *_, last = ledger.changes(TABLE)
    assert last.rows().column_names[:2] == ["day", "number"]
    assert changed(last.rows()) == [("delete", (None, 2)), ("insert", (None, 3))]


def test_rows_of_files_that_a_vacuum_deleted_are_unknown(files: RowFiles) -> None:
    first = files.insert((1, "a"))
    files.replace(first, (2, "b"))
    files.insert((3, "c"))
    files.ledger.vacuum(TABLE, older_than_h=0)

    with pytest.raises(UnreadableTableError, match=r"gone: a vacuum .* after version 2"):
        files.ledger.changes(TABLE).rows().read_all()
    rest = files.ledger.changes(TABLE, after=2).rows().read_all()
    assert changed(rest) == [("insert", (3, "c"))]


def test_column_of_the_name(ledger: Ledger, tmp_path: Path) -> None:
    RowFiles(ledger, tmp_path, [("_Change_Type", "string")])
    with pytest.raises(UnreadableTableError, match="rename the column"):
        ledger.changes(TABLE).rows()


def applied(rows: Counter[Row], changes: Iterable[tuple[str, Row]]) -> Counter[Row]:
    after = rows.copy()
    for kind, row in changes:
        after[row] += 1 if kind in {"insert", "update_postimage"} else -1
    assert min(after.values(), default=0) >= 0
    return +after


@pytest.mark.parametrize("seed", range(20))
def test_changes_make_up_the_table(files: RowFiles, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - it plays a history
    live: list[list[Any]] = []

    def any_rows() -> list[Row]:
        rows = [(random.choice([1, 2, None]), random.choice(["a", None])) for _ in range(9)]
        return rows[: random.randrange(1, 9)]

    for _ in range(8):
        if not live or random.random() < 0.4:
            live.append(files.insert(*any_rows()))
        elif random.random() < 0.3:
            files.replace(live.pop(random.randrange(len(live))))
        else:
            old = live.pop(random.randrange(len(live)))
            kept = [row for row in rows_of(files, old) if random.random() < 0.7]
            live.append(files.replace(old, *kept, *any_rows(), operation="MERGE"))
    rows: Counter[Row] = Counter()
    for commit in files.ledger.changes(TABLE):
        found = changed(commit.rows())
        assert not {row for kind, row in found if kind == "delete"} & {
            row for kind, row in found if kind == "insert"
        }
        rows = applied(rows, found)
        assert rows == files.rows(commit.version)
    assert commit.version == 8


def rows_of(files: RowFiles, added: Iterable[Any]) -> list[Row]:
    paths = {each.path for each in added}
    newest = files.ledger.table(TABLE).version
    live = [each for each in files.live(newest) if each.path in paths]
    return [row for each in live for row in tuples(read_file(files.storage, each, files.schema))]
