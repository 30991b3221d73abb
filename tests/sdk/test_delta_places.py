"""Where an imported Delta table lies, in folders of whatever name."""

import os
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.delta.importer import import_delta
from ledger.delta.log import DeltaLog
from ledger.delta.replay import ImportedTable, replay
from ledger.errors import SettingsError
from tests.sdk.delta_logs import FIELDS, TABLE_ID, add, begin, info, metadata, schema, write_log

NAME = "flights"


@pytest.mark.parametrize("name", ["flights", "all flüge", "100%20#[1]"])
def test_letters_of_a_folder(ledger: Ledger, tmp_path: Path, name: str) -> None:
    """A location is the folder, letter by letter; its URI means the same folder."""
    folder = write_log(tmp_path / name, begin())
    import_delta(ledger, folder, NAME)
    assert ledger.table(NAME).definition.location == str(folder.resolve())
    assert import_delta(ledger, folder, NAME).versions == 0
    assert import_delta(ledger, folder.as_uri(), NAME).versions == 0
    with pytest.raises(SettingsError, match="must have no query"):
        import_delta(ledger, "file:///a?b", NAME)


def test_folder_of_no_text(ledger: Ledger, tmp_path: Path) -> None:
    """A folder whose name the log cannot hold is named by its URI."""
    folder = write_log(tmp_path / os.fsdecode(b"a\xff"), begin())
    import_delta(ledger, folder, NAME)
    assert ledger.table(NAME).definition.location == folder.resolve().as_uri()


def test_an_import_whose_location_is_a_uri_goes_on(ledger: Ledger, tmp_path: Path) -> None:
    folder = write_log(tmp_path / "all flüge", begin())
    before = ImportedTable(NAME, folder.resolve().as_uri(), f"{IMPORT_APPS}{TABLE_ID}@0", 0)
    replay(ledger, before, next(DeltaLog.open(folder).versions()), 0)
    write_log(folder, begin(), [info(), add("a")])
    assert import_delta(ledger, folder, NAME).versions == 1
    assert ledger.table(NAME).definition.location == folder.resolve().as_uri()

    wider = metadata(schema(*FIELDS, ("tail", "string")))
    write_log(folder, begin(), [info(), add("a")], [info("ADD COLUMNS"), wider])
    assert import_delta(ledger, folder, NAME).versions == 1
    assert ledger.table(NAME).definition.location == str(folder.resolve())
