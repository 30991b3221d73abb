"""Delta logs whose folder is listed while others write versions and clean up."""

from collections.abc import Generator
from pathlib import Path, PosixPath

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.log import DeltaLog
from ledger.errors import DeltaLogError
from tests.sdk.delta_logs import (
    PROTOCOL,
    add,
    begin,
    metadata,
    write_checkpoint,
    write_log,
    write_version,
)


class Passed(PosixPath):
    """A folder whose listing was past the place of the second file when that was written."""

    def iterdir(self) -> Generator["Passed", None, None]:
        found = sorted(super().iterdir())
        yield from [*found[:1], *found[2:]]


class NewestPassed(PosixPath):
    """A folder whose listing was past the place of the newest version when that was written."""

    def iterdir(self) -> Generator["NewestPassed", None, None]:
        yield from sorted(super().iterdir())[:-1]


class Cleaned(PosixPath):
    """A folder that is cleaned up while it is listed: the first file when it was listed already."""

    def iterdir(self) -> Generator["Cleaned", None, None]:
        """List the files but for the second one, and remove both."""
        found = sorted(super().iterdir())
        for path in found[:2]:
            path.unlink()
        yield from [*found[:1], *found[2:]]


class HalfCleaned(PosixPath):
    """A folder that is being cleaned up, newer files first: one is gone at every look."""

    def iterdir(self) -> Generator["HalfCleaned", None, None]:
        """Remove the last of the versions 0 and 1 that is there, and list the rest."""
        early = sorted(each for each in super().iterdir() if each.name < f"{2:020}")
        for path in early[-1:]:
            path.unlink()
        yield from super().iterdir()


def test_a_version_that_the_listing_lacks_and_that_is_there_is_no_gap(tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [add("a")], [add("b")])

    assert [version.version for version in DeltaLog.open(Passed(tmp_path)).versions()] == [0, 1, 2]


def test_newest_passed_over(tmp_path: Path) -> None:
    """The same of the newest version, of which the listing has the checkpoint."""
    write_log(tmp_path, begin(), [add("a")])
    write_checkpoint(tmp_path, f"{1:020}.checkpoint.parquet", [PROTOCOL, metadata(), add("a")])

    log = DeltaLog.open(NewestPassed(tmp_path))

    assert (log.first, log.last) == (0, 1)


def test_what_was_cleaned_up_meanwhile_is_none_of_the_versions(tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [add("a")], [add("b")], [add("c")])
    state = [PROTOCOL, metadata(), add("a"), add("b")]
    write_checkpoint(tmp_path, f"{2:020}.checkpoint.parquet", state)

    assert [version.version for version in DeltaLog.open(Cleaned(tmp_path)).versions()] == [2, 3]


def test_half_cleaned_up(ledger: Ledger, tmp_path: Path) -> None:
    """An import that looks in the middle of a clean-up looks again, and goes on."""
    write_log(tmp_path, begin(), [add("a")], [add("b")])
    state = [PROTOCOL, metadata(), add("a"), add("b")]
    write_checkpoint(tmp_path, f"{2:020}.checkpoint.parquet", state)
    import_delta(ledger, tmp_path, "t")
    write_version(tmp_path, 3, [add("c")])

    found = import_delta(ledger, HalfCleaned(tmp_path), "t")

    assert (found.versions, found.delta_version) == (1, 3)
    assert ledger.read("t").paths == ["a", "b", "c"]


def test_a_version_that_is_not_there_is_missing_however_far_the_next_one_is(tmp_path: Path) -> None:
    write_log(write_log(tmp_path, begin()), [add("a")], first=10**19)

    with pytest.raises(DeltaLogError, match=r"version 9+ before it is missing"):
        DeltaLog.open(tmp_path)
