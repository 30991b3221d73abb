"""Delta actions: what one version of a Delta table did, read from its log and checked for shape.

An action is a JSON object under its name (PROTOCOL.md, "Actions"). Kinds of action that are not
known here are ignored, as the protocol asks; what a known one says must make sense. Provenance in
`commitInfo` is free-form: what is odd there counts as not recorded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from ledger.core.commands import Domain, Protocol
from ledger.core.state.traits import is_level
from ledger.delta.fields import (
    ActionFields,
    BeyondError,
    ShapeError,
    descriptor_of,
    is_number,
    is_signed_number,
    is_text,
    partition_values_of,
    path_of,
    stats_of,
    vector_of,
    whole_number,
)
from ledger.log.wire.file_extras import DeletionVector

READER_VERSION_MAX: Final = 3
# The features whose meaning for a reader of the log is known: deletion vectors, names of columns,
# types, the form of checkpoints, or nothing. With any other feature the files may not even be the
# files in the log (PROTOCOL.md, "Table Features": a reader must know them all). A catalog-managed
# table may have newer versions than its log, and a redirected one has its files elsewhere.
READER_FEATURES: Final = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    }
)
FileKey = tuple[str, str]
"""Path and deletion vector, which together are a file."""

PartitionValues = Mapping[str, str | None]
"""Partition values by column, as the log has them: under column mapping by physical name."""


class DeltaAdd(NamedTuple):
    """A file added; `vector` is the unique id of its deletion vector, "" = none."""

    path: str
    partition_values: PartitionValues
    size: int
    modified: int
    data_change: bool
    stats: str
    vector: str
    deletion_vector: DeletionVector | None = None


class DeltaRemove(NamedTuple):
    """A file removed; `partition_values` None = not recorded."""

    path: str
    partition_values: PartitionValues | None
    data_change: bool
    vector: str
    deletion_vector: DeletionVector | None = None


File = TypeVar("File", DeltaAdd, DeltaRemove)


class DeltaMetadata(NamedTuple):
    """What the table is: `schema` is the text of its schema in JSON."""

    id: str
    schema: str
    partition_columns: Sequence[str]
    configuration: Mapping[str, str]
    name: str = ""
    description: str = ""


class Provenance(NamedTuple):
    """The writer's record of its commit: "" or None = not recorded, or not in a usable form.

    `info` is everything else in the record, in JSON.
    """

    operation: str = ""
    read_version: int | None = None
    level: str = ""
    is_blind: bool = False
    info: str = ""


NOTHING_RECORDED: Final = Provenance()


@dataclass(slots=True)
class DeltaCommit:
    """One version of a table: its actions, or the whole state if `is_checkpoint`."""

    version: int
    is_checkpoint: bool = False
    provenance: Provenance = NOTHING_RECORDED
    metadata: DeltaMetadata | None = None
    protocol: Protocol | None = None
    adds: dict[FileKey, DeltaAdd] = field(default_factory=dict)
    removes: dict[FileKey, DeltaRemove] = field(default_factory=dict)
    apps: dict[str, int] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    has_change_files: bool = False
    is_empty: bool = True

    def take(self, action: Any) -> None:
        """Take in one line of the log; raises ShapeError."""
        if not isinstance(action, dict):
            raise ShapeError("a line of the log is a JSON object, this one is not")
        self.is_empty = False
        known = [name for name in action if name in TAKERS and action[name] is not None]
        if len(known) > 1:
            raise ShapeError(f"{' and '.join(known)} stand in one line; each action has its own")
        for name in known:
            if name in FREE_FORM and not isinstance(action[name], dict):
                continue
            if not isinstance(action[name], dict):
                raise ShapeError(f"{name} is no JSON object")
            TAKERS[name](self, ActionFields(name, action[name]))

    def check(self) -> None:
        """Raise ShapeError for contradictions between actions."""
        first = self.version == 0 or self.is_checkpoint
        if first and (self.metadata is None or self.protocol is None):
            raise ShapeError("a table begins with a metaData and a protocol action, one is missing")
        for path, _ in self.adds.keys() & self.removes.keys():
            raise ShapeError(f"file {path} is added and removed at once")


def take_add(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in a file added; in a checkpoint every file counts as added."""
    add = DeltaAdd(
        path_of(fields),
        partition_values_of(fields),
        fields.amount("size"),
        fields.amount("modificationTime", default=0),
        commit.is_checkpoint or fields.flag("dataChange"),
        stats_of(fields),
        vector_of(fields),
        descriptor_of(fields),
    )
    take_file(commit.adds, add, "added")


