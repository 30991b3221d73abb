"""The live files of a branch of an Iceberg table, from one snapshot to the next.

Manifests never change, so a step reads only manifests that the snapshot before did not list. What
stands in manifests that both list is the same file in both.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ledger.errors import IcebergTableError, IncompatibleError
from ledger.iceberg.imports.source_files import SourceFiles
from ledger.iceberg.limits import LIST_LIMITS, MANIFEST_LIMITS, IcebergFormatError
from ledger.iceberg.manifests import (
    DATA,
    EQUALITY_DELETES,
    ManifestEntry,
    ManifestFile,
    ReadManifest,
    inherited,
    read_manifest,
    read_manifest_list,
)
from ledger.iceberg.table_metadata import IcebergMetadata, IcebergSnapshot

LIVE_FILES_MAX: Final = 10_000_000
PARQUET: Final = "PARQUET"
PUFFIN: Final = "PUFFIN"


class BranchFile(NamedTuple):
    """A live file: its entry, and the spec that its partition belongs to."""

    entry: ManifestEntry
    spec: int

    @property
    def sequence(self) -> int:
        """The sequence number of its rows or deletes."""
        return self.entry.sequence_number or 0

    @property
    def partition(self) -> tuple[int, tuple[tuple[int, object], ...]]:
        """The spec and the values of its partition."""
        return self.spec, tuple(sorted(self.entry.partition.items()))


DeleteKey = tuple[str, int | None]
"""The path of a file of deletes, and where in it a vector begins, None for position deletes."""


class BranchChange(NamedTuple):
    """What a step changed: data files by path, and files of deletes."""

    added: Mapping[str, BranchFile]
    gone: Mapping[str, BranchFile]
    new_deletes: Mapping[DeleteKey, BranchFile]
    gone_deletes: Mapping[DeleteKey, BranchFile]


class BranchFiles:
    """The live files of a snapshot; it moves from one to the next."""

    def __init__(self, source: SourceFiles) -> None:
        self._source = source
        self._manifests: dict[str, Sequence[BranchFile]] = {}
        self._there: set[str] = set()
        self.data: dict[str, BranchFile] = {}
        self.deletes: dict[DeleteKey, BranchFile] = {}

    def problem_of(self, metadata: IcebergMetadata, snapshot: IcebergSnapshot) -> str:
        """Return why a snapshot is not whole, "" if its list and its manifests are there."""
        try:
            for each in self.listed(metadata, snapshot):
                if each.path not in self._there:
                    if not self._source.exists(each.path):
                        return f"manifest {each.path} is gone"
                    self._there.add(each.path)
        except IcebergTableError as error:
            return f"{error.file}: {error.what}"
        return ""

    def move_to(self, metadata: IcebergMetadata, snapshot: IcebergSnapshot) -> BranchChange:
        """Take the files of another snapshot, and return what is different there.

        Raises IcebergTableError for what is damaged, IncompatibleError for deletes and files of a
        kind that the ledger lacks.
        """
        listed = {each.path: each for each in self.listed(metadata, snapshot)}
        left = [path for path in self._manifests if path not in listed]
        new = {
            path: self._read(metadata, each)
            for path, each in listed.items()
            if path not in self._manifests
        }
        came = [each for files in new.values() for each in files]
        went = [each for path in left for each in self._manifests[path]]
        change = self._changed(came, went)
        for path in left:
            del self._manifests[path]
        self._manifests.update(new)
        return change

    def listed(
        self, metadata: IcebergMetadata, snapshot: IcebergSnapshot
    ) -> Sequence[ManifestFile]:
        """Return the manifests of a snapshot; raises IcebergTableError."""
        if not snapshot.manifest_list:
            return [bare_manifest(path, snapshot) for path in snapshot.manifests]
        path = snapshot.manifest_list
        data = self._source.read(path, LIST_LIMITS.bytes)
        try:
            found = read_manifest_list(data)
        except IcebergFormatError as error:
            raise IcebergTableError(path, str(error)) from error
        if len({each.path for each in found}) < len(found):
            raise IcebergTableError(path, "it names a manifest twice")
        for each in found:
            if each.spec_id not in metadata.specs:
                raise IcebergTableError(path, f"spec {each.spec_id} is not in the metadata")
        return found

    def _read(self, metadata: IcebergMetadata, listed: ManifestFile) -> Sequence[BranchFile]:
        """Return the live files of a manifest; raises as `move_to`."""
        if listed.key_metadata is not None:
            raise IncompatibleError(f"manifest {listed.path} is encrypted, which is not read here")
        data = self._source.read(listed.path, MANIFEST_LIMITS.bytes)
        try:
            manifest = read_manifest(data)
            entries = inherited(manifest.entries, listed)
        except IcebergFormatError as error:
            raise IcebergTableError(listed.path, str(error)) from error
        spec = spec_of(manifest, listed, metadata)
        found = [BranchFile(each, spec) for each in entries if each.is_live]
        for each in found:
            check_kind(each.entry)
            self._source.check_place(each.entry.path)
        return found

    def _changed(self, came: Sequence[BranchFile], went: Sequence[BranchFile]) -> BranchChange:
        """Take the files of new manifests in place of the files of left ones."""
        old = {each.entry.path: each for each in went if each.entry.content == DATA}
        old_deletes = {key_of(each): each for each in went if each.entry.content != DATA}
        for path in old:
            self.data.pop(path, None)
        for key in old_deletes:
            self.deletes.pop(key, None)
        added: dict[str, BranchFile] = {}
        new_deletes: dict[DeleteKey, BranchFile] = {}
        for each in came:
            if each.entry.content == DATA:
                path = each.entry.path
                if path in self.data:
                    raise IcebergTableError(path, "a snapshot has the file twice")
                self.data[path] = each
                if path not in old:
                    added[path] = each
            elif (key := key_of(each)) not in self.deletes:
                self.deletes[key] = each
                if key not in old_deletes:
                    new_deletes[key] = each
        if len(self.data) + len(self.deletes) > LIVE_FILES_MAX:
            raise IncompatibleError(
                f"a table must have {LIVE_FILES_MAX} files at most to be imported"
            )
        gone = {path: each for path, each in old.items() if path not in self.data}
        gone_deletes = {key: each for key, each in old_deletes.items() if key not in self.deletes}
        return BranchChange(added, gone, new_deletes, gone_deletes)


def bare_manifest(path: str, snapshot: IcebergSnapshot) -> ManifestFile:
    """Return the line of a manifest that a snapshot of format 1 names directly."""
    return ManifestFile(path, 0, 0, "data", 0, 0, snapshot.id, None, None, None, None, None, None)


def spec_of(manifest: ReadManifest, listed: ManifestFile, metadata: IcebergMetadata) -> int:
    """Return the spec of a manifest's files; raises IcebergTableError if it is not known."""
    spec = listed.spec_id if listed.length else manifest.spec_id
    if spec not in metadata.specs or (manifest.spec and manifest.spec_id != spec):
        raise IcebergTableError(
            listed.path, f"its spec is {manifest.spec_id} there and {spec} in the list"
        )
    if manifest.content != listed.content:
        raise IcebergTableError(
            listed.path, f"it holds {manifest.content}, and the list says {listed.content}"
        )
    return spec


def check_kind(entry: ManifestEntry) -> None:
    """Raise IncompatibleError for a file of a kind that the ledger lacks."""
    if entry.content == EQUALITY_DELETES:
        raise IncompatibleError(
            f"file {entry.path} holds equality deletes, which name rows by their values, and the "
            "ledger deletes rows by their numbers. Let the table's writer compact it "
            "(rewrite_data_files), and import it then"
        )
    kinds = (PARQUET,) if entry.content == DATA else (PARQUET, PUFFIN)
    if entry.file_format not in kinds:
        raise IncompatibleError(
            f"file {entry.path} is {entry.file_format}, and the ledger reads "
            f"{' and '.join(kinds)}. "
            "Write the table anew as Parquet, and import it then"
        )
    if entry.key_metadata is not None:
        raise IncompatibleError(f"file {entry.path} is encrypted, which is not read here")


def key_of(file: BranchFile) -> DeleteKey:
    """Return the key of a file of deletes, or of a vector in one."""
    return file.entry.path, file.entry.content_offset
