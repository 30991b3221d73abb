"""Plans: what a commit becomes in one table, worked out as of one position before anything is sent.

Most refusals come from here, and leave nothing in the log.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.definitions.definitions import TableChanges, changed_definition, table_definition
from ledger.iceberg.manifests.avro_schemas import SEQUENCES_FROM
from ledger.iceberg.schemas import format_version
from ledger.properties.column_mapping import PUBLISH, is_mapped, is_published
from ledger.reads.port import FileRow, Reads, TableRow
from ledger.snapshot.reading import TableFiles
from projections.iceberg.commits.definitions.definition_changes import (
    NewTable,
    new_table,
    table_changes,
)
from projections.iceberg.commits.definitions.schema_changes import renames
from projections.iceberg.commits.files.client_files import ClientFiles
from projections.iceberg.commits.files.client_paths import TablePaths
from projections.iceberg.commits.files.file_writes import (
    FileWrites,
    WritesOfTable,
    judgement_of,
    whole_replaced,
)
from projections.iceberg.commits.files.footers import check_names
from projections.iceberg.commits.files.new_files import NewDataFiles, VectorPlaces
from projections.iceberg.commits.files.snapshot_difference import Difference, difference_of
from projections.iceberg.commits.files.specs import SpecsOfTable
from projections.iceberg.commits.files.unchecked_writes import check_may_add, check_may_remove
from projections.iceberg.commits.given_json import Given
from projections.iceberg.commits.one_round_trip import TakesWrites
from projections.iceberg.commits.requirements import MAIN, asserted_base, check_requirements
from projections.iceberg.commits.table_changes import TableChange
from projections.iceberg.commits.table_state import (
    BuiltOn,
    FilesNow,
    FilesThen,
    TableAsServed,
    built_on,
    position_of_version,
)
from projections.iceberg.commits.updates import AskedSnapshot
from projections.iceberg.errors import bad_request, commit_failed

NOTE: Final = "iceberg"
"""The key under which the info of a version has what Iceberg's client said of it."""


REPLACED: Final = "CREATE OR REPLACE TABLE"
NOWHERE: Final = BuiltOn(None, 0, None, is_listed=True)


class TablePlan(NamedTuple):
    """What a commit becomes in one table.

    `table` is None for a new one, which `new` describes. `changes` are those of the definition,
    `writes` those of files, None for none, made of what `base` shows.
    """

    change: TableChange
    table: TableAsServed | None
    changes: TableChanges
    new: NewTable | None
    writes: FileWrites | None
    base: BuiltOn
    head: AskedSnapshot | None

    @property
    def defines(self) -> bool:
        """Whether the commit creates the table, or changes its definition."""
        return self.new is not None or bool(self.changes)

    @property
    def changes_something(self) -> bool:
        """Whether the commit does anything in the table."""
        return self.defines or not (self.writes is None or self.writes.is_empty)

    @property
    def is_judged_whole(self) -> bool:
        """Whether the commit depends on the whole table."""
        return self.writes is not None and self.writes.judgement == "whole"

    def write(self, sink: TakesWrites, row: TableRow) -> None:
        """Give the changes of files to a txn, for the table of a row."""
        writes, at = self.writes, self.base.position
        if writes is None or writes.is_empty:
            return
        if writes.judgement == "same":
            sink.rewrite_files(
                row, writes.removes, writes.adds, operation=writes.operation, read_at=at
            )
        else:
            if self.is_judged_whole and self.table is not None:
                sink.use(TableFiles(self.table.row, at, TRUE_PREDICATE, (), whole=True))
            if writes.removes:
                sink.remove_files(row, writes.removes, operation=writes.operation, read_at=at)
            if writes.marks:
                sink.mark_rows(row, writes.marks, operation=writes.operation, read_at=at)
            if writes.adds or writes.keeps:
                sink.add_files(row, writes.adds, operation=writes.operation)
        if self.head is not None:
            sink.note(row, NOTE, noted(self.head))


def noted(head: AskedSnapshot) -> Mapping[str, Any]:
    """Return what a version notes of its snapshot."""
    return {"snapshot-id": head.id, "operation": head.operation, "summary": dict(head.summary)}


