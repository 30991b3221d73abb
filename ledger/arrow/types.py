"""Types of columns: Spark SQL's texts and Arrow's types, one for the other.

A field of a struct may carry metadata: the id and the name that it has in data files.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from ledger.core.predicates.types import DECIMAL_DIGITS_MAX, decimal_type

PRECISION_DEFAULT: Final = 10
UTC: Final = "UTC"
PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WORD: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\w+|[<>(),:])", re.DOTALL)
SIMPLE: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", UTC),
    "timestamp_ltz": pa.timestamp("us", UTC),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
DECIMALS: Final = frozenset({"decimal", "dec", "numeric"})
WITH_LENGTH: Final = frozenset({"varchar", "char"})
# The text of an Arrow type in Spark SQL; the first test that holds counts.
TEXTS: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "tinyint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_uint8, "smallint"),
    (pa.types.is_int32, "int"),
    (pa.types.is_uint16, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_uint32, "bigint"),
    (pa.types.is_float16, "float"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_string_view, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_binary_view, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date, "date"),
    (pa.types.is_null, "void"),
)
LISTS: Final = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def arrow_type(sql: str, column: str = "") -> pa.DataType:
    """Return the Arrow type of a Spark SQL type; raises ValueError for another text.

    The message names the `column`. Lengths of varchar and char limit what is written, not the type.
    """
    found = TypeText(sql, column)
    made = found.type()
    found.take_end()
    return made


def sql_type(arrow: pa.DataType, column: str = "") -> str:  # noqa: PLR0911 - a case for each
    """Return the Spark SQL type of an Arrow type; raises ValueError if Spark has no such type."""
    plain = next((text for fits, text in TEXTS if fits(arrow)), None)
    if plain is not None:
        return plain
    if pa.types.is_dictionary(arrow):
        return sql_type(arrow.value_type, column)
    if pa.types.is_timestamp(arrow):
        return "timestamp_ntz" if arrow.tz is None else "timestamp"
    if pa.types.is_uint64(arrow):
        return "decimal(20,0)"
    if is_fitting_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    if any(fits(arrow) for fits in LISTS):
        return f"array<{sql_type(arrow.value_type, column)}>"
    if pa.types.is_map(arrow):
        return f"map<{sql_type(arrow.key_type, column)},{sql_type(arrow.item_type, column)}>"
    if pa.types.is_struct(arrow):
        return f"struct<{','.join(field_text(each, column) for each in arrow)}>"
    raise ValueError(
        f"{at(column)}the type must be one that Spark SQL has, got Arrow's {arrow}; cast the "
        "column to such a type first"
    )


def is_fitting_decimal(arrow: pa.DataType) -> bool:
    """Return whether a type is a decimal that Spark has too."""
    return bool(
        pa.types.is_decimal(arrow)
        and arrow.precision <= DECIMAL_DIGITS_MAX
        and 0 <= arrow.scale <= arrow.precision
    )


def field_text(field: pa.Field, column: str) -> str:
    """Return a field of a struct as Spark SQL writes it."""
    name = field.name
    quoted = name if PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
    mark = "" if field.nullable else " NOT NULL"
    return f"{quoted}:{sql_type(field.type, column)}{mark}"


def at(column: str) -> str:
    """Return the start of a message about a column, "" for no column."""
    return f"column {column}: " if column else ""


Place = tuple[str, ...]
"""A place within a type: names of fields, and element, key and value."""


class TypeText:
    """A text of a type, read from left to right.

    Attributes:
        lengths: the lengths of texts that were taken, by their places: the word and the number.
    """

    def __init__(self, text: str, column: str) -> None:
        self.text, self.column = text, column
        self.place = 0
        self.lengths: dict[Place, tuple[str, int]] = {}
        self._inside: list[str] = []
        self.words = list(self.divided())

    def divided(self) -> Iterator[str]:
        """Yield the words of the text; raises ValueError for what is no word."""
        at_end, text = 0, self.text.rstrip()
        while at_end < len(text):
            found = WORD.match(text, at_end)
            if found is None:
                raise self.refused(f"it has {text[at_end:].strip()[:20]!r}")
            yield found[1]
            at_end = found.end()

    def refused(self, why: str) -> ValueError:
        """Return the error for this text."""
        return ValueError(
            f"{at(self.column)}the type must be a type of Spark SQL that Arrow has too, got "
            f"{self.text[:200]!r}: {why}"
        )

    @property
    def next(self) -> str:
        """The next word, "" at the end."""
        return self.words[self.place] if self.place < len(self.words) else ""

    def take(self, *wanted: str) -> str:
        """Return the next word, which must be one of the wanted ones if some are given."""
        found = self.next
        if not found or (wanted and found.lower() not in wanted):
            place = repr(found) if found else "its end"
            raise self.refused(f"{' or '.join(wanted) or 'a word'} must stand before {place}")
        self.place += 1
        return found

    def take_if(self, wanted: str) -> bool:
        """Take the next word if it is the wanted one."""
        is_wanted = self.next.lower() == wanted
        self.place += is_wanted
        return is_wanted

    def take_end(self) -> None:
        """Raise ValueError unless all words were taken."""
        if self.next:
            raise self.refused(f"{self.next!r} follows a whole type")

    def type(self) -> pa.DataType:
        """Take a type."""
        word = self.take().lower()
        if word in DECIMALS:
            return self.decimal()
        if word == "array":
            return self.array()
        if word == "map":
            return self.map()
        if word == "struct":
            return self.struct()
        if word not in SIMPLE:
            raise self.refused(f"{word!r} is not a supported type")
        if word in WITH_LENGTH and (length := self.numbers()):
            self.lengths[tuple(self._inside)] = (word, length[0])
        if word == "string" and self.take_if("collate"):
            self.take()
        return SIMPLE[word]

    def within(self, name: str) -> pa.DataType:
        """Take a type within this one."""
        self._inside.append(name)
        found = self.type()
        self._inside.pop()
        return found

    def numbers(self) -> list[int]:
        """Take whole numbers in brackets, if they follow."""
        found: list[int] = []
        if not self.take_if("("):
            return found
        while not found or self.take(",", ")") == ",":
            word = self.take()
            if not (word.isascii() and word.isdigit()):
                raise self.refused(f"{word!r} must be a whole number")
            found.append(int(word))
        return found

    def decimal(self) -> pa.DataType:
        """Take the digits of a decimal."""
        digits = self.numbers() or [PRECISION_DEFAULT]
        precision, scale = (*digits, 0)[:2]
        if len(digits) > len(("precision", "scale")) or decimal_type(precision, scale) is None:
            raise self.refused(
                f"a decimal has 1 to {DECIMAL_DIGITS_MAX} digits, and no more of them after the "
                "point"
            )
        return pa.decimal128(precision, scale)

    def array(self) -> pa.DataType:
        """Take the element of an array."""
        self.take("<")
        element = self.within("element")
        self.take(">")
        return pa.list_(pa.field("element", element))

    def map(self) -> pa.DataType:
        """Take key and value of a map."""
        self.take("<")
        key = self.within("key")
        self.take(",")
        value = self.within("value")
        self.take(">")
        if pa.types.is_null(key):
            raise self.refused("the keys of a map need a type")
        return pa.map_(key, value)

    def struct(self) -> pa.DataType:
        """Take the fields of a struct."""
        self.take("<")
        fields: list[pa.Field] = []
        while not self.take_if(">"):
            if fields:
                self.take(",")
            fields.append(self.field())
        return pa.struct(fields)

    def field(self) -> pa.Field:
        """Take a field of a struct; its comment does not count."""
        word = self.take()
        name = word[1:-1].replace("``", "`") if word.startswith("`") else word
        self.take_if(":")
        type_ = self.within(name)
        is_nullable = not self.take_if("not")
        if not is_nullable:
            self.take("null")
        if self.take_if("comment"):
            self.take()
        return pa.field(name, type_, nullable=is_nullable)
