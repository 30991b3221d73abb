"""The numbers that Iceberg gives a table and its versions, each a function of the events."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final
from uuid import UUID, uuid5

from ledger.core.limits import NUMBER_MAX
from ledger.reads.port import FileRow

SPACE: Final = UUID("5b0f2e7e-6a52-4c0e-9b7c-0d5a3c1f9a11")
"""The name space of the ids of tables that no client named."""

ROW_BITS: Final = 32
"""The lower bits of a row id count the rows that one version added."""

ROWS_MAX: Final = 1 << ROW_BITS


class UnservableError(ValueError):
    """Iceberg's readers would not read the files of a table rightly."""


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


def first_rows_of(
    version: int, rows_: Iterable[FileRow], counted: Callable[[FileRow], int]
) -> dict[str, int]:
    """Return the id of the first row of each file that a version added, by its path.

    Raises UnservableError for more rows than a version has ids.
    """
    found, following = {}, first_row_id(version)
    for row in sorted(rows_, key=lambda each: each.path):
        found[row.path] = following
        following += counted(row)
    if following - first_row_id(version) > ROWS_MAX:
        raise UnservableError(
            f"version {version} adds more than {ROWS_MAX} rows, which have no ids in format 3; set "
            "the property iceberg.format-version to 2"
        )
    return found
