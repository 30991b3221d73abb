"""Columns of data files as the columns of their table: found by id or by name, cast where wider.

A file's ids count where they agree with the names that the table had when the file was added: other
writers number columns too. A column that the file does not have is NULL.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.fields_then import field_then
from ledger.arrow.schema import (
    PHYSICAL,
    UNMAPPED,
    TableColumn,
    TableSchema,
    field_number,
)
from ledger.core.predicates.types import DECIMAL_DIGITS_MAX
from ledger.errors import UnreadableTableError

Fields = Sequence[pa.Field]


class UnreadableColumnError(UnreadableTableError):
    """A column of a data file holds values that its column in the table cannot hold."""


def places(file: pa.Schema, schema: TableSchema, written: TableSchema) -> Mapping[int, int | None]:
    """Return for each data column of a table its place in a file, None if the file lacks it.

    Keys are places in `schema.columns`. `written` is the schema when the file was added.
    """
    by_number = numbers_of(file, written)
    by_name = names_of(list(file))
    found: dict[int, int | None] = {}
    for at, column in enumerate(schema.columns):
        place = by_number.get(column.id) if column.id else None
        if place is None and not (by_number and schema.mapping == "id"):
            name = name_then(column, schema, written)
            place = None if name is None else by_name.get(name, by_name.get(name.lower()))
            if place is not None and field_number(file.field(place)) in by_number:
                place = None  # Its id says that it is another column.
        found[at] = place
    return found


def numbers_of(file: pa.Schema, written: TableSchema) -> Mapping[int, int]:
    """Return the places of a file's columns by their ids, empty if the ids are another writer's."""
    numbers = {number: at for at, each in enumerate(file) if (number := field_number(each))}
    if written.mapping != UNMAPPED:
        return numbers
    known = {each.id: each.physical.lower() for each in written.columns}
    agree = all(known.get(number) == file.field(at).name.lower() for number, at in numbers.items())
    return numbers if agree else {}


def names_of(fields: Fields) -> Mapping[str, int]:
    """Return places by name, and by name in lower case where that is one column only."""
    exact = {each.name: at for at, each in enumerate(fields)}
    lower: dict[str, list[int]] = {}
    for at, each in enumerate(fields):
        lower.setdefault(each.name.lower(), []).append(at)
    return {**{name: ats[0] for name, ats in lower.items() if len(ats) == 1}, **exact}


def name_then(column: TableColumn, schema: TableSchema, written: TableSchema) -> str | None:
    """Return the name of a column in files of another schema, None if it was not a column then."""
    if schema is written or not column.id:
        return column.physical
    then = next((each for each in written.columns if each.id == column.id), None)
    if then is None and not any(each.id for each in written.columns):
        return column.physical  # The table did not say yet what its columns are.
    return None if then is None else then.physical


def type_then(column: TableColumn, schema: TableSchema, written: TableSchema) -> pa.DataType:
    """Return the type of a column in files of another schema, its own if it was not there."""
    if schema is written or not column.id:
        return column.type
    then = next((each for each in written.columns if each.id == column.id), None)
    return column.type if then is None else then.type


class Aligned(NamedTuple):
    """How a column of a file becomes a column of a table; `what` names both in messages.

    `then` is the column's type when the file was written.
    """

    what: str
    type: pa.DataType
    then: pa.DataType

    def of(self, values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return the values in the table's type; raises UnreadableColumnError."""
        try:
            if isinstance(values, pa.ChunkedArray):
                chunks = [aligned(each, self.type, self.then) for each in values.chunks]
                return pa.chunked_array(chunks, self.type)
            return aligned(values, self.type, self.then)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as problem:
            raise UnreadableColumnError(
                f"{self.what} has type {values.type}, which is no {self.type}: {problem}. Alter "
                "the column to a type that holds its values, or rewrite the file"
            ) from problem


def aligned(values: pa.Array, type_: pa.DataType, then: pa.DataType) -> pa.Array:
    """Return values in a type; raises an error of Arrow if a value would be lost.

    `then` is the type when the values were written: its fields had the names of that time.
    """
    is_same = type_.equals(then, check_metadata=True) and not has_names(type_)
    if is_same and values.type.equals(type_, check_metadata=False):
        return values
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    for fits, align in NESTED:
        if fits(type_):
            return align(values, type_, then)
    return aligned_plain(values, type_)


