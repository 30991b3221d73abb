"""Tables published by default, and tables that are published later."""

from pathlib import Path
from typing import Final

import pytest

from ledger.config.config import load
from ledger.delta.importer import import_delta
from ledger.errors import SettingsError
from ledger.properties.column_mapping import PUBLISH, is_published
from ledger.reads.port import TableRow
from ledger.testing import InMemoryLedger
from projections.delta.adopting import PUBLISHED, publish_table

COLUMNS: Final = [("id", "int")]


@pytest.mark.parametrize(
    ("options", "is_on"),
    [
        ({}, True),
        ({"location": "/lake/a"}, True),
        ({"properties": {"delta.appendOnly": "true"}}, True),
        ({"properties": {PUBLISH: "none"}}, False),
        ({"layout": "directories"}, False),
        ({"kind": "external", "location": "/lake/a"}, False),
    ],
)
def test_new_tables_by_the_setting(options: dict[str, object], is_on: bool) -> None:  # noqa: FBT001
    """A table that says nothing is published, if Delta has a form for it."""
    with InMemoryLedger() as lake:
        ledger = lake.connect(warehouse="/lake", publish="delta")
        made = ledger.create_table("db.a", COLUMNS, **options)  # type: ignore[arg-type]
        with ledger.transaction() as txn:
            also = txn.create_table("db.b", COLUMNS, **options)  # type: ignore[arg-type]
        assert [is_published(each.definition) for each in (made, also)] == [is_on] * 2
        keys = {each.key for each in made.definition.properties}
        assert keys >= set(options.get("properties", {}))  # type: ignore[call-overload]


def test_a_table_without_a_folder_has_no_place_for_a_log() -> None:
    with InMemoryLedger() as lake:
        nowhere = lake.connect(publish="delta").create_table("db.a", COLUMNS)
        plain = lake.connect(warehouse="/lake").create_table("db.b", COLUMNS)
        assert not is_published(nowhere.definition)
        assert not is_published(plain.definition)


def test_the_setting_has_one_value() -> None:
    assert load({"publish": "delta"}).settings.publish == "delta"
    with pytest.raises(SettingsError, match="iceberg"):
        load({"publish": "iceberg"})


def test_what_cannot_be_published_says_why_and_is_not_changed(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    pa = pytest.importorskip("pyarrow")
    deltalake.write_deltalake(tmp_path, pa.table({"id": [1]}))
    with InMemoryLedger() as lake:
        ledger = lake.connect(warehouse="/lake")
        nowhere = lake.connect().create_table("db.nowhere", COLUMNS)
        folders = ledger.create_table("db.folders", COLUMNS, layout="directories")
        plain = ledger.create_table("db.plain", COLUMNS)
        import_delta(ledger, tmp_path, "db.imported")

        def said(row: TableRow) -> str:
            return publish_table(ledger, ledger.table(row.name))

        assert said(plain) == PUBLISHED
        assert is_published(ledger.table("db.plain").definition)
        assert "before" in said(plain)
        assert "no location" in said(nowhere)
        assert "directories" in said(folders)
        assert "lakeledger table adopt db.imported" in said(ledger.table("db.imported"))
        off = [table for table in ledger.reads().tables() if not is_published(table.definition)]
        assert len(off) == 3
