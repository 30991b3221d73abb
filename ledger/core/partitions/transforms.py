"""Partition transforms: a table is divided by what a column's values become, not by the values.

A partition column of a definition is the name of a column, or a transform such as `days(at)` or
`bucket(16, id)`. A name that a column has is that column. The transforms and their results are
those of Iceberg; a time with a zone counts in UTC. The log has the results as texts that people
read, and that sort as the values do: a year, `2026-01`, `2026-01-31`, `2026-01-31-23`, a number. A
cut text begins with `~`, as an empty text alone would be NULL.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from ledger.core.commands import TableDefinition
from ledger.core.partitions.murmur import hash_of_bytes, hash_of_long
from ledger.core.partitions.values import form_of, read
from ledger.core.predicates.casts import DECIMALS
from ledger.core.predicates.types import BITS, TIMES, Kind, SparkType, parse_type

TransformKind = Literal["years", "months", "days", "hours", "bucket", "truncate"]

WIDTH_MAX: Final = (1 << 31) - 1
FORM: Final = re.compile(
    r"(?:(?P<time>years|months|days|hours)\("
    r"|(?P<width>bucket|truncate)\((?P<digits>[1-9][0-9]{0,9}), )"
    r"(?:(?P<plain>\w+)|`(?P<quoted>(?:[^`]|``)+)`)\)"
)
PLAIN: Final = re.compile(r"\w+")
CUT_TEXT: Final = "~"
"""The first sign of a cut text in the log."""

EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - values of the core are in UTC
EPOCH_DAY: Final = EPOCH.date()

INSTANTS: Final = TIMES - {Kind.DATE}
HASHED: Final = frozenset({*BITS, *TIMES, Kind.DECIMAL, Kind.STRING})
CUT: Final = frozenset({*BITS, Kind.DECIMAL, Kind.STRING})
FITTING: Final[Mapping[TransformKind, frozenset[Kind]]] = {
    "years": TIMES,
    "months": TIMES,
    "days": TIMES,
    "hours": INSTANTS,
    "bucket": HASHED,
    "truncate": CUT,
}
"""The types of columns that a transform takes."""

RESULTS: Final[Mapping[TransformKind, str]] = {
    "years": "int",
    "months": "string",
    "days": "date",
    "hours": "string",
    "bucket": "int",
}
"""The types of results; a cut value has the type of its column."""

SUFFIXES: Final[Mapping[TransformKind, str]] = {
    "years": "year",
    "months": "month",
    "days": "day",
    "hours": "hour",
    "bucket": "bucket",
    "truncate": "trunc",
}


class PartitionTransform(NamedTuple):
    """A transform of one column; `width` is the number of buckets, or the length of a cut."""

    kind: TransformKind
    column: str
    width: int = 0

    @property
    def text(self) -> str:
        """The transform as a definition has it; equal transforms have equal texts."""
        is_plain = PLAIN.fullmatch(self.column)
        name = self.column if is_plain else f"`{self.column.replace('`', '``')}`"
        return f"{self.kind}({self.width}, {name})" if self.width else f"{self.kind}({name})"

    @property
    def field(self) -> str:
        """The usual name of the results, as Iceberg's writers give it."""
        return f"{self.column}_{SUFFIXES[self.kind]}"

    def result_type(self, column_type: str) -> str:
        """Return the Spark SQL type of the results."""
        found = parse_type(column_type)
        if self.kind != "truncate" or found is None:
            return RESULTS.get(self.kind, column_type)
        if found.kind in BITS:
            return "bigint"  # The multiple below the least value of a type may lie outside.
        return "string" if found.kind is Kind.STRING else column_type

    def form(self, column_type: str) -> str:
        """Return what results depend on beside a value: a type that grows may have another form."""
        found = parse_type(column_type)
        if self.kind != "bucket" or found is None:
            return self.result_type(column_type)
        if found.kind in BITS:
            return "bigint"
        return f"scale {found.scale}" if found.kind is Kind.DECIMAL else found.kind.value

    def takes(self, column_type: str) -> bool:
        """Return whether columns of a Spark SQL type can be transformed."""
        found = parse_type(column_type)
        return found is not None and found.kind in FITTING[self.kind]

    def of_value(self, value: Any, type_: SparkType) -> str:
        """Return the result for a value of the core, as the log has it."""
        match self.kind:
            case "bucket":
                return str(bucket_of(value, type_, self.width))
            case "truncate":
                return cut(value, type_, self.width)
            case _:
                return PARTS[self.kind](value)

    def of_text(self, text: str | None, column_type: str) -> str | None:
        """Return the result for the text of a value, None for NULL.

        Raises ValueError for a text that is no value of the column, and for a column that cannot be
        transformed.
        """
        known = parse_type(column_type)
        if known is None or known.kind not in FITTING[self.kind]:
            raise ValueError(f"{self.text} takes no column of type {column_type}")
        form = form_of(column_type)
        if text is None or form is None:
            return None if text is None else self.of_value(text, known)
        return self.of_value(read(form, text), known)


