"""Tables of format 1: what readers get of them, before and after the format changes."""

from pathlib import Path
from typing import Any, Final

import pytest
from pyiceberg.table.metadata import TableMetadataV1
from pyroaring import BitMap

from ledger import AddFile, Ledger
from ledger.iceberg.manifests import read_manifest, read_manifest_list
from ledger.iceberg.puffin import VectorBlob, puffin_bytes
from ledger.log.wire.file_extras import DeletionVector
from ledger.testing import InMemoryLedger
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.served.table import ServedTable
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.readers import by_duckdb, by_pyiceberg, rows_of

FORMAT: Final = "iceberg.format-version"
COLUMNS: Final = [("id", "BIGINT"), ("part", "STRING")]


def made(ledger: Ledger, folder: Path, **more: Any) -> None:
    """Make a table of format 1 with two versions of rows."""
    ledger.create_table("db.t", COLUMNS, location=str(folder), properties={FORMAT: "1"}, **more)
    ledger.append("db.t", [{"id": number, "part": "a"} for number in range(5)])
    ledger.append("db.t", [{"id": number, "part": "b"} for number in range(5, 9)])


def served(memory: InMemoryLedger) -> ServedTable:
    tables = ServedTables(lambda: memory.reads, "ledger")
    return tables.table(memory.connect().table("db.t"))


def check_rows(ledger: Ledger, table: ServedTable) -> None:
    wanted = rows_of(ledger.scan("db.t").to_arrow())
    assert wanted == rows_of(by_pyiceberg(table.metadata_location, None))
    assert wanted == rows_of(by_duckdb(table.metadata_location, None))


def formats(table: ServedTable) -> list[int]:
    """Return the formats of the manifests of the newest snapshot."""
    (snapshot,) = table.metadata("refs")["snapshots"]
    listed = Path(snapshot["manifest-list"].removeprefix("file://")).read_bytes()
    paths = [each.path.removeprefix("file://") for each in read_manifest_list(listed)]
    return [read_manifest(Path(path).read_bytes()).format_version for path in paths]


def test_metadata_of_format_1_has_its_fields_and_its_readers_see_all_rows(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t", partition_columns=["part"])
        ledger.delete("db.t", "id IN (2, 7)")
        table = served(memory)
        metadata = table.metadata()

        assert metadata["format-version"] == 1
        assert metadata["schema"] == metadata["schemas"][0]
        assert metadata["partition-spec"] == metadata["partition-specs"][0]["fields"]
        assert not {"last-sequence-number", "next-row-id"} & set(metadata)
        assert not any("sequence-number" in each for each in metadata["snapshots"])
        assert TableMetadataV1.model_validate(metadata).current_snapshot()
        assert set(formats(table)) == {1}
        check_rows(ledger, table)


@pytest.mark.parametrize("form", ["2", "3"])
def test_a_higher_format_can_follow_and_rows_are_then_deleted(tmp_path: Path, form: str) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        served(memory).metadata()
        ledger.alter_table("db.t", properties={FORMAT: form, "lakeledger.rows": "marks"})
        higher = served(memory)
        assert higher.metadata()["last-sequence-number"] == 2
        assert set(formats(higher)) == {2}
        check_rows(ledger, higher)
        ledger.delete("db.t", "id = 3")
        table = served(memory)
        numbers = [each["sequence-number"] for each in table.metadata()["snapshots"]]

        assert numbers == [1, 2, table.version]
        assert set(formats(table)) == {int(form)}
        check_rows(ledger, table)


def test_a_gone_partition_field_stays_as_a_void_one_up_to_the_next_format(tmp_path: Path) -> None:
    """The ids of a spec of format 1 have no gap."""
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t", partition_columns=["part"])
        ledger.alter_table("db.t", partition_columns=["bucket(4, id)"])
        ledger.append("db.t", [{"id": 20, "part": "c"}])
        table = served(memory)
        fields = table.metadata()["partition-spec"]
        assert [(each["field-id"], each["transform"]) for each in fields] == [
            (1000, "void"),
            (1001, "bucket[4]"),
        ]
        check_rows(ledger, table)
        ledger.alter_table("db.t", properties={FORMAT: "2"})
        ledger.append("db.t", [{"id": 21, "part": "c"}])
        table = served(memory)

        assert [each["field-id"] for each in table.specs[-1]["fields"]] == [1001]
        check_rows(ledger, table)


@pytest.mark.parametrize(
    ("key", "value"), [("lakeledger.rows", "marks"), ("delta.enableDeletionVectors", "true")]
)
def test_a_property_for_deleted_rows_and_format_1_exclude_each_other(
    tmp_path: Path, key: str, value: str
) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        ledger.create_table("db.u", COLUMNS, properties={key: value})
        with pytest.raises(ValueError, match=f"{key} asks .* format 1"):
            ledger.alter_table("db.t", properties={key: value})
        with pytest.raises(ValueError, match=f"{key} asks .* format 1"):
            ledger.alter_table("db.u", properties={FORMAT: "1"})
        with pytest.raises(ValueError, match=f"{key} asks .* format 1"):
            ledger.create_table("db.v", COLUMNS, properties={key: value, FORMAT: "1"})


def test_a_format_that_became_1_is_refused_until_it_is_higher_again(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        ledger.create_table("db.t", COLUMNS, location=str(tmp_path / "t"))
        ledger.append("db.t", [{"id": 1, "part": "a"}])
        ledger.alter_table("db.t", properties={FORMAT: "1"})
        ledger.alter_table("db.t", properties={"owner": "ada"})
        with pytest.raises(IcebergRefusal, match="was 2, and must not become 1"):
            served(memory)
        ledger.append("db.t", [{"id": 2, "part": "b"}])
        ledger.alter_table("db.t", properties={FORMAT: "2"})
        ledger.append("db.t", [{"id": 3, "part": "c"}])
        check_rows(ledger, served(memory))


def test_a_vector_in_a_table_of_format_1_is_refused_by_name(tmp_path: Path) -> None:
    with InMemoryLedger() as memory:
        ledger = memory.connect()
        made(ledger, tmp_path / "t")
        file = next(iter(memory.reads.files(1)))
        data, (place,) = puffin_bytes([VectorBlob(f"file://{tmp_path}/t/{file.path}", BitMap([1]))])
        (tmp_path / "t" / "d.puffin").write_bytes(data)
        uri = f"file://{tmp_path}/t/d.puffin"
        vector = DeletionVector("p", uri, place.offset, place.length - 8, 1)
        with ledger.transaction() as txn:
            txn.read("db.t")
            txn.remove_files("db.t", [file])
            again = AddFile(
                file.path, file.partition, file.size, stats=file.stats, deletion_vector=vector
            )
            txn.add_files("db.t", [again])
        with pytest.raises(IcebergRefusal, match="format 1 has no deleted rows within files"):
            served(memory)
        ledger.alter_table("db.t", properties={FORMAT: "2"})
        ledger.append("db.t", [{"id": 20, "part": "c"}])
        check_rows(ledger, served(memory))
