"""Values as a table stores them: what a column demands is checked on them, at every depth.

A text of CHAR is padded, and an empty text in a partition column is NULL. So lengths, NOT NULL and,
after that, the constraints of a table look at what a reader will see.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ledger.arrow.casts import check_filled, is_list, is_text, unfit
from ledger.arrow.nested import entries_of, items_of, lengths_of, list_of, map_of, struct_of
from ledger.arrow.schema import TableColumn
from ledger.arrow.types import Lengths, Place
from ledger.core.partitions.values import NULLS


def as_stored(values: Any, column: TableColumn) -> Any:
    """Return values of a column as its table stores them.

    Raises ValueError for a NULL in a NOT NULL column or field, and for a text that is too long.
    """
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if column.lengths or column.is_strict:
        array = settled(array, column.type, column.lengths, (column.name,))
    if column.partitions and is_text(column.type):
        array = pc.if_else(pc.is_in(array, pa.array(sorted(NULLS))), None, array)
    if not column.nullable:
        check_filled(array.is_valid(), column.name)
    return array


def settled(array: Any, kind: Any, lengths: Lengths, path: Place) -> Any:
    """Return an array with texts of the right length; raises as `as_stored`.

    `path` begins with the column.
    """
    if is_list(kind):
        items = inside(items_of(array), kind.value_field, lengths, (*path, "element"))
        return list_of(items, lengths_of(array), array.is_null(), kind)
    if kinds.is_map(kind):
        keys, values = entries_of(array)
        entries = (
            inside(keys, kind.key_field, lengths, (*path, "key")),
            inside(values, kind.item_field, lengths, (*path, "value")),
        )
        return map_of(entries, lengths_of(array), array.is_null(), kind)
    if kinds.is_struct(kind):
        gone = array.is_null()
        children = [
            inside(array.field(at), each, lengths, (*path, each.name), gone)
            for at, each in enumerate(kind)
        ]
        return struct_of(children, gone, kind)
    length = lengths.get(path[1:])
    return array if length is None else bounded(array, length, ".".join(path))


def inside(array: Any, field: Any, lengths: Lengths, path: Place, gone: Any = None) -> Any:
    """Return the values of a field; those of structs that are `gone` may be NULL."""
    found = settled(array, field.type, lengths, path)
    if not field.nullable:
        filled = found.is_valid() if gone is None else pc.or_(found.is_valid(), gone)
        check_filled(filled, ".".join(path))
    return found


def bounded(array: Any, length: tuple[str, int], path: str) -> Any:
    """Return texts within the length of their type, padded as CHAR does; raises ValueError."""
    word, most = length
    longest = pc.max(pc.utf8_length(array)).as_py() or 0
    if longest > most:
        declared = f"{word}({most})"
        raise unfit(path, array.type, f"{declared} has room for {most} characters, got {longest}")
    return pc.utf8_rpad(array, most) if word == "char" else array
