"""One folder under each spelling of its location: all files of a published table lie in it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from deltalake import DeltaTable

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.errors import SettingsError, UnreadableTableError
from ledger.files.places import FileKeys
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from projections.delta.adopting import LogOwner, NotAdoptableError
from tests.tables.delta_readers import by_duckdb
from tests.tables.published_lake import PUBLISHED, publish

NAMES: Final = ("my lake", "100%", "my%20lake", "a+b", "flüge", "a#b", "a?b", "%2B [x]")
SPELLINGS: Final[Mapping[str, Callable[[Path], str]]] = {
    "plain": str,
    "slash": lambda folder: f"{folder}/",
    "dots": lambda folder: f"{folder.parent}//./{folder.name}/.",
    "uri": lambda folder: folder.as_uri(),
    "one slash": lambda folder: folder.as_uri().replace("file://", "file:"),
    "host": lambda folder: folder.as_uri().replace("file://", "file://localhost"),
}
CASES: Final = [
    *((name, spelled) for name in NAMES for spelled in ("plain", "uri")),
    *((NAMES[0], spelled) for spelled in SPELLINGS if spelled not in ("plain", "uri")),
]
DECODED_TWICE: Final = ("my%20lake", "%2B [x]")
"""Names of folders that deltalake 1.6 and DuckDB's Delta do not find under any spelling."""

ROWS: Final = [("id", "bigint"), ("p", "string")]
VALUES: Final = ("a b", "100%", "a%20b", "x/y", "ü#?+")


@pytest.mark.parametrize(("name", "spelled"), CASES)
def test_writes_the_published_log_a_vacuum_and_every_reader_agree_on_the_folder(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, name: str, spelled: str
) -> None:
    root, folder = tmp_path / "lake", tmp_path / "lake" / name
    location = SPELLINGS[spelled](folder)
    ledger.create_table("t", ROWS, location=location, partition_columns=["p"], properties=PUBLISHED)
    for number, value in enumerate(VALUES):
        ledger.append("t", [{"id": number, "p": value}])
        assert not publish(memory.log).stopped
    with ledger.transaction() as txn:
        txn.delete("t", "id = 0")
    assert len(ledger.vacuum("t", older_than_h=0.0).files) == 1
    assert not publish(memory.log).stopped

    assert [each.name for each in root.iterdir()] == [name]
    expected = sorted((number, value) for number, value in enumerate(VALUES) if number)
    shown = [ledger.scan("t").to_arrow(), ledger.sql("SELECT id, p FROM t").to_arrow()]
    if name not in DECODED_TWICE:
        delta = DeltaTable(str(folder))
        shown.append(delta.to_pyarrow_table())
        shown.append(by_duckdb(folder.as_uri(), delta.version()))
    for each in shown:
        rows = each.select(["id", "p"]).to_pylist()
        assert sorted((row["id"], row["p"]) for row in rows) == expected


@pytest.mark.parametrize(("name", "spelled"), CASES)
def test_the_log_of_a_folder_has_one_owner_under_whatever_spelling_another_one_comes(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path, name: str, spelled: str
) -> None:
    folder, owner = tmp_path / name, LogOwner(ledger, memory.log)
    ledger.create_table("a", ROWS, location=str(folder), properties=PUBLISHED)
    publish(memory.log)
    owner.release(ledger.table("a"))
    import_delta(ledger, SPELLINGS["uri"](folder), "b")
    import_delta(ledger, folder, "c")
    owner.adopt(ledger.table("b"))
    ledger.alter_table("c", location=SPELLINGS[spelled](folder))
    with pytest.raises(NotAdoptableError, match="has one owner"):
        owner.adopt(ledger.table("c"))


def test_folder_of_the_log(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """A log in a folder of its own is found under each spelling, and names the data by URIs."""
    data, log = tmp_path / "my%20 data", tmp_path / "my log"
    row = ledger.create_table(
        "t",
        ROWS,
        location=data,
        properties={**PUBLISHED, "lakeledger.publish.folder": log.as_uri()},
    )
    ledger.append("t", [{"id": 1, "p": "x"}])
    assert publish(memory.log).written == 2
    ledger.alter_table(row, properties={"lakeledger.publish.folder": f"{log}/"})
    ledger.append("t", [{"id": 2, "p": "y"}])
    assert not publish(memory.log).stopped
    assert sorted(each.name for each in tmp_path.iterdir()) == [log.name, data.name]
    assert by_duckdb(log.as_uri(), 3).num_rows == 2

    ledger.alter_table(row, properties={"lakeledger.publish.folder": "file:///x/%zz"})
    (stopped,) = publish(memory.log).stopped.values()
    assert "got '%zz'" in stopped.reason


def test_paths_of_files(ledger: Ledger, tmp_path: Path) -> None:
    """The path of a file is a URI if it begins with `file:`: decoded once, or refused by name."""
    storage = ledger.create_table("t", ROWS[:1], location=tmp_path / "a%20b")
    ledger.append("t", [{"id": 1}])
    (file,) = ledger.read("t").files
    other = tmp_path / "x%20y.parquet"
    other.write_bytes((tmp_path / "a%20b" / file.path).read_bytes())
    (tmp_path / "x y.parquet").write_bytes(b"none of the table")
    ledger.append(storage, [AddFile(other.as_uri(), size=file.size)])
    assert ledger.scan("t").to_arrow().num_rows == 2
    ledger.append("t", [AddFile(f"file:{tmp_path}/%zz", size=file.size)])
    with pytest.raises(UnreadableTableError, match=r"got '%zz'.*Remove the file"):
        ledger.scan("t").to_arrow()


@pytest.mark.parametrize("location", ["relative/t", "~/t"])
def test_a_relative_location_is_refused_first(ledger: Ledger, location: str) -> None:
    with pytest.raises(SettingsError, match="must be an absolute path or a URI"):
        ledger.create_table("t", [{"id": 1}], location=location)
    ledger.create_table("t", ROWS, location=location)
    with pytest.raises(SettingsError, match="must be an absolute path or a URI"):
        ledger.append("t", [{"id": 1, "p": "x"}])


def test_a_vacuum_keeps_what_earlier_releases_wrote_below_a_uri(tmp_path: Path) -> None:
    keys, location = FileKeys(), f"file://{tmp_path}/a%20b"
    found = set(keys.of(location, "x.parquet"))
    for name in ("a b", "a%20b"):
        assert not found.isdisjoint(keys.at(f"{tmp_path}/{name}/x.parquet"))
    assert found.isdisjoint(keys.at(f"{tmp_path}/a/x.parquet"))