def aligned_plain(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return values of an atomic type in another that holds them."""
    source = values.type
    if pa.types.is_null(source) or pa.types.is_null(type_):
        return pa.nulls(len(values), type_)
    if (kind_of(source), kind_of(type_)) not in WIDENED:
        raise pa.ArrowTypeError("there is no lossless cast")
    if pa.types.is_integer(source) and pa.types.is_decimal(type_):
        # Arrow wants room for every value of the type, not only for the values that are there.
        values = pc.cast(values, pa.decimal128(DECIMAL_DIGITS_MAX, type_.scale))
    if pa.types.is_float64(source) and not pa.types.is_float64(type_):
        raise pa.ArrowTypeError("digits would be lost")
    return pc.cast(values, type_)


def kind_of(type_: pa.DataType) -> str:
    """Return the kind of an atomic type, "" for any other type."""
    return next((kind for kind, tests in KINDS if any(fits(type_) for fits in tests)), "")


def has_names(type_: pa.DataType) -> bool:
    """Return whether fields within a type may have other names in files."""
    if pa.types.is_struct(type_):
        return any(PHYSICAL in (each.metadata or {}) or has_names(each.type) for each in type_)
    if pa.types.is_list(type_):
        return has_names(type_.value_type)
    if pa.types.is_map(type_):
        return has_names(type_.key_type) or has_names(type_.item_type)
    return False


def aligned_struct(values: pa.Array, type_: pa.DataType, then: pa.DataType) -> pa.Array:
    """Return a struct with the fields of another: by id where files go by it, or by name."""
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), type_)
    if not pa.types.is_struct(values.type):
        raise pa.ArrowTypeError("it is no struct")
    given = list(values.type)
    by_number = {number: at for at, each in enumerate(given) if (number := field_number(each))}
    by_name = names_of(given)
    children = []
    for field in type_:
        name, inner = field_then(field, then)
        is_mapped = PHYSICAL in (field.metadata or {})
        place = by_number.get(field_number(field)) if is_mapped else None
        if place is None and name is not None:
            place = by_name.get(name, by_name.get(name.lower()))
        absent = place is None
        children.append(
            pa.nulls(len(values), field.type)
            if absent
            else aligned(values.field(place), field.type, inner)
        )
    mask = values.is_null()
    if not children:
        return pa.Array.from_buffers(type_, len(values), [pc.invert(mask).buffers()[1]], offset=0)
    return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)


def aligned_list(values: pa.Array, type_: pa.DataType, then: pa.DataType) -> pa.Array:
    """Return a list with elements of another type."""
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), type_)
    if pa.types.is_fixed_size_list(values.type) or pa.types.is_large_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    if not pa.types.is_list(values.type):
        raise pa.ArrowTypeError("it is no array")
    whole = unsliced(values)
    before = then.value_type if pa.types.is_list(then) else type_.value_type
    inner = aligned(whole.values, type_.value_type, before)
    return pa.ListArray.from_arrays(whole.offsets, inner, type=type_, mask=whole.is_null())


def aligned_map(values: pa.Array, type_: pa.DataType, then: pa.DataType) -> pa.Array:
    """Return a map with keys and values of other types."""
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), type_)
    if not pa.types.is_map(values.type):
        raise pa.ArrowTypeError("it is no map")
    whole = unsliced(values)
    before = then if pa.types.is_map(then) else type_
    keys = aligned(whole.keys, type_.key_type, before.key_type)
    items = aligned(whole.items, type_.item_type, before.item_type)
    return pa.MapArray.from_arrays(whole.offsets, keys, items, type=type_, mask=whole.is_null())


def unsliced(values: pa.Array) -> pa.Array:
    """Return an array that begins at its buffers' beginning."""
    return values if not values.offset else values.take(pa.array(range(len(values)), pa.int64()))


NESTED: tuple[
    tuple[
        Callable[[pa.DataType], bool],
        Callable[[pa.Array, pa.DataType, pa.DataType], pa.Array],
    ],
    ...,
] = (
    (pa.types.is_struct, aligned_struct),
    (pa.types.is_list, aligned_list),
    (pa.types.is_map, aligned_map),
)

KINDS: Final = (
    ("boolean", (pa.types.is_boolean,)),
    ("whole", (pa.types.is_integer,)),
    ("floating", (pa.types.is_floating,)),
    ("decimal", (pa.types.is_decimal,)),
    ("date", (pa.types.is_date,)),
    ("timestamp", (pa.types.is_timestamp,)),
    (
        "bytes",
        (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        ),
    ),
)
WIDENED: Final = frozenset(
    {
        *((kind, kind) for kind, _ in KINDS),
        ("whole", "floating"),
        ("whole", "decimal"),
        ("date", "timestamp"),
    }
)
