"""The difference that a commit makes: the files of its last snapshot against those of its base.

Only the list of the new snapshot, and the manifests that one of the two lists and the other does
not, are read. What a client adds and removes on the way from one to the other leaves no trace. So
several snapshots of one commit are one version.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.iceberg.manifests import ADDED, DATA, DELETED, EQUALITY_DELETES, EXISTING
from ledger.iceberg.manifests.rows import ManifestEntry, ManifestFile
from projections.iceberg.commits.files.client_files import ClientFiles
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.commits.updates import AskedSnapshot
from projections.iceberg.errors import bad_request, commit_failed

FileKey = tuple[str, int]
METADATA: Final = "metadata/"
"""The path of a file relative to the location, and the place of a vector within it."""


class NewEntry(NamedTuple):
    """A file of a client, with the id of its spec and the spec in the header of its manifest."""

    entry: ManifestEntry
    spec_id: int
    spec: Given


@dataclass(slots=True)
class Difference:
    """What a commit adds and removes.

    Attributes:
        added: new data files, by their paths relative to the location.
        removed: data files that are gone, in the same way.
        deletes: new files and vectors of deleted rows.
        undone: files and vectors of deleted rows that are gone.
    """

    added: dict[str, NewEntry] = field(default_factory=dict)
    removed: dict[str, ManifestEntry] = field(default_factory=dict)
    deletes: list[ManifestEntry] = field(default_factory=list)
    undone: list[ManifestEntry] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.deletes or self.undone)

    @property
    def only_adds(self) -> bool:
        """Whether data files were added and nothing else happened."""
        return not (self.removed or self.deletes or self.undone)


class Manifests(NamedTuple):
    """The manifests that a new snapshot lists and its base does not, and the other way round."""

    new: Sequence[ManifestFile]
    gone: Sequence[ManifestFile]


def difference_of(
    files: ClientFiles,
    head: AskedSnapshot,
    made: Collection[int],
    base_list: str | None,
    *,
    is_listed: bool = True,
) -> Difference:
    """Return the difference of a new snapshot to its base.

    `made` are the ids of all snapshots of the commit, `base_list` is the path of the base's list,
    None for a base without files. Without `is_listed` the base is so old that its list is not
    known: then its difference is known only if the commit adds files and nothing else. Raises
    IcebergRefusal.
    """
    listed = files.manifest_list(head.manifest_list)
    if is_listed:
        before = [] if base_list is None else files.manifest_list(base_list)
        manifests = told_apart(files, before, listed)
    else:
        manifests = Manifests([each for each in listed if each.added_snapshot_id in made], ())
    then = {key: entry for entry, key in live_in(files, manifests.gone)}
    found = Difference()
    now: dict[FileKey, NewEntry] = {}
    deleted: dict[FileKey, ManifestEntry] = {}
    for named in manifests.new:
        manifest, entries = files.manifest(named)
        for entry in entries:
            key = key_of(files, entry)
            if entry.status != DELETED:
                check_kind(entry)
                now[key] = NewEntry(entry, named.spec_id, manifest.spec)
            elif entry.snapshot_id in made:
                deleted[key] = entry
    if not is_listed and (deleted or any(each.entry.status == EXISTING for each in now.values())):
        raise commit_failed(
            f"Requirement failed: branch main has changed: the snapshot {head.parent}, on which "
            "the commit builds, is older than those that are listed"
        )
    take(found, now, then, deleted)
    return found


def take(
    found: Difference,
    now: Mapping[FileKey, NewEntry],
    then: Mapping[FileKey, ManifestEntry],
    deleted: Mapping[FileKey, ManifestEntry],
) -> None:
    """Put what is new and what is gone into a difference; raises IcebergRefusal."""
    for key, new in now.items():
        if key in then:
            continue
        if new.entry.status != ADDED:
            raise bad_request(
                f"the file {shown(new.entry.path)} must be new, or one of the snapshot on which "
                "the commit builds, and its manifest has it as existing"
            )
        if new.entry.content == DATA:
            found.added[key[0]] = new
        else:
            found.deletes.append(new.entry)
    for key, entry in {**deleted, **then}.items():
        if key in now:
            continue
        if entry.content == DATA:
            found.removed[key[0]] = entry
        elif key in then:
            # Others were added and removed by the commit itself.
            found.undone.append(entry)


def told_apart(
    files: ClientFiles, before: Sequence[ManifestFile], listed: Sequence[ManifestFile]
) -> Manifests:
    """Return the manifests that only one of two lists has; spellings of a path do not matter."""
    old = {inner(files, each): each for each in before}
    new = {inner(files, each): each for each in listed}
    if len(new) < len(listed):
        raise bad_request("a manifest list must name each manifest once, got one twice")
    return Manifests(
        [each for key, each in new.items() if key not in old],
        [each for key, each in old.items() if key not in new],
    )


def inner(files: ClientFiles, named: ManifestFile) -> str:
    """Return the path of a manifest relative to the location; raises IcebergRefusal."""
    return files.paths.inner(named.path, "a manifest")


def live_in(
    files: ClientFiles, manifests: Sequence[ManifestFile]
) -> Iterator[tuple[ManifestEntry, FileKey]]:
    """Yield the live files in manifests; those that have none by their counts are not read."""
    for named in manifests:
        if named.added_files == 0 and named.existing_files == 0:
            continue
        for entry in files.manifest(named)[1]:
            if entry.is_live:
                yield entry, key_of(files, entry)


def key_of(files: ClientFiles, entry: ManifestEntry) -> FileKey:
    """Return the key of a file; raises IcebergRefusal for a new one outside of the location."""
    if entry.status == ADDED:
        key = files.paths.inner(entry.path, "a new file")
        if entry.content == DATA and key.startswith(METADATA):
            raise bad_request(
                f"a new data file must not lie among the metadata of its table, got "
                f"{shown(entry.path)}: its cleaning would delete the file"
            )
        return key, entry.content_offset or 0
    # A file of an imported table may lie elsewhere.
    return files.paths.key(entry.path), entry.content_offset or 0


def check_kind(entry: ManifestEntry) -> None:
    """Raise IcebergRefusal for a file of a kind that the ledger does not read."""
    path = shown(entry.path)
    if entry.content == EQUALITY_DELETES:
        raise bad_request(
            f"deleted rows must be named by their places, got equality deletes in {path}: write "
            "with position deletes, deletion vectors, or copy-on-write"
        )
    if entry.key_metadata is not None:
        raise bad_request(f"the file {path} must not be encrypted")
    wanted = ("PARQUET",) if entry.content == DATA else ("PARQUET", "PUFFIN")
    if entry.file_format not in wanted:
        raise bad_request(
            f"the file {path} must be of format {' or '.join(wanted)}, got {entry.file_format}: "
            "set the table's property write.format.default to parquet"
        )