def take_remove(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in a file removed; in a checkpoint it is a tombstone, of no concern to readers."""
    remove = DeltaRemove(
        path_of(fields),
        partition_values_of(fields) if fields.get("partitionValues") is not None else None,
        fields.flag("dataChange", default=True),
        vector_of(fields),
        descriptor_of(fields),
    )
    if not commit.is_checkpoint:
        take_file(commit.removes, remove, "removed")


def take_file(files: dict[FileKey, File], file: File, what: str) -> None:
    """Note a file; path and deletion vector together are the file.

    A writer that tries again may say the same twice; the last word counts, as to other readers.
    """
    before = files.get((file.path, file.vector))
    if before is not None and before.partition_values != file.partition_values:
        raise ShapeError(f"file {file.path} is {what} twice, with different partition values")
    files[file.path, file.vector] = file


def take_metadata(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in the metadata of the table."""
    configuration = fields.values("configuration") if fields.get("configuration") else {}
    metadata = DeltaMetadata(
        fields.text("id"),
        fields.text("schemaString", default=""),
        fields.texts("partitionColumns"),
        {key: value for key, value in configuration.items() if value is not None},
        fields.words("name"),
        fields.words("description"),
    )
    if commit.metadata not in (None, metadata):
        raise ShapeError("there are two metaData actions that differ; a version has one at most")
    commit.metadata = metadata


def take_protocol(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in the protocol of the table."""
    reader, writer = fields.number("minReaderVersion"), fields.number("minWriterVersion")
    if reader > READER_VERSION_MAX:
        raise BeyondError(
            f"reading it needs protocol version {reader}, {READER_VERSION_MAX} is known here"
        )
    reading = set(fields.texts("readerFeatures"))
    if unknown := sorted(reading - READER_FEATURES):
        raise BeyondError(
            f"reading it needs features that are not known here: {', '.join(unknown)}"
        )
    features = reading.union(fields.texts("writerFeatures"))
    protocol = Protocol(reader, writer, sorted(features))
    if commit.protocol not in (None, protocol):
        raise ShapeError("there are two protocol actions that differ; a version has one at most")
    commit.protocol = protocol


def take_app(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in the progress of an application."""
    app, version = fields.text("appId"), whole_number(fields.get("version"))
    if not is_signed_number(version):
        raise fields.odd("version", "whole number")
    commit.apps[app] = max(version, commit.apps.get(app, version))


def take_domain(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in a domain metadata entry."""
    name = fields.text("domain")
    removed = fields.flag("removed", default=False)
    domain = Domain(name, fields.text("configuration", default=""), removed)
    if commit.domains.get(name) not in (None, domain):
        raise ShapeError(f"domain {name} is written twice, in different ways")
    commit.domains[name] = domain


def take_change_file(commit: DeltaCommit, _fields: ActionFields) -> None:
    """Note that there are files of changes, which only a commit that read something has."""
    commit.has_change_files = True


def take_provenance(commit: DeltaCommit, fields: ActionFields) -> None:
    """Take in what the writer recorded of itself, as far as it has the usual form."""
    read_version = fields.get("readVersion")
    is_older = is_number(read_version) and read_version < commit.version
    operation, level = fields.get("operation"), fields.get("isolationLevel")
    commit.provenance = Provenance(
        operation if is_text(operation) else "",
        read_version if is_older else None,
        level if isinstance(level, str) and is_level(level) else "",
        fields.get("isBlindAppend") is True,
        fields.rest(DECIDED),
    )


def take_checkpoint_metadata(commit: DeltaCommit, fields: ActionFields) -> None:
    """Check that a checkpoint is of the version its name says."""
    version = fields.number("version")
    if version != commit.version:
        raise ShapeError(f"it is a checkpoint of version {version}, not of {commit.version}")


# What a commit in the ledger says by itself.
DECIDED: Final = frozenset({"operation", "readVersion", "isolationLevel", "isBlindAppend"})
# Kinds of action that say nothing of the table: of another form they count as not recorded.
FREE_FORM: Final = frozenset({"commitInfo", "cdc"})
TAKERS: Final[Mapping[str, Callable[[DeltaCommit, ActionFields], None]]] = {
    "add": take_add,
    "remove": take_remove,
    "metaData": take_metadata,
    "protocol": take_protocol,
    "txn": take_app,
    "domainMetadata": take_domain,
    "cdc": take_change_file,
    "commitInfo": take_provenance,
    "checkpointMetadata": take_checkpoint_metadata,
}
