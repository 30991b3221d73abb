"""Names of metadata files: each follows from the version that its file shows."""

from hashlib import blake2b
from typing import Final, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import properties
from ledger.reads.port import VersionRow
from projections.iceberg.served.metadata.folder import PREFIX
from projections.iceberg.served.numbers import table_uuid
from projections.iceberg.served.paths import location_of

UUID: Final = "iceberg.table-uuid"
"""The property with the uuid that a client gave to its table."""

FORM: Final = "4"
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
