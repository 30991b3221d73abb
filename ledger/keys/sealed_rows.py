"""Sealed rows: the bytes of a block, encrypted with AES-256-GCM.

    4  LLE1, the mark and the version of the form
    8  the table's id
    7  the month of the key, such as 2026-11
    4  the number of the key in the month
    8  a fingerprint of the key
   12  the nonce, which is random
    n  the rows, encrypted, with a tag of 16 bytes

Numbers have their high byte first. The tag also covers all bytes before the rows and the block's
path. So a block cannot be given to another table or to another path.
"""

import os
import struct
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Self

from ledger.errors import RowsKeyError, SettingsError
from ledger.keys.folder import KEY_BYTES, KeyFolder, KeyName, month_of
from ledger.log.wire.file_extras import SEALED, is_sealed
from ledger.log.wire.file_list import AddFile
from ledger.reads.rows import FileRow

HEAD: Final = struct.Struct(">4sQ7sI8s12s")
PRINT_BYTES: Final = 8
NONCE_BYTES: Final = 12
ROOM: Final = HEAD.size + 16
"""How many bytes more than its rows a sealed block has."""


class SealedHead(NamedTuple):
    """What sealed rows say of themselves in clear."""

    name: KeyName
    fingerprint: bytes
    nonce: bytes


class SealedRows(bytes):
    """Sealed rows of a table, with the keys that a reader has."""

    keys: KeyFolder
    table: int

    def __new__(cls, data: bytes, keys: KeyFolder, table: int) -> Self:
        """Return the same bytes with the keys beside them."""
        made = super().__new__(cls, data)
        made.keys, made.table = keys, table
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments for a copy."""
        return bytes(self), self.keys, self.table


def sealed(keys: KeyFolder, table: int, path: str, rows: bytes, at_ms: int) -> SealedRows:
    """Return rows of a table as the block at a path, sealed with the key of the month of a time.

    Raises SettingsError if the folder of keys cannot be used, or without the library.
    """
    name, key = keys.newest(table, month_of(at_ms))
    nonce = os.urandom(NONCE_BYTES)
    month = name.month.encode()
    head = HEAD.pack(SEALED, table, month, name.number, fingerprint_of(key), nonce)
    data = head + library(keys, key).AESGCM(key).encrypt(nonce, rows, head + path.encode())
    return SealedRows(data, keys, table)


def opened(path: str, rows: bytes) -> bytes:
    """Return the rows of a block in clear, as they are if they are not sealed.

    Raises RowsKeyError if the key is not at hand, RowsErasedError if it was dropped, SettingsError
    as `sealed`.
    """
    if not is_sealed(rows):
        return rows
    name, fingerprint, nonce = head_in(path, rows)
    if not isinstance(rows, SealedRows):
        raise RowsKeyError(
            f"rows of table {name.table} in the log are encrypted with the key {name.text}, and no "
            "folder of keys is set: name it with keys=... or LAKELEDGER_KEYS",
            table=name.table,
            month=name.month,
        )
    if name.table != rows.table:
        raise odd(path, f"they are of table {name.table}, not of {rows.table}", name)
    key = rows.keys.key(name)
    if fingerprint_of(key) != fingerprint:
        raise rows.keys.missing(name, "is another one")
    aead, known = library(rows.keys, key), rows[: HEAD.size] + path.encode()
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - only with keys

    try:
        found: bytes = aead.AESGCM(key).decrypt(nonce, rows[HEAD.size :], known)
    except InvalidTag as problem:
        raise odd(path, "they were sealed for another path, or changed", name) from problem
    return found


def head_in(path: str, rows: bytes) -> SealedHead:
    """Return what sealed rows say of themselves; raises RowsKeyError if they are cut short."""
    if len(rows) < ROOM:
        raise odd(path, "they are cut short")
    _, table, month, number, fingerprint, nonce = HEAD.unpack_from(rows)
    return SealedHead(KeyName(table, month.decode(errors="replace"), number), fingerprint, nonce)


def key_of(file: FileRow | AddFile) -> KeyName | None:
    """Return the key that sealed a file's rows, None for rows in clear and for data files."""
    return head_in(file.path, file.rows).name if is_sealed(file.rows) else None


def odd(path: str, why: str, name: KeyName = KeyName(0, "", 0)) -> RowsKeyError:  # noqa: B008
    """Return the error for bytes that were not sealed for this table and path."""
    return RowsKeyError(
        f"the encrypted rows of {path} in the log cannot be opened: {why}. Another program wrote "
        "them or changed them; remove them from the table",
        table=name.table,
        month=name.month,
    )


def fingerprint_of(key: bytes) -> bytes:
    """Return what tells a key from others and says nothing of it."""
    return blake2b(key, digest_size=PRINT_BYTES).digest()


def library(keys: KeyFolder, key: bytes) -> Any:
    """Return the library of ciphers; raises SettingsError without it, and for what is no key."""
    try:
        from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - only with keys
    except ModuleNotFoundError as missing:
        raise SettingsError(
            "rows in the log are encrypted with the package cryptography, which is not installed: "
            "pip install 'lakeledger[secure]'"
        ) from missing
    if len(key) != KEY_BYTES:
        raise SettingsError(
            f"a key in {keys.path} must have {KEY_BYTES} bytes, got {len(key)}: bring back the "
            "folder of keys from a copy"
        )
    return aead
