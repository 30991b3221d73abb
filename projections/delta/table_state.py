"""The state of one table that its next published version depends on; a fold of its versions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from ledger.core.commands import AppVersion, Domain, Protocol, TableDefinition
from ledger.core.conflicts.footprints import IMPORT_APPS
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.state.traits import DEFAULT_PROTOCOL
from ledger.definitions.locations import as_stored
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
    partition_names,
    type_changes,
)
from projections.delta.kept_forms import KeptTable, SchemaEra

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


class PublishedState:
    """A table up to its newest version, published or not.

    `reason` says why its versions cannot be published from now on, "" if they can. `folder` is the
    one in which it was last published, "" for none. `passes_lost` says that the newest version
    stands above versions that a cut of the ledger's log left out.
    """

    def __init__(self, table: int) -> None:
        self.table = table
        self.created_at = 0
        self.version = -1
        self.passes_lost = False
        self.definition: TableDefinition | None = None
        self.protocol = DEFAULT_PROTOCOL
        self.live: dict[FileKey, LiveFile] = {}
        self.apps: dict[str, tuple[int, int]] = {}
        self.domains: dict[str, str] = {}
        self.widened: dict[int, list[dict[str, str]]] = {}
        self.features: set[str] = set()
        self.reason = ""
        self.folder = ""
        self._began = 0
        self.eras: list[SchemaEra] = []
        self._is_imported = False

    def kept(self) -> KeptTable:
        """Return the form in which it is kept, without its live files."""
        return KeptTable(
            created_at=self.created_at,
            version=self.version,
            definition=self.definition,
            protocol=self.protocol,
            apps=self.apps,
            domains=self.domains,
            widened=self.widened,
            features=sorted(self.features),
            reason=self.reason,
            began=self._began,
            folder=self.folder,
            eras=self.eras,
            is_imported=self._is_imported,
        )

    @classmethod
    def of(cls, table: int, kept: KeptTable) -> Self:
        """Return the state of a table as it was kept; the caller adds its live files."""
        state = cls(table)
        state.created_at, state.version = kept.created_at, kept.version
        state.definition, state.protocol = kept.definition, kept.protocol
        state.apps, state.domains, state.widened = kept.apps, kept.domains, kept.widened
        state.features = set(kept.features)
        state.reason, state.folder, state._began = kept.reason, as_stored(kept.folder), kept.began
        state.eras, state._is_imported = kept.eras, kept.is_imported
        return state

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
        firsts = [each.first for each in self.eras if each.first <= file.version < each.until]
        return firsts[0] if firsts else -1

    def _define(self, version: CommittedVersion) -> None:
        before, after = self.definition, version.definition
        self.definition = after
        if is_published(after):
            self.folder = folder_of(after)
        if version.protocol is not None:
            self.protocol = version.protocol
        if before is None:
            self._began = version.version
        if before is None or before is after:
            return
        for number, change in type_changes(before, after).items():
            self.widened.setdefault(number, []).append(change)
            self.features.add(WIDENING)
        if any(TYPE_CHANGES in column_metadata(each) for each in after.columns):
            self.features.add(WIDENING)
        if layout_of(before) != layout_of(after):
            self.eras.append(SchemaEra(self._began, version.version, before))
            self._began = version.version
            for era in self.eras:
                era.is_readable = keeps_files_readable(era.definition, after)

    def _progress(self, version: CommittedVersion) -> Iterator[Action]:
        for app, number in version.apps:
            if app.startswith(IMPORT_APPS):
                # The progress of an import is of the ledger alone; Delta's own paths are URIs.
                self._is_imported = True
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
        places, keys = self.places(), partition_names(version.definition)
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
        return FilePlaces.of(location, self.folder or location, are_uris=self._is_imported)


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
