"""Published logs on disk: the same bytes however their writers end, and what readers see."""

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ledger.errors import StorageError
from projections.delta.actions.log_state import INTERVAL, checkpoint_interval
from projections.delta.log.log_folder import (
    ASIDE,
    LAST_CHECKPOINT,
    LogFolder,
    checkpoint_name,
    version_file,
)
from projections.delta.log.log_marks import hinted
from projections.delta.log.log_writer import DeltaLogWriter, ForeignLogError
from projections.delta.published_log import DeltaVersion
from tests.projections.published import published
from tests.projections.test_delta_publication import BY_DAY, Lake

CRASHES = 200


class PowerCut(Exception):  # noqa: N818 - a cut is what happens, no error of the program
    """The machine of a writer stops."""


class CutFolder(LogFolder):
    """A folder whose machine stops before or after one of its steps."""

    def __init__(self, table: str, left: int) -> None:
        super().__init__(table)
        self.left = left

    def step(self) -> None:
        """Stop here if it is time."""
        self.left -= 1
        if self.left < 0:
            raise PowerCut

    def _aside(self, data: bytes) -> Path:
        self.step()
        # Half of the bytes may be on the disk.
        aside = super()._aside(data[: len(data) // 2] if self.left == 0 else data)
        self.step()
        return aside

    def _link(self, aside: Path, name: str) -> None:
        self.step()
        super()._link(aside, name)
        self.step()

    def _rename(self, aside: Path, name: str) -> None:
        self.step()
        super()._rename(aside, name)
        self.step()


@pytest.fixture
def deltalake() -> Any:
    """The package of another reader and writer."""
    return pytest.importorskip("deltalake", reason="deltalake is not installed")


def late_log() -> list[DeltaVersion]:
    """Return a log that begins late, with a checkpoint, and goes on for some versions."""
    lake = Lake(BY_DAY._replace(properties=[]))
    lake.files("abc")
    lake.alter(published(BY_DAY, **{INTERVAL: "3"}))
    for name in "defgh":
        lake.files(name)
    return lake.found


CHECKPOINTS = (2, 3, 6)
"""The versions of the late log that have a checkpoint: its first one, and every third."""


def content(table: Path) -> dict[str, bytes]:
    """Return the files of a log that readers look at, by name."""
    folder = LogFolder(str(table))
    return {name: (folder.path / name).read_bytes() for name in folder.names()}


def write_until_cut(folder: LogFolder, versions: list[DeltaVersion]) -> None:
    writer = DeltaLogWriter(folder)
    try:
        for version in versions:
            writer.write(version)
    except PowerCut:
        return


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in range(1, 8))]
)
def test_cuts_at_any_step(tmp_path: Path, seed: int) -> None:
    versions, draw = late_log(), Random(seed)  # noqa: S311
    write_until_cut(LogFolder(str(tmp_path / "whole")), versions)
    whole = content(tmp_path / "whole")
    assert len(whole) == len(versions) + len(CHECKPOINTS) + 1

    for number in range(CRASHES // 8):
        table = tmp_path / f"cut{number}"
        for _ in range(draw.randrange(1, 4)):
            write_until_cut(CutFolder(str(table), draw.randrange(40)), versions)
            partly = content(table)
            partly.pop(LAST_CHECKPOINT, None)  # It names one checkpoint after the other.
            assert partly.items() <= whole.items()
        write_until_cut(LogFolder(str(table)), versions)
        assert content(table) == whole


def test_both_of_two_writers_find_a_version_written(tmp_path: Path) -> None:
    versions, draw = late_log(), Random(7)  # noqa: S311
    writers = [DeltaLogWriter(LogFolder(str(tmp_path / "t"))) for _ in range(2)]
    left = [iter(versions), iter(versions)]
    while left:
        turn = draw.randrange(len(left))
        each = next(left[turn], None)
        if each is None:
            del left[turn], writers[turn]
        else:
            writers[turn].write(each)
    write_until_cut(LogFolder(str(tmp_path / "whole")), versions)
    assert content(tmp_path / "t") == content(tmp_path / "whole")


class RacedFolder(LogFolder):
    """A folder in which another writer is faster with the first file that is linked."""

    other: bytes | None = None

    def _link(self, aside: Path, name: str) -> None:
        if self.other is not None and name.endswith(".json"):
            (self.path / name).write_bytes(self.other)
            self.other = None
        super()._link(aside, name)


@pytest.mark.parametrize("is_same", [True, False])
def test_a_version_of_another_writer_must_be_the_same(tmp_path: Path, *, is_same: bool) -> None:
    first = Lake().found[0]
    folder = RacedFolder(str(tmp_path))
    folder.other = first.data if is_same else b"{}\n"
    if is_same:
        assert DeltaLogWriter(folder).write(first) is False
        return
    with pytest.raises(ForeignLogError, match=r"0{20}\.json"):
        DeltaLogWriter(folder).write(first)


class FailingFolder(LogFolder):
    """A folder that fails so that the file that was written aside cannot be removed."""

    fails = True

    def _link(self, aside: Path, name: str) -> None:
        if not self.fails:
            super()._link(aside, name)
            return
        aside.unlink()
        aside.mkdir()
        raise OSError(errno.EIO, "the disk failed")


def test_a_file_aside_that_stayed_is_removed_with_the_next_write(tmp_path: Path) -> None:
    folder = FailingFolder(str(tmp_path))
    with pytest.raises(StorageError, match=r"a\.json cannot be used: the disk failed"):
        folder.put("a.json", b"1", 0)
    (left,) = folder.path.iterdir()
    left.rmdir()
    left.write_bytes(b"1")
    folder.fails = False
    assert folder.put("a.json", b"1", 0)
    assert [each.name for each in folder.path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    "write", [lambda log: log.put("a", b"1", 0), lambda log: log.replace("a", b"1")]
)
@pytest.mark.parametrize(("aside_max_s", "left"), [(60.0, 2), (-1.0, 0)])
def test_old_files_aside_of_writers_that_died_are_removed(
    tmp_path: Path, write: Callable[[LogFolder], object], aside_max_s: float, left: int
) -> None:
    folder = LogFolder(str(tmp_path), aside_max_s)
    folder.path.mkdir()
    for each in "xy":
        (folder.path / f"{ASIDE}{each}").write_bytes(b"1")
    write(folder)
    assert (folder.path / "a").read_bytes() == b"1"
    assert len(list(folder.path.iterdir())) == 1 + left


def test_the_versions_that_are_deleted_from_the_end_come_back_as_they_were(tmp_path: Path) -> None:
    versions = late_log()
    write_until_cut(LogFolder(str(tmp_path)), versions)
    whole = content(tmp_path)
    for start in range(len(versions)):
        for with_hint in (True, False):
            first = version_file(versions[start].version)
            for name in whole:
                if name >= first and (name != LAST_CHECKPOINT or with_hint):
                    (tmp_path / "_delta_log" / name).unlink()
            write_until_cut(LogFolder(str(tmp_path)), versions)
            assert content(tmp_path) == whole


def test_a_checkpoint_is_written_as_often_as_the_table_says(tmp_path: Path) -> None:
    versions = late_log()
    write_until_cut(LogFolder(str(tmp_path)), versions)
    written = [name for name in content(tmp_path) if ".checkpoint." in name]
    assert written == [checkpoint_name(checkpoint) for checkpoint in CHECKPOINTS]
    assert hinted(LogFolder(str(tmp_path))) == CHECKPOINTS[-1]


@pytest.mark.parametrize(
    ("text", "interval"), [("3", 3), ("", 100), ("0", 100), ("many", 100), ("9" * 30, 100)]
)
def test_a_text_that_is_no_interval_counts_as_the_usual_one(text: str, interval: int) -> None:
    assert checkpoint_interval({"configuration": {INTERVAL: text}}) == interval


def test_old_versions_are_deleted(tmp_path: Path, deltalake: Any) -> None:
    versions = late_log()
    for _ in range(2):
        writer = DeltaLogWriter(LogFolder(str(tmp_path)), kept_ms=1)
        for version in versions:
            writer.write(version)
        oldest = CHECKPOINTS[-2]
        kept = [version for version in versions if version.version >= oldest]
        checkpoints = [
            checkpoint_name(checkpoint) for checkpoint in CHECKPOINTS if checkpoint >= oldest
        ]
        names = [version_file(each.version) for each in kept]
        assert sorted(content(tmp_path)) == sorted([*names, *checkpoints, LAST_CHECKPOINT])
    assert writer.written == 0
    for each in kept:
        assert deltalake.DeltaTable(tmp_path, version=each.version).version() == each.version


@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_a_folder_with_a_foreign_version_is_left_alone(tmp_path: Path, number: int) -> None:
    name = f"{number:020}.json"
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / name).write_text('{"commitInfo":{"operation":"WRITE"}}\n')
    with pytest.raises(ForeignLogError, match=name):
        DeltaLogWriter(LogFolder(str(tmp_path))).write(late_log()[0])
    assert list(content(tmp_path)) == [name]


