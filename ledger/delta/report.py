"""Reports of an import: the progress of a table, and the Delta version of each version."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.delta.live import Unmatched
from ledger.reads.port import AppRow, Reads


class Disagreement(NamedTuple):
    """A Delta version that did not come out as recorded when decided from what it had read."""

    delta_version: int
    reason: str


class ImportReport(NamedTuple):
    """The state of an imported table, and the work of this import.

    `delta_version` is the newest version imported, committed as `version` of the table at
    `position`; `versions` counts those imported now. `rebased` counts those decided from an older
    read than the version before, of which `disagreed` had to be committed as made from that.
    `apps_left_out` counts progress of applications that was not new. `unmatched` are removals of
    files that were not live. `passed_over` are files of the log that are damaged or out of place
    and were not needed, with the reason.
    """

    table: int
    name: str
    app: str
    delta_version: int
    version: int
    position: int
    unmatched: tuple[Unmatched, ...]
    passed_over: Mapping[str, str]
    versions: int
    rebased: int
    disagreed: tuple[Disagreement, ...]
    apps_left_out: int


class DeltaVersions(NamedTuple):
    """Which Delta version is which: `first` became version 0 of the table, `newest` is the last."""

    app: str
    first: int
    newest: int

    def of_delta(self, delta_version: int) -> int:
        """Return the table's version in the ledger; negative for one before the import began."""
        return delta_version - self.first

    def of_ledger(self, version: int) -> int:
        """Return the Delta version that a version of the table was imported from."""
        return version + self.first


def delta_versions(reads: Reads, table: int, source: str = "") -> DeltaVersions | None:
    """Return how far the import of a table came, None if it was not imported.

    `source` is `lakeledger.import:<Delta table id>`: applications of the Delta table are imported
    too, and one may have a name of that form.
    """
    return versions_in(reads.apps(table), source)


def versions_in(apps: Sequence[AppRow], source: str = "") -> DeltaVersions | None:
    """Return how far the import of a table with this progress came; see `delta_versions`."""
    for row in apps:
        found, _, first = row.app.rpartition("@")
        is_one = found == source if source else found.startswith(IMPORT_APPS)
        if is_one and first.isdecimal():
            return DeltaVersions(row.app, int(first), row.version)
    return None
