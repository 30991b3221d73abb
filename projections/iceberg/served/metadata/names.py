"""Names of metadata files, and the log of earlier ones, which are not looked at for it.

A name follows from the version that a file shows, not from what the file says. So the log of a
table is a function of its versions. An earlier file may not be there: it is written when its
version is loaded, and a vacuum deletes it.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.reads.port import VersionRow
from projections.iceberg.served.folding import EARLIER_MAX
from projections.iceberg.served.metadata.folder import PREFIX
from projections.iceberg.served.numbers import table_uuid
from projections.iceberg.served.paths import folder_text, location_of
from projections.iceberg.served.shapes import TableShapes

UUID: Final = "iceberg.table-uuid"
"""The property with the uuid that a client gave to its table."""

KEPT: Final = "write.metadata.previous-versions-max"
FORM: Final = "2"
"""Another form of what is served has other names and ETags."""


class MetadataNames(NamedTuple):
    """The names of one table's metadata, of which only the ledger and the table must be known."""

    ledger: str
    table: int

    def uuid(self, definition: TableDefinition) -> str:
        """Return the id of the table to Iceberg."""
        return properties(definition).get(UUID) or table_uuid(self.ledger, self.table)

    def digest(self, definition: TableDefinition, row: VersionRow, what: str) -> str:
        """Return what is equal for equal metadata of a version."""
        location = location_of(definition)
        said = [FORM, self.uuid(definition), location, str(row.version), what]
        data = "\0".join([*said, f"{row.position}/{self.table}"]).encode()
        return blake2b(data, digest_size=16).hexdigest()

    def file(self, definition: TableDefinition, row: VersionRow) -> str:
        """Return the name of the file with the whole metadata of a version."""
        digest = self.digest(definition, row, "file")
        return f"{PREFIX}{row.version:010d}-{digest}.metadata.json"

    def log(
        self, definition: TableDefinition, shapes: TableShapes, earlier: Sequence[VersionRow]
    ) -> list[Mapping[str, Any]]:
        """Return the metadata files of earlier versions, as many as a definition says."""
        found: list[Mapping[str, Any]] = []
        for row in earlier[-kept_by(definition) :]:
            then = shapes.at(row.position).definition
            path = f"{folder_text(location_of(then))}/{self.file(then, row)}"
            found.append({"timestamp-ms": row.at, "metadata-file": path})
        return found


def kept_by(definition: TableDefinition) -> int:
    """Return how many earlier metadata files a table names: from 1 to `EARLIER_MAX`."""
    try:
        return min(max(int(properties(definition)[KEPT]), 1), EARLIER_MAX)
    except (KeyError, ValueError):
        return EARLIER_MAX
