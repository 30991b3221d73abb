"""What a vacuum deletes and what it keeps, and that it can be killed at any step."""

import os
from pathlib import Path
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile
from ledger.tables.vacuum import Vacuum
from tests.tables.cleaned_files import DIGITS, HOUR_S, TABLE, Files, Watched, in_words


@pytest.fixture
def files(ledger: Ledger, tmp_path: Path) -> Files:
    return Files(ledger, tmp_path / "flights")


def test_removed_files_and_ones_that_no_commit_named_go(files: Files) -> None:
    for name in ("live.parquet", "removed.parquet", "day=1/orphan.parquet"):
        files.put(name)
    files.add("live.parquet", "removed.parquet")
    files.remove("removed.parquet")
    expected = [("day=1/orphan.parquet", "orphan"), ("removed.parquet", "released")]

    dry = files.vacuum(dry_run=True)
    assert (in_words(dry), dry.size, len(files.names())) == (expected, 8, 3)
    assert in_words(files.vacuum()) == expected
    assert files.names() == {"live.parquet"}
    assert in_words(files.vacuum()) == []


def test_only_named_files_go_if_some_are_named(files: Files, ledger: Ledger) -> None:
    for name in ("a.parquet", "b c.parquet", "orphan.parquet"):
        files.put(name)
    files.add("a.parquet", "b c.parquet")
    files.remove("a.parquet", "b c.parquet")

    found = ledger.vacuum(TABLE, older_than_h=0, only=["b c.parquet", "gone.parquet"])
    assert in_words(found) == [("b c.parquet", "released")]
    assert files.names() == {"a.parquet", "orphan.parquet"}
    assert in_words(ledger.vacuum(TABLE, older_than_h=0, only=[])) == []


@pytest.mark.parametrize(
    "name",
    [
        "_delta_log/00000000000000000001.checkpoint.parquet",
        "_SUCCESS",
        ".hidden.parquet",
        "day=1/.part.parquet",
        "_temporary/0/a.parquet",
        "deletion_vector_1.bin",
        "notes.txt",
    ],
)
def test_what_is_no_data_file_stays(files: Files, name: str) -> None:
    files.put(name)
    assert in_words(files.vacuum()) == []
    assert files.names() == {name}


@pytest.mark.parametrize(
    "name",
    ["_delta_log/00000000000000000007.json", ".hoodie/x.commit", "metadata/v1.metadata.json"],
)
def test_list_of_another_format(files: Files, name: str) -> None:
    for each in (name, "a.parquet", "removed.parquet", "unknown.parquet"):
        files.put(each)
    files.add("a.parquet", "removed.parquet")
    files.remove("removed.parquet")

    found = files.vacuum()
    assert in_words(found) == [("removed.parquet", "released")]
    assert found.note.startswith("files that no commit named stay")
    assert files.names() == {name, "a.parquet", "unknown.parquet"}


def test_hidden_names_of_partitions(files: Files) -> None:
    """A partition column may begin with a line; its folders are no hidden ones."""
    name = files.put("_day=1/orphan.parquet")
    assert in_words(files.vacuum()) == [(name, "orphan")]


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("day=1/a.parquet", "day=1/a.parquet"),
        ("day=1//a.parquet", "day=1/a.parquet"),
        ("./day=1/./a.parquet", "day=1/a.parquet"),
        ("day=1/../a.parquet", "a.parquet"),
        ("day=a%20b/a.parquet", "day=a b/a.parquet"),
        ("day=a%20b/a.parquet", "day=a%20b/a.parquet"),
        ("day=%C3%A4/a.parquet", "day=ä/a.parquet"),
        ("{folder}/a.parquet", "a.parquet"),
        ("file:{folder}/a.parquet", "a.parquet"),
        ("file://{folder}/a.parquet", "a.parquet"),
        ("FILE://localhost{folder}/a.parquet", "a.parquet"),
        ("{folder}/../flights/a.parquet", "a.parquet"),
        ("../flights/a.parquet", "a.parquet"),
        ("{link}/a.parquet", "a.parquet"),
        ("file://{link}/a.parquet", "a.parquet"),
    ],
)
def test_spellings_of_a_live_file(files: Files, tmp_path: Path, spelled: str, name: str) -> None:
    """A live file stays, whichever way its path is written in the log."""
    link = tmp_path / "link"
    link.symlink_to(files.folder)
    files.put(name)
    files.add(spelled.format(folder=files.folder, link=link))

    assert in_words(files.vacuum()) == []
    assert files.names() == {name}


