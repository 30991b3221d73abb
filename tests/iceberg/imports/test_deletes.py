"""Deletes of formats 2 and 3, as the vectors of files in the ledger."""

from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import IcebergTableError, IncompatibleError
from ledger.iceberg.importer import import_iceberg
from ledger.iceberg.position_deletes import position_delete_bytes
from ledger.iceberg.puffin import VectorBlob, puffin_bytes
from tests.iceberg.imports.iceberg_tables import NAME, files_of, pa, rows_of
from tests.iceberg.imports.made_tables import MadeTable

from pyiceberg.table import StaticTable  # isort: skip
from pyroaring import BitMap  # isort: skip


def rows(*numbers: int) -> Any:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def check_each_snapshot(ledger: Ledger, made: MadeTable, place: str) -> None:
    """Check that each snapshot has the rows that pyiceberg reads."""
    theirs = StaticTable.from_metadata(place)
    for version, snapshot in enumerate(made.snapshots):
        found = theirs.scan(snapshot_id=snapshot["snapshot-id"]).to_arrow()
        assert rows_of(ledger.scan(NAME, version=version).to_arrow()) == rows_of(found)


def test_vectors_of_format_3_stay_where_they_lie(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t")
    first, second = made.data(rows(1, 2, 3)), made.data(rows(4, 5))
    made.commit(first, second)
    data, places = puffin_bytes(
        [VectorBlob(first.path, BitMap([1])), VectorBlob(second.path, BitMap([0, 1]))]
    )
    vectors = [
        made.deletes(
            "data/a.puffin",
            data,
            len(gone),
            file_format="PUFFIN",
            referenced_data_file=file.path,
            content_offset=place.offset,
            content_size=place.length,
        )
        for file, place, gone in ((first, places[0], [1]), (second, places[1], [0, 1]))
    ]
    made.commit(*vectors, operation="delete")
    place = made.write()
    report = import_iceberg(ledger, place, NAME)

    assert report.versions == 2
    found = [file.deletion_vector for file in files_of(ledger)]
    assert {(each.place, each.cardinality) for each in found if each} == {
        (made.place("data/a.puffin"), 1),
        (made.place("data/a.puffin"), 2),
    }
    check_each_snapshot(ledger, made, place)
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}, {"id": 3}]
    ledger.run(lambda txn: txn.delete(NAME, "id = 3"))
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}]


def test_a_vector_takes_the_place_of_another(ledger: Ledger, tmp_path: Path) -> None:
    """Position deletes of before count no more where a file has a vector."""
    made = MadeTable(tmp_path / "t")
    file = made.data(rows(1, 2, 3))
    made.commit(file)
    made.commit(
        made.deletes("data/p.parquet", position_delete_bytes(file.path, BitMap([0])), 1),
        operation="delete",
    )
    data, (place,) = puffin_bytes([VectorBlob(file.path, BitMap([0, 2]))])
    vector = made.deletes(
        "data/b.vectors",
        data,
        2,
        file_format="PUFFIN",
        referenced_data_file=file.path,
        content_offset=place.offset,
        content_size=place.length,
    )
    made.commit(vector, operation="delete")
    import_iceberg(ledger, made.write(), NAME)

    found = [rows_of(ledger.scan(NAME, version=each).to_arrow()) for each in range(3)]
    assert found[1:] == [[{"id": 2}, {"id": 3}], [{"id": 2}]]


def test_position_deletes_of_several_files(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", form=2)
    first, second = made.data(rows(1, 2, 3)), made.data(rows(4, 5))
    made.commit(first, second)
    both = pa.table(
        {
            "file_path": [first.path, first.path, second.path],
            "pos": pa.array([0, 2, 1], pa.int64()),
        },
        schema=pa.schema(
            [
                pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
                pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}),
            ]
        ),
    )
    sink = pa.BufferOutputStream()
    from pyarrow import parquet as pq  # noqa: PLC0415 - an extra of the product

    pq.write_table(both, sink)
    made.commit(
        made.deletes("data/both.parquet", sink.getvalue().to_pybytes(), 3), operation="delete"
    )
    made.commit(
        made.deletes("data/more.parquet", position_delete_bytes(first.path, BitMap([1])), 1),
        operation="delete",
    )
    place = made.write()
    import_iceberg(ledger, place, NAME)

    check_each_snapshot(ledger, made, place)
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 4}]
    assert {file.deletion_vector.storage for file in files_of(ledger) if file.deletion_vector} == {
        "i"
    }


def test_deletes_do_not_count_for_newer_files(ledger: Ledger, tmp_path: Path) -> None:
    """A file that came after the deletes has all its rows."""
    made = MadeTable(tmp_path / "t", form=2)
    file = made.data(rows(1, 2))
    made.commit(made.deletes("data/p.parquet", position_delete_bytes(file.path, BitMap([0])), 1))
    made.commit(file)
    place = made.write()
    import_iceberg(ledger, place, NAME)

    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}, {"id": 2}]
    check_each_snapshot(ledger, made, place)


def test_deletes_that_are_compacted_away(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", form=2)
    file = made.data(rows(1, 2, 3))
    made.commit(file)
    kept = list(made.manifests)
    made.commit(
        made.deletes("data/p.parquet", position_delete_bytes(file.path, BitMap([0])), 1),
        operation="delete",
    )
    made.commit(made.data(rows(2, 3)), operation="replace", kept=[])
    made.commit(kept=kept, operation="overwrite")
    import_iceberg(ledger, made.write(), NAME)

    found = [len(ledger.scan(NAME, version=each).to_arrow()) for each in range(4)]
    assert found == [3, 2, 2, 3]
    listed = ledger.reads().versions(1, 10)
    assert [each.operation for each in reversed(listed)] == ["WRITE", "DELETE", "OPTIMIZE", "WRITE"]


def test_equality_deletes_are_refused_by_name(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", form=2)
    made.commit(made.data(rows(1)))
    made.commit(made.equality_deletes())

    with pytest.raises(IncompatibleError, match=r"equal\.parquet holds equality deletes"):
        import_iceberg(ledger, made.write(), NAME)
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 1}]


def test_two_vectors_of_one_file(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t")
    file = made.data(rows(1, 2))
    made.commit(file)
    data, places = puffin_bytes([VectorBlob(file.path, BitMap([each])) for each in range(2)])
    made.commit(
        *(
            made.deletes(
                "data/a.puffin",
                data,
                1,
                file_format="PUFFIN",
                referenced_data_file=file.path,
                content_offset=place.offset,
                content_size=place.length,
            )
            for place in places
        )
    )
    with pytest.raises(IcebergTableError, match="two deletion vectors"):
        import_iceberg(ledger, made.write(), NAME)


@pytest.mark.parametrize("form", ["ORC", "AVRO"])
def test_files_that_are_no_parquet(ledger: Ledger, tmp_path: Path, form: str) -> None:
    made = MadeTable(tmp_path / "t")
    made.commit(made.data(rows(1))._replace(file_format=form))
    with pytest.raises(IncompatibleError, match=f"is {form}, and the ledger reads PARQUET"):
        import_iceberg(ledger, made.write(), NAME)
