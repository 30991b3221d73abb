"""Adopting an imported Iceberg table: from then on the ledger alone commits to it.

Nothing of the Iceberg table is changed. Its readers go on by the REST catalog of the ledger, by the
same snapshot ids. Writers that still commit to the old metadata cannot be stopped from here: their
commits are found by the metadata files that they leave, and named.
"""

from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.errors import IcebergTableError, IncompatibleError, LedgerError, SettingsError
from ledger.files.storage import storage_at
from ledger.iceberg.importer import ADOPTED, import_iceberg
from ledger.iceberg.imports.finding import number_of
from ledger.iceberg.imports.loading import load_metadata
from ledger.iceberg.imports.report import IcebergImportReport, import_app, progress_in
from ledger.reads.port import TableRow

READ_MAX: Final = 100
"""So many later metadata files are looked at, the highest number first."""


class IcebergNotAdoptableError(LedgerError):
    """An Iceberg table cannot be adopted; nothing was changed."""


class ForeignCommit(NamedTuple):
    """A commit to the metadata of an Iceberg table that the ledger does not have."""

    metadata: str
    snapshot: int | None
    at_ms: int

    def __str__(self) -> str:
        return f"{self.metadata} (snapshot {self.snapshot}, at {self.at_ms} ms)"


def is_imported(ledger: Ledger, row: TableRow) -> bool:
    """Return whether a table was imported from Iceberg."""
    return import_app(ledger.reads().apps(row.table)) is not None


def adopt_iceberg(ledger: Ledger, row: TableRow, *, is_newest: bool = False) -> IcebergImportReport:
    """Make the ledger the only writer of a table that was imported from Iceberg.

    The table must have the newest snapshot: no later metadata file may be there, unless the caller
    knows that the one imported last `is_newest`. Raises IcebergNotAdoptableError if it has not, if
    it was written here too, or if it is adopted already; then later commits are named.
    """
    if (adopted := properties(row.definition).get(ADOPTED)) is not None:
        later = foreign_commit(ledger, row)
        found = f"since then it was committed to outside: {later}" if later else "nothing followed"
        raise IcebergNotAdoptableError(
            f"table {row.name} was adopted at {adopted} already; {found}"
        )
    app = import_app(ledger.reads().apps(row.table))
    if app is None:
        raise IcebergNotAdoptableError(
            f"table {row.name} was not imported from Iceberg. To import a table: lakeledger import "
            "iceberg"
        )
    if row.version != app.version:
        raise IcebergNotAdoptableError(
            f"table {row.name} has version {row.version}, and the newest one imported is "
            f"{app.version}: it was written here too. Import the Iceberg table under another name, "
            "and adopt that one"
        )
    if not is_newest and (later := foreign_commit(ledger, row)) is not None:
        raise IcebergNotAdoptableError(
            f"the Iceberg table of {row.name} has a newer metadata file, {later}. Import that "
            f"first: lakeledger import iceberg {later.metadata} --table {row.name}. Or delete the "
            "file, if its commit failed"
        )
    last = last_metadata(ledger, row)
    report = import_iceberg(ledger, last, row.name)
    row = again(ledger, row)
    ledger.alter_table(row, properties={ADOPTED: last})
    after = again(ledger, row)
    return report._replace(version=after.version, position=ledger.reads().position())


def foreign_commit(ledger: Ledger, row: TableRow) -> ForeignCommit | None:
    """Return the newest commit to an imported Iceberg table that the ledger does not have.

    It is known by a metadata file with a higher number beside the last one that was read. None if
    there is no such file, or its folder cannot be read.
    """
    last = last_metadata(ledger, row)
    folder, _, name = last.rpartition("/")
    number = number_of(name)
    app = import_app(ledger.reads().apps(row.table))
    if number is None or app is None:
        return None
    try:
        found = [(number_of(each.path), each.path) for each in storage_at(folder).list()]
    except (OSError, LedgerError):
        return None
    later = sorted(
        ((at, path) for at, path in found if at is not None and at > number), reverse=True
    )
    for _, path in later[:READ_MAX]:
        try:
            metadata = load_metadata(f"{folder}/{path}")
        except (IcebergTableError, IncompatibleError, SettingsError):
            continue
        if app.app.endswith(f"/{metadata.uuid}"):
            return ForeignCommit(f"{folder}/{path}", metadata.current, metadata.updated_ms)
    return None


def last_metadata(ledger: Ledger, row: TableRow) -> str:
    """Return the metadata file that an import read last, "" for a table that was not imported."""
    reads = ledger.reads()
    app = import_app(reads.apps(row.table))
    version = None if app is None else reads.version_row(row.table, version=app.version)
    noted = None if version is None else progress_in(version.info)
    return "" if noted is None else noted.metadata


def again(ledger: Ledger, row: TableRow) -> TableRow:
    """Return a table as it is now."""
    found = ledger.reads().table(row.table)
    assert found is not None, f"table {row.table} is not in the rows any more"
    return found
