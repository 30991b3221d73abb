"""Large definitions of tables on the wire: columns and properties packed into one property.

A table may have more columns, comments and properties than a record holds. Such a definition
travels without columns and with the one property `lakeledger.packed`: in Base64 the zlib form of a
JSON list of two lists, the columns and the properties, each a list of its fields in their order.
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
    """Return a definition as it travels; one that is beyond the bound travels as it is."""
    if chars_of(definition) < PACK_FROM_CHARS and not is_marked(definition):
        return definition
    parts = [list(definition.columns), list(definition.properties)]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) > DEFINITION_BYTES_MAX:
        return definition
    form = b64encode(zlib.compress(text)).decode()
    return definition._replace(columns=[], properties=[Property(PACKED_KEY, form)])


def unpacked(definition: TableDefinition) -> TableDefinition:
    """Return a definition that came packed as it was; raises ValueError for an odd one."""
    if not is_marked(definition):
        return definition
    unpacker = zlib.decompressobj()
    try:
        data = b64decode(definition.properties[0].value, validate=True)
        columns, properties = json.loads(unpacker.decompress(data, DEFINITION_BYTES_MAX))
        found = definition._replace(
            columns=[Column(*each) for each in columns],
            properties=[Property(*each) for each in properties],
        )
        check_fields(found)
    except (TypeError, ValueError, RecursionError, zlib.error) as error:
        raise ValueError(f"property {PACKED_KEY} is no packed definition: {error}") from error
    return found


def check_fields(definition: TableDefinition) -> None:
    """Raise TypeError or ValueError for a field that no record takes."""
    texts = [text for each in definition.columns for text in (each.name, each.type, each.metadata)]
    texts += [text for each in definition.properties for text in each]
    "".join(texts).encode()
    for each in definition.columns:
        if (
            type(each.nullable) is not bool
            or type(each.id) is not int
            or each.id.bit_length() > BITS
        ):
            raise TypeError(f"column {each.name} has {each.nullable!r} and {each.id!r}")


def is_marked(definition: TableDefinition) -> bool:
    """Tell whether a definition has the property that a packed one has."""
    return any(key == PACKED_KEY for key, _ in definition.properties)


def chars_of(definition: TableDefinition) -> int:
    """Return how many letters the columns and properties have."""
    columns = sum(len(each.name) + len(each.type) + len(each.metadata) for each in definition[3])
    return columns + sum(len(each.key) + len(each.value) for each in definition.properties)
