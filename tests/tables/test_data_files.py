"""New data files hold the rows, one partition each, under Spark's names."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger.arrow.given_rows import as_batches
from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column
from ledger.definitions.definitions import table_definition
from ledger.files.data_files import write_rows
from ledger.files.file_writers import FileWriter, writer_of
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile

COLUMNS = [("id", "bigint"), ("day", "date"), ("text", "string")]


def written(
    folder: Path, rows: Any, *, partitioned: tuple[str, ...] = (), target_bytes: int = 1 << 20
) -> list[AddFile]:
    """Return the files with these rows, written into a folder."""
    schema = TableSchema.of(table_definition(COLUMNS, partition_columns=partitioned))
    batches = as_batches(rows, schema)
    found = write_rows(
        storage_at(str(folder)),
        schema,
        batches,
        writer=FileWriter.of("lake", 7),
        target_bytes=target_bytes,
    )
    return list(found)


def test_rows_lie_in_their_partitions(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "day": date(2024, 1, 1), "text": "a:b/c"},
        {"id": 2, "day": None, "text": ""},
        {"id": 3, "day": date(2024, 1, 1), "text": "a:b/c"},
    ]
    files = written(tmp_path, rows, partitioned=("day", "text"))
    found = {file.path.rpartition("/")[0]: file for file in files}
    assert {name: each.partition for name, each in found.items()} == {
        "day=2024-01-01/text=a%3Ab%2Fc": ("2024-01-01", "a:b/c"),
        "day=__HIVE_DEFAULT_PARTITION__/text=__HIVE_DEFAULT_PARTITION__": (None, None),
    }
    path = tmp_path / found["day=2024-01-01/text=a%3Ab%2Fc"].path
    assert pq.read_table(path, partitioning=None).to_pydict() == {"id": [1, 3]}
    assert all(file.size == (tmp_path / file.path).stat().st_size for file in files)


def test_columns_carry_their_ids(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [{"id": 1}], partitioned=("id",))
    fields = pq.ParquetFile(tmp_path / file.path).schema_arrow
    assert [(field.name, field.metadata[b"PARQUET:field_id"]) for field in fields] == [
        ("day", b"2"),
        ("text", b"3"),
    ]


def test_physical_names_are_written(tmp_path: Path) -> None:
    metadata = '{"delta.columnMapping.physicalName":"p1","delta.columnMapping.id":1}'
    mapped = table_definition((), properties={"delta.columnMapping.mode": "name"})._replace(
        columns=[Column("x", "struct<a:int>", nullable=True, id=1, metadata=metadata)]
    )
    schema = TableSchema.of(mapped)
    rows = as_batches([{"x": {"a": 1}}, {}], schema)
    (file,) = write_rows(storage_at(str(tmp_path)), schema, rows, writer=FileWriter.of("lake"))
    assert pq.read_table(tmp_path / file.path).to_pydict() == {"p1": [{"a": 1}, None]}
    assert '"nullCount":{"p1":{"a":1}}' in file.stats


def test_files_have_about_the_wanted_size(tmp_path: Path) -> None:
    rows = pa.table({"id": range(20_000)}).to_batches(max_chunksize=1000)
    files = written(tmp_path, rows, target_bytes=50_000)
    assert 2 <= len(files) <= 10
    read = [pq.read_table(tmp_path / file.path)["id"].to_pylist() for file in files]
    assert sorted(chain.from_iterable(read)) == list(range(20_000))
    assert len(written(tmp_path, rows)) == 1
    assert written(tmp_path, []) == []


def test_many_partitions_do_not_stay_open(tmp_path: Path) -> None:
    rows = pa.table({"id": [at % 450 for at in range(900)]})
    files = written(tmp_path, rows.to_batches(max_chunksize=450), partitioned=("id",))
    assert {file.partition for file in files} == {(str(at),) for at in range(450)}
    assert sum(pq.read_metadata(tmp_path / file.path).num_rows for file in files) == 900


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    schema = TableSchema.of(table_definition(COLUMNS))

    def batches() -> Any:
        yield from as_batches([{"id": 1}], schema)
        raise OSError("the source is away")

    with pytest.raises(OSError, match="away"):
        write_rows(
            storage_at(str(tmp_path)),
            schema,
            batches(),
            writer=FileWriter.of("lake", 1),
            target_bytes=1,
        )
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_a_name_tells_its_writer() -> None:
    writer = FileWriter.of("lake", 12, 40, 1_767_225_600_000)
    assert writer_of(f"day=1/{writer.drawn()}-0.parquet") == writer
    assert writer_of(f"{FileWriter.of('lake').drawn()}-3.parquet") == FileWriter.of("lake")
    assert writer_of("7-0123456789abcdef-0.parquet") == FileWriter(7, "")
    assert writer_of("part-00000-2f.parquet") is None
    others = [("sea", 12, 40, 1_767_225_600_000), ("lake", 12, 41, 1_767_225_600_000)]
    others += [("lake", 12, 40, 1_767_225_600_001), ("lake", 12, 0, 0)]
    assert len({writer.mark, *(FileWriter.of(*other).mark for other in others)}) == 5


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("int", 3, "3"),
        ("decimal(5,2)", Decimal("1.50"), "1.50"),
        ("double", -0.0, "0.0"),
        ("boolean", True, "true"),
        ("timestamp", datetime(2024, 1, 1, 5, tzinfo=UTC), "2024-01-01 05:00:00Z"),
        ("timestamp_ntz", datetime.fromisoformat("2024-01-01 05:00"), "2024-01-01 05:00:00"),
    ],
)
def test_partition_values_have_one_text(tmp_path: Path, kind: str, value: Any, text: str) -> None:
    definition = table_definition([("p", kind), ("x", "int")], partition_columns=["p"])
    schema = TableSchema.of(definition)
    rows = as_batches([{"p": value, "x": 1}], schema)
    (file,) = write_rows(storage_at(str(tmp_path)), schema, rows, writer=FileWriter.of("lake"))
    assert file.partition == (text,)
