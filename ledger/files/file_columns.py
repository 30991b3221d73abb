"""Columns of data files as the columns of their table: found by id or by name, cast where wider.

A file's ids count where they agree with the names that the table had when the file was added: other
writers number columns too. A column that the file does not have is NULL.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final

import pyarrow as pa

from ledger.arrow.fields_then import field_then, has_fields_of
from ledger.arrow.lossless import CastRules, as_cast, as_decimal, lossless_cast
from ledger.arrow.schema import UNMAPPED, TableColumn, TableSchema
from ledger.arrow.type_fields import PHYSICAL, field_number
from ledger.arrow.types import Family
from ledger.errors import UnreadableTableError

Fields = Sequence[pa.Field]

BYTES: Final = (Family.STRING, Family.BINARY)
TIMES: Final = (Family.TIMESTAMP, Family.TIMESTAMP_NTZ)


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
    known = {column.id: column.physical.lower() for column in written.columns}
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


def as_wider(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return floating numbers in a type that is as wide or wider."""
    if pa.types.is_float64(values.type):
        raise pa.ArrowTypeError("digits would be lost")
    return values.cast(type_)


def all_null(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return NULLs for the values of a column that has no type any more."""
    return pa.nulls(len(values), type_)


CASTS: Final = {
    (Family.WHOLE, Family.WHOLE): as_cast,
    (Family.WHOLE, Family.FLOATING): as_cast,
    (Family.WHOLE, Family.DECIMAL): as_decimal,
    (Family.FLOATING, Family.FLOATING): as_wider,
    (Family.DECIMAL, Family.DECIMAL): as_cast,
    (Family.DATE, Family.DATE): as_cast,
    **dict.fromkeys(product((Family.DATE, *TIMES), TIMES), as_cast),
    **dict.fromkeys(product(BYTES, BYTES), as_cast),
    **dict.fromkeys(product(Family, (Family.VOID,)), all_null),
}


def places_of(
    source: pa.DataType, target: pa.DataType, then: pa.DataType, _path: str
) -> Iterable[tuple[int | None, pa.DataType]]:
    """Yield the places of fields in a struct of a file: by id where files go by it, or by name."""
    given = list(source)
    by_number = {number: at for at, each in enumerate(given) if (number := field_number(each))}
    by_name = names_of(given)
    for field in target:
        name, inner = field_then(field, then)
        is_mapped = PHYSICAL in (field.metadata or {})
        place = by_number.get(field_number(field)) if is_mapped else None
        if place is None and name is not None:
            place = by_name.get(name, by_name.get(name.lower()))
            has_id = place is not None and field_number(given[place])
            if is_mapped and field_number(field) and has_id:
                place = None  # Its id says that it is another field.
        yield place, inner


def has_names(type_: pa.DataType) -> bool:
    """Return whether fields within a type may have other names in files."""
    if pa.types.is_struct(type_):
        return any(PHYSICAL in (each.metadata or {}) or has_names(each.type) for each in type_)
    if pa.types.is_list(type_):
        return has_names(type_.value_type)
    if pa.types.is_map(type_):
        return has_names(type_.key_type) or has_names(type_.item_type)
    return False


def as_column(values: pa.Array, type_: pa.DataType, then: pa.DataType, what: str) -> pa.Array:
    """Return values of a file in the type of their column; raises UnreadableColumnError.

    `then` is the type of the column when the file was written: fields had the names of that time.
    `what` names both in messages.
    """

    def unreadable(
        _source: object, _target: object, _path: str, why: Exception | None
    ) -> Exception:
        return UnreadableColumnError(
            f"{what} has type {values.type}, which is no {type_}: "
            f"{why or 'there is no lossless cast'}. Alter the column to a type that holds its "
            "values, or rewrite the file"
        )

    if values.type == type_ and type_.equals(then, check_metadata=True) and not has_names(type_):
        return values
    return lossless_cast(values, type_, CastRules(CASTS, places_of, unreadable), what, then)


def has_names_of(then: TableSchema, now: TableSchema) -> bool:
    """Return whether files of a schema have the columns of another under its names.

    Files may lack a column that is NULL there.
    """
    if then is now:
        return True
    names = {column.id: column.physical for column in then.columns}
    if any(column.initial is not None and column.id not in names for column in now.columns):
        return False
    if not all(has_fields_of(column.type, type_then(column, now, then)) for column in now.columns):
        return False
    taken = {column.physical.lower(): column.id for column in then.columns}
    return all(
        names.get(column.id, column.physical) == column.physical
        and taken.get(column.physical.lower(), column.id) == column.id
        for column in now.columns
    )
