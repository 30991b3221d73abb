"""The versions that an import is to commit: one for each new snapshot, and one for what is left.

Each step is made from what the table in the ledger shows after the one before. The first step of a
run compares whole states. So it does not matter where the run before ended, or whether the Iceberg
table went back meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.core.partitions.names import Values
from ledger.iceberg.imports.added_files import AddedFiles, FileToAdd
from ledger.iceberg.imports.branch_files import BranchFiles
from ledger.iceberg.imports.definitions import SourceDefinitions
from ledger.iceberg.imports.deleted_rows import DeletedRows
from ledger.iceberg.imports.replaying import (
    CHANGED,
    OPERATIONS,
    ROLLED_BACK,
    ImportedIceberg,
    ImportStep,
)
from ledger.iceberg.imports.report import ImportedSnapshots, info_of
from ledger.iceberg.imports.source_files import SourceFiles
from ledger.iceberg.table_metadata import IcebergMetadata, IcebergSnapshot
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import RemoveFile

REPLACE: Final = "replace"


class ShownFile(NamedTuple):
    """A file that the table in the ledger shows; `partition` None = of other partition columns."""

    vector: str
    deletion_vector: DeletionVector | None
    partition: Values | None


class BranchSteps:
    """Makes the steps of one import, whose state is `imported`.

    Attributes:
        passed_over: snapshots before the beginning, with the reason.
        left_out: what the newest definition leaves out, with the reason.
    """

    def __init__(self, ledger: Ledger, imported: ImportedIceberg, places: Sequence[str]) -> None:
        self._ledger = ledger
        self._imported = imported
        self._places = places
        self._shown: dict[str, ShownFile] | None = None
        self._spec: int | None = None
        self._source: SourceFiles | None = None
        self.passed_over: dict[str, str] = {}
        self.left_out: Mapping[str, str] = {}

    def of(self, file: str, metadata: IcebergMetadata) -> Iterator[tuple[int, int, ImportStep]]:
        """Yield the steps to what a metadata file shows, each with its number and their count.

        A step must be committed, and noted, before the next one is asked for. Raises
        IcebergTableError, IncompatibleError and MetadataShapeError.
        """
        if self._source is None or self._source.location != metadata.location:
            self._source = SourceFiles(metadata.location, self._places)
            self._branch = BranchFiles(self._source)
            self._deletes = DeletedRows(self._source)
            self._shown = None
        definitions = SourceDefinitions(metadata)
        snapshots = self._new_snapshots(metadata)
        for number, snapshot in enumerate(snapshots, start=1):
            yield number, len(snapshots), self._step(file, metadata, definitions, snapshot)
        last = self._last_step(file, metadata, definitions)
        if last is not None:
            yield len(snapshots), len(snapshots), last

    def note(self, step: ImportStep) -> None:
        """Note that a step is committed."""
        if self._shown is None:
            return
        for gone in step.removes:
            del self._shown[gone.path]
        for each in step.adds:
            self._shown[each.path] = ShownFile(each.vector, each.deletion_vector, each.partition)

    def _new_snapshots(self, metadata: IcebergMetadata) -> list[IcebergSnapshot]:
        """Return the snapshots to import, oldest first."""
        chain = metadata.main_branch()
        known = self._imported.progress
        if not self._imported.table or (known.snapshot is None and chain):
            return self._whole(metadata, chain)
        places = {each.id: at for at, each in enumerate(chain)}
        if known.snapshot in places:
            new = chain[places[known.snapshot] + 1 :]
            return new if new or not self._has_moved(metadata) else chain[-1:]
        shared = next(
            (each for each in metadata.ancestors(known.snapshot) if each.id in places), None
        )
        if shared is not None:
            return chain[places[shared.id] :]
        # What was shown is gone from the metadata: it expired, or another history took its place.
        read = known.sequence, known.updated_ms
        return [each for each in chain if (each.sequence, each.at_ms) > read] or chain[-1:]

    def _has_moved(self, metadata: IcebergMetadata) -> bool:
        """Return whether paths in the log start from another location than the table has now."""
        before = self._imported.definition
        return before is not None and before.location != metadata.location

    def _whole(
        self, metadata: IcebergMetadata, chain: Sequence[IcebergSnapshot]
    ) -> list[IcebergSnapshot]:
        """Return the newest snapshots that are whole without a gap; the newest need not be."""
        found: list[IcebergSnapshot] = []
        for snapshot in reversed(chain):
            problem = self._branch.problem_of(metadata, snapshot) if found else ""
            if problem:
                self.passed_over[str(snapshot.id)] = problem
                break
            found.append(snapshot)
        return list(reversed(found))

    def _step(
        self,
        file: str,
        metadata: IcebergMetadata,
        definitions: SourceDefinitions,
        snapshot: IcebergSnapshot,
    ) -> ImportStep:
        """Return the step that makes the table show a snapshot."""
        assert self._source is not None, "a step without a source"
        imported, before = self._imported, self._imported.definition
        is_whole = self._shown is None
        shown = self._shown_files()
        change = self._branch.move_to(metadata, snapshot)
        touched = self._deletes.take(change)
        named = self._branch.data if is_whole else {*change.added, *change.gone, *touched}
        paths = {*map(self._source.path_in_log, named), *(shown if is_whole else ())}
        removes, changed = self._differences(shown, paths)
        added = AddedFiles(self._source.storage, definitions, metadata, changed)
        schema = metadata.schema if snapshot.schema is None else snapshot.schema
        default = metadata.spec if self._spec is None else self._spec
        definition = added.definition(schema, default, before)
        self._spec = added.spec
        is_next = imported.table != 0 and snapshot.parent == imported.progress.snapshot
        is_again = imported.table != 0 and snapshot.id == imported.progress.snapshot
        is_moved = is_again or (snapshot.operation == REPLACE and is_next)
        adds = added.files(definition, snapshot.at_ms, data_change=not is_moved)
        went_back = imported.table != 0 and not is_next and not is_newer(imported, snapshot)
        operation = OPERATIONS.get(snapshot.operation, "WRITE")
        if is_again or went_back:
            operation = CHANGED if is_again else ROLLED_BACK
        if before is not None and list(before.partition_columns) != definition.partition_columns:
            self._shown = {path: each._replace(partition=None) for path, each in shown.items()}
        return ImportStep(
            definition,
            adds,
            [each._replace(data_change=not is_moved) for each in removes],
            operation,
            info_of(metadata, file, snapshot.id, snapshot),
            ImportedSnapshots(snapshot.id, metadata.sequence, metadata.updated_ms, file),
        )

    def _differences(
        self, shown: Mapping[str, ShownFile], paths: set[str]
    ) -> tuple[list[RemoveFile], list[FileToAdd]]:
        """Return the files to remove and to add, among those at some paths."""
        source = self._source
        assert source is not None, "differences without a source"
        removes: list[RemoveFile] = []
        changed: list[FileToAdd] = []
        for path in sorted(paths):
            file, known = self._branch.data.get(source.path_in_metadata(path)), shown.get(path)
            vector = None if file is None else self._deletes.vector(file)
            name = "" if vector is None else vector.name
            if file is not None and known is not None and known.vector == name:
                continue
            if known is not None:
                removes.append(
                    RemoveFile(
                        path,
                        known.partition,
                        vector=known.vector,
                        deletion_vector=known.deletion_vector,
                    )
                )
            if file is not None:
                changed.append(FileToAdd(path, file, vector))
        return removes, changed

    def _last_step(
        self, file: str, metadata: IcebergMetadata, definitions: SourceDefinitions
    ) -> ImportStep | None:
        """Return the step to the present definition, None if the table has it."""
        imported = self._imported
        made = definitions.of(metadata.schema, metadata.spec, imported.definition)
        self.left_out = made.left_out
        if imported.definition is not None and is_same(made.definition, imported.definition):
            return None
        shown = imported.progress.snapshot
        progress = ImportedSnapshots(shown, metadata.sequence, metadata.updated_ms, file)
        info = info_of(metadata, file, shown, None)
        self._spec = metadata.spec
        if self._shown is not None:
            self._shown = {
                path: each._replace(partition=None) for path, each in self._shown.items()
            }
        return ImportStep(made.definition, [], [], CHANGED, info, progress)

    def _shown_files(self) -> dict[str, ShownFile]:
        """Return the files that the table in the ledger shows, which are asked for once."""
        if self._shown is None:
            imported = self._imported
            self._shown = {}
            if imported.table:
                rows = self._ledger.reads().files(imported.table, position=imported.position)
                self._shown = {
                    row.path: ShownFile(row.vector, row.deletion_vector, None) for row in rows
                }
        return self._shown


def rehearse(ledger: Ledger, file: str, metadata: IcebergMetadata, places: Sequence[str]) -> None:
    """Make all steps of a new import, and commit none of them.

    Raises IcebergTableError, IncompatibleError and MetadataShapeError as the import would.
    """
    imported = ImportedIceberg("")
    steps = BranchSteps(ledger, imported, places)
    for _, _, step in steps.of(file, metadata):
        steps.note(step)
        imported.table, imported.definition, imported.progress = -1, step.definition, step.progress


def is_newer(imported: ImportedIceberg, snapshot: IcebergSnapshot) -> bool:
    """Return whether a snapshot was made after the metadata that was read last."""
    known = imported.progress
    return (snapshot.sequence, snapshot.at_ms) > (known.sequence, known.updated_ms)


def is_same(one: TableDefinition, other: TableDefinition) -> bool:
    """Return whether two definitions say the same, whatever their lists are made of."""
    return one[:3] == other[:3] and all(
        list(here) == list(there) for here, there in zip(one[3:], other[3:], strict=True)
    )