def plan_new(change: TableChange, location: str, modified: int, places: VectorPlaces) -> TablePlan:
    """Return the plan of a table that a commit creates at a location; raises IcebergRefusal."""
    asked = change.asked
    new = new_table(asked, location)
    chain = checked_chain(change)
    check_schemas(chain, asked.schemas)
    if not chain:
        return TablePlan(change, None, {}, new, None, NOWHERE, None)
    if chain[0].parent is not None:
        raise bad_request(
            f"the first snapshot of a new table must have no parent, got {chain[0].parent}"
        )
    definition = table_definition(
        new.columns,
        location=location,
        partition_columns=new.partition_columns,
        properties=new.properties,
    )
    files = ClientFiles(TablePaths(location))
    found = difference_of(files, chain[-1], {each.id for each in chain}, None)
    check_allowed(change.name, definition, chain, found)
    made = WritesOfTable(
        files,
        definition,
        FilesThen(files.paths, {}),
        places,
        partitioned=0,
        spec_of=lambda _: new.spec,
    ).made(found, chain, NewDataFiles(definition, SpecsOfTable(new.spec, new.schema), modified))
    return TablePlan(change, None, {}, new, made, NOWHERE, chain[-1])


class Planner:
    """Plans the changes of one table that is there, as it is served at a position."""

    def __init__(
        self, change: TableChange, table: TableAsServed, reads: Reads, places: VectorPlaces
    ) -> None:
        self._change, self._asked = change, change.asked
        self._table, self._reads, self._places = table, reads, places
        self._metadata = table.metadata("all")

    def plan(self, modified: int) -> TablePlan:
        """Return the plan; `modified` is the time of new files. Raises IcebergRefusal."""
        change, asked, table = self._change, self._asked, self._table
        check_requirements(
            change.name, change.requirements, self._metadata, has_snapshots=bool(asked.snapshots)
        )
        chain = checked_chain(change, table.current_snapshot_id)
        check_schemas(chain, asked.schemas, self._metadata["schemas"])
        changed = table_changes(asked, table.definition, self._metadata)
        definition, changes = table.definition, changed.changes
        if changes:
            definition = changed_definition(table.definition, **changes)
            changes = changes if definition != table.definition else {}
        known = self._metadata["partition-specs"], self._metadata["schemas"]
        specs = SpecsOfTable(changed.spec, changed.schema, *known)
        new = NewDataFiles(definition, specs, modified)
        if not chain:
            writes = self._emptied() if asked.is_replaced else None
            return TablePlan(change, table, changes, None, writes, self._now(), None)
        base = self._base(chain[0])
        writes = self._writes(chain, base, definition, new, changed.schema)
        return TablePlan(change, table, changes, None, writes, base, chain[-1])

    def _now(self) -> BuiltOn:
        return BuiltOn(self._table.version, self._table.position, None, is_listed=True)

    def _base(self, first: AskedSnapshot) -> BuiltOn:
        """Return the state on which the first of the new snapshots builds."""
        if self._asked.is_replaced:
            return self._now()
        asserted = asserted_base(self._change.requirements)
        base = first.parent
        if asserted is not None:
            base = asserted.value if isinstance(asserted.value, int) else None
            if first.parent not in (None, base):
                raise bad_request(
                    f"the parent of snapshot {first.id} must be {base}, which the commit asserts "
                    f"for the branch {MAIN}, got {first.parent}"
                )
        row = self._table.row
        return built_on(
            self._table,
            self._metadata,
            base,
            lambda version: position_of_version(self._reads, row, version),
        )

    def _emptied(self) -> FileWrites:
        """Return the changes by which the table has no rows any more."""
        check_may_remove(self._change.name, self._table.definition)
        return whole_replaced(self._table.files_at(self._table.version))

    def _check_published(self, definition: TableDefinition, *, has_renames: bool) -> None:
        """Raise IcebergRefusal for new files with the change that publishes renamed columns.

        That change names columns in files as the files of before do.
        """
        is_switched_on = is_published(definition) and not is_published(self._table.definition)
        if is_switched_on and (has_renames or is_mapped(definition)):
            raise bad_request(
                f"the property {PUBLISH} must be set in a commit of its own, as columns of "
                f"{self._change.name} had other names before: set it, and write the rows then"
            )

    def _writes(
        self,
        chain: Sequence[AskedSnapshot],
        base: BuiltOn,
        definition: TableDefinition,
        new: NewDataFiles,
        schema: Given,
    ) -> FileWrites:
        """Return the changes of files that new snapshots make on a base."""
        files = ClientFiles(TablePaths(definition.location))
        found = difference_of(
            files,
            chain[-1],
            {each.id for each in chain},
            base.manifest_list,
            is_listed=base.is_listed,
        )
        check_allowed(self._change.name, definition, chain, found)
        needs_base = not (found.only_adds or self._asked.is_replaced)
        if needs_base and base.version is None and found.removed:
            raise commit_failed(
                f"Requirement failed: branch {MAIN} has changed: the commit builds on a table "
                "without files, and removes some"
            )
        then = self._table.files_at(base.version) if needs_base and base.version is not None else {}
        may_keep = self._asked.is_replaced and not found.deletes
        kept = self._kept(files.paths, found) if may_keep else {}
        found = replace(found, added={k: v for k, v in found.added.items() if k not in kept})
        FilesNow(self._table, files.paths, self._reads).check_new(found.added)
        made = WritesOfTable(
            files,
            definition,
            FilesThen(files.paths, then),
            self._places,
            partitioned=self._table.row.partitioned,
            spec_of=lambda row: self._table.spec_at(row.added),
        ).made(found, chain, new)
        if found.added:
            has_renames = renames([*self._metadata["schemas"], schema])
            self._check_published(definition, has_renames=has_renames)
            check_names(files.storage, definition, schema, found.added, has_renames=has_renames)
        if self._asked.is_replaced:
            kept_rows = {row.path for row in kept.values()}
            gone = [row for row in self._emptied().removes if row.path not in kept_rows]
            return FileWrites("whole", REPLACED, made.adds, gone, keeps=bool(kept))
        return made

    def _kept(self, paths: TablePaths, found: Difference) -> Mapping[str, FileRow]:
        """Return the files that a new form of the table has again, as far as their size tells."""
        live = FilesThen(paths, self._table.files_at(self._table.version))
        rows = ((key, live.get(key), entry) for key, entry in found.added.items())
        return {
            key: row
            for key, row, new in rows
            if row is not None and not row.vector and row.size == new.entry.size
        }


