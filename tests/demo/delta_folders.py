"""Delta folders: the rows of a table of layout `directories`, and which of them a reader opens.

The rows of a txn are at `<location>/month=<month>/delta_<write id>/`. If it aborts, the SDK deletes
them; if its process was killed, they stay. A reader opens only the folders whose write id is valid
in its list: that is all the isolation on disk.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from ledger.core.lists.valid_lists import ValidWriteIdList
from tests.demo.flights import MEASURES, Totals, totals_of

PARTITION: Final = "month"


class DeltaFolder(NamedTuple):
    """One folder on disk: the rows that one txn wrote into one partition."""

    path: Path
    month: int
    write_id: int

    @property
    def files(self) -> Sequence[Path]:
        """The data files in the folder."""
        return sorted(self.path.glob("*.parquet"))


def delta_folders(location: Path) -> Iterator[DeltaFolder]:
    """Return every folder, valid or not."""
    for path in sorted(location.glob(f"{PARTITION}=*/delta_*")):
        _, month = path.parent.name.split("=")
        _, write_id = path.name.split("_")
        yield DeltaFolder(path, int(month), int(write_id))


def valid_folders(location: Path, valid: ValidWriteIdList) -> list[DeltaFolder]:
    """Return the folders that a reader of this list may open."""
    return [folder for folder in delta_folders(location) if valid.is_valid(folder.write_id)]


def totals_in(folders: Iterable[DeltaFolder]) -> dict[int, Totals]:
    """Read Parquet files and return the sums of their rows by month."""
    by_month: dict[int, list[Path]] = {}
    for folder in folders:
        by_month.setdefault(folder.month, []).extend(folder.files)
    return {month: totals_of(read(files)) for month, files in by_month.items()}


def read(files: Sequence[Path]) -> pa.Table:
    """Return the measures of all rows in some Parquet files."""
    dataset = ds.dataset([str(path) for path in files], format="parquet")
    return dataset.to_table(columns=list(MEASURES))


def remove_folders(location: Path, write_ids: Iterable[int]) -> list[DeltaFolder]:
    """Remove the folders of some write ids, and return them."""
    gone = set(write_ids)
    found = [folder for folder in delta_folders(location) if folder.write_id in gone]
    for folder in found:
        shutil.rmtree(folder.path)
    return found
