"""Access to files of tables on a disk."""

from pathlib import Path

import pytest

from ledger.errors import SettingsError, StorageError, UnreadableTableError
from ledger.files.storage import Storage, storage_at


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Return an empty location with an odd name."""
    return storage_at(f"{tmp_path}/a b%20c")


@pytest.mark.parametrize("path", ["x.parquet", "day=12%3A00/ü ?.parquet", "a/b/../c"])
def test_what_is_written_is_read(storage: Storage, path: str) -> None:
    storage.write(path, b"rows")
    with storage.open(path) as stream:
        assert stream.read() == b"rows"
    assert storage.size(path) == 4
    with pytest.raises(FileExistsError):
        storage.write(path, b"others")
    assert storage.delete(path)
    assert not storage.delete(path)
    assert list(storage.list()) == []


def test_files_are_listed_below_a_prefix(storage: Storage) -> None:
    assert list(storage.list()) == []
    storage.write("p=1/a", b"1")
    storage.write("p=2/b", b"22")
    assert {(each.path, each.size) for each in storage.list()} == {("p=1/a", 1), ("p=2/b", 2)}
    (found,) = storage.list("p=2")
    assert found.path == "p=2/b"
    assert found.modified > 0


def test_a_path_may_be_a_uri(storage: Storage, tmp_path: Path) -> None:
    storage.write("p=a%3Ab/x y", b"1")
    assert storage.size("p=a%253Ab/x%20y") == 1
    (tmp_path / "out side").write_bytes(b"22")
    for path in (f"{tmp_path}/out side", f"file://{tmp_path}/out%20side"):
        assert storage.size(path) == 2


def test_a_path_that_may_mean_two_files_is_refused(storage: Storage) -> None:
    storage.write("x%20y", b"1")
    storage.write("x y", b"2")
    with pytest.raises(UnreadableTableError, match="two files"):
        storage.open("x%20y")


@pytest.mark.parametrize("path", ["gone", "gone%20", "/gone"])
def test_an_absent_file_is_named(storage: Storage, path: str) -> None:
    with pytest.raises(UnreadableTableError, match=r"not there: .*gone.*ring it back"):
        storage.open(path)
    with pytest.raises(UnreadableTableError, match="gone"):
        storage.size(path)
    assert not storage.exists(path)


def test_a_refused_access_is_named(storage: Storage) -> None:
    storage.write("folder/file", b"1")
    with pytest.raises(StorageError, match="Check rights"):
        storage.open("folder")


@pytest.mark.parametrize(
    "location", ["", "relative/path", "hdfs://host/t", "file://otherhost/t", "https://host/t"]
)
def test_other_locations_are_refused(location: str) -> None:
    with pytest.raises(SettingsError, match="location"):
        storage_at(location)
