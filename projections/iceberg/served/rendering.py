"""Rendering: the manifests of a snapshot and their list, written below the table's location.

A snapshot lists the files that it added and removed in manifests of its own, and all other live
files in chunks. The files of a recent version stay in the manifest in which it added them, while
all of them are live.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from ledger.core.partitions.names import Values
from ledger.files.foreign_bounds import is_foreign
from ledger.iceberg.manifests import (
    ADDED,
    DATA,
    DELETED,
    EXISTING,
    POSITION_DELETES,
    Content,
    ManifestEntry,
    ManifestFile,
    manifest_bytes,
    manifest_file,
    manifest_list_bytes,
)
from ledger.iceberg.partition_tuples import tuple_of
from ledger.iceberg.statistics import FileMetrics, metrics_of
from projections.iceberg.served.chunks import Chunk, Chunks
from projections.iceberg.served.delete_files import delete_file, gone_file
from projections.iceberg.served.entries import DataEntry, DeletesEntry
from projections.iceberg.served.folding import TableFold
from projections.iceberg.served.metadata.folder import MetadataFolder
from projections.iceberg.served.numbers import UnservableError
from projections.iceberg.served.own_partitions import divided_by, own_partition
from projections.iceberg.served.paths import file_text, location_of
from projections.iceberg.served.plans.answers import Planned
from projections.iceberg.served.shapes import ROW_IDS_FROM, TableShape
from projections.iceberg.served.snapshots import ServedSnapshot, WrittenList

MANIFEST: Final = "-m.avro"
LIST: Final = "-snap.avro"
METRICS_MAX: Final = 1_024
"""The last chunk is written again now and then, mostly with the same files."""

TUPLES_MAX: Final = 10_000
NULL_TEXTS: Final = frozenset({"", "__HIVE_DEFAULT_PARTITION__"})


Entry = TypeVar("Entry", DataEntry, DeletesEntry)


class Context(NamedTuple):
    """The snapshot that a manifest belongs to, and the format that it has."""

    snapshot: int
    sequence: int
    format_version: int


class WrittenManifest(NamedTuple):
    """A manifest that was written: its line in a list."""

    name: str
    line: ManifestFile


class Rendering:
    """Writes the manifests of one table; `fold` numbers its versions.

    A manifest is made once for a chunk, and looked for again with its name alone.
    """

    def __init__(self, fold: TableFold, folders: Callable[[str], MetadataFolder]) -> None:
        self._fold, self._folders = fold, folders
        self._metrics: dict[DataEntry, FileMetrics] = {}
        self._tuples: dict[tuple[int, Values], Mapping[int, Any]] = {}

    def manifest_list(self, snapshot: ServedSnapshot, version: int) -> str:
        """Return the path of a snapshot's manifest list, with which all its files are there.

        The list has a version of the format.
        """
        folder = self._folders(location_of(snapshot.shown.definition))
        known = snapshot.written.get(version)
        if known is not None and not folder.is_due(known.seconds):
            return known.path
        own = Context(snapshot.id, snapshot.sequence, version)
        data = manifest_list_bytes(
            self._lines(snapshot, own, folder),
            snapshot_id=snapshot.id,
            parent_snapshot_id=None,
            sequence_number=snapshot.sequence,
            format_version=version,
            first_row_id=snapshot.first_row_id if version >= ROW_IDS_FROM else None,
        )
        path = folder.place(folder.put(LIST, data))
        snapshot.written[version] = WrittenList(path, time.monotonic())
        return path

    def planned(
        self, snapshot: ServedSnapshot
    ) -> tuple[list[tuple[DataEntry, Planned]], list[tuple[DeletesEntry, Planned]]]:
        """Return the data files and the deletes of a snapshot as its manifests have them."""
        folder = self._folders(location_of(snapshot.shown.definition))
        own = Context(snapshot.id, snapshot.sequence, snapshot.shown.shape.format_version)

        def planned(entry: DataEntry | DeletesEntry) -> Planned:
            return self.entry(entry, EXISTING, own, folder), self._shape(entry)

        return (
            [(each, planned(each)) for each in snapshot.data.entries()],
            [(each, planned(each)) for each in snapshot.deletes.entries()],
        )

    def _lines(
        self, snapshot: ServedSnapshot, own: Context, folder: MetadataFolder
    ) -> Iterator[ManifestFile]:
        yield from self._of_side(snapshot, snapshot.data, snapshot.removed, own, folder)
        yield from self._of_side(snapshot, snapshot.deletes, snapshot.deletes_removed, own, folder)

    def _of_side(
        self,
        snapshot: ServedSnapshot,
        chunks: Chunks[Entry],
        removed: Sequence[Chunk[Entry]],
        own: Context,
        folder: MetadataFolder,
    ) -> Iterator[ManifestFile]:
        """Yield the manifests of data files, or of deletes: the snapshot's own ones first."""
        new = set(snapshot.change.added) | set(snapshot.change.deletes_added)
        groups = [each for each in chunks.recent if each.first[0] == snapshot.version]
        others: list[Chunk[Entry]] = []
        for group in groups:
            added = [each for each in group.entries if each in new]
            if len(added) == len(group):
                yield self._manifest(group, ADDED, own, folder)
                continue
            if added:
                yield self._manifest(Chunk(added), ADDED, own, folder)
            others.append(Chunk([each for each in group.entries if each not in new]))
        for gone in removed:
            shown = [each for each in gone.entries if self._shows_removal(each, snapshot)]
            if shown:
                kept = gone if len(shown) == len(gone) else Chunk(shown)
                yield self._manifest(kept, DELETED, own, folder)
        others += [each for each in chunks.recent if each.first[0] != snapshot.version]
        for chunk in (*chunks.older, *others):
            yield self._standing(chunk, own, folder)

    def _shows_removal(self, entry: Entry, snapshot: ServedSnapshot) -> bool:
        """Return whether a snapshot lists a file that it removed.

        DuckDB ends with an abort where the spec of the file takes a column that is gone.
        """
        shape = self._shape(entry)
        columns = {each["id"] for each in snapshot.shown.shape.schema["fields"]}
        return not shape.problem and {each.source for each in divided_by(shape.spec)} <= columns

    def _standing(self, chunk: Chunk[Entry], own: Context, folder: MetadataFolder) -> ManifestFile:
        """Return the manifest of files that a snapshot keeps."""
        added = chunk.added
        if added is not None and added.text == folder.text and added.format == own.format_version:
            context = Context(added.snapshot, added.sequence, own.format_version)
            return self._manifest(chunk, ADDED, context, folder)
        newest = max(each.version for each in chunk.entries)
        number, sequence = self._fold.snapshot_id(newest), self._fold.sequence(newest)
        return self._manifest(
            chunk, EXISTING, Context(number, sequence, own.format_version), folder
        )

    def _manifest(
        self, chunk: Chunk[Entry], status: int, context: Context, folder: MetadataFolder
    ) -> ManifestFile:
        key = status, context, folder.text
        known: WrittenManifest | None = chunk.manifests.get(key)
        if known is not None:
            made = lambda: self._made(chunk, status, context, folder)[0]  # noqa: E731
            folder.ensure(known.name, known.line.length, made)
            return known.line
        data, line = self._made(chunk, status, context, folder)
        name = folder.put(MANIFEST, data)
        line = line._replace(path=folder.place(name))
        chunk.manifests[key] = WrittenManifest(name, line)
        return line

    def _made(
        self, chunk: Chunk[Entry], status: int, context: Context, folder: MetadataFolder
    ) -> tuple[bytes, ManifestFile]:
        shape = self._shape(chunk.entries[0])
        content: Content = "data" if isinstance(chunk.entries[0], DataEntry) else "deletes"
        rows = [
            self._with_metrics(self.entry(each, status, context, folder), each)
            for each in chunk.entries
        ]
        spec, schema = shape.spec, shape.schema
        data = manifest_bytes(rows, spec, schema, content, context.format_version)
        firsts = [each.first_row_id for each in rows if each.first_row_id is not None]
        has_ids = context.format_version >= ROW_IDS_FROM and content == "data"
        line = manifest_file(
            "",
            data,
            rows,
            spec=spec,
            schema=schema,
            content=content,
            snapshot_id=context.snapshot,
            sequence_number=context.sequence,
            first_row_id=min(firsts, default=0) if has_ids else None,
        )
        return data, line

    def entry(
        self, entry: DataEntry | DeletesEntry, status: int, context: Context, folder: MetadataFolder
    ) -> ManifestEntry:
        """Return an entry as a manifest of a snapshot has it."""
        number = context.snapshot if status == DELETED else self._fold.snapshot_id(entry.version)
        sequence = self._fold.sequence(entry.version)
        partition = self._tuple(entry)
        path = file_text(folder.location, entry.path, folder.storage)
        if isinstance(entry, DataEntry):
            return ManifestEntry(
                status,
                number,
                sequence,
                sequence,
                path,
                entry.rows,
                entry.file.size,
                partition,
                DATA,
                first_row_id=entry.first_row,
            )
        make = gone_file if status == DELETED else delete_file
        made = make(entry, path, folder)
        return ManifestEntry(
            status,
            number,
            sequence,
            sequence,
            made.path,
            entry.rows,
            made.size,
            partition,
            POSITION_DELETES,
            made.file_format,
            lower_bounds=made.bounds,
            upper_bounds=made.bounds,
            referenced_data_file=path,
            content_offset=made.offset,
            content_size=made.length,
        )

    def _with_metrics(self, made: ManifestEntry, entry: DataEntry | DeletesEntry) -> ManifestEntry:
        """Return an entry with the counts and bounds of a data file."""
        if not isinstance(entry, DataEntry):
            return made
        metrics = self._metrics.get(entry)
        if metrics is None:
            shape, file = self._shape(entry), entry.file
            is_other = is_foreign(file.path)
            metrics = metrics_of(file.stats, shape.definition, shape.schema, is_other=is_other)
            if len(self._metrics) >= METRICS_MAX:
                self._metrics.clear()
            self._metrics[entry] = metrics
        return made._replace(
            value_counts=metrics.value_counts,
            null_value_counts=metrics.null_value_counts,
            lower_bounds=metrics.lower_bounds,
            upper_bounds=metrics.upper_bounds,
        )

    def _tuple(self, entry: DataEntry | DeletesEntry) -> Mapping[int, Any]:
        """Return the partition of a file as manifests have it; raises UnservableError."""
        own = own_partition(entry.file.tags)
        shape = self._shape(entry)
        is_own = own is not None and own.is_of(shape.spec)
        texts = own.values if own is not None and is_own else entry.file.partition
        key = entry.shape, tuple(texts)
        found = self._tuples.get(key)
        if found is None:
            values = [None if each in NULL_TEXTS else each for each in texts]
            try:
                found = tuple_of(tuple(values), shape.spec, shape.schema)
            except ValueError as error:
                raise UnservableError(f"the partition of {entry.path}: {error}") from error
            if len(self._tuples) >= TUPLES_MAX:
                self._tuples.clear()
            self._tuples[key] = found
        return found

    def _shape(self, entry: DataEntry | DeletesEntry) -> TableShape:
        return self._fold.shapes.numbered(entry.shape)
