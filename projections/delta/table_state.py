"""The state of one table that its next published version depends on; a fold of its versions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.commands import AppVersion, Domain, Protocol, TableDefinition
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.conflicts.operations import FLUSH
from ledger.core.rows.bitmaps import rows_in
from ledger.core.state.traits import DEFAULT_PROTOCOL
from ledger.definitions.locations import as_stored
from ledger.delta.schema import partition_keys
from ledger.iceberg.imports.report import ICEBERG_APPS
from ledger.log.wire.file_extras import is_block
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile
from ledger.log.wire.inline_vectors import loosened, with_rows
from ledger.properties.column_mapping import is_published
from ledger.properties.delta_readers import TYPE_CHANGES, WIDENING
from projections.delta.actions.file_actions import (
    Action,
    FileKey,
    FilePlaces,
    LiveFile,
    added_fields,
    removed_fields,
    vector_fields,
    vector_of,
)
from projections.delta.actions.metadata_action import FOLDER
from projections.delta.actions.schema_json import (
    UnpublishableError,
    keeps_files_readable,
    layout_of,
    type_changes,
)
from projections.delta.past_files import PastVersion
from projections.delta.unshown import Unshown, is_plain
from projections.rows.keys import Fields

EMPTY_LIST: Final = FileList()


class CommittedVersion(NamedTuple):
    """One version of a table as the ledger committed it.

    `files` is None if they cannot be decoded. With `is_again` the commit only records present files
    again. `coarse` says that it changed rows without files. `info` holds what its writer noted.
    """

    table: int
    version: int
    at: int
    position: int
    txn: int
    operation: str
    definition: TableDefinition
    level: str = ""
    blind: bool = False
    write_id: int = 0
    files: FileList | None = EMPTY_LIST
    is_again: bool = False
    coarse: bool = False
    protocol: Protocol | None = None
    domains: Sequence[Domain] = ()
    apps: Sequence[AppVersion] = ()
    read_at: int = 0


class SchemaEra(Fields):
    """The versions of a table from `first` to `until` - 1, which had one layout of files.

    `is_readable` says whether readers of the present definition read files of that time rightly.
    """

    first: int
    until: int
    definition: TableDefinition
    is_readable: bool = True


class PublishedState(Fields, dict=True):
    """A table up to its newest version, published or not; its row is kept without `live`.

    `reason` says why its versions cannot be published from now on, "" if they can. `folder` is the
    one in which it was last published, "" for none. `passes_lost` says that the newest version
    stands above versions that a cut of the ledger's log left out.

    Attributes:
        live: the files of the newest version.
        before: the definition of the version before.
        changed: the files that the newest version removed or added, as they were before.
    """

    table: int
    apps: dict[str, tuple[int, int]]
    domains: dict[str, str]
    widened: dict[int, list[dict[str, str]]]
    features: set[str]
    eras: list[SchemaEra]
    unshown: Unshown
    created_at: int = 0
    version: int = -1
    passes_lost: bool = False
    definition: TableDefinition | None = None
    protocol: Protocol = DEFAULT_PROTOCOL
    reason: str = ""
    folder: str = ""
    began: int = 0
    is_imported: bool = False

    def __post_init__(self) -> None:
        self.live: dict[FileKey, LiveFile] = {}
        self.before: TableDefinition | None = None
        self.changed: dict[FileKey, LiveFile | None] = {}
        self._removes: dict[FileKey, Action] = {}
        # The vector of each live path that has one, made when the first mark needs it.
        self._vectors: dict[str, str] | None = None

    def take(self, version: CommittedVersion) -> list[Action]:
        """Apply the next version, and return its actions for files.

        `reason` is set instead of raising an error: the table may not be published at all.
        """
        if not version.version:
            self.created_at = version.at
        self.passes_lost = version.version > self.version + 1
        self.version = version.version
        self.changed, self._removes = {}, {}
        self.unshown.touched, self.unshown.past.touched, self.unshown.read = {}, {}, None
        try:
            self._define(version)
            self.unshown.progress += [(version.version, each) for each in self._progress(version)]
            actions = self._change(version)
        except UnpublishableError as error:
            self.reason = self.reason or str(error)
            return []
        is_same = self.before == self.definition and version.protocol is None
        is_same = is_same and version.files is not None and not self.passes_lost
        plain = is_same and is_plain(version.files or EMPTY_LIST, is_again=version.is_again)
        self.unshown.take(self.version, self.changed, self.live, is_plain=plain)
        if plain and version.operation == FLUSH:
            self.unshown.look_back(version.read_at, self.changed, self.live)
        is_kept = is_same and is_published(version.definition)
        past = PastVersion(version.position, self.changed) if is_kept else None
        self.unshown.keep(self.version, past, version.position)
        return actions

    @property
    def shown(self) -> int | None:
        """The version whose rows the files have, None without one; no reader finds others."""
        return self.unshown.shown(self.version, self.live)

    def hold(self) -> None:
        """Let readers go on to see what they saw before the newest version."""
        self.unshown.hold(self.changed, self._removes)
        self.unshown.is_altered |= self.before != self.definition

    def show(self, actions: Sequence[Action], at: int) -> list[Action]:
        """Return the actions by which readers see the rows of `shown` from a time on.

        `actions` are the actions of the newest version for files.
        """
        progress = self.unshown.pop_progress(self.shown)
        for action in progress:
            self._note_progress(action)
        unshown = self.unshown
        if unshown.files or unshown.read is not None:
            self.hold()
            state = unshown.state_shown(self.version, self.live)
            actions = [*unshown.changes(state, at, self.places())]
            unshown.go_on(state, self.live)
        return [*progress, *actions]

    def pass_by(self, at: int) -> None:
        """Let nothing wait, since no log shows the newest version."""
        self.show((), at)
        self.unshown.go_on({}, self.live)

    def reason_against_files(self) -> str:
        """Return why readers would not find the values of some live files, "" if they would."""
        unreadable = [each for each in self.eras if not each.is_readable]
        if not unreadable:
            return ""
        then = self.unshown.read.files.values() if self.unshown.read is not None else ()
        shown = [*(each for key, each in self.live.items() if not is_block(key[0])), *then]
        used = {self._era_of(each) for each in shown if each is not None}
        for era in reversed(unreadable):
            if era.first in used:
                return (
                    f"version {era.until} changed columns or partition columns so that Delta's "
                    "readers would not find the values of older files; write the table anew, as "
                    "OPTIMIZE does"
                )
        self.eras = [each for each in self.eras if each.is_readable]
        return ""

    def _era_of(self, file: LiveFile) -> int:
        """Return the first version of the era in which a file was added, -1 for the present one."""
        firsts = [era.first for era in self.eras if era.first <= file.version < era.until]
        return firsts[0] if firsts else -1

    def _define(self, version: CommittedVersion) -> None:
        before, after = self.definition, version.definition
        self.before, self.definition = before, after
        if is_published(after):
            self.folder = folder_of(after)
        if version.protocol is not None:
            self.protocol = version.protocol
        if before is None:
            self.began = version.version
        if before is None or before is after:
            return
        for number, change in type_changes(before, after).items():
            self.widened.setdefault(number, []).append(change)
            self.features.add(WIDENING)
        if any(TYPE_CHANGES in column_metadata(column) for column in after.columns):
            self.features.add(WIDENING)
        if layout_of(before) != layout_of(after):
            self.eras.append(SchemaEra(self.began, version.version, before))
            self.began = version.version
            for era in self.eras:
                era.is_readable = keeps_files_readable(era.definition, after)

    def _progress(self, version: CommittedVersion) -> Iterator[Action]:
        for app, number in version.apps:
            if app.startswith(IMPORT_APPS):
                # The progress of an import is of the ledger alone; Delta's own paths are URIs.
                self.is_imported = not app.startswith(ICEBERG_APPS)
                continue
            yield {"txn": app_fields(app, number, version.at)}
        for domain in version.domains:
            self.features.add("domainMetadata")
            yield {"domainMetadata": domain_fields(domain)}

    def _note_progress(self, action: Action) -> None:
        """Note an action of an application or a domain that readers see."""
        if (txn := action.get("txn")) is not None:
            self.apps[txn["appId"]] = txn["version"], txn["lastUpdated"]
            return
        domain = action["domainMetadata"]
        if domain["removed"]:
            self.domains.pop(domain["domain"], None)
        else:
            self.domains[domain["domain"]] = domain["configuration"]

    def _change(self, version: CommittedVersion) -> list[Action]:
        """Change the live files, and return the actions; a file removed and added is added.

        Rows in the log have none.
        """
        if version.coarse:
            raise UnpublishableError(
                f"version {version.version} changed rows without naming files; create the table "
                "anew and write it file by file"
            )
        if version.files is None:
            raise UnpublishableError(f"the file list of version {version.version} is damaged")
        marked = [self._marked(version, *each) for each in self._marks(version.files)]
        removes = [self._as_live(version.files, each) for each in version.files.removes]
        removes += [remove for remove, _ in marked]
        adds = version.files.adds
        if self.unshown.hides((each.path, each.vector) for each in removes):
            # Readers see these rows for the first time, wherever they were.
            removes = [each._replace(data_change=True) for each in removes]
            adds = [each._replace(data_change=True) for each in adds]
        gone = self._removes = dict(self._removed(version, removes))
        added = dict(self._added(version, adds))
        places = self.places()
        for key, live in (after for _, after in marked):
            added[key] = self._put(key, live, places)
        if self._vectors is not None:
            for path, _ in gone:
                self._vectors.pop(path, None)
            self._vectors.update(key for key in added if key[1])
        out = [action for key, action in gone.items() if not is_block(key[0])]
        into = [action for key, action in added.items() if not is_block(key[0])]
        if any(
            "deletionVector" in fields for action in (*out, *into) for fields in action.values()
        ):
            self.features.add("deletionVectors")
        kept = (key for key in gone if key not in added and not is_block(key[0]))
        return [*(gone[key] for key in kept), *into]

    def _removed(
        self, version: CommittedVersion, removes: Iterable[RemoveFile]
    ) -> Iterator[tuple[FileKey, Action]]:
        """Take files out, and yield the actions."""
        places, keys = self.places(), partition_keys(version.definition)
        for removed in removes:
            key = removed.path, removed.vector
            live = self.live.pop(key, None)
            self.changed.setdefault(key, live)
            fields = removed_fields(removed, live, version.at, keys, places)
            yield key, {"remove": places.placed(fields)}

    def _added(
        self, version: CommittedVersion, adds: Iterable[AddFile]
    ) -> Iterator[tuple[FileKey, Action]]:
        """Put files in, and yield the actions."""
        places, keys = self.places(), partition_keys(version.definition)
        for file in adds:
            key = file.path, file.vector
            if not version.is_again or key in self.live:
                fields = added_fields(file, keys, places)
                yield key, self._put(key, LiveFile(version.version, fields), places)

    def _put(self, key: FileKey, live: LiveFile, places: FilePlaces) -> Action:
        """Let a file be live from this version on, and return the action that says so."""
        self.changed.setdefault(key, self.live.get(key))
        self.live[key] = live
        return {"add": places.placed(live.fields)}

    def _marks(self, files: FileList) -> Iterator[tuple[FileKey, bytes]]:
        """Yield the live files of which rows are deleted, with the rows."""
        for path, rows in files.marks:
            key = path, self._vector_of(path)
            if key in self.live:
                yield key, rows

    def _as_live(self, files: FileList, removed: RemoveFile) -> RemoveFile:
        """Return the removal of a file under the vector that it has, if it was written anew."""
        if removed.path not in files.rewritten:
            return removed
        return removed._replace(vector=self._vector_of(removed.path), deletion_vector=None)

    def _vector_of(self, path: str) -> str:
        if self._vectors is None:
            self._vectors = dict(key for key in self.live if key[1])
        return self._vectors.get(path, "")

    def _marked(
        self, version: CommittedVersion, key: FileKey, rows: bytes
    ) -> tuple[RemoveFile, tuple[FileKey, LiveFile]]:
        """Return the removal of a file, and the same file with more rows deleted.

        Raises UnpublishableError for a file whose vector is not in the ledger's log.
        """
        fields = self.live[key].fields
        try:
            vector = with_rows(vector_of(fields), rows_in(rows))
        except ValueError as error:
            raise UnpublishableError(
                f"version {version.version} deletes rows of file {key[0]}, and {error}; write the "
                "file anew, as OPTIMIZE does"
            ) from error
        more: dict[str, Any] = {"dataChange": True, "deletionVector": vector_fields(vector)}
        if "stats" in fields:
            more["stats"] = loosened(fields["stats"])
        after = LiveFile(version.version, {**fields, **more})
        return RemoveFile(key[0], vector=key[1]), ((key[0], vector.name), after)

    def places(self, folder: str = "") -> FilePlaces:
        """Return how a log names files, by default that of the newest version."""
        assert self.definition is not None
        location = as_stored(self.definition.location)
        place = folder or self.folder or location
        return FilePlaces.of(location, place, are_uris=self.is_imported)


def folder_of(definition: TableDefinition) -> str:
    """Return the folder of a published table, which may not be that of its data."""
    for key, value in definition.properties:
        if key.lower() == FOLDER and value:
            return as_stored(value)
    return as_stored(definition.location)


def reason_against(definition: TableDefinition) -> str:
    """Return why a table with a definition cannot be published, "" if it can."""
    if not is_published(definition):
        return "its property lakeledger.publish is not delta"
    if definition.layout == "directories":
        return "its layout is directories, whose files the ledger does not know"
    if not definition.location:
        return "it has no location"
    return ""


def app_fields(app: str, version: int, at: int) -> Action:
    """Return the fields of a txn action."""
    return {"appId": app, "version": version, "lastUpdated": at}


def domain_fields(domain: Domain) -> Action:
    """Return the fields of a domainMetadata action."""
    said = "" if domain.removed else domain.configuration
    return {"domain": domain.name, "configuration": said, "removed": domain.removed}
