"""The numbers that Iceberg gives a table and its versions, each a function of the events."""

from hashlib import blake2b
from typing import Final
from uuid import UUID, uuid5

from ledger.core.limits import NUMBER_MAX

SPACE: Final = UUID("5b0f2e7e-6a52-4c0e-9b7c-0d5a3c1f9a11")
"""The name space of the ids of tables that no client named."""

ROW_BITS: Final = 32
"""The lower bits of a row id count the rows that one version added."""


def table_uuid(ledger: str, table: int) -> str:
    """Return the uuid of a table that its definition does not give."""
    return str(uuid5(SPACE, f"{ledger}/{table}"))


def snapshot_id(ledger: str, table: int, version: int) -> int:
    """Return the id of the snapshot that a version makes, unless its commit noted another one."""
    data = f"{ledger}/{table}/{version}".encode()
    found = int.from_bytes(blake2b(data, digest_size=8).digest()) & NUMBER_MAX
    return found or NUMBER_MAX


def first_row_id(version: int) -> int:
    """Return the id of the first row that a version adds."""
    return version << ROW_BITS