def checked_chain(change: TableChange, current: int | None = None) -> Sequence[AskedSnapshot]:
    """Return the new snapshots of a change in their order.

    `current` is the snapshot that the table shows. Raises IcebergRefusal for one that goes back.
    """
    asked = change.asked
    chain = asked.chain()
    if asked.head is not None and not chain and asked.head != current:
        raise bad_request(
            f"the branch {MAIN} must go on to a new snapshot, got {asked.head}: to go back, use "
            "`Ledger.restore`, which makes a new version with the rows of an earlier one"
        )
    return chain


def check_schemas(
    chain: Sequence[AskedSnapshot], new: Sequence[Given], known: Sequence[Given] = ()
) -> None:
    """Raise IcebergRefusal for a snapshot of a schema that neither table nor commit has."""
    numbers = {each.get("schema-id", 0) for each in (*known, *new)}
    for each in chain:
        if each.schema is not None and each.schema not in numbers:
            raise bad_request(
                f"the schema of snapshot {each.id} must be one of the table, got {each.schema}"
            )


def check_allowed(
    name: str, definition: TableDefinition, chain: Collection[AskedSnapshot], found: Difference
) -> None:
    """Raise IcebergRefusal for changes of rows that another writer may not make."""
    if found.deletes and format_version(definition) < SEQUENCES_FROM:
        raise bad_request(
            f"the table {name} is of format 1, which has no deleted rows within files: write the "
            "other rows anew, or set format-version to 2"
        )
    if judgement_of(definition, [*chain], found) == "same":
        return
    if found.added:
        check_may_add(name, definition)
    if not found.only_adds:
        check_may_remove(name, definition)
