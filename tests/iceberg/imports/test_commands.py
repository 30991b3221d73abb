"""Commands that import and adopt Iceberg tables, against a whole ledger of this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.machine.exit_codes import ExitCode
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from tests.command_line import invoked
from tests.iceberg.imports.iceberg_tables import new_table, pa

from pyiceberg.schema import Schema  # isort: skip
from pyiceberg.types import LongType, NestedField  # isort: skip

pytestmark = pytest.mark.kafka
NAME = "db.trips"
QUERY = f"SELECT id FROM {NAME} ORDER BY ALL"  # noqa: S608 - a name of this file


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path_factory.mktemp("home"))) as up:
        yield up


def test_a_table_is_imported_followed_and_adopted(up: Running, tmp_path: Path) -> None:
    assert up.address.store is not None
    home = str(up.address.store.parent.parent)

    def run(*arguments: str, code: ExitCode = ExitCode.DONE) -> list[Any]:
        done = invoked(*arguments, "--output", "json", LAKELEDGER_HOME=home)
        assert done.exit_code == code, done.output
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rows(*numbers: int) -> Any:
        return pa.table({"id": pa.array(numbers, pa.int64())})

    table = new_table(tmp_path, Schema(NestedField(1, "id", LongType())))
    table.append(rows(1, 2))
    table.delete("id = 1")
    (found,) = run("import", "iceberg", table.metadata_location, "--table", NAME)
    assert (found["versions"], found["version"], found["uuid"]) == (
        2,
        1,
        str(table.metadata.table_uuid),
    )
    assert found["snapshot"] == str(table.metadata.current_snapshot_id)
    table.append(rows(3))
    run("table", "adopt", NAME, code=ExitCode.FAILED)
    place = str(tmp_path / "trips")
    run("import", "iceberg", place, "--table", NAME, code=ExitCode.FAILED)
    (found,) = run("import", "iceberg", place, "--table", NAME, "--newest")
    assert (found["versions"], found["version"]) == (1, 2)
    assert run("sql", QUERY) == [{"id": 2}, {"id": 3}]

    (adopted,) = run("table", "adopt", NAME)
    assert (adopted["version"], adopted["snapshot"]) == (3, found["snapshot"])
    table.append(rows(4))
    run("import", "iceberg", table.metadata_location, "--table", NAME, code=ExitCode.FAILED)
    run("table", "adopt", NAME, code=ExitCode.FAILED)
    assert run("sql", QUERY) == [{"id": 2}, {"id": 3}]
