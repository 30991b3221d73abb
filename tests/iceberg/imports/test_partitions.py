"""Partition specs of an Iceberg table, their evolution, and where an import begins."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.errors import IncompatibleError
from ledger.iceberg.importer import import_iceberg
from tests.iceberg.imports.iceberg_tables import (
    NAME,
    check_same_rows,
    files_of,
    main_branch,
    new_table,
    pa,
    row_of,
    rows_of,
    take,
    version_by_snapshot,
    versions,
)

from pyarrow import parquet as pq  # isort: skip
from pyiceberg.partitioning import PartitionField, PartitionSpec  # isort: skip
from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.transforms import (  # isort: skip
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType  # isort: skip

FORMATS = pytest.mark.parametrize("form", ["1", "2"])
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "at", TimestamptzType()),
)


def rows(*numbers: int, name: str | None = "a") -> Any:
    moments = [datetime(2026, 1 + number % 3, 1 + number, number, tzinfo=UTC) for number in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": pa.array([name] * len(numbers), pa.string()),
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
        }
    )


def spec(*fields: tuple[int, Any, str]) -> PartitionSpec:
    return PartitionSpec(
        *(
            PartitionField(source, 1000 + at, transform, name)
            for at, (source, transform, name) in enumerate(fields)
        )
    )


def divided(ledger: Ledger) -> list[list[str]]:
    """Return the partition columns of each version of the imported table."""
    table = row_of(ledger).table
    found = [ledger.reads().definition(table, each.position) for each in versions(ledger)]
    return [list(each.partition_columns) for each in found if each is not None]


@pytest.mark.parametrize(
    ("field", "column", "values"),
    [
        ((1, IdentityTransform(), "id"), "id", {("1",), ("2",), ("5",)}),
        ((2, IdentityTransform(), "name"), "name", {("a",)}),
        ((3, YearTransform(), "y"), "years(at)", {("2026",)}),
        ((3, MonthTransform(), "m"), "months(at)", {("2026-02",), ("2026-03",)}),
        ((3, DayTransform(), "d"), "days(at)", {("2026-02-02",), ("2026-03-03",), ("2026-03-06",)}),
        (
            (3, HourTransform(), "h"),
            "hours(at)",
            {("2026-02-02-01",), ("2026-03-03-02",), ("2026-03-06-05",)},
        ),
        ((1, TruncateTransform(2), "t"), "truncate(2, id)", {("0",), ("2",), ("4",)}),
        ((2, TruncateTransform(1), "t"), "truncate(1, name)", {("~a",)}),
    ],
)
def test_each_transform(
    ledger: Ledger, tmp_path: Path, field: Any, column: str, values: Any
) -> None:
    """Conditions on the column leave out no file that has such a row."""
    form = "1" if column.startswith("truncate") else "2"
    table = new_table(tmp_path, SCHEMA, spec(field), format_version=form)
    table.append(rows(1, 2, 5))
    table.append(rows(1, 2))
    take(ledger, table)

    assert row_of(ledger).definition.partition_columns == [column]
    assert {tuple(file.partition) for file in files_of(ledger)} == values
    check_same_rows(ledger, table)
    assert ledger.scan(NAME, "id = 2").count() == 2
    assert ledger.scan(NAME, "name = 'a' AND at >= '2026-03-01T00:00:00Z'").count() == 3


def test_buckets_and_null(ledger: Ledger, tmp_path: Path) -> None:
    table = new_table(
        tmp_path, SCHEMA, spec((1, BucketTransform(4), "b"), (2, IdentityTransform(), "name"))
    )
    table.append(rows(*range(1, 9), name=None))
    take(ledger, table)

    assert row_of(ledger).definition.partition_columns == ["bucket(4, id)", "name"]
    assert {file.partition[1] for file in files_of(ledger)} == {None}
    check_same_rows(ledger, table)
    assert [ledger.scan(NAME, f"id = {each}").count() for each in range(1, 10)] == [*[1] * 8, 0]
    assert ledger.scan(NAME, "name IS NULL").count() == 8


@FORMATS
def test_a_spec_that_changes_leaves_each_file_its_own(
    ledger: Ledger, tmp_path: Path, form: str
) -> None:
    table = new_table(tmp_path, SCHEMA, spec((2, IdentityTransform(), "name")), format_version=form)
    table.append(rows(1, 2))
    with table.update_spec() as update:
        update.remove_field("name")
        update.add_field("at", DayTransform(), "day")
    table.append(rows(3))
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(2), "b")
    table.append(rows(4))
    take(ledger, table)

    assert divided(ledger) == [["name"], ["days(at)"], ["days(at)", "bucket(2, id)"]]
    assert properties(row_of(ledger).definition)["iceberg.partition-fields"].startswith('[["day"')
    check_same_rows(ledger, table)
    assert ledger.scan(NAME, "id = 1 AND name = 'a'").count() == 1


def test_an_import_begins_at_the_oldest_whole_snapshot(ledger: Ledger, tmp_path: Path) -> None:
    """Files of two specs, and names of columns that changed, are in its first version."""
    table = new_table(tmp_path, SCHEMA, spec((2, IdentityTransform(), "part")))
    table.append(rows(1, 2))
    with table.update_spec() as update:
        update.remove_field("part")
        update.add_field("at", DayTransform(), "day")
    with table.update_schema() as update:
        update.rename_column("name", "called")
    with table.update_schema() as update:
        update.add_column("name", StringType())
    more = rows(3).rename_columns(["id", "called", "at"])
    table.append(more.append_column("name", pa.array(["new"], pa.string())))
    table.append(more.append_column("name", pa.array(["newer"], pa.string())))
    gone = table.snapshot_by_id(main_branch(table)[0])
    assert gone is not None
    Path(gone.manifest_list.removeprefix("file://")).unlink()

    report = take(ledger, table)

    assert report.passed_over.keys() == {str(gone.snapshot_id)}
    assert list(version_by_snapshot(ledger)) == main_branch(table)[1:]
    assert {tuple(file.partition) for file in files_of(ledger, 0)} == {()}
    check_same_rows(ledger, table, main_branch(table)[1:])
    assert ledger.scan(NAME, "called = 'a'").count() == 4
    assert row_of(ledger).definition.partition_columns == ["days(at)"]


def test_snapshots_that_expired_are_not_missed(ledger: Ledger, tmp_path: Path) -> None:
    table = new_table(tmp_path, SCHEMA)
    for number in range(1, 5):
        table.append(rows(number))
    kept = main_branch(table)[2:]
    table.maintenance.expire_snapshots().by_ids(main_branch(table)[:2]).commit()
    take(ledger, table)

    assert list(version_by_snapshot(ledger)) == kept
    check_same_rows(ledger, table, kept)


def test_a_text_that_is_null_in_the_log_does_not_divide_files(
    ledger: Ledger, tmp_path: Path
) -> None:
    table = new_table(tmp_path, SCHEMA, spec((2, IdentityTransform(), "name")))
    table.append(rows(1, name=""))
    table.append(rows(2, name="b"))
    take(ledger, table)

    assert {tuple(file.partition) for file in files_of(ledger)} == {(), ("b",)}
    check_same_rows(ledger, table)
    assert ledger.scan(NAME, "name = ''").count() == 1


def test_files_that_lack_their_partition_column(ledger: Ledger, tmp_path: Path) -> None:
    """Only the manifest has its value, so the file must have its partition."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    table = new_table(tmp_path, schema, spec((2, IdentityTransform(), "name")))
    table.append(rows(1, name="b").select(["id", "name"]))
    path = Path(next(iter(table.scan().plan_files())).file.file_path.removeprefix("file://"))
    pq.write_table(pq.read_table(path).select(["id"]), path)
    take(ledger, table)
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1, "name": "b"}]

    with table.update_spec() as update:
        update.remove_field("name")
    table.append(rows(2, name="c").select(["id", "name"]))
    first = table.snapshot_by_id(main_branch(table)[0])
    assert first is not None
    Path(first.manifest_list.removeprefix("file://")).unlink()
    with pytest.raises(IncompatibleError, match="lacks the column of partition field name"):
        import_iceberg(ledger, table.metadata_location, "other")


def test_days_before_the_epoch(ledger: Ledger, tmp_path: Path) -> None:
    table = new_table(tmp_path, SCHEMA, spec((3, DayTransform(), "d")))
    moment = datetime(1969, 12, 31, 23, tzinfo=UTC)
    old = rows(1).set_column(2, "at", pa.array([moment], pa.timestamp("us", "UTC")))
    table.append(old)
    take(ledger, table)

    assert [tuple(file.partition) for file in files_of(ledger)] == [(str(date(1969, 12, 31)),)]
    check_same_rows(ledger, table)
