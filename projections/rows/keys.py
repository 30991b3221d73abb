"""The rows of the ledger's read model: every kind of key in one table, and the form of the values.

| Key                 | Row                                                       | Written by |
|---------------------|-----------------------------------------------------------|------------|
| `g`                 | the identity of the ledger                                | catalogs   |
| `a` catalog         | position of its creation                                  | catalogs   |
| `H` cat., name, p.  | what became of a namespace at this position               | namespaces |
| `s` session         | the client that opened it                                 | sessions   |
| `q` session         | position of its end                                       | sessions   |
| `i` nonce           | the session this nonce opened                             | sessions   |
| `r` session, n      | first answer to a command: position, outcome, first, size | sessions   |
| `t` txn             | a txn from open to end                                    | txns       |
| `T` txn, table      | what an open txn of many tables did in one of them        | txns       |
| `f` txn             | position at which an aborted txn was forgotten            | txns       |
| `b` table           | how an incarnation came to be                             | tables     |
| `c` table           | its name, definition, last changes, drop                  | tables     |
| `D` table, position | its definition for all from here on                       | tables     |
| `n` catalog, name   | the table that holds the name, lower case                 | tables     |
| `N` table, position | a change that named or ended it: write id, name, end      | metadata   |
| `S` table, position | a change that defined or ended it: write id, end          | metadata   |
| `K` cat., name, p.  | the table that took the name at this position             | metadata   |
| `P` txn, n          | a change of metadata that waits for its commit            | metadata   |
| `O` table, write id | its txn, while open; once aborted, whether data may lie   | metadata   |
| `w` table           | last write id, least mapped one, version                  | write_ids  |
| `m` table, write id | its txn in 8 bytes: TXN_TO_WRITE_ID                       | write_ids  |
| `v` table, version  | one version: where, when, by whom, what, and sums then    | versions   |
| `l` table, n, file  | a live file of partition n: its version, what is reported | files      |
| `d` table, p., file | the same for a file removed at position p                 | files      |
| `R` table, n, p., f.| a file of partition n removed at position p; it has a `d` | files      |
| `p` table, hash, .. | a path with this hash: its last removal, its live files   | files      |
| `L` table, v., n    | a chunk of the files that a version added and removed     | files      |
| `A` table, n        | partition n: its values, and sums of its live files       | files      |
| `B` table, p., val. | the number of these values of the columns since p         | files      |
| `I` table, p., key, n | partition n has a value with this key, in a column since p | files    |
| `E` table           | how many partitions have a number                         | files      |
| `G` table           | sums of its live files                                    | versions   |
| `Q` table           | sums of its rows that lie in the log                      | files      |
| `F` table           | where its partition columns last changed                  | tables     |
| `z` position, n     | an anomaly: table, kind, path, vector                     | files      |
| `y` table, p., n    | the same under its table                                  | files      |
| `u` table, app      | how far an application came: version, position            | protocols  |
| `o` table           | the last protocol action                                  | protocols  |
| `j` table, domain   | the configuration of a metadata domain                    | protocols  |
| `x` position        | a txn that lost: what it attempted, and the evidence      | conflicts  |
| `J` table, position | a commit that only read it: its txn, what it wrote        | txns       |
| `k`                 | the cleanup watermark and what holds it                   | watermarks |
| `C`                 | how many txns, tables and mappings there are              | counts     |
| `W` table, position | its least write id that has not ended, from here on       | watermarks |
| `h` position        | one event in brief                                        | history    |
| `e` position        | all open and aborted txns as of here, now and then        | history    |
| `!log`              | the record the rows end with                              | fold       |
| `!checkpoint`       | the newest state checkpoint                               | fold       |

A file in a key is its path and its deletion vector. A later change of something that has a row is
mostly a row of its own (`q`, `f`, `c`): a row is written once all of it is known, and only `files`
and `metadata` look up stored rows. Rows are kept for ever except `m`, `n`, `l`, `j`, `P`, `O`, `T`
and the two that begin with `!`. A store holds one domain.

Values are compact JSON; a field that is 0, empty or false is left out. All numbers are below 2**63.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Struct, json

from projections.rows.packing import INT_BYTES, pack

GENESIS: Final = b"g"
CATALOG: Final = b"a"
NAMESPACE: Final = b"H"
SESSION: Final = b"s"
SESSION_END: Final = b"q"
NONCE: Final = b"i"
ANSWER: Final = b"r"
TXN: Final = b"t"
TXN_PART: Final = b"T"
FORGOTTEN: Final = b"f"
TABLE_CREATED: Final = b"b"
TABLE: Final = b"c"
DEFINITION: Final = b"D"
NAME: Final = b"n"
NAMED: Final = b"N"
DEFINED: Final = b"S"
NAME_TAKEN: Final = b"K"
WAITING: Final = b"P"
OPEN_ID: Final = b"O"
WRITE_IDS: Final = b"w"
MAPPING: Final = b"m"
VERSION: Final = b"v"
LIVE_FILE: Final = b"l"
REMOVED_FILE: Final = b"d"
REMOVED_FROM: Final = b"R"
PARTITION: Final = b"A"
PARTITION_NUMBER: Final = b"B"
PARTITION_VALUE: Final = b"I"
PARTITIONS: Final = b"E"
TABLE_SUMS: Final = b"G"
BLOCKS: Final = b"Q"
GONE_BLOCKS: Final = b"Y"
PARTITIONED: Final = b"F"
PATH: Final = b"p"
LISTED: Final = b"L"
ANOMALY: Final = b"z"
TABLE_ANOMALY: Final = b"y"
APP: Final = b"u"
PROTOCOL: Final = b"o"
DOMAIN: Final = b"j"
CONFLICT: Final = b"x"
TABLE_READ: Final = b"J"
WATERMARK: Final = b"k"
COUNTS: Final = b"C"
FIRST_OPEN: Final = b"W"
HISTORY: Final = b"h"
CUT: Final = b"X"
EXCEPTIONS: Final = b"e"
LOG: Final = b"!log"
CHECKPOINT: Final = b"!checkpoint"

_ONE = struct.Struct(">cQ")
_TWO = struct.Struct(">cQQ")
_THREE = struct.Struct(">cQQQ")
_encode = json.Encoder(order="sorted").encode
_encode_as_given = json.Encoder().encode
_decode = json.Decoder().decode

Row = TypeVar("Row", bound=Struct)


def number_key(kind: bytes, number: int) -> bytes:
    """Return the key of a row named by one number."""
    return _ONE.pack(kind, number)


def pair_key(kind: bytes, first: int, second: int) -> bytes:
    """Return the key of a row named by two numbers."""
    return _TWO.pack(kind, first, second)


def triple_key(kind: bytes, first: int, second: int, third: int) -> bytes:
    """Return the key of a row named by three numbers."""
    return _THREE.pack(kind, first, second, third)


def text_key(kind: bytes, number: int, text: str) -> bytes:
    """Return the key of a row named by a number and a text, which may hold anything."""
    return _ONE.pack(kind, number) + text.encode()


def last_text(key: bytes) -> str:
    """Return the text of a key that `text_key` made."""
    return key[_ONE.size :].decode()


def number_in(key: bytes) -> int:
    """Return the number of a key that `text_key` made."""
    return int.from_bytes(key[len(APP) : _ONE.size], "big")


def name_row_key(name: tuple[str, str]) -> bytes:
    """Return the key of the row of a name, given the result of `state.tables.name_key`."""
    return pack(NAME, *name)


def last_number(key: bytes) -> int:
    """Return the number with which a key ends."""
    return int.from_bytes(key[-INT_BYTES:], "big")


def read_number(key: bytes, which: int) -> int:
    """Return a number of a key that ends with numbers; -1 is the last, -2 the one before."""
    first = len(key) + which * INT_BYTES
    return int.from_bytes(key[first : first + INT_BYTES], "big")


def id_value(number: int) -> bytes:
    """Return a number as the value of a mapping row."""
    return number.to_bytes(INT_BYTES, "big")


def value(content: Any) -> bytes:
    """Return the bytes of a value that is a number or a list."""
    return _encode(content)


def value_as_given(content: Any) -> bytes:
    """Return the bytes of a value whose mappings keep the order of their keys."""
    return _encode_as_given(content)


class Fields(Struct, omit_defaults=True):
    """A value with named fields; each such kind of row derives its own class.

    The default of a field is empty: 0, "", False, None or (). A field that holds its default is
    left out. Types must be exact: a list is not equal to the default (), nor is 0 given for False.
    """

    def value(self) -> bytes:
        """Return the bytes of the value; its fields stand in the order of their names."""
        return _encode(self)


def reader_of(kind: type[Row]) -> Callable[[bytes | str], Row]:
    """Return the function that reads values of a kind with named fields."""
    return json.Decoder(kind).decode


def read_value(data: bytes) -> Any:
    """Return what a JSON value holds."""
    return _decode(data)


def read_id(data: bytes) -> int:
    """Return the number in the value of a mapping row."""
    return int.from_bytes(data, "big")
