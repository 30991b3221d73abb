"""The files that one version adds, and the definition under which they are added.

The partition of a file belongs to the definition of its version. Where the files of a version
belong to several specs, or a value has no text in the log, the version has no partition columns:
its rows are whole all the same, as Iceberg's writers leave partition columns in the files.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.partitions.names import Values
from ledger.errors import IcebergTableError, IncompatibleError
from ledger.files.storage import Storage
from ledger.iceberg.imports.branch_files import BranchFile
from ledger.iceberg.imports.definitions import NO_SPEC, SourceDefinitions
from ledger.iceberg.imports.stored_columns import StoredColumn, footers_of
from ledger.iceberg.partition_tuples import values_of
from ledger.iceberg.partitioning import IDENTITY, fields_of_spec
from ledger.iceberg.statistics import stats_of
from ledger.iceberg.table_metadata import IcebergMetadata
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import with_vector


class FileToAdd(NamedTuple):
    """A file to add, with its path in the log and its deleted rows."""

    path: str
    file: BranchFile
    vector: DeletionVector | None


class AddedFiles:
    """The files that one version adds.

    Attributes:
        spec: the spec of the version, NO_SPEC for none.
    """

    def __init__(
        self,
        storage: Storage,
        definitions: SourceDefinitions,
        metadata: IcebergMetadata,
        changed: Sequence[FileToAdd],
    ) -> None:
        self._definitions, self._metadata = definitions, metadata
        self._changed = changed
        self._footers = footers_of(storage, [each.file.entry.path for each in changed])
        self._partitions: Sequence[Values] = [()] * len(changed)
        self._schema: Mapping[str, Any] = {}
        self.spec = NO_SPEC

    def definition(
        self, schema: int, default: int, before: TableDefinition | None
    ) -> TableDefinition:
        """Return the definition of the version; `default` is its spec if it adds no file.

        Raises IncompatibleError for files whose columns or partitions the ledger cannot know.
        """
        self._schema = self._definitions.schema_of(schema)
        specs = {each.file.spec for each in self._changed}
        self.spec = next(iter(specs), default) if len(specs) <= 1 else NO_SPEC
        made = self._definitions.of(schema, self.spec, before).definition
        if made.partition_columns:
            try:
                self._partitions = [self._values(each.file) for each in self._changed]
            except ValueError:
                self.spec = NO_SPEC
                made = self._definitions.of(schema, NO_SPEC, before).definition
        if not made.partition_columns:
            for each in self._changed:
                self._check_holds_partition(each.file)
        return self._definitions.fitted(made, self._footers)

    def files(self, definition: TableDefinition, at_ms: int, *, data_change: bool) -> list[AddFile]:
        """Return the files as a commit adds them; raises IcebergTableError for odd bounds."""
        found = []
        for (path, file, vector), partition in zip(self._changed, self._partitions, strict=True):
            entry = file.entry
            try:
                stats = stats_of(entry, definition)
            except ValueError as error:
                raise IcebergTableError(entry.path, f"its statistics are odd: {error}") from error
            add = AddFile(path, partition, entry.size, max(at_ms, 0), data_change, stats)
            found.append(add if vector is None else with_vector(add, vector))
        return found

    def _values(self, file: BranchFile) -> Values:
        spec = self._metadata.specs[file.spec]
        return values_of(file.entry.partition, spec, self._schema)

    def _check_holds_partition(self, file: BranchFile) -> None:
        """Raise IncompatibleError for a file that lacks a column its partition has the value of."""
        spec, path = self._metadata.specs[file.spec], file.entry.path
        stored: Sequence[StoredColumn] | None = self._footers.get(path)
        if stored is None:
            return
        held = self._definitions.ids_in(path, stored)
        for field in fields_of_spec(spec):
            value = file.entry.partition.get(field.number)
            if field.transform == IDENTITY and value is not None and field.source not in held:
                raise IncompatibleError(
                    f"file {path} lacks the column of partition field {field.name}, whose value "
                    "only the manifest has, and its snapshot has files that are divided "
                    "otherwise. Write the file anew, and import the table then"
                )
