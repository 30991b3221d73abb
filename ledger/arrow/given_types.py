"""The types of Arrow, and so of all libraries, that rows may have, and those that are refused.

A row is brought to plain types as it comes in: the types that a table's columns have. No value
changes on the way. What would change, or has no place in a table, is refused with its column.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ledger.arrow.casts import is_list, unfit
from ledger.arrow.lossless import ARROW_ERRORS
from ledger.arrow.nested import entries_of, items_of, lengths_of, list_of, map_of, struct_of
from ledger.arrow.types import BY_TYPE, Family, family_of, is_fitting_decimal
from ledger.core.predicates.types import DECIMAL_DIGITS_MAX

EXTENSION_NAME: Final = b"ARROW:extension:name"
AS_STORED: Final = frozenset({"arrow.json", "arrow.uuid", "geoarrow.wkb", "geoarrow.wkt"})
"""Extension types whose stored values mean the same without the type."""

DAYS: Final = (-719_162, 2_932_896)
MICROS: Final = (DAYS[0] * 86_400_000_000, (DAYS[1] + 1) * 86_400_000_000 - 1)
"""The first and the last day, and microsecond, of the years 1 to 9999."""

Plain = Callable[[Any, str], Any]


class TakenTypes(NamedTuple):
    """A kind of types: `name` and `column` are its words and its column's in the page of tables.

    `plain` returns the type that values have in a table.
    """

    name: str
    fits: Callable[[Any], bool]
    column: str
    plain: Plain


class RefusedTypes(NamedTuple):
    """A kind of types that is refused, with what a caller can do."""

    name: str
    fits: Callable[[Any], bool]
    cure: str


def is_extension(*names: str) -> Callable[[Any], bool]:
    """Return a function that tells whether a type is one of these extension types."""
    return lambda kind: isinstance(kind, pa.BaseExtensionType) and kind.extension_name in names


def is_of(family: Family) -> Callable[[Any], bool]:
    """Return a function that tells whether a type is of a family."""
    return lambda kind: family_of(kind) is family


def as_is(kind: Any, _path: str) -> Any:
    """Return the type itself."""
    return kind


def always(kind: Any) -> Plain:
    """Return a function that returns one type."""
    return lambda _kind, _path: kind


def of_values(kind: Any, path: str) -> Any:
    """Return the plain type of the values of a dictionary or of runs."""
    return plain_type(kind.value_type, path)


def of_list(kind: Any, path: str) -> Any:
    """Return a plain list."""
    inner = plain_field(kind.value_field, f"{path}.element")
    return pa.list_(inner.with_name("element"))


def of_map(kind: Any, path: str) -> Any:
    """Return a plain map."""
    key = plain_field(kind.key_field, f"{path}.key")
    return pa.map_(key, plain_field(kind.item_field, f"{path}.value"))


def of_struct(kind: Any, path: str) -> Any:
    """Return a plain struct."""
    return pa.struct([plain_field(each, f"{path}.{each.name}") for each in kind])


def plain_field(field: Any, path: str) -> Any:
    """Return a field with a plain type and no metadata; raises TypeError for a refused type."""
    name = (field.metadata or {}).get(EXTENSION_NAME, b"").decode()
    if name and name not in AS_STORED and name != pa.bool8().extension_name:
        raise refused(path, name, OTHER_CURE)
    return pa.field(field.name, plain_type(field.type, path), field.nullable)


def plain_type(kind: Any, path: str) -> Any:
    """Return the type that values have in a table; raises TypeError for a refused type."""
    if kind in BY_TYPE:
        return kind
    for taken in TAKEN:
        if taken.fits(kind):
            return taken.plain(kind, path)
    cure = next((each.cure for each in REFUSED if each.fits(kind)), OTHER_CURE)
    raise refused(path, kind, cure)


def refused(path: str, kind: object, cure: str) -> TypeError:
    """Return the error for a type that has no place in a table."""
    return TypeError(f"column {path} must have a type that Spark SQL has, got {kind}: {cure}")


def plain_schema(schema: Any) -> Any:
    """Return a schema in plain types; raises TypeError for a refused type."""
    if "" in schema.names:
        raise ValueError("the name of a column must not be empty: rename the column")
    return pa.schema([plain_field(each, each.name) for each in schema])


def plain_reader(reader: Any) -> Any:
    """Return a reader of the same rows in plain types; raises TypeError for a refused type."""
    target = plain_schema(reader.schema)

    def batches() -> Any:
        for batch in reader:
            columns = [
                plain_array(column, field.type, field.name)
                for column, field in zip(batch.columns, target, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=target)

    return pa.RecordBatchReader.from_batches(target, batches())


def plain_array(array: Any, target: Any, path: str) -> Any:
    """Return an array in its plain type; raises ValueError for a value that would change."""
    kind = array.type
    if kind == target and not has_times(kind):
        return array
    if kinds.is_dictionary(kind):
        return plain_array(array.dictionary, target, path).take(array.indices)
    if kinds.is_run_end_encoded(kind):
        return plain_array(pc.run_end_decode(array), target, path)
    if isinstance(kind, pa.BaseExtensionType):
        stored = plain_array(array.storage, plain_type(array.storage.type, path), path)
        return stored if stored.type == target else pc.not_equal(stored, 0)
    if kinds.is_nested(kind):
        return plain_nested(array, target, path)
    try:
        return within_years(array if kind == target else array.cast(target), path)
    except ARROW_ERRORS as error:
        raise unfit(path, target, error) from None


def plain_nested(array: Any, target: Any, path: str) -> Any:
    """Return lists, maps or structs in their plain type; raises as `plain_array`."""
    kind = array.type
    if is_list(kind):
        items = plain_array(items_of(array), target.value_type, f"{path}.element")
        return list_of(items, lengths_of(array), array.is_null(), target)
    if kinds.is_map(kind):
        keys, values = entries_of(array)
        entries = (
            plain_array(keys, target.key_type, f"{path}.key"),
            plain_array(values, target.item_type, f"{path}.value"),
        )
        return map_of(entries, lengths_of(array), array.is_null(), target)
    inner = [
        plain_array(array.field(at), each.type, f"{path}.{each.name}")
        for at, each in enumerate(target)
    ]
    return struct_of(inner, array.is_null(), target)


def has_times(kind: Any) -> bool:
    """Tell whether a type has days or times, at any depth."""
    if not kinds.is_nested(kind):
        return bool(kinds.is_temporal(kind))
    return any(has_times(kind.field(at).type) for at in range(kind.num_fields))


def within_years(array: Any, path: str) -> Any:
    """Return days or times; raises ValueError for one outside the years that a table has."""
    if kinds.is_date(array.type):
        found, (first, last) = array.view(pa.int32()), DAYS
    elif kinds.is_timestamp(array.type):
        found, (first, last) = array.view(pa.int64()), MICROS
    else:
        return array
    ends = pc.min_max(found)
    if ends["min"].is_valid and not first <= ends["min"].as_py() <= ends["max"].as_py() <= last:
        raise unfit(path, array.type, "its times must be of the years 1 to 9999")
    return array


OTHER_CURE: Final = "cast the column to such a type first"
TAKEN: Final = (
    TakenTypes("booleans", kinds.is_boolean, "BOOLEAN", as_is),
    TakenTypes("`bool8`", is_extension("arrow.bool8"), "BOOLEAN", always(pa.bool_())),
    TakenTypes("`int8` to `int64`", kinds.is_signed_integer, "TINYINT to BIGINT", as_is),
    TakenTypes(
        "`uint8`, `uint16`, `uint32`",
        lambda kind: kinds.is_unsigned_integer(kind) and not kinds.is_uint64(kind),
        "the next wider whole number",
        lambda kind, _path: {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}[kind.bit_width],
    ),
    TakenTypes("`uint64`", kinds.is_uint64, "DECIMAL(20,0)", always(pa.decimal128(20, 0))),
    TakenTypes("`float16`", kinds.is_float16, "FLOAT", always(pa.float32())),
    TakenTypes("`float32`, `float64`", kinds.is_floating, "FLOAT, DOUBLE", as_is),
    TakenTypes(
        "decimals of all widths up to 38 digits",
        is_fitting_decimal,
        "DECIMAL",
        lambda kind, _path: pa.decimal128(kind.precision, kind.scale),
    ),
    TakenTypes(
        "texts: `string`, `large_string`, `string_view`",
        is_of(Family.STRING),
        "STRING",
        always(pa.string()),
    ),
    TakenTypes("bytes of all forms", is_of(Family.BINARY), "BINARY", always(pa.binary())),
    TakenTypes("`date32`, `date64`", kinds.is_date, "DATE", always(pa.date32())),
    TakenTypes(
        "times with a zone, in seconds to nanoseconds",
        is_of(Family.TIMESTAMP),
        "TIMESTAMP",
        always(pa.timestamp("us", "UTC")),
    ),
    TakenTypes(
        "times without a zone", kinds.is_timestamp, "TIMESTAMP_NTZ", always(pa.timestamp("us"))
    ),
    TakenTypes(
        "dictionaries: categories of pandas, `Categorical` and `Enum` of polars",
        kinds.is_dictionary,
        "the type of their values",
        of_values,
    ),
    TakenTypes(
        "run-end encoded values", kinds.is_run_end_encoded, "the type of their values", of_values
    ),
    TakenTypes("lists of all forms, also fixed ones and views", is_list, "ARRAY", of_list),
    TakenTypes("maps", kinds.is_map, "MAP", of_map),
    TakenTypes("structs", kinds.is_struct, "STRUCT", of_struct),
    TakenTypes(
        "`arrow.json`, `arrow.uuid`, `geoarrow.wkb`, `geoarrow.wkt`",
        is_extension(*AS_STORED),
        "STRING or BINARY, as they are stored",
        lambda kind, path: plain_type(kind.storage_type, path),
    ),
    TakenTypes(
        "only NULLs", kinds.is_null, "the type of the column; a new column needs one", as_is
    ),
)
REFUSED: Final = (
    RefusedTypes(
        "periods of pandas",
        is_extension("pandas.period"),
        "give their first days, as dt.to_timestamp() does, or texts",
    ),
    RefusedTypes(
        "intervals of pandas, also as categories",
        is_extension("pandas.interval"),
        "give two columns with their ends, or texts",
    ),
    RefusedTypes("times of day", kinds.is_time, "give texts, or whole numbers of a unit"),
    RefusedTypes(
        "durations and intervals",
        lambda kind: kinds.is_duration(kind) or kinds.is_interval(kind),
        "give whole numbers of a unit, such as seconds",
    ),
    RefusedTypes(
        "decimals with more digits",
        kinds.is_decimal,
        f"a decimal has at most {DECIMAL_DIGITS_MAX} digits, and 0 to all of them after the point",
    ),
    RefusedTypes("unions", kinds.is_union, "give a column for each of their types"),
    RefusedTypes(
        "other extension types",
        lambda kind: isinstance(kind, pa.BaseExtensionType),
        "give what they store, if it means the same: column.cast(column.type.storage_type)",
    ),
)
