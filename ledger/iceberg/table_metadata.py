"""Table metadata of Iceberg, formats 1 to 3: one JSON file, read within bounds into plain tuples.

Format 1 may have one schema and one spec in place of lists, and no uuid. What contradicts itself is
refused: two snapshots of one id, a current schema that is not there, a circle of parents.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from ledger.iceberg.imports.metadata_fields import MetadataFields, MetadataShapeError

BYTES_MAX: Final = 128 << 20
"""The bytes of a metadata file at most, also after it was unpacked."""

FORMATS: Final = (1, 2, 3)
SNAPSHOTS_MAX: Final = 100_000
LISTED_MAX: Final = 10_000
"""Schemas, specs, sort orders and manifests of a snapshot, and properties, at most."""

GZIP: Final = b"\x1f\x8b"
GZIP_WINDOW: Final = 31
MAIN: Final = "main"
NO_SNAPSHOT: Final = -1


class UnknownFormatError(MetadataShapeError):
    """The metadata asks of its readers what is not known here."""


class IcebergSnapshot(NamedTuple):
    """One snapshot: `manifest_list` is the path of its list, or `manifests` are named directly.

    `parent` and `schema` are None if they are not said.
    """

    id: int
    parent: int | None
    sequence: int
    at_ms: int
    manifest_list: str
    manifests: Sequence[str]
    summary: Mapping[str, str]
    schema: int | None

    @property
    def operation(self) -> str:
        """What its writer did: append, replace, overwrite or delete, "" if it is not said."""
        return self.summary.get("operation", "")


class IcebergMetadata(NamedTuple):
    """The metadata of a table; schemas, specs and orders are JSON objects by their ids."""

    format: int
    uuid: str
    location: str
    sequence: int
    updated_ms: int
    schemas: Mapping[int, Mapping[str, Any]]
    schema: int
    specs: Mapping[int, Mapping[str, Any]]
    spec: int
    orders: Mapping[int, Mapping[str, Any]]
    order: int
    properties: Mapping[str, str]
    current: int | None
    snapshots: Mapping[int, IcebergSnapshot]
    earlier_files: Sequence[str]
    other_refs: Sequence[str]

    def main_branch(self) -> list[IcebergSnapshot]:
        """Return the snapshots of the main branch that are still listed, oldest first."""
        return list(reversed([*self.ancestors(self.current)]))

    def ancestors(self, snapshot: int | None) -> Iterator[IcebergSnapshot]:
        """Yield a snapshot and those before it as far as they are listed, newest first.

        Raises MetadataShapeError for a circle.
        """
        seen: set[int] = set()
        while snapshot is not None and snapshot in self.snapshots:
            if snapshot in seen:
                raise MetadataShapeError(f"snapshot {snapshot} comes before itself")
            seen.add(snapshot)
            yield self.snapshots[snapshot]
            snapshot = self.snapshots[snapshot].parent


def read_metadata(data: bytes) -> IcebergMetadata:
    """Return the metadata in a file, which may be packed by gzip; raises MetadataShapeError."""
    text = unpacked(data) if data[:2] == GZIP else data
    if len(text) > BYTES_MAX:
        raise MetadataShapeError(f"it must have {BYTES_MAX} bytes at most, got {len(text)}")
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MetadataShapeError(f"it must be JSON: {error}") from error
    try:
        return metadata_of(MetadataFields("the metadata", root))
    except RecursionError:
        raise MetadataShapeError("its schema is nested too deeply") from None


def unpacked(data: bytes) -> bytes:
    """Return what gzip has packed; raises MetadataShapeError above the bound."""
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    try:
        text = unpacker.decompress(data, BYTES_MAX + 1)
    except zlib.error as error:
        raise MetadataShapeError(f"it must be packed by gzip: {error}") from error
    if not unpacker.eof:
        raise MetadataShapeError(f"it is cut short, or has more than {BYTES_MAX} bytes")
    return text


def metadata_of(fields: MetadataFields) -> IcebergMetadata:
    """Return the metadata of a JSON object; raises MetadataShapeError."""
    version = fields.number("format-version")
    if version not in FORMATS:
        raise UnknownFormatError(
            f"format-version must be {FORMATS[0]} to {FORMATS[-1]}, got {version}"
        )
    if fields.get("encryption-keys"):
        raise UnknownFormatError("encryption-keys must be absent: its files are encrypted")
    location = fields.text("location")
    schemas = by_id(fields, "schemas", "schema-id", former=former_schema(fields))
    specs = by_id(fields, "partition-specs", "spec-id", former=former_spec(fields))
    orders = by_id(fields, "sort-orders", "order-id", former=None)
    snapshots = snapshots_in(fields)
    made = IcebergMetadata(
        version,
        uuid_of(fields, location, version),
        location,
        fields.number("last-sequence-number", 0),
        fields.number("last-updated-ms"),
        schemas,
        fields.number("current-schema-id", min(schemas, default=0)),
        specs,
        fields.number("default-spec-id", min(specs, default=0)),
        orders,
        fields.number("default-sort-order-id", 0),
        fields.texts_by_name("properties", LISTED_MAX),
        current_of(fields),
        snapshots,
        earlier_files(fields),
        other_refs(fields),
    )
    check_metadata(made)
    return made


def check_metadata(metadata: IcebergMetadata) -> None:
    """Raise MetadataShapeError for ids that name nothing, and for a circle of snapshots."""
    if metadata.schema not in metadata.schemas:
        raise MetadataShapeError(f"its current schema {metadata.schema} is not listed")
    if metadata.spec not in metadata.specs:
        raise MetadataShapeError(f"its default spec {metadata.spec} is not listed")
    if metadata.orders and metadata.order not in metadata.orders:
        raise MetadataShapeError(f"its default sort order {metadata.order} is not listed")
    if metadata.current is not None and metadata.current not in metadata.snapshots:
        raise MetadataShapeError(f"its current snapshot {metadata.current} is not listed")
    for each in metadata.ancestors(metadata.current):
        if each.schema is not None and each.schema not in metadata.schemas:
            raise MetadataShapeError(f"schema {each.schema} of snapshot {each.id} is not listed")


def by_id(
    fields: MetadataFields, key: str, id_key: str, former: Mapping[str, Any] | None
) -> Mapping[int, Mapping[str, Any]]:
    """Return a list of objects by their ids; `former` stands for it where it is missing."""
    found = fields.items(key, LISTED_MAX)
    if not found and former is not None:
        return {0: former}
    made: dict[int, Mapping[str, Any]] = {}
    for each in found:
        number = MetadataFields(f"an entry of {key}", each).number(id_key, 0)
        if made.setdefault(number, each) is not each:
            raise MetadataShapeError(f"{key} must have one entry for each id, got {number} twice")
    return made


def former_schema(fields: MetadataFields) -> Mapping[str, Any] | None:
    """Return the only schema of format 1, None if it is not there."""
    found = fields.get("schema")
    return found if isinstance(found, dict) else None


def former_spec(fields: MetadataFields) -> Mapping[str, Any] | None:
    """Return the only spec of format 1, None if it is not there."""
    found = fields.get("partition-spec")
    return {"spec-id": 0, "fields": found} if isinstance(found, list) else None


def uuid_of(fields: MetadataFields, location: str, version: int) -> str:
    """Return the uuid of a table; the first format may lack it, then its location stands for it."""
    text = fields.text("table-uuid", "")
    if not text and version == 1:
        return str(uuid5(NAMESPACE_URL, location))
    try:
        return str(UUID(text))
    except ValueError:
        raise fields.odd("table-uuid", "a uuid") from None


def current_of(fields: MetadataFields) -> int | None:
    """Return the id of the current snapshot, None without one."""
    found = fields.known_number("current-snapshot-id")
    return None if found == NO_SNAPSHOT else found


def snapshots_in(fields: MetadataFields) -> Mapping[int, IcebergSnapshot]:
    """Return the snapshots by id; raises MetadataShapeError for two of one id."""
    made: dict[int, IcebergSnapshot] = {}
    for each in fields.items("snapshots", SNAPSHOTS_MAX):
        found = snapshot_of(MetadataFields("a snapshot", each))
        if made.setdefault(found.id, found) is not found:
            raise MetadataShapeError(f"snapshot {found.id} is listed twice")
    return made


def snapshot_of(fields: MetadataFields) -> IcebergSnapshot:
    """Return the snapshot of a JSON object; raises MetadataShapeError."""
    number = fields.number("snapshot-id")
    if fields.get("key-id") is not None:
        raise UnknownFormatError(f"snapshot {number} must have no key-id: it is encrypted")
    place = fields.text("manifest-list", "")
    manifests = fields.texts("manifests", LISTED_MAX)
    if bool(place) == (fields.get("manifests") is not None):
        raise MetadataShapeError(f"snapshot {number} must have a manifest-list, or manifests")
    return IcebergSnapshot(
        number,
        fields.known_number("parent-snapshot-id"),
        fields.number("sequence-number", 0),
        fields.number("timestamp-ms"),
        place,
        manifests,
        fields.texts_by_name("summary", LISTED_MAX),
        fields.known_number("schema-id"),
    )


def earlier_files(fields: MetadataFields) -> Sequence[str]:
    """Return the metadata files that a table had before, oldest first."""
    found = fields.items("metadata-log", SNAPSHOTS_MAX)
    return [
        MetadataFields("an entry of metadata-log", each).text("metadata-file") for each in found
    ]


def other_refs(fields: MetadataFields) -> Sequence[str]:
    """Return the branches and tags beside `main`, each with its kind.

    Raises MetadataShapeError if `main` is another snapshot than the current one.
    """
    refs = fields.get("refs")
    found = [] if refs is None else sorted(MetadataFields("refs", refs).fields.items())
    if len(found) > LISTED_MAX:
        raise MetadataShapeError(f"refs must have {LISTED_MAX} entries at most, got {len(found)}")
    names: list[str] = []
    for name, each in found:
        ref = MetadataFields(f"ref {name}", each)
        if name != MAIN:
            names.append(f"{ref.text('type', 'branch')} {name}")
        elif ref.number("snapshot-id") != current_of(fields):
            raise MetadataShapeError(
                f"branch {MAIN} must be the current snapshot, got {ref.number('snapshot-id')}"
            )
    return names
