"""The state of one table that its next published version depends on; a fold of its versions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.core.commands import AppVersion, Domain, Protocol, TableDefinition
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.state.traits import DEFAULT_PROTOCOL
from ledger.definitions.locations import as_stored
from ledger.delta.schema import partition_keys
from ledger.log.wire.file_list import FileList
from ledger.properties.column_mapping import is_published
from ledger.properties.delta_readers import TYPE_CHANGES, WIDENING
from projections.delta.actions.file_actions import (
    FileKey,
    FilePlaces,
    LiveFile,
    added_fields,
    removed_fields,
)
from projections.delta.actions.metadata_action import FOLDER
from projections.delta.actions.schema_json import (
    UnpublishableError,
    keeps_files_readable,
    layout_of,
    type_changes,
)
from projections.rows.keys import Fields

Action = Mapping[str, Any]
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
    """

    table: int
    apps: dict[str, tuple[int, int]]
    domains: dict[str, str]
    widened: dict[int, list[dict[str, str]]]
    features: set[str]
    eras: list[SchemaEra]
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

    def take(self, version: CommittedVersion) -> list[Action]:
        """Apply the next version, and return its actions for files, domains and applications.

        `reason` is set instead of raising an error: the table may not be published at all.
        """
        if not version.version:
            self.created_at = version.at
        self.passes_lost = version.version > self.version + 1
        self.version = version.version
        try:
            self._define(version)
            actions = [*self._progress(version), *self._change(version)]
        except UnpublishableError as error:
            self.reason = self.reason or str(error)
            return []
        return actions

    def reason_against_files(self) -> str:
        """Return why readers would not find the values of some live files, "" if they would."""
        unreadable = [each for each in self.eras if not each.is_readable]
        if not unreadable:
            return ""
        used = {self._era_of(each) for each in self.live.values()}
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
                self.is_imported = True
                continue
            self.apps[app] = number, version.at
            yield {"txn": app_fields(app, number, version.at)}
        for domain in version.domains:
            self.features.add("domainMetadata")
            if domain.removed:
                self.domains.pop(domain.name, None)
            else:
                self.domains[domain.name] = domain.configuration
            yield {"domainMetadata": domain_fields(domain)}

    def _change(self, version: CommittedVersion) -> list[Action]:
        """Change the live files, and return the actions; a file removed and added is added."""
        if version.coarse:
            raise UnpublishableError(
                f"version {version.version} changed rows without naming files; create the table "
                "anew and write it file by file"
            )
        if version.files is None:
            raise UnpublishableError(f"the file list of version {version.version} is damaged")
        places, keys = self.places(), partition_keys(version.definition)
        gone: dict[FileKey, Action] = {}
        for removed in version.files.removes:
            key = removed.path, removed.vector
            live = self.live.pop(key, None)
            fields = removed_fields(removed, live, version.at, keys, places)
            gone[key] = {"remove": places.placed(fields)}
            if "deletionVector" in fields:
                self.features.add("deletionVectors")
        added: dict[FileKey, Action] = {}
        for file in version.files.adds:
            key = file.path, file.vector
            if version.is_again and key not in self.live:
                continue
            fields = added_fields(file, keys, places)
            self.live[key] = LiveFile(version.version, fields)
            gone.pop(key, None)
            added[key] = {"add": places.placed(fields)}
            if file.deletion_vector is not None:
                self.features.add("deletionVectors")
        return [*gone.values(), *added.values()]

    def places(self) -> FilePlaces:
        """Return how the log of the newest version names files."""
        assert self.definition is not None
        location = as_stored(self.definition.location)
        return FilePlaces.of(location, self.folder or location, are_uris=self.is_imported)


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
