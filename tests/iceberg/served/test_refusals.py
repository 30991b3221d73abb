"""What Iceberg's readers cannot read rightly is refused by name, and says what helps."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ledger import AddFile, DeletionVector, Ledger
from ledger.core.commands import Column
from ledger.core.rows.bitmaps import RowSet, empty
from ledger.iceberg.puffin import VectorBlob, puffin_bytes
from ledger.properties.field_ids import FIELDS
from ledger.testing import InMemoryLedger
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.readers import by_duckdb, by_pyiceberg, rows_of


def tables_of(memory: InMemoryLedger) -> ServedTables:
    return ServedTables(lambda: memory.reads, memory.reads.identity().ledger)


def refusal(memory: InMemoryLedger, name: str = "db.t") -> str:
    """Return why a table is refused."""
    row = next(each for each in memory.reads.tables() if each.name == name)
    with pytest.raises(IcebergRefusal) as refused:
        tables_of(memory).table(row)
    assert refused.value.code == 400
    return str(refused.value)


def in_folders(ledger: Ledger, folder: Path) -> None:
    ledger.create_table("db.t", [("id", "INT")], location=str(folder), layout="directories")


def a_view(ledger: Ledger, _folder: Path) -> None:
    ledger.create_view("db.t", "SELECT 1 AS id")


def of_an_unknown_type(ledger: Ledger, folder: Path) -> None:
    ledger.create_table("db.t", [("id", "INTERVAL DAY TO SECOND")], location=str(folder))


def without_ids(ledger: Ledger, folder: Path) -> None:
    columns = [Column("s", "STRUCT<a: INT>", nullable=True, id=0)]
    ledger.create_table("db.t", columns, location=str(folder))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (in_folders, "layout directories"),
        (a_view, "is a view"),
        (of_an_unknown_type, "INTERVAL"),
        (without_ids, "OPTIMIZE"),
    ],
)
def test_a_table_that_iceberg_lacks_is_refused(
    make: Callable[[Ledger, Path], None], why: str, tmp_path: Path
) -> None:
    with InMemoryLedger() as memory:
        make(memory.connect(), tmp_path / "t")

        assert why.lower() in refusal(memory).lower()


def test_fields_keep_their_ids_when_a_definition_is_given_without_them(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [("s", "STRUCT<a: INT>")], location=str(tmp_path / "t"))
        ledger.append("db.t", [{"s": {"a": 1}}])
        (column,) = ledger.table("db.t").definition.columns
        bare = column._replace(metadata="")
        assert FIELDS in column.metadata
        ledger.alter_table("db.t", lambda before: before._replace(columns=[bare]))
        (after,) = ledger.table("db.t").definition.columns

        assert after.metadata == column.metadata


def test_a_type_that_became_another_is_refused_until_files_are_written_anew(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [("n", "INT")], location=str(tmp_path / "t"))
        ledger.append("db.t", [{"n": 1}])
        column = ledger.table("db.t").definition.columns[0]
        ledger.alter_table("db.t", columns=[column._replace(type="DOUBLE")])

        assert "column n otherwise: type int cannot become double" in refusal(memory)
        ledger.optimize("db.t")
        ledger.append("db.t", [{"n": 2.5}])
        ledger.overwrite("db.t", [{"n": 2.5}])
        served = tables_of(memory).table(ledger.table("db.t"))
        assert rows_of(by_pyiceberg(served.metadata_location, None)) == ["{'n': 2.5}"]
        assert len(served.snapshots) < 4


def test_files_by_name_are_read_by_a_mapping_until_a_name_is_another_columns(
    tmp_path: Path,
) -> None:
    """A foreign file has no ids: its columns go by all names that they had."""
    folder = tmp_path / "t"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [("a", "BIGINT"), ("b", "BIGINT")], location=str(folder))
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"a": [1], "b": [2]}), folder / "x.parquet")
        size = (folder / "x.parquet").stat().st_size
        ledger.append("db.t", [AddFile("x.parquet", size=size)])
        first, second = ledger.table("db.t").definition.columns
        ledger.alter_table("db.t", columns=[first._replace(name="c"), second])
        metadata = tables_of(memory).table(ledger.table("db.t")).metadata_location
        wanted = rows_of(ledger.scan("db.t").to_arrow())

        assert wanted == rows_of(by_pyiceberg(metadata, None))
        assert wanted == rows_of(by_duckdb(metadata, None))
        ledger.alter_table("db.t", columns=[first._replace(name="b"), second._replace(name="a")])
        assert "the name a was another column's" in refusal(memory)


def test_a_file_with_the_ids_of_another_table_is_refused(tmp_path: Path) -> None:
    """Iceberg's readers go by the id alone, the ledger by the name where the ids are others'."""
    folder = tmp_path / "t"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [("a", "BIGINT"), ("b", "BIGINT")], location=str(folder))
        folder.mkdir(exist_ok=True)
        fields = [
            pa.field(name, pa.int64(), metadata={"PARQUET:field_id": number})
            for name, number in (("a", "2"), ("b", "1"))
        ]
        pq.write_table(pa.table([[1], [2]], schema=pa.schema(fields)), folder / "x.parquet")
        size = (folder / "x.parquet").stat().st_size
        ledger.append("db.t", [AddFile("x.parquet", size=size)])

        assert ledger.scan("db.t").to_arrow().to_pylist() == [{"a": 1, "b": 2}]
        assert "has 2 as the id of its column a" in refusal(memory)
        ledger.overwrite("db.t", [{"a": 1, "b": 2}])
        served = tables_of(memory).table(ledger.table("db.t"))
        assert len(served.snapshots) == 1


def test_a_vector_of_an_iceberg_writer_is_read_and_served_where_it_lies(tmp_path: Path) -> None:
    """No copy is made of a vector in a Puffin file, in format 3."""
    folder = tmp_path / "t"
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        properties = {"iceberg.format-version": "3"}
        ledger.create_table("db.t", [("id", "BIGINT")], location=str(folder), properties=properties)
        ledger.append("db.t", [{"id": number} for number in range(9)])
        (file,) = memory.reads.files(1)
        rows: RowSet = empty()
        rows.add(3)
        rows.add(5)
        data, (place,) = puffin_bytes([VectorBlob(f"file://{folder}/{file.path}", rows)])
        (folder / "data").mkdir()
        (folder / "data" / "d.puffin").write_bytes(data)
        uri = f"file://{folder}/data/d.puffin"
        vector = DeletionVector("p", uri, place.offset, place.length - 8, 2)
        with ledger.transaction() as txn:
            txn.read("db.t")
            txn.remove_files("db.t", [file])
            again = AddFile(
                file.path, file.partition, file.size, stats=file.stats, deletion_vector=vector
            )
            txn.add_files("db.t", [again])
        wanted = rows_of(ledger.scan("db.t").to_arrow())
        served = tables_of(memory).table(ledger.table("db.t"))
        metadata = served.metadata_location

        assert len(wanted) == 7
        assert wanted == rows_of(by_pyiceberg(metadata, None))
        assert wanted == rows_of(by_duckdb(metadata, None))
        assert not list((folder / "metadata").glob("*.puffin"))
        (deletes,) = served.plan({})["delete-files"]
        assert deletes["file-path"] == uri
        assert deletes["content-offset"] == place.offset
        assert deletes["content-size-in-bytes"] == place.length


def test_an_unknown_snapshot_or_field_of_a_plan_is_refused(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", [("id", "BIGINT")], location=str(tmp_path / "t"))
        served = tables_of(memory).table(ledger.table("db.t"))

        assert served.plan({})["file-scan-tasks"] == []
        for request, code in (
            ({"snapshot-id": 5}, 400),
            ({"snapshot-id": "x"}, 400),
            ({"what": 1}, 400),
            ({"start-snapshot-id": 1, "end-snapshot-id": 2}, 406),
        ):
            with pytest.raises(IcebergRefusal) as refused:
                served.plan(request)
            assert refused.value.code == code


@pytest.mark.parametrize("rows", ["marks", "rewrite"])
def test_rows_in_the_log_are_refused_until_they_are_in_files(tmp_path: Path, rows: str) -> None:
    """Older snapshots with such rows are not listed afterwards, and no manifest names them."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        properties = {"lakeledger.inline": "on", "lakeledger.rows": rows}
        columns = [("id", "BIGINT"), ("text", "STRING")]
        ledger.create_table("db.t", columns, location=str(tmp_path / "t"), properties=properties)
        assert tables_of(memory).table(ledger.table("db.t")).snapshots == []
        kept = tables_of(memory)
        for number in range(3):
            ledger.append("db.t", [{"id": number, "text": "a"}, *[{"id": 9, "text": "b"}] * 19])
            assert "OPTIMIZE" in refusal(memory)
        ledger.append("db.t", [{"id": number, "text": "x" * 99} for number in range(3_000)])
        with pytest.raises(IcebergRefusal, match="rows in the log"):
            kept.table(ledger.table("db.t"))
        with ledger.transaction() as txn:
            txn.delete("db.t", "id = 1")
        assert "OPTIMIZE" in refusal(memory)
        before = memory.reads.position()
        ledger.optimize("db.t")
        wanted = rows_of(ledger.scan("db.t").to_arrow())
        for tables in (kept, tables_of(memory)):
            served = tables.table(ledger.table("db.t"))
            assert len(served.snapshots) == 1
            assert wanted == rows_of(by_pyiceberg(served.metadata_location, None))
            assert wanted == rows_of(by_duckdb(served.metadata_location, None))
        with pytest.raises(IcebergRefusal, match="rows in the log"):
            kept.table(ledger.table("db.t"), before)
        for manifest in (tmp_path / "t" / "metadata").glob("*.avro"):
            assert b"rows:" not in manifest.read_bytes()
