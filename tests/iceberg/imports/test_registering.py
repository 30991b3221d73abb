"""Tables that a client of the REST catalog registers by their metadata file."""

from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.iceberg.importer import ADOPTED, import_iceberg
from projections.iceberg.errors import IcebergRefusal
from projections.iceberg.registering import register
from tests.iceberg.imports.iceberg_tables import NAME, check_same_rows, new_table, pa, rows_of
from tests.iceberg.imports.made_tables import MadeTable

from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.table import Table  # isort: skip
from pyiceberg.types import LongType, NestedField  # isort: skip


def rows(*numbers: int) -> Any:
    return pa.table({"id": pa.array(numbers, pa.int64())})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return an Iceberg table of three snapshots."""
    made = new_table(tmp_path / "lake", Schema(NestedField(1, "id", LongType())))
    made.append(rows(1, 2))
    made.append(rows(3))
    made.delete("id = 1")
    return made


def refused(ledger: Ledger, places: list[str], **request: Any) -> IcebergRefusal:
    """Return the refusal of a registration."""
    with pytest.raises(IcebergRefusal) as raised:
        register(ledger, NAME, request, places)
    assert ledger.reads().table_named(ledger.catalog, NAME) is None
    return raised.value


def test_a_registered_table_is_the_ledgers(ledger: Ledger, table: Table, tmp_path: Path) -> None:
    request = {"name": "trips", "metadata-location": table.metadata_location}
    row = register(ledger, NAME, request, [str(tmp_path)])

    assert (row.name, row.version) == (NAME, 3)
    assert properties(row.definition)[ADOPTED] == table.metadata_location
    check_same_rows(ledger, table)
    with ledger.transaction() as txn:
        txn.insert(NAME, [{"id": 7}])
    with pytest.raises(IcebergRefusal) as raised:
        register(ledger, NAME, request, [str(tmp_path)])
    assert (raised.value.code, raised.value.kind) == (409, "AlreadyExistsException")


def test_a_registration_that_ended_half_way_goes_on(
    ledger: Ledger, table: Table, tmp_path: Path
) -> None:
    import_iceberg(ledger, table.metadata_location, NAME)
    request = {"metadata-location": table.metadata_location}
    assert register(ledger, NAME, request, [tmp_path.as_uri()]).version == 3


def test_an_older_file_is_taken_at_its_word(ledger: Ledger, table: Table, tmp_path: Path) -> None:
    """The client says which file counts: a later one may be of a commit that failed."""
    old = table.metadata_location
    table.append(rows(4))
    register(ledger, NAME, {"metadata-location": old}, [str(tmp_path)])
    assert rows_of(ledger.scan(NAME).to_arrow()) == [{"id": 2}, {"id": 3}]


@pytest.mark.parametrize(
    "location",
    [
        None,
        7,
        "",
        "/etc/passwd",
        "{}/../../etc/x.metadata.json",
        "{}/%2e%2e/%2e%2e/x.metadata.json",
        "{}2/x.metadata.json",
        "x.metadata.json",
        "{}/\0/x.metadata.json",
        "s3://bucket/x.metadata.json",
        "{}/absent.metadata.json",
    ],
)
def test_places_that_are_not_permitted(ledger: Ledger, tmp_path: Path, location: Any) -> None:
    text = location.format(tmp_path) if isinstance(location, str) else location
    found = refused(ledger, [str(tmp_path)], **{"metadata-location": text})
    assert (found.code, found.kind) == (400, "BadRequestException")


def test_a_server_without_places_registers_nothing(ledger: Ledger, table: Table) -> None:
    found = refused(ledger, [], **{"metadata-location": table.metadata_location})
    assert found.code == 400


def test_a_location_elsewhere(ledger: Ledger, tmp_path: Path) -> None:
    """The metadata file is below a place, and what it names is not."""
    made = MadeTable(tmp_path / "in" / "t")
    made.commit(made.data(rows(1)))
    made.more["location"] = tmp_path.as_uri()
    found = refused(ledger, [str(tmp_path / "in")], **{"metadata-location": made.write()})
    assert (found.code, "location of a table must lie" in str(found)) == (400, True)


def test_overwriting_is_refused(ledger: Ledger, table: Table, tmp_path: Path) -> None:
    found = refused(
        ledger, [str(tmp_path)], **{"metadata-location": table.metadata_location, "overwrite": True}
    )
    assert found.code == 400


def test_what_the_ledger_lacks_is_a_bad_request(ledger: Ledger, tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", form=2)
    made.commit(made.data(rows(1)))
    made.commit(made.equality_deletes())
    found = refused(ledger, [str(tmp_path)], **{"metadata-location": made.write()})
    assert (found.code, "equality deletes" in str(found)) == (400, True)