def test_deltalake_finds_files_times_and_progress(tmp_path: Path, deltalake: Any) -> None:
    lake = Lake(BY_DAY._replace(properties=[]))
    lake.files("abc")
    lake.alter(BY_DAY)
    lake.files("d", "a")
    lake.files("e")
    write_until_cut(LogFolder(str(tmp_path)), lake.found)

    for version, live in ((2, "abc"), (3, "bcd"), (4, "bcde")):
        table = deltalake.DeltaTable(tmp_path, version=version)
        names = sorted(Path(each).name for each in table.file_uris())
        assert (table.version(), names) == (version, list(live))
    table = deltalake.DeltaTable(tmp_path)
    times = [each["inCommitTimestamp"] for each in reversed(table.history())]
    assert times == [each.at for each in lake.found]
    assert [field.name for field in table.schema().fields] == ["id", "day"]
    assert table.metadata().partition_columns == ["day"]


def test_deltalake_is_kept_out(tmp_path: Path, deltalake: Any) -> None:
    lake = Lake(BY_DAY._replace(location=str(tmp_path)))
    lake.files("a")
    write_until_cut(LogFolder(str(tmp_path)), lake.found)
    table = deltalake.DeltaTable(tmp_path)
    with pytest.raises(deltalake.exceptions.DeltaError, match="lakeledger"):
        table.alter.set_table_properties({"delta.appendOnly": "true"})

    lake.alter(BY_DAY._replace(properties=[]))
    write_until_cut(LogFolder(str(tmp_path)), lake.found)
    table = deltalake.DeltaTable(tmp_path)
    table.alter.set_table_properties({"delta.appendOnly": "true"})
    assert table.version() == 3