@pytest.mark.parametrize("location", ["{link}", "file://{folder}", "file:{folder}/", "{folder}/."])
def test_spellings_of_the_location(ledger: Ledger, tmp_path: Path, location: str) -> None:
    """The location may be written in other ways than the paths in the log are."""
    folder, link = tmp_path / "flights", tmp_path / "link"
    link.symlink_to(folder)
    files = Files(ledger, folder, location.format(folder=folder, link=link))
    for name in ("relative.parquet", "absolute.parquet", "orphan.parquet"):
        files.put(name)
    files.add("relative.parquet", f"file:{folder}/absolute.parquet")

    assert in_words(files.vacuum()) == [("orphan.parquet", "orphan")]
    assert files.names() == {"relative.parquet", "absolute.parquet"}


def test_nothing_outside_the_location_is_deleted(files: Files, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.parquet").write_bytes(b"rows")
    os.utime(outside / "a.parquet", (0, 0))
    (files.folder / "day=1").symlink_to(outside)
    (files.folder / "b.parquet").symlink_to(outside / "a.parquet")

    assert in_words(files.vacuum()) == []
    assert (outside / "a.parquet").exists()


def test_a_removed_file_that_lies_outside_the_location_stays(files: Files, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    outside.write_bytes(b"rows")
    os.utime(outside, (0, 0))
    files.add(str(outside))
    files.remove(str(outside))

    assert in_words(files.vacuum()) == []
    assert outside.exists()


def test_files_that_were_removed_or_written_within_the_grace_period_stay(files: Files) -> None:
    for name in ("removed.parquet", "old.parquet"):
        files.put(name)
    files.put("young.parquet", 50 * HOUR_S)
    files.add("removed.parquet")
    files.remove("removed.parquet")

    assert in_words(files.vacuum(168)) == [("old.parquet", "orphan")]
    assert in_words(files.vacuum(49)) == [("young.parquet", "orphan")]
    assert in_words(files.vacuum(51)) == []
    assert in_words(files.vacuum(0)) == [("removed.parquet", "released")]


def test_snapshot_of_an_open_txn(files: Files) -> None:
    """A file that the snapshot of an open txn shows stays until the txn ends."""
    files.put("a.parquet")
    files.add("a.parquet")
    with files.ledger.transaction("read_only"):
        files.remove("a.parquet")
        assert in_words(files.vacuum()) == []
    assert in_words(files.vacuum()) == [("a.parquet", "released")]


def test_orphans_by_writer(files: Files) -> None:
    """A file of a txn stays while that is open; one of another writer for a day at least.

    The number of a txn alone does not tell its ledger.
    """
    ended, again = files.ledger.begin_many(2)
    ended.abort()
    again.abort()
    opened = files.ledger.begin()
    mine = files.put(files.name(opened), 10)
    lost = files.put(f"day=1/{files.name(ended)}", 10)
    others = [
        files.name(opened, id=99),
        files.name(ended, ledger="another"),
        files.name(ended, opened=ended.opened + 1),
        files.name(ended, opened_at=ended.opened_at + 1),
        files.name(ended, id=again.id, opened=0),
        f"{ended.id}-{DIGITS}-0.parquet",
        f"{opened.id}-{DIGITS}-0.parquet",
        f"0-{DIGITS}-0.parquet",
        f"{FileWriter.of(files.ledger.id).drawn()}-0.parquet",
        "part-0.parquet",
    ]
    for name in others:
        files.put(name, 10)

    assert in_words(files.vacuum()) == [(lost, "orphan")]
    opened.abort()
    assert in_words(files.vacuum()) == [(mine, "orphan")]
    for name in others:
        files.put(name, 25 * HOUR_S)
    assert in_words(files.vacuum()) == [(other, "orphan") for other in sorted(others)]


def test_writers_of_another_name(files: Files) -> None:
    """While a txn is open it may have written any file since, under any name."""
    name = files.put("part-0.parquet", 30 * HOUR_S)
    reads = files.ledger.reads()
    in_a_while = int((files.folder / name).stat().st_mtime * 1000) + 10**9
    with files.ledger.transaction():
        files.put(name, 0)
        assert Vacuum(reads, files.row, 0, in_a_while).run(dry_run=True).files == []
    assert len(Vacuum(reads, files.row, 0, in_a_while).run(dry_run=True)) == 1


@pytest.mark.parametrize("moment", ["files", "txn", "open_txns", "file_paths"])
def test_a_file_committed_during_a_vacuum_stays(files: Files, moment: str) -> None:
    files.put("a.parquet")
    files.add("a.parquet")
    txn = files.ledger.begin()
    name = files.put(files.name(txn), 10)
    orphan = files.put("orphan.parquet")

    commits: list[object] = []

    def commit(called: str) -> None:
        if called == moment and not commits:
            txn.add_files(TABLE, [AddFile(name)])
            commits.append(txn.commit())

    reads: Any = Watched(files.ledger.reads(), commit)
    found = Vacuum(reads, files.row, 0).run()
    assert commits
    assert in_words(found) in ([], [(orphan, "orphan")])
    assert files.names() >= {"a.parquet", name}


class KilledError(BaseException):
    """The process of a vacuum ended here."""


@pytest.mark.parametrize("moment", range(16))
def test_a_killed_vacuum_deletes_nothing_that_is_needed(files: Files, moment: int) -> None:
    live, removed, orphans = ({f"{kind}{n}.parquet" for n in range(4)} for kind in ("l", "r", "o"))
    for name in live | removed | orphans:
        files.put(name)
    files.add(*live, *removed)
    files.remove(*removed)
    steps = iter(range(99))

    def die(_: str) -> None:
        if next(steps) == moment:
            raise KilledError

    storage: Any = Watched(storage_at(files.location), die)
    reads: Any = Watched(files.ledger.reads(), lambda _: None)
    before = files.names()
    try:
        Vacuum(reads, files.row, 0, storage=storage).run()
    except KilledError:
        assert len(files.names()) == len(before) - max(0, moment - 2)
    assert files.names() >= live

    files.vacuum()
    assert files.names() == live


def test_a_file_stays_while_it_is_live_under_any_deletion_vector(files: Files) -> None:
    files.put("a.parquet")
    files.ledger.append(TABLE, [AddFile("a.parquet", size=4)])
    with files.ledger.transaction() as txn:
        txn.read(TABLE)
        txn.remove_files(TABLE, ["a.parquet"])
        txn.add_files(TABLE, [AddFile("a.parquet", size=4, vector="v1")])

    assert in_words(files.vacuum()) == []


def test_what_another_table_of_the_ledger_needs_stays(files: Files) -> None:
    for name in ("a.parquet", "b.parquet", "inner/c.parquet", "d.parquet", "e.parquet"):
        files.put(name)
    ledger = files.ledger
    ledger.create_table("same", [("tail", "string")], location=files.location)
    ledger.append("same", [AddFile("a.parquet")])
    ledger.create_table("inner", [("tail", "string")], location=f"{files.location}/inner")
    ledger.create_table("far", [("tail", "string")], location="/nowhere")
    ledger.append("far", [AddFile(f"file:{files.folder}/b.parquet")])
    ledger.create_table("gone", [("tail", "string")], location=files.location)
    ledger.append("gone", [AddFile("d.parquet")])
    ledger.drop_table("gone")

    assert in_words(files.vacuum(1)) == [("e.parquet", "orphan")]
    assert in_words(files.vacuum()) == [("d.parquet", "orphan")]


@pytest.mark.parametrize("inner", ["", "/.."])
def test_beside_unlisted_files_nothing_is_deleted(files: Files, inner: str) -> None:
    files.put("a.parquet")
    location = files.location + inner
    files.ledger.create_table("b", [("c", "int")], location=location, layout="directories")

    with pytest.raises(errors.FilesUnknownError, match="has the location"):
        files.vacuum()
    assert files.names() == {"a.parquet"}


def test_an_absent_location_holds_nothing_to_delete(ledger: Ledger, tmp_path: Path) -> None:
    files = Files(ledger, tmp_path / "flights")
    files.folder.rmdir()
    assert in_words(files.vacuum()) == []


@pytest.mark.parametrize("hours", [-1.0, float("nan")])
def test_an_age_that_is_none_is_refused(files: Files, hours: float) -> None:
    with pytest.raises(ValueError, match="older_than_h must be 0 or more"):
        files.vacuum(hours)