@lru_cache(maxsize=1024)
def parse_transform(text: str) -> PartitionTransform | None:
    """Return the transform that a partition column of a definition is, None for another text."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    column = found["plain"] or found["quoted"].replace("``", "`")
    kind: Any = found["time"] or found["width"]
    made = PartitionTransform(kind, column, int(found["digits"] or 0))
    return made if made.width <= WIDTH_MAX and made.text == text else None


def transforms_of(definition: TableDefinition) -> dict[str, PartitionTransform]:
    """Return the transforms among the partition columns of a definition, by their texts."""
    return transforms_in(
        definition.partition_columns, [column.name for column in definition.columns]
    )


def transforms_in(
    partition_columns: Iterable[str], columns: Iterable[str]
) -> dict[str, PartitionTransform]:
    """Return the transforms among partition columns of a table with these columns, by texts."""
    known: set[str] | None = None
    found = {}
    for name in partition_columns:
        transform = parse_transform(name)
        if transform is None:
            continue
        known = {column.lower() for column in columns} if known is None else known
        if name.lower() not in known:
            found[name] = transform
    return found


def bucket_of(value: Any, type_: SparkType, count: int) -> int:
    """Return the bucket of a value, from 0: a Murmur3 hash of its one binary form."""
    return (hashed(value, type_) & 0x7FFFFFFF) % count


def hashed(value: Any, type_: SparkType) -> int:
    """Return the hash of a value as Iceberg defines it."""
    if isinstance(value, datetime):
        since = value - EPOCH
        return hash_of_long((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    if isinstance(value, date):
        return hash_of_long((value - EPOCH_DAY).days)
    if isinstance(value, Decimal):
        whole = int(value.scaleb(type_.scale, DECIMALS))
        size = ((whole if whole >= 0 else ~whole).bit_length() + 8) // 8
        return hash_of_bytes(whole.to_bytes(size, "big", signed=True))
    return hash_of_bytes(value.encode()) if isinstance(value, str) else hash_of_long(value)


def cut(value: Any, type_: SparkType, width: int) -> str:
    """Return the text of the next lower multiple of a width, or of the first characters."""
    if isinstance(value, str):
        return f"{CUT_TEXT}{value[:width]}"
    if isinstance(value, Decimal):
        whole = int(value.scaleb(type_.scale, DECIMALS))
        form = form_of(str(type_))
        assert form is not None, f"{type_} has no texts"
        return form.spell(Decimal(whole - whole % width).scaleb(-type_.scale, DECIMALS))
    return str(value - value % width)


PARTS: Final[Mapping[str, Callable[[Any], str]]] = {
    "years": lambda value: str(value.year),
    "months": lambda value: f"{value.year:04}-{value.month:02}",
    "days": lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}",
    "hours": lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}-{value.hour:02}",
}
