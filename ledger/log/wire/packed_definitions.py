"""Large definitions of tables on the wire: columns and properties packed into one property.

A table may have more columns, comments and properties than fit in a record. Such a definition is
encoded without columns and with the single property `lakeledger.packed`. Its value is Base64 of
zlib of a JSON list of two lists: the columns and the properties, each as a list of its fields.
"""

import json
import zlib
from base64 import b64decode, b64encode
from typing import Final

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.limits import DEFINITION_BYTES_MAX

PACKED_KEY: Final = "lakeledger.packed"
BITS: Final = 63
PACK_FROM_CHARS: Final = 200_000


def packed(definition: TableDefinition) -> TableDefinition:
    """Return the wire form of a definition: packed if it is large, but within the bound."""
    if chars_of(definition) < PACK_FROM_CHARS and not is_marked(definition):
        return definition
    parts = [list(definition.columns), list(definition.properties)]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) > DEFINITION_BYTES_MAX:
        return definition
    form = b64encode(zlib.compress(text)).decode()
    return definition._replace(columns=[], properties=[Property(PACKED_KEY, form)])


def unpacked(definition: TableDefinition) -> TableDefinition:
    """Return the definition of a wire form; raises ValueError for a malformed one."""
    if not is_marked(definition):
        return definition
    unpacker = zlib.decompressobj()
    try:
        data = b64decode(definition.properties[0].value, validate=True)
        columns, properties = json.loads(unpacker.decompress(data, DEFINITION_BYTES_MAX))
        found = definition._replace(
            columns=[Column(*column) for column in columns],
            properties=[Property(*each) for each in properties],
        )
        check_fields(found)
    except (TypeError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(f"property {PACKED_KEY} is malformed: {error}") from error
    return found


def check_fields(definition: TableDefinition) -> None:
    """Raise TypeError or ValueError for a field that does not fit a record."""
    texts = [
        text
        for column in definition.columns
        for text in (column.name, column.type, column.metadata)
    ]
    texts += [text for each in definition.properties for text in each]
    "".join(texts).encode()
    for column in definition.columns:
        if (
            type(column.nullable) is not bool
            or type(column.id) is not int
            or column.id.bit_length() > BITS
        ):
            raise TypeError(
                f"column {column.name}: nullable must be a boolean and id a number of {BITS} bits, "
                f"got {column.nullable!r} and {column.id!r}"
            )


def is_marked(definition: TableDefinition) -> bool:
    """Tell whether a definition has the property of a packed one."""
    return any(key == PACKED_KEY for key, _ in definition.properties)


def chars_of(definition: TableDefinition) -> int:
    """Return the number of characters in the columns and properties."""
    columns = sum(len(each.name) + len(each.type) + len(each.metadata) for each in definition[3])
    return columns + sum(len(each.key) + len(each.value) for each in definition.properties)
