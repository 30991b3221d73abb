"""A location that is cleaned: the stored files that may go, and the other tables that lie there."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from ledger.definitions.locations import as_stored
from ledger.errors import FilesUnknownError
from ledger.files.places import Place
from ledger.files.storage import CLOCK, Storage, StoredFile, storage_at
from ledger.reads.port import TableRow
from ledger.snapshot.reading import is_in_folders
from ledger.tables.iceberg_folder import FOLDER, is_metadata, is_of_another, is_served, unneeded

SUFFIX: Final = ".parquet"
FOREIGN: Final = ("_delta_log/", ".hoodie/")
"""The folders of a location in which another format keeps its own list of files."""

OWN: Final = re.compile(r".+-[0-9a-f]{8}")
"""The name of a folder that the ledger chose for a table, see `NewTables.location`."""


class CleanedFolder:
    """One location of one or more tables.

    Attributes:
        tables: the tables whose files are cleaned.
        stored: the stored files that may go.
        note: why files stay.
        is_left_alone: whether all of them stay.
        sharing: the ids of all tables with this location, or with one in it or around it.
    """

    def __init__(self, location: str, storage: Storage | None = None) -> None:
        self.location = as_stored(location)
        self.place = Place(location)
        self.tables: list[TableRow] = []
        self.stored: list[StoredFile] = []
        self.note = ""
        self.sharing: set[int] = set()
        self.is_foreign = False
        self.is_left_alone = False
        self._given = storage
        self._nested: set[str] = set()
        self._inodes: set[tuple[int, int]] = set()
        self._unneeded: set[str] = set()
        self._is_used = True
        self._spares_metadata = False

    @property
    def table(self) -> TableRow:
        """The table that exists, or the one that was dropped last."""
        return min(self.tables, key=lambda each: (each.dropped > 0, -each.dropped))

    @property
    def is_left(self) -> bool:
        """Whether the folder of a dropped table may be there."""
        return self.place.inode is not None and any(table.dropped for table in self.tables)

    def leave(self, why: str) -> None:
        """Leave the files alone."""
        self.note, self.stored, self.sharing = why, [], set()
        self.is_left_alone = True

    @cached_property
    def storage(self) -> Storage:
        """The files of the location; raises SettingsError for an unknown place."""
        return self._given or storage_at(self.location)

    def list(self, before: int) -> None:
        """List the files of a time or before that may go."""
        served: list[StoredFile] = []
        for file in () if self.is_left_alone else self.storage.list(skip_unnamed=True):
            if is_served(file):
                served.append(file)
            elif file.path.startswith(FOREIGN) or is_of_another(file):
                self._spares_metadata |= is_of_another(file)
                self._leave_to_another(file.path)
            elif file.modified <= before and is_data(file.path):
                self.stored.append(file)
        if served and not any(map(is_metadata, served)):
            self._spares_metadata = True
            self._leave_to_another(served[0].path)
        if not self._spares_metadata:
            self._unneeded = {file.path for file in unneeded(served, self.storage)}
            self.stored += [file for file in served if file.modified <= before]

    def _leave_to_another(self, path: str) -> None:
        self.is_foreign = True
        self.note = (
            "files that no commit named stay, and the last files of a dropped table: "
            f"{path.partition('/')[0]} has a list of another format, which may name them"
        )

    def look_around(self, tables: Sequence[TableRow]) -> None:
        """Note which tables lie here; raises FilesUnknownError for files that may be theirs."""
        is_used = False
        for table in () if self.is_left_alone else tables:
            location = table.definition.location
            folders = self.place.folders(location) if location else set()
            is_here = "" in folders or bool(location and Place(location).folders(self.location))
            if folders or is_here:
                self.sharing.add(table.table)
            if "" not in folders and folders:
                self._nested |= folders
            inode = Place(location).inode if location else None
            if inode is not None and inode != self.place.inode:
                self._inodes.add(inode)
            is_used |= bool(folders or is_here) and not table.dropped
            if is_here and is_in_folders(table) and not table.dropped:
                name = self.tables[0].name
                raise FilesUnknownError(
                    f"table {table.name} has the location {location} too, and the ledger does not "
                    f"list its files, so they may be taken for files of table {name}. "
                    "Give one of the tables another location",
                    table=self.tables[0].table,
                )

        self._is_used = is_used

    def holds(self, name: str) -> bool:
        """Return whether a file may go as far as its place tells.

        A file below another table or behind a link is not here. Metadata that leads to the files of
        a table that exists stays.
        """
        if self._is_used and name.startswith(FOLDER) and name not in self._unneeded:
            return False
        if any(name.startswith(f"{each}/") for each in self._nested):
            return False
        return self._inodes.isdisjoint(self.place.inner(name)) and self.place.is_plain(name)

    def spares(self, file: StoredFile) -> bool:
        """Return whether a list of another format may name a file that no commit named."""
        return self.is_foreign and not is_served(file)

    def is_as_listed(self, file: StoredFile) -> bool:
        """Return whether a file is as it was listed; a catalog renews its metadata in use."""
        if not is_served(file):
            return True
        found = self.storage.found(file.path)
        return found is not None and found.modified == file.modified

    def remove_empty(self) -> None:
        """Remove the empty folders, and the location itself if the ledger chose its name."""
        is_own = OWN.fullmatch(PurePosixPath(self.location).name) is not None
        self.storage.remove_empty_folders(itself=is_own)


def is_data(path: str) -> bool:
    """Return whether a file is a data file of a folder that is not hidden, or a clock's."""
    *folders, name = path.split("/")
    if name.startswith(CLOCK):
        return True
    is_hidden = any(each[:1] in "._" and "=" not in each for each in (*folders, name))
    return not is_hidden and name.endswith(SUFFIX)
