"""How an import goes on: new snapshots once, a history that went back, other programs."""

import json
from pathlib import Path
from threading import Event as Signal
from typing import Any
from uuid import UUID

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.errors import (
    ConflictError,
    IcebergTableError,
    IncompatibleError,
    SettingsError,
    TableExistsError,
)
from ledger.iceberg.importer import ADOPTED, IcebergImport, import_iceberg
from ledger.iceberg.imports.adopting import IcebergNotAdoptableError, adopt_iceberg, foreign_commit
from ledger.testing import InMemoryLedger
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

from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.table import Table  # isort: skip
from pyiceberg.types import ListType, LongType, MapType, NestedField  # isort: skip


PLAIN = pa.schema({"id": pa.int64()})


def rows(*numbers: int) -> Any:
    return pa.table({"id": pa.array(numbers, pa.int64())})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return an Iceberg table of two snapshots."""
    made = new_table(tmp_path, Schema(NestedField(1, "id", LongType())))
    made.append(rows(1))
    made.append(rows(2))
    return made


def ids(ledger: Ledger, version: int | None = None) -> list[int]:
    found: list[int] = ledger.scan(NAME, version=version).to_arrow()["id"].to_pylist()
    return sorted(found)


def test_new_snapshots_are_taken_once(ledger: Ledger, table: Table) -> None:
    assert take(ledger, table).versions == 2
    table.append(rows(3))
    table.delete("id = 1")

    assert [take(ledger, table).versions for _ in range(3)] == [2, 0, 0]
    assert list(version_by_snapshot(ledger).values()) == [0, 1, 2, 3]
    check_same_rows(ledger, table)


def test_one_import_follows(ledger: Ledger, table: Table) -> None:
    """It keeps what it knows of the files, and reads new manifests only."""
    folder = table.metadata_location.rpartition("/")[0]
    running = IcebergImport(ledger, folder, NAME, newest=True)
    stop = Signal()
    running.take_all(stop, lambda _done, _all: None)
    for number in range(3, 8):
        table.append(rows(number))
        table.delete(f"id = {number - 2}")
        running.take_all(stop, lambda _done, _all: None)

    assert running.report().versions == len(main_branch(table))
    check_same_rows(ledger, table)


def test_an_import_that_was_stopped_goes_on(ledger: Ledger, table: Table) -> None:
    stop = Signal()

    def stop_after_one(_done: int, _all: int) -> None:
        stop.set()

    assert take(ledger, table, stop=stop, progress=stop_after_one).versions == 1
    assert ids(ledger) == [1]
    assert take(ledger, table).versions == 1
    check_same_rows(ledger, table)


def test_two_imports_at_once_commit_each_snapshot_once(
    memory: InMemoryLedger, table: Table
) -> None:
    one, other = memory.connect(), memory.connect()

    def outrun(_done: int, _all: int) -> None:
        take(other, table)

    first = take(one, table, progress=outrun)
    assert first.version == 1
    assert list(version_by_snapshot(one).values()) == [0, 1]
    check_same_rows(one, table)


def test_a_rollback_shows_an_earlier_snapshot_again(ledger: Ledger, table: Table) -> None:
    first, second = main_branch(table)
    table.append(rows(3))
    take(ledger, table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    table.append(rows(4))

    report = take(ledger, table)

    assert report.versions == 2
    assert [ids(ledger, each) for each in range(5)] == [[1], [1, 2], [1, 2, 3], [1], [1, 4]]
    assert version_by_snapshot(ledger)[first] == 3
    assert version_by_snapshot(ledger)[second] == 1
    assert versions(ledger)[3].operation == "RESTORE"
    check_same_rows(ledger, table)


def test_a_snapshot_that_expired_since_is_no_gap(ledger: Ledger, table: Table) -> None:
    take(ledger, table)
    table.append(rows(3))
    table.append(rows(4))
    table.maintenance.expire_snapshots().by_ids(main_branch(table)[:3]).commit()
    assert len(table.metadata.snapshots) == 1

    assert take(ledger, table).versions == 1
    check_same_rows(ledger, table, main_branch(table)[-1:])
    assert [ids(ledger, each) for each in range(3)] == [[1], [1, 2], [1, 2, 3, 4]]


def test_changes_of_the_definition_alone(ledger: Ledger, table: Table) -> None:
    with table.transaction() as txn:
        txn.set_properties({"comment": "trips", "delta.appendOnly": "true"})
    report = take(ledger, table)
    assert report.left_out.keys() == {"delta.appendOnly"}
    found = properties(row_of(ledger).definition)
    assert (found["comment"], found["iceberg.table-uuid"]) == (
        "trips",
        str(table.metadata.table_uuid),
    )
    assert "delta.appendOnly" not in found

    with table.transaction() as txn:
        txn.set_properties({"comment": "more trips"})
    with table.update_schema() as update:
        update.rename_column("id", "number")
    assert take(ledger, table).versions == 1
    assert properties(row_of(ledger).definition)["comment"] == "more trips"
    check_same_rows(ledger, table, main_branch(table)[-1:])
    assert take(ledger, table).versions == 0


def test_required_elements_and_values_are_named(ledger: Ledger, table: Table) -> None:
    """The ledger takes them as optional."""
    with table.update_schema() as update:
        update.add_column("xs", ListType(3, LongType(), element_required=True))
        update.add_column("m", MapType(5, LongType(), 6, LongType(), value_required=True))
    report = take(ledger, table)
    assert report.left_out.keys() == {"xs.element required", "m.value required"}


def test_other_branches_and_tags_are_named(ledger: Ledger, table: Table) -> None:
    first, second = main_branch(table)
    table.manage_snapshots().create_tag(first, "old").create_branch(second, "audit").commit()
    report = take(ledger, table)

    assert report.left_out.keys() == {"tag old", "branch audit"}
    assert ids(ledger) == [1, 2]


def test_a_table_without_snapshots(ledger: Ledger, tmp_path: Path) -> None:
    made = new_table(tmp_path, Schema(NestedField(1, "id", LongType())))
    assert (take(ledger, made).versions, take(ledger, made).versions) == (1, 0)
    assert ids(ledger) == []
    made.append(rows(1))
    assert take(ledger, made).versions == 1
    check_same_rows(ledger, made)


def test_an_older_metadata_file_is_refused(ledger: Ledger, table: Table) -> None:
    old = table.metadata_location
    table.append(rows(3))
    take(ledger, table)

    with pytest.raises(ConflictError, match="is older than"):
        import_iceberg(ledger, old, NAME)
    assert ids(ledger) == [1, 2, 3]


def test_a_table_that_another_program_wrote_to(ledger: Ledger, table: Table) -> None:
    take(ledger, table)
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"id": 9}])
    table.append(rows(3))

    with pytest.raises(ConflictError, match="another program has written to it"):
        take(ledger, table)
    assert ids(ledger) == [1, 2, 9]


def test_another_table_of_that_name(ledger: Ledger, table: Table, tmp_path: Path) -> None:
    take(ledger, table)
    other = new_table(tmp_path / "other", Schema(NestedField(1, "id", LongType())))
    with pytest.raises(TableExistsError, match="Choose another name"):
        take(ledger, other)
    ledger.create_table("plain", PLAIN, location=str(tmp_path / "plain"))
    with pytest.raises(TableExistsError, match="no import of Iceberg"):
        import_iceberg(ledger, table.metadata_location, "plain")


def test_a_table_that_was_replaced_while_it_was_followed(ledger: Ledger, table: Table) -> None:
    place = Path(table.metadata_location.removeprefix("file://"))
    running = IcebergImport(ledger, str(place.parent), NAME, newest=True)
    running.take_all(Signal(), lambda _done, _all: None)
    text = place.read_text().replace(str(table.metadata.table_uuid), str(UUID(int=1)))
    place.with_name(f"00009-{UUID(int=1)}.metadata.json").write_text(text)

    with pytest.raises(IncompatibleError, match="it is another table"):
        running.take_all(Signal(), lambda _done, _all: None)
    with pytest.raises(TableExistsError, match="Choose another name"):
        import_iceberg(ledger, str(place.parent), NAME, newest=True)


def test_the_folder_of_a_catalogs_table_is_not_guessed(ledger: Ledger, table: Table) -> None:
    folder = table.location()
    with pytest.raises(SettingsError, match="--newest"):
        import_iceberg(ledger, folder, NAME)
    assert import_iceberg(ledger, folder, NAME, newest=True).versions == 2

    place = Path(table.metadata_location.removeprefix("file://"))
    orphan = place.with_name(f"{place.name[:5]}-00000000-0000-0000-0000-000000000000.metadata.json")
    orphan.write_bytes(place.read_bytes())
    with pytest.raises(SettingsError, match="a commit that failed left one"):
        import_iceberg(ledger, folder, NAME, newest=True)


def test_an_adopted_table_is_the_ledgers_alone(ledger: Ledger, table: Table) -> None:
    take(ledger, table)
    before = {path: path.read_bytes() for path in metadata_files(table)}
    report = adopt_iceberg(ledger, row_of(ledger))

    assert properties(row_of(ledger).definition)[ADOPTED] == table.metadata_location
    assert report.version == row_of(ledger).version == 2
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"id": 5}])
    ledger.run(lambda txn: txn.delete(NAME, "id = 1"))
    assert ids(ledger) == [2, 5]
    assert {path: path.read_bytes() for path in before} == before
    assert rows_of(table.scan().to_arrow()) == [{"id": 1}, {"id": 2}]
    assert foreign_commit(ledger, row_of(ledger)) is None


def metadata_files(table: Table) -> list[Path]:
    folder = Path(table.metadata_location.removeprefix("file://")).parent
    return sorted(folder.iterdir())


def test_commits_to_the_old_metadata_are_named(ledger: Ledger, table: Table) -> None:
    take(ledger, table)
    table.append(rows(3))
    with pytest.raises(IcebergNotAdoptableError, match="has a newer metadata file"):
        adopt_iceberg(ledger, row_of(ledger))
    take(ledger, table)
    adopt_iceberg(ledger, row_of(ledger))
    with pytest.raises(IcebergNotAdoptableError, match="nothing followed"):
        adopt_iceberg(ledger, row_of(ledger))
    table.append(rows(4))

    found = foreign_commit(ledger, row_of(ledger))
    assert found is not None
    assert (found.metadata, found.snapshot) == (
        table.metadata_location,
        table.metadata.current_snapshot_id,
    )
    with pytest.raises(IcebergNotAdoptableError, match="committed to outside"):
        adopt_iceberg(ledger, row_of(ledger))
    with pytest.raises(ConflictError, match=f"snapshot {found.snapshot}"):
        take(ledger, table)
    assert ids(ledger) == [1, 2, 3]


def test_a_table_that_was_written_to_is_not_adopted(ledger: Ledger, table: Table) -> None:
    take(ledger, table)
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"id": 9}])
    with pytest.raises(IcebergNotAdoptableError, match="it was written here too"):
        adopt_iceberg(ledger, row_of(ledger))
    ledger.create_table("plain", PLAIN, location=f"{table.location()}2")
    plain = ledger.reads().table_named(ledger.catalog, "plain")
    assert plain is not None
    with pytest.raises(IcebergNotAdoptableError, match="was not imported"):
        adopt_iceberg(ledger, plain)


def test_a_table_whose_location_moved(ledger: Ledger, table: Table, tmp_path: Path) -> None:
    """Its files are where they were, and new ones are elsewhere."""
    take(ledger, table)
    assert not any("trips" in file.path for file in files_of(ledger))
    form = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    moved = tmp_path / "moved"
    (moved / "metadata").mkdir(parents=True)
    form |= {"location": moved.as_uri(), "last-updated-ms": form["last-updated-ms"] + 1}
    place = moved / "metadata" / f"00009-{UUID(int=1)}.metadata.json"
    place.write_text(json.dumps(form))
    with pytest.raises(IcebergTableError, match="--allow"):
        import_iceberg(ledger, place, NAME)
    report = import_iceberg(ledger, place, NAME, places=[table.location()])

    assert (report.versions, ids(ledger), row_of(ledger).location) == (1, [1, 2], moved.as_uri())
    assert [ids(ledger, version) for version in range(3)] == [[1], [1, 2], [1, 2]]
    assert import_iceberg(ledger, place, NAME, places=[table.location()]).versions == 0
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"id": 3}])
    assert ids(ledger) == [1, 2, 3]
