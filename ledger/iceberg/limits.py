"""What a file of another program may cost: bounds for readers, and the error for odd bytes.

A client of a catalog names the files that a server reads. Their bytes come from any program. So
each reader here takes bounds, and raises one error for all that it does not understand.
"""

import json
from typing import Any, Final, NamedTuple

DEPTH_MAX: Final = 100
"""Levels of types within types."""
SCHEMA_NODES_MAX: Final = 2_000
"""Types in the Avro schema of one file."""


class IcebergFormatError(ValueError):
    """A file or a JSON text does not have the form that Iceberg's specification gives it."""


class ReadLimits(NamedTuple):
    """Bounds for one file.

    `bytes` bounds what a file has, and what it has after decompression. `entries` bounds its
    records. `items` bounds the items of lists and maps within them, over the whole file.
    """

    bytes: int
    entries: int
    items: int

    def check_bytes(self, what: str, size: int) -> None:
        """Raise IcebergFormatError for more bytes than these bounds allow."""
        if size > self.bytes:
            raise IcebergFormatError(f"{what} must have at most {self.bytes} bytes, got {size}")


MANIFEST_LIMITS: Final = ReadLimits(bytes=64 << 20, entries=200_000, items=4_000_000)
LIST_LIMITS: Final = ReadLimits(bytes=32 << 20, entries=100_000, items=1_000_000)
DELETES_LIMITS: Final = ReadLimits(bytes=256 << 20, entries=50_000_000, items=100_000)
"""For position deletes: an entry is a row number, an item a data file."""


def json_object(what: str, text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a text; raises IcebergFormatError for another text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise IcebergFormatError(f"{what} must be JSON, got {text[:80]!r}") from error
    if not isinstance(found, dict):
        raise IcebergFormatError(f"{what} must be a JSON object, got {text[:80]!r}")
    return found
