"""Rows deleted by vectors: tables with `lakeledger.rows` = marks show what their twins show."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError
from ledger.files.deletion_vectors import deleted_rows
from ledger.files.storage import storage_at
from ledger.log.wire.inline_vectors import loosened
from ledger.statements.marking import FEW
from ledger.testing import InMemoryLedger
from tests.tables.delta_readers import READERS, texts
from tests.tables.published_lake import PUBLISHED, publish

ROWS: Final = 200
MARKS: Final = {"lakeledger.rows": "marks"}
TABLES: Final = {"rewrite": {}, "marks": MARKS}
Step = Callable[[Ledger, str], Any]


def values(numbers: range) -> list[dict[str, Any]]:
    return [{"id": n, "n": n % 7, "s": None if n % 5 == 0 else f"s{n}"} for n in numbers]


def made(ledger: Ledger, folder: Path, **more: str) -> None:
    for name, properties in TABLES.items():
        place = str(folder / name)
        ledger.create_table(
            f"t.{name}", values(range(ROWS)), location=place, properties={**properties, **more}
        )


def rows(ledger: Ledger, name: str, **place: Any) -> list[Any]:
    found = ledger.scan(f"t.{name}", **place).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def vectors(ledger: Ledger, name: str = "marks") -> list[int]:
    """Return how many rows each vector of a table deletes."""
    files = ledger.read(f"t.{name}")
    return [file.deletion_vector.cardinality for file in files if file.deletion_vector is not None]


def test_few_rows_go_by_a_vector_and_many_by_a_new_file(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path)
    (before,) = ledger.read("t.marks")
    receipt = ledger.delete("t.marks", "id IN (3, 150)")
    (after,) = ledger.read("t.marks")
    vector = after.deletion_vector

    assert (after.path, receipt.num_affected_rows) == (before.path, 2)
    assert vector is not None
    assert list(deleted_rows(storage_at(str(tmp_path)), vector)) == [3, 150]

    ledger.update("t.marks", {"n": 100}, "id = 4")
    ledger.delete("t.marks", "id = 3 OR id = 5")

    assert sorted(file.vector != "" for file in ledger.read("t.marks")) == [False, True]
    assert vectors(ledger) == [4]

    ledger.delete("t.marks", f"id < {FEW}")

    assert vectors(ledger) == [FEW + 1]
    assert len(rows(ledger, "marks")) == ROWS - FEW - 1
    ledger.delete("t.marks", f"id < {ROWS - 1}")

    assert vectors(ledger) == [ROWS - 1]
    ledger.delete("t.marks")

    assert vectors(ledger) == [] == rows(ledger, "marks")
    ledger.delete("t.rewrite", "id = 3")

    assert vectors(ledger, "rewrite") == []


def merge(ledger: Ledger, table: str) -> None:
    source = [{"id": 5, "n": 50, "s": "m"}, {"id": ROWS + 1, "n": 1, "s": "new"}]
    ledger.merge(
        table,
        source,
        "target.id = source.id",
        when_matched_update=True,
        when_not_matched_insert=True,
    )


def overwrite(ledger: Ledger, table: str) -> None:
    """Replace two rows of a file by one."""
    with ledger.transaction() as txn:
        txn.overwrite(table, [{"id": 30, "n": 0, "s": "over"}], "id IN (30, 31)")


def test_an_overwrite_of_few_rows_keeps_the_others(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path)
    for table in TABLES:
        overwrite(ledger, f"t.{table}")

    assert len(rows(ledger, "marks")) == ROWS - 1
    assert rows(ledger, "marks") == rows(ledger, "rewrite")
    assert vectors(ledger) == [2]


def in_one_txn(ledger: Ledger, table: str) -> None:
    """Change rows of one file again and again, also rows that the txn has written itself."""
    with ledger.transaction() as txn:
        txn.insert(table, [{"id": 900, "n": 1, "s": "own"}, {"id": 901, "n": 1, "s": "own"}])
        txn.delete(table, "id = 11")
        txn.update(table, {"s": "'x'"}, "id IN (12, 900)")
        txn.delete(table, "id IN (12, 13, 901)")


STEPS: Final[dict[str, Step]] = {
    "delete": lambda ledger, table: ledger.delete(table, "id % 50 = 7"),
    "update": lambda ledger, table: ledger.update(table, {"n": "n + 1", "s": "'u'"}, "id = 20"),
    "update many": lambda ledger, table: ledger.update(table, {"n": "n * 2"}, "id % 3 = 0"),
    "merge": merge,
    "in one txn": in_one_txn,
    "overwrite": overwrite,
    "insert": lambda ledger, table: ledger.append(table, values(range(300, 340))),
    "optimize": lambda ledger, table: ledger.optimize(table),
    "rename": lambda ledger, table: ledger.alter_table(table, swapped),
    "restore": lambda ledger, table: ledger.restore(table, version=0),
    "delete all": lambda ledger, table: ledger.delete(table, "n = 3"),
}


def swapped(definition: Any) -> Any:
    """Swap the names of two columns, so that older files have them under the other ones."""
    names = {"s": "t", "t": "s"}
    columns = [
        column._replace(name=names.get(column.name, column.name)) for column in definition.columns
    ]
    return definition._replace(columns=columns)


@pytest.mark.parametrize("seed", range(12))
def test_a_table_with_marks_shows_the_rows_of_its_twin(
    ledger: Ledger, tmp_path: Path, seed: int
) -> None:
    made(ledger, tmp_path)
    chance = random.Random(seed)  # noqa: S311 - a history must come back from its seed
    # After a rename "s" is unknown.
    steps = [name for name in STEPS if name != "rename"] * 2
    chance.shuffle(steps)
    before: tuple[int, ...] = (0, 0)
    for name in steps[:8]:
        for table in TABLES:
            STEPS[name](ledger, f"t.{table}")
        # Only one of the two may have files to put together.
        after = tuple(ledger.history(f"t.{table}", limit=1)[0].version for table in TABLES)
        shown = [rows(ledger, table) for table in TABLES]
        changed = [
            net_changes(ledger, table, *between)
            for table, between in zip(TABLES, zip(before, after, strict=True), strict=True)
        ]
        assert shown[0] == shown[1], (seed, name)
        assert changed[0] == changed[1], (seed, name)
        before = after
    ends = zip(TABLES, before, strict=True)
    first, second = (rows(ledger, table, version=version) for table, version in ends)

    assert first == second


def net_changes(ledger: Ledger, table: str, after: int, last: int) -> Counter[str]:
    """Return how often each row came, and below 0 how often it went."""
    counts: Counter[str] = Counter()
    for row in ledger.changes(f"t.{table}", after=after).rows().read_all().to_pylist():
        kind, version = row["_change_type"], row["_commit_version"]
        assert after < version <= last
        came = kind in ("insert", "update_postimage")
        counts[repr((row["id"], row["n"], row["s"]))] += 1 if came else -1
    return Counter({row: count for row, count in counts.items() if count})


def test_files_with_former_names_are_written_anew(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path)
    for table in TABLES:
        ledger.delete(f"t.{table}", "id = 1")
        ledger.alter_table(f"t.{table}", swapped)
        ledger.update(f"t.{table}", {"t": "'after'"}, "id = 2")

    assert rows(ledger, "marks") == rows(ledger, "rewrite")
    assert vectors(ledger) == []


def test_two_commits_that_mark_one_row_conflict_and_others_do_not(
    ledger: Ledger, tmp_path: Path
) -> None:
    made(ledger, tmp_path)
    first, second, third = ledger.begin(), ledger.begin(), ledger.begin()
    first.delete("t.marks", "id = 1")
    second.delete("t.marks", "id = 2")
    third.delete("t.marks", "id <= 2")
    first.commit()
    second.commit()

    with pytest.raises(ConflictError) as lost:
        third.commit()
    assert lost.value.evidence.rule == "row_changed_twice"
    assert vectors(ledger) == [2]


def test_an_aborted_mark_leaves_the_file(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path)
    txn = ledger.begin()
    txn.delete("t.marks", "id = 1")
    txn.abort("not wanted")
    ledger.vacuum("t.marks", older_than_h=0)

    assert len(rows(ledger, "marks")) == ROWS


def test_tracked_rows_are_written_anew(ledger: Ledger, tmp_path: Path) -> None:
    made(ledger, tmp_path, **{"delta.enableRowTracking": "true"})
    ledger.delete("t.marks", "id = 1")

    assert vectors(ledger) == []


def test_another_value_of_the_property_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="marks or rewrite"):
        made(ledger, tmp_path, **{"lakeledger.rows": "files"})


@pytest.mark.parametrize(
    ("stats", "found"),
    [
        ('{"numRecords":3}', '{"numRecords":3,"tightBounds":false}'),
        (
            '{"numRecords":3,"maxValues":{"a":1.10}} ',
            '{"numRecords":3,"maxValues":{"a":1.10},"tightBounds":false}',
        ),
        ('{"numRecords":3,"tightBounds":false}', '{"numRecords":3,"tightBounds":false}'),
    ],
)
def test_the_bounds_of_a_marked_file_are_not_tight(stats: str, found: str) -> None:
    assert loosened(stats) == found


def test_other_engines_read_a_published_table_with_marks(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    made(ledger, tmp_path, **PUBLISHED)
    ledger.delete("t.marks", "id IN (0, 3, 150)")
    ledger.update("t.marks", {"s": "'new'"}, "id = 7")
    merge(ledger, "t.marks")
    publish(memory.log)
    place = str(tmp_path / "marks")

    schema = ledger.scan("t.marks").schema
    for version in range(4):
        wanted = texts(ledger.scan("t.marks", version=version).to_arrow(), schema)
        for name, read in READERS.items():
            assert texts(read(place, version), schema) == wanted, (name, version)


def test_statements_that_write_one_file_anew_all_commit(ledger: Ledger, tmp_path: Path) -> None:
    """Each of them copies the rows that the others delete, and no row that is left comes twice."""
    place, size, share = str(tmp_path / "t"), 600, 150
    ledger.create_table("t.t", values(range(size)), location=place, properties=MARKS)
    txns = [ledger.begin() for _ in range(3)]
    for number, txn in enumerate(txns):
        first = number * share
        txn.delete("t.t", f"id >= {first} AND id < {first + share}")
    for txn in txns:
        txn.commit()

    left = ledger.scan("t.t").to_arrow()["id"].to_pylist()
    assert sorted(left) == list(range(3 * share, size))


def test_of_two_rewrites_beside_each_other_one_leaves_its_files_out(
    ledger: Ledger, tmp_path: Path
) -> None:
    made(ledger, tmp_path)
    ledger.append("t.marks", values(range(ROWS, 2 * ROWS)))
    first, second = ledger.begin(), ledger.begin()
    for txn in (first, second):
        txn.optimize("t.marks")
    first.commit()
    (kept,) = ledger.read("t.marks")
    second.commit()

    assert [file.path for file in ledger.read("t.marks")] == [kept.path]
    assert len(rows(ledger, "marks")) == 2 * ROWS
    ledger.vacuum("t.marks", older_than_h=0)
    assert [each.name for each in (tmp_path / "marks").glob("*.parquet")] == [kept.path]


def test_a_rewrite_and_a_statement_beside_it_both_commit_in_each_order(
    ledger: Ledger, tmp_path: Path
) -> None:
    made(ledger, tmp_path)
    for number in range(4):
        ledger.append("t.marks", values(range(ROWS * (number + 1), ROWS * (number + 2))))
        rewrite, change = ledger.begin(), ledger.begin()
        rewrite.optimize("t.marks")
        change.update("t.marks", {"s": "'new'"}, f"id = {number} OR id = {ROWS + number}")
        for txn in (rewrite, change) if number % 2 else (change, rewrite):
            txn.commit()

    found = rows(ledger, "marks")
    assert len(found) == 5 * ROWS == len({number for number, *_ in found})
    changed = {number for number, _, text in found if text == "new"}
    assert changed == {*range(4), *range(ROWS, ROWS + 4)}


def test_an_overwrite_by_a_condition_keeps_the_other_rows_of_a_file(
    ledger: Ledger, tmp_path: Path
) -> None:
    made(ledger, tmp_path)
    for name in TABLES:
        ledger.overwrite(f"t.{name}", [{"id": 3, "n": 1, "s": "new"}], "id = 3")

    assert rows(ledger, "marks") == rows(ledger, "rewrite")
    assert vectors(ledger) == [1]
    assert len(rows(ledger, "marks")) == ROWS


def test_the_last_rows_of_a_marked_file_go_beside_a_rewrite(ledger: Ledger, tmp_path: Path) -> None:
    """The rows that were deleted before are in no new file, and this statement deletes others."""
    made(ledger, tmp_path)
    ledger.delete("t.marks", f"id < {FEW}")
    txn = ledger.begin()
    txn.delete("t.marks", "id >= 0")
    ledger.optimize("t.marks")
    assert vectors(ledger) == []
    txn.commit()

    assert rows(ledger, "marks") == []


def test_a_file_whose_rows_two_statements_deleted_gives_way_to_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Its removal changes no row, so a statement beside it commits."""
    size, place = 180, str(tmp_path / "t")
    ledger.create_table("t.t", values(range(size)), location=place, properties=MARKS)
    several = [ledger.begin() for _ in range(2)]
    for txn, where in zip(several, ("id < 90", "id >= 90"), strict=True):
        txn.delete("t.t", where)
    for txn in several:
        txn.commit()
    ledger.append("t.t", values(range(1_000, 1_001)))
    rewrite = ledger.begin()
    rewrite.optimize("t.t", target_bytes=100)
    ledger.update("t.t", {"n": "n + 1"}, "id = 1000")
    rewrite.commit()

    assert ledger.scan("t.t").to_arrow()["n"].to_pylist() == [1_000 % 7 + 1]
    assert vectors_of_all(ledger) == []


def vectors_of_all(ledger: Ledger) -> list[str]:
    return [file.vector for file in ledger.read("t.t") if file.vector]


def test_a_file_whose_rows_are_all_deleted_goes_with_its_partition(
    ledger: Ledger, tmp_path: Path
) -> None:
    """Two statements that delete half of the rows each leave a file without any row."""
    made(ledger, tmp_path)
    first, second = ledger.begin(), ledger.begin()
    first.delete("t.marks", f"id < {ROWS // 2}")
    second.delete("t.marks", f"id >= {ROWS // 2}")
    first.commit()
    second.commit()
    ledger.overwrite("t.marks", values(range(3)))

    assert rows(ledger, "marks") == sorted(
        (row["id"], row["n"], row["s"]) for row in values(range(3))
    )
