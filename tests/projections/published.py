"""Histories of tables that are published as Delta, and their logs as the import reads them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ledger.core.commands import (
    AlterTable,
    Command,
    CommitTxn,
    CreateTable,
    Footprint,
    Property,
    StageWrites,
    TableDefinition,
    TableWrite,
)
from ledger.core.events.events import Event
from ledger.delta.log import DeltaLog
from ledger.errors import FileListError
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import Listed, pack, unpack
from ledger.properties.column_mapping import PUBLISH
from projections.delta.log.log_folder import LogFolder
from projections.delta.log.log_writer import DeltaLogWriter
from projections.delta.publication import Publication, outcomes_of
from projections.delta.published_log import DeltaVersion, Outcome, StoppedTable
from tests.core.histories import Step
from tests.projections.filing import Filers


def published(made: TableDefinition, **more: str) -> TableDefinition:
    kept = [each for each in made.properties if each.key != PUBLISH and each.key not in more]
    added = [Property(PUBLISH, "delta"), *(Property(*item) for item in more.items())]
    return made._replace(properties=sorted([*kept, *added]))


class Publishing(Filers):
    """Writers whose tables are published, mostly, and whose files fit their tables."""

    turned = 0

    def ask(self, command: Command) -> Event:
        """Ask a command, changed so that its version can be published mostly."""
        match command:
            case CreateTable() | AlterTable():
                self.turned += 1
                made = command.definition._replace(location=f"/lake/t{self.turned}")
                if isinstance(command, AlterTable) and command.table in self.state.tables.by_id:
                    location = self.state.tables.by_id[command.table].definition.location
                    made = made._replace(location=location)
                command = command._replace(definition=published(made) if self.turned % 5 else made)
            case CommitTxn():
                command = command._replace(tables=[self.fitting(each) for each in command.tables])
            case StageWrites(table=table, footprint=footprint):
                command = command._replace(footprint=self.with_files(table, footprint))
        return super().ask(command)

    def fitting(self, part: TableWrite) -> TableWrite:
        """Return a part whose files fit its table."""
        if part.footprint is None:
            return part
        return part._replace(footprint=self.with_files(part.table, part.footprint))

    def with_files(self, table: int, footprint: Footprint) -> Footprint:
        """Return a footprint whose files have places of vectors and as many values as needed."""
        found = self.state.tables.by_id.get(table)
        try:
            files = unpack(footprint.files)
        except FileListError:
            return footprint
        if found is None or footprint.staged:
            return footprint
        count = len(found.definition.partition_columns)
        adds = [fit(add)._replace(partition=("1",) * count) for add in files.adds]
        removes = [fit(remove) for remove in files.removes]
        return footprint._replace(files=pack(files._replace(adds=adds, removes=removes)))


def fit(file: Listed) -> Listed:
    """Return a file with the place of its deletion vector."""
    if not file.vector or file.deletion_vector is not None:
        return file
    vector = DeletionVector("i", file.vector, None, 1, 1)
    return file._replace(vector=vector.id, deletion_vector=vector)


def played(history: Iterable[Step]) -> Publishing:
    """Return the writers after a history."""
    writers = Publishing()
    for step in history:
        writers.play(step)
    return writers


def outcomes(events: Iterable[Event]) -> list[Outcome]:
    """Return what a publication makes of events."""
    return list(outcomes_of(events, Publication()))


def versions(events: Iterable[Event]) -> list[DeltaVersion]:
    return [outcome for outcome in outcomes(events) if isinstance(outcome, DeltaVersion)]


def stops(events: Iterable[Event]) -> list[StoppedTable]:
    return [outcome for outcome in outcomes(events) if isinstance(outcome, StoppedTable)]


def actions(version: DeltaVersion) -> list[dict[str, Any]]:
    return [json.loads(line) for line in version.data.splitlines()]


def action(version: DeltaVersion, name: str) -> Mapping[str, Any] | None:
    found: list[Mapping[str, Any]] = [each[name] for each in actions(version) if name in each]
    assert len(found) < 2
    return found[0] if found else None


def write_log(table: Path, found: Iterable[DeltaVersion]) -> None:
    """Write versions into the log of a folder."""
    writer = DeltaLogWriter(LogFolder(str(table)))
    for each in found:
        writer.write(each)


def live_by_version(table: Path) -> dict[int, list[tuple[str, str]]]:
    """Return the live files at every version of a log, as the import reads it."""
    live: set[tuple[str, str]] = set()
    found = {}
    for commit in DeltaLog.open(table).versions():
        live = set() if commit.is_checkpoint else live - set(commit.removes)
        live |= set(commit.adds)
        found[commit.version] = sorted(live)
    return found
