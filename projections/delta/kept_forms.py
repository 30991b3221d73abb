"""The forms in which a publisher keeps its state: one row for each table, log and live file.

The order of fields within a file is part of published bytes, so no form sorts them.
"""

import struct
from typing import Any, Final

from ledger.core.commands import Protocol, TableDefinition
from ledger.core.state.traits import DEFAULT_PROTOCOL
from projections.delta.actions.file_actions import FileKey, LiveFile
from projections.delta.actions.schema_json import compact
from projections.rows.keys import Fields, read_value, reader_of

TABLE: Final = b"t"
"""The state of a table and of its log."""
WRITTEN: Final = b"w"
"""What is written of a log, or why it is not."""
FILE: Final = b"f"
"""A live file of a table."""

_NUMBERED = struct.Struct(">cQ")


class KeptLog(Fields):
    """The log of a table while its property publishes it, as `PublishedLog` has it."""

    protocol: dict[str, Any]
    metadata: dict[str, Any]
    ledger: str = ""
    adopted: tuple[str, int] | None = None
    first: tuple[int, int] = (0, 0)
    folder: str = ""
    is_on: bool = False
    is_stopped: bool = False
    is_waiting: bool = False


class SchemaEra(Fields):
    """The versions of a table from `first` to `until` - 1, which had one layout of files.

    `is_readable` says whether readers of the present definition read files of that time rightly.
    """

    first: int
    until: int
    definition: TableDefinition
    is_readable: bool = True


class KeptTable(Fields):
    """A table without its live files, as `PublishedState` has it, and its log."""

    apps: dict[str, tuple[int, int]]
    domains: dict[str, str]
    widened: dict[int, list[dict[str, str]]]
    features: list[str]
    eras: list[SchemaEra]
    created_at: int = 0
    version: int = -1
    definition: TableDefinition | None = None
    protocol: Protocol = DEFAULT_PROTOCOL
    reason: str = ""
    folder: str = ""
    began: int = 0
    is_imported: bool = False
    log: KeptLog | None = None


class KeptStop(Fields):
    """Why a log goes no further, and the version that was refused.

    `position` is 0 if no storage refused it: the table itself cannot be published. `is_refused`
    says that the storage did, so that it is tried again; else the log has a foreign file.
    `has_state` says that the version has a checkpoint, which is not kept.
    """

    name: str = ""
    version: int = 0
    reason: str = ""
    folder: str = ""
    at: int = 0
    position: int = 0
    data: str = ""
    begins: bool = False
    has_state: bool = False
    is_refused: bool = False


class KeptWritten(Fields):
    """The newest version in a log, with the digest of its bytes, and its checkpoints."""

    checkpoints: list[tuple[int, int]]
    folder: str = ""
    version: int = -1
    digest: str = ""
    stop: KeptStop | None = None


read_table: Final = reader_of(KeptTable)
read_written: Final = reader_of(KeptWritten)


def row_value(form: Fields) -> bytes:
    """Return the value of a row, with its fields as they come."""
    return compact(plain(form)).encode()


def plain(form: Any) -> Any:
    """Return a form as JSON has it."""
    if isinstance(form, list):
        return [plain(each) for each in form]
    if isinstance(form, Fields):
        return {name: plain(getattr(form, name)) for name in form.__struct_fields__}
    return form


def row_key(kind: bytes, table: int) -> bytes:
    """Return the key of the row that a publisher keeps of a table."""
    return _NUMBERED.pack(kind, table)


def table_in(key: bytes) -> int:
    """Return the table that a key names."""
    return int.from_bytes(key[1 : _NUMBERED.size], "big")


def file_row_key(table: int, file: FileKey) -> bytes:
    """Return the key of a live file; no path has the character between path and vector."""
    return row_key(FILE, table) + "\0".join(file).encode()


def file_in(key: bytes) -> FileKey:
    """Return the live file that a key names."""
    path, _, vector = key[_NUMBERED.size :].decode().partition("\0")
    return path, vector


def file_value(file: LiveFile) -> bytes:
    """Return the value of the row of a live file."""
    return compact(list(file)).encode()


def read_file(value: bytes) -> LiveFile:
    """Return a live file from the value of its row."""
    return LiveFile(*read_value(value))
