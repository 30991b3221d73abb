"""The add and remove actions of a published table, and its live files."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote

from ledger.core.partitions.file_paths import SCHEME, is_absolute
from ledger.definitions.locations import UNQUOTED, as_stored, as_uri, is_file_uri
from ledger.files.deletion_vectors import is_in_puffin, path_of
from ledger.files.file_writers import writer_of
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile, RemoveFile
from projections.delta.actions.schema_json import UnpublishableError

Action = Mapping[str, Any]
"""An action of Delta's log, below its kind."""

FileKey = tuple[str, str]
"""The path of a file as the ledger has it, and the id of its deletion vector."""


class LiveFile(NamedTuple):
    """A live file: the fields of its add beside its data, and the version that added it."""

    version: int
    fields: Mapping[str, Any]


class FilePlaces(NamedTuple):
    """How a table names its files in its log.

    `prefix` is a URI before relative paths: the log lies elsewhere unless it is "". With `are_uris`
    the paths in the ledger are URIs, as those of imported files; else they are plain text.
    """

    prefix: str = ""
    are_uris: bool = False

    def path(self, path: str) -> str:
        """Return the path of a file as Delta has it: a URI."""
        if is_file_uri(path):
            # It has its escapes, from every caller.
            return path if self.are_uris else quote(path, safe=f"{UNQUOTED}%")
        # The ledger names its own files as plain text, also in an imported table.
        is_uri = self.are_uris and writer_of(path) is None
        return path if is_uri else quote(path, safe=UNQUOTED)

    @classmethod
    def of(cls, location: str, folder: str, *, are_uris: bool) -> Self:
        """Return how the log in a folder names the files below a location."""
        if as_stored(folder) == as_stored(location):
            return cls("", are_uris)
        # Some readers look for file: below the folder of the log.
        return cls(f"{as_uri(location).removeprefix('file://')}/", are_uris)

    def placed(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of an add or remove for the folder of the log.

        A log in another folder names files and deletion vectors by absolute paths.
        """
        if not self.prefix:
            return fields
        path = fields["path"]
        found = {**fields, "path": path if is_absolute(path) else f"{self.prefix}{path}"}
        vector = fields.get("deletionVector")
        if vector is not None and vector["storageType"] == "u":
            place = path_of(DeletionVector("u", vector["pathOrInlineDv"], None, 0, 0))
            uri = self.prefix if SCHEME.match(self.prefix) else f"file://{self.prefix}"
            named = {"storageType": "p", "pathOrInlineDv": f"{uri}{place}"}
            found["deletionVector"] = {**vector, **named}
        return found


def vector_fields(vector: DeletionVector) -> dict[str, Any]:
    """Return the fields of a deletion vector by their names in Delta."""
    found: dict[str, Any] = {
        "storageType": vector.storage,
        "pathOrInlineDv": vector.place,
        "offset": vector.offset,
        "sizeInBytes": vector.size,
        "cardinality": vector.cardinality,
    }
    return {key: each for key, each in found.items() if each is not None}


def vector_of(fields: Mapping[str, Any]) -> DeletionVector | None:
    """Return the deletion vector in the fields of an add, None without one."""
    found = fields.get("deletionVector")
    if found is None:
        return None
    return DeletionVector(
        found["storageType"],
        found["pathOrInlineDv"],
        found.get("offset"),
        found["sizeInBytes"],
        found["cardinality"],
    )


def added_fields(file: AddFile, keys: Sequence[str], places: FilePlaces) -> dict[str, Any]:
    """Return the fields of an add; `keys` are the names of partition values.

    Raises UnpublishableError for a file whose deleted rows cannot be named.
    """
    fields: dict[str, Any] = {
        "path": places.path(file.path),
        "partitionValues": partition_values(file.partition, keys),
        "size": file.size,
        "modificationTime": file.modified,
        "dataChange": file.data_change,
    }
    if file.stats:
        fields["stats"] = file.stats
    if file.tags:
        fields["tags"] = dict(sorted(file.tags.items()))
    return fields | extras(file)


def extras(file: AddFile | RemoveFile) -> dict[str, Any]:
    """Return the fields of deletion vector and row ids; raises UnpublishableError."""
    fields: dict[str, Any] = {}
    if file.deletion_vector is not None:
        if is_in_puffin(file.deletion_vector):
            raise UnpublishableError(
                f"the deletion vector of {file.path} lies in a file of Iceberg, which Delta's "
                "readers do not know; write the file anew, as OPTIMIZE does"
            )
        fields["deletionVector"] = vector_fields(file.deletion_vector)
    elif file.vector:
        raise UnpublishableError(
            f"the ledger has the id of the deletion vector of {file.path} and not its place; "
            "import the table anew"
        )
    if file.base_row_id is not None:
        fields["baseRowId"] = file.base_row_id
    if file.row_version is not None:
        fields["defaultRowCommitVersion"] = file.row_version
    return fields


def partition_values(values: Sequence[str | None], keys: Sequence[str]) -> dict[str, str | None]:
    """Return partition values by name, without those of transforms.

    Raises UnpublishableError if their number is wrong. A file that only transforms would divide
    may have none.
    """
    if not values and not any(keys):
        return {}
    if len(values) != len(keys):
        raise UnpublishableError(
            f"a file must have a value for each of the partition columns {', '.join(keys)}, got "
            f"{len(values)}"
        )
    return {key: value for key, value in zip(keys, values, strict=True) if key}


def removed_fields(
    file: RemoveFile, live: LiveFile | None, at: int, keys: Sequence[str], places: FilePlaces
) -> dict[str, Any]:
    """Return the fields of a remove at a time; `live` is the file that it removes, if any."""
    if live is None:
        fields = {"path": places.path(file.path), "deletionTimestamp": at}
        fields["dataChange"] = file.data_change
        if file.partition is not None and len(file.partition) == len(keys):
            fields["partitionValues"] = partition_values(file.partition, keys)
        return fields | extras(file)
    known = dict(live.fields)
    return {
        "path": known.pop("path"),
        "deletionTimestamp": at,
        "dataChange": file.data_change,
        "extendedFileMetadata": True,
        "partitionValues": known.pop("partitionValues"),
        **{key: each for key, each in known.items() if key in KEPT},
    }


KEPT: Final = (*("size", "stats", "tags", "deletionVector", "baseRowId"), "defaultRowCommitVersion")
"""The fields of an add that its remove repeats."""
