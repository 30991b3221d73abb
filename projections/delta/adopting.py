"""Adopting and releasing: the ledger takes over the log of a Delta table, and gives it back.

An adopted table is an imported one whose log the publisher continues, at the next Delta version.
A released table is one whose last published version lets other writers in again. Any other table is
published once it has the property; new tables have it by the setting `publish`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.core.commands import Property, TableDefinition
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import properties
from ledger.core.state.traits import features_of
from ledger.definitions.locations import is_one_place
from ledger.delta.importer import import_delta
from ledger.delta.replay import REPLACED_ID
from ledger.delta.report import ImportReport, versions_in
from ledger.delta.schema import ADOPTED
from ledger.errors import LedgerError, StorageError
from ledger.log.port import Log
from ledger.log.replay import Progress, Replay
from ledger.properties.column_mapping import PUBLISH, is_published
from ledger.properties.promises import reasons_against, without_effect
from ledger.reads.port import Reads, TableRow
from projections.delta.actions.metadata_action import FOLDER, Adopted
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.log.log_folder import local_folder
from projections.delta.log.log_marks import Mark, owner_of
from projections.delta.log.log_writer import Folders
from projections.delta.log.object_log import log_at
from projections.delta.publication import Publication, outcomes_of
from projections.delta.table_log import WrittenLog, write_table_log
from projections.delta.table_state import folder_of, reason_against

DELTA: Final = "delta"

PUBLISHED: Final = "published"
"""What `publish_table` says of a table that it published."""


class NotAdoptableError(LedgerError):
    """A table cannot be adopted, or released; nothing was changed."""


class AdoptedTable(NamedTuple):
    """An adopted table: what its import did last, and the log that was written.

    Nothing obeys the properties `without_effect`, which the Delta table brought along.
    """

    imported: ImportReport
    log: WrittenLog
    without_effect: Sequence[str] = ()


def nothing(_done: int, _end: int) -> None:
    """Show no progress."""


class LogOwner(NamedTuple):
    """Takes over and gives back logs of one ledger; `progress` is called while events are read."""

    ledger: Ledger
    log: Log
    folders: Folders = log_at
    progress: Progress = nothing

    def adopt(self, row: TableRow) -> AdoptedTable:
        """Import what is new in the Delta table of an imported table, and go on with its log.

        Raises NotAdoptableError, UnpublishableError if the folder is not on a local disk, and as
        `import_delta` does.
        """
        path = self._adoptable(row)
        report = import_delta(self.ledger, path, row.name)
        row = self._again(row)
        if row.version != report.version:
            raise NotAdoptableError(
                f"table {row.name} has version {row.version}, and the newest one imported is "
                f"{report.version}: it was written here too, so the versions of its Delta table "
                "are not its own. Import the Delta table under another name, and adopt that one"
            )
        self._check_times(row)
        given = {PUBLISH: DELTA, ADOPTED: adopted_from(report, row.definition).text()}
        self._check_publishable(row, with_properties(row.definition, given))
        self.ledger.alter_table(row, properties=given)
        return AdoptedTable(report, self._written(row), without_effect(row.definition))

    def release(self, row: TableRow) -> WrittenLog:
        """End the publication of a table with a version that lets other writers in.

        Raises NotAdoptableError if the table is not published, or its publication stopped before.
        """
        if not is_published(row.definition):
            raise NotAdoptableError(
                f"table {row.name} is not published: its property {PUBLISH} is not delta, so its "
                "folder has no log of this ledger to release"
            )
        before = self._written(row)
        if before.stopped:
            raise NotAdoptableError(
                f"table {row.name} was not released, since its log cannot be written any further: "
                f"{before.stopped}"
            )
        self.ledger.alter_table(row, unset=[PUBLISH, ADOPTED])
        # The log ends once its readers find every row.
        self.ledger.run(lambda txn: txn.flush(row.table))
        return self._written(row)

    def _adoptable(self, row: TableRow) -> Path:
        """Return the folder of an imported table that is not published."""
        if is_published(row.definition) or FOLDER in properties(row.definition):
            raise NotAdoptableError(
                f"table {row.name} is published already. `lakeledger table release` ends that, if "
                "its log lies in another folder; then adopt it"
            )
        if versions_in(self.ledger.reads().apps(row.table)) is None:
            raise NotAdoptableError(
                f"table {row.name} was not imported from a Delta table, so there is no log to go "
                f"on with. To publish it, set its property {PUBLISH} to {DELTA}"
            )
        path = local_folder(row.definition.location)
        reads, place = self.ledger.reads(), row.definition.location
        if reason := reason_against_tables(reads, row, place) or reason_against_owner(
            reads, row, place
        ):
            raise NotAdoptableError(f"table {row.name} cannot be adopted: {reason}")
        return path

    def _check_times(self, row: TableRow) -> None:
        """Raise NotAdoptableError if the newest imported version has a time that is yet to come."""
        newest = self.ledger.reads().version_row(row.table)
        noted = json.loads(newest.info) if newest is not None and newest.info else {}
        times = [noted.get(each) for each in ("inCommitTimestamp", "timestamp")]
        latest = max((time for time in times if isinstance(time, int)), default=0)
        if latest > SystemClock().now_ms():
            raise NotAdoptableError(
                f"the newest version of the Delta table of {row.name} has a time that is yet to "
                f"come, {latest} ms; times of versions must rise. Adopt it after that time"
            )

    def _check_publishable(self, row: TableRow, definition: TableDefinition) -> None:
        found = self.ledger.reads().protocol(row.table)
        features = features_of(found) if found is not None else ()
        reasons = [*reasons_against(definition, features)]
        if reasons:
            raise NotAdoptableError(
                f"table {row.name} cannot be adopted: {'; '.join(reasons)}. Change that where the "
                "Delta table is written, and adopt it then"
            )
        publication = Publication()
        for _ in outcomes_of(Replay(self.log, self.progress), publication):
            pass
        if reason := publication.reason_against(row.table, definition):
            raise NotAdoptableError(f"table {row.name} cannot be published as Delta: {reason}")

    def _written(self, row: TableRow) -> WrittenLog:
        return write_table_log(Replay(self.log, self.progress), row.table, self.folders)

    def _again(self, row: TableRow) -> TableRow:
        found = self.ledger.reads().table(row.table)
        assert found is not None, f"table {row.table} is not in the rows any more"
        return found


def adopted_from(report: ImportReport, definition: TableDefinition) -> Adopted:
    """Return what an imported table is adopted as; a replaced Delta table has another id."""
    source, _, first = report.app.removeprefix(IMPORT_APPS).rpartition("@")
    return Adopted(properties(definition).get(REPLACED_ID, source), int(first))


def with_properties(definition: TableDefinition, given: dict[str, str]) -> TableDefinition:
    """Return a definition with more properties."""
    kept = [each for each in definition.properties if each.key not in given]
    return definition._replace(
        properties=sorted([*kept, *(Property(*item) for item in given.items())])
    )


def reason_against_tables(reads: Reads, row: TableRow, place: str) -> str:
    """Return which other table of the ledger publishes into a folder, "" without one."""
    for other in reads.tables():
        if other.table == row.table or not is_published(other.definition):
            continue
        if is_one_folder(folder_of(other.definition), place):
            return (
                f"table {other.name} of this ledger publishes the log in {place}, and a log has "
                "one owner. Release or drop that table first, or take another folder"
            )
    return ""


def reason_against_owner(reads: Reads, row: TableRow, place: str) -> str:
    """Return which other table owns the log in a folder, "" if a table may publish there.

    The log of a dropped table of this ledger is free. The publisher names a place that it cannot
    use.
    """
    own = Mark(reads.identity().ledger, row.table)
    try:
        owner = owner_of(log_at(place))
    except (UnpublishableError, StorageError):
        return ""
    if owner is None or owner.is_of(own):
        return ""
    other = reads.table(owner.table)
    if owner.ledger == own.ledger and (other is None or other.dropped):
        return ""
    return (
        f"the log in {place} belongs to {owner}, which publishes it. Release it there first "
        "(lakeledger table release), or take another folder"
    )


def is_one_folder(one: str, other: str) -> bool:
    """Return whether two spellings name one folder: links, mounts and URIs are seen through."""
    if is_one_place(one, other):
        return True
    try:
        return local_folder(one).samefile(local_folder(other))
    except (UnpublishableError, OSError):
        return False


def publish_table(ledger: Ledger, row: TableRow) -> str:
    """Let the publisher write the log of a table; return PUBLISHED, else why nothing changed."""
    if is_published(row.definition):
        return "was published before"
    reason = reason_against(with_properties(row.definition, {PUBLISH: DELTA}))
    reason = reason or "; ".join(reasons_against(row.definition))
    if reason:
        return f"cannot be published: {reason}"
    own_folder = any(each.key == FOLDER for each in row.definition.properties)
    if not own_folder and versions_in(ledger.reads().apps(row.table)) is not None:
        return (
            "was imported, so its folder has the log of its Delta table: lakeledger table adopt "
            f"{row.name}"
        )
    place = folder_of(with_properties(row.definition, {PUBLISH: DELTA}))
    if reason := reason_against_owner(ledger.reads(), row, place):
        return f"cannot be published: {reason}"
    ledger.alter_table(row, properties={PUBLISH: DELTA})
    return PUBLISHED
