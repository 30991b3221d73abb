"""Statistics of a data file in Delta's form: how many rows, and the bounds of their columns.

Columns within structs count one by one; those after the first 32 have no statistics. Bounds serve
skipping: a bound that cannot be written exactly is made wider, or left out. So long texts are cut,
times are rounded to milliseconds, and a column with NaN, which Spark puts above all numbers, has no
maximum.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from ledger.arrow.types import Family, family_of

LEAVES_MAX: Final = 32
TEXT_CHARS_MAX: Final = 32
HIGHEST: Final = "\U0010ffff"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROS: Final = 1000

Path = tuple[str, ...]
Spell = Callable[[Any], Any]


class Leaf:
    """A column without fields: its NULLs and bounds over all batches seen.

    `low` and `high` are None until a value was seen. With `has_nan` there is no maximum.
    """

    def __init__(self, path: Path, places: Sequence[int], kind: Any) -> None:
        self.path = path
        self.nulls: int | None = 0
        self.low: Any = None
        self.high: Any = None
        self.has_nan = False
        self.kind = kind
        self._places = places
        self._form = FORMS.get(family_of(kind))

    def add(self, table: Any) -> None:
        """Count the values of a batch or table."""
        values = table.column(self._places[0])
        if self._places[1:]:
            values = pc.struct_field(values, list(self._places[1:]))
        self.nulls = (self.nulls or 0) + values.null_count
        if self._form is None or values.null_count == len(values):
            return
        if kinds.is_floating(self.kind):
            is_nan = pc.is_nan(values)
            self.has_nan |= bool(pc.any(is_nan).as_py())
            values = values.filter(pc.invert(is_nan))
        if self._form.number is not None:
            values = values.cast(self._form.number)
        found = pc.min_max(values)
        low, high = found["min"].as_py(), found["max"].as_py()
        if low is None:
            return
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    def take(self, groups: Sequence[Any]) -> None:
        """Take what the footer of a whole file says of the column, group by group.

        A writer leaves out the bounds of a column with NaN. Without a number of NULLs, or for a
        type whose bounds are not understood, there are none.
        """
        known = [group for group in groups if group is not None and group.has_null_count]
        self.nulls = sum(each.null_count for each in known) if len(known) == len(groups) else None
        bounded = [each for each in known if each.has_min_max]
        is_whole = all(each.has_min_max or not each.num_values for each in known)
        if self._form is None or self.nulls is None or not bounded or not is_whole:
            return
        ends = [end for each in bounded for end in self._ends(each)]
        if all(end is not None for end in ends):
            self.low, self.high = min(ends), max(ends)

    def _ends(self, group: Any) -> tuple[Any, Any]:
        """Return minimum and maximum of a group in the form of comparison, None if unknown."""
        if self._form is None:
            return None, None
        if self._form.number is not None:
            is_whole = group.physical_type in WHOLE_TYPES
            return (group.min_raw, group.max_raw) if is_whole else (None, None)
        try:
            ends = group.min, group.max
        except ValueError:  # A text may be cut within a letter.
            return None, None
        is_known = all(isinstance(end, self._form.python) for end in ends)
        return ends if is_known else (None, None)

    def texts(self) -> Sequence[str | None]:
        """Return minimum, maximum and the number of NULLs as JSON, None for what is not known."""
        nulls = None if self.nulls is None else str(self.nulls)
        if self._form is None or self.low is None:
            return None, None, nulls
        high = None if self.has_nan else bound_json(self._form.high, self.high)
        return bound_json(self._form.low, self.low), high, nulls


class FileStatistics:
    """The statistics of a file that is being written, without the columns in `skipped`."""

    def __init__(self, schema: Any, skipped: AbstractSet[str] = frozenset()) -> None:
        self.rows = 0
        leaves = list(leaves_of(schema))
        if skipped:
            leaves = [leaf for leaf in leaves if leaf.path[0] not in skipped]
        self._leaves = leaves[:LEAVES_MAX]

    def add(self, table: Any) -> None:
        """Count the rows of a batch or table of the schema."""
        self.rows += len(table)
        for leaf in self._leaves:
            leaf.add(table)

    def take(self, footer: Any) -> None:
        """Take the counts and bounds of a whole file from its Parquet footer."""
        self.rows = footer.num_rows
        # By place: a column `a.b` and a field `b` of `a` have one path in a footer.
        places = {path: at for at, path in enumerate(paths_of(footer.schema.to_arrow_schema()))}
        groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
        kinds_in = kinds_of(footer.schema.to_arrow_schema())
        for leaf in self._leaves:
            # Numbers and times of another type are counted in other units.
            is_alike = kinds_in.get(leaf.path) == leaf.kind
            at_place = places.get(leaf.path) if is_alike else None
            found = [] if at_place is None else [group.column(at_place) for group in groups]
            leaf.take([column.statistics for column in found] or [None])

    @property
    def text(self) -> str:
        """The statistics as Delta's JSON."""
        sides: tuple[dict[str, Any], ...] = ({}, {}, {})
        for leaf in self._leaves:
            put(sides, leaf.path, leaf.texts())
        lows, highs, nulls = sides
        return as_object(
            {"numRecords": str(self.rows), "minValues": lows, "maxValues": highs}
            | {"nullCount": nulls}
        )


class BoundForm(NamedTuple):
    """How bounds of a type are spelled.

    `python` is the type of a bound that a footer has as a value. Bounds of a type with a `number`
    are compared in that type, and are whole numbers in a footer.
    """

    low: Spell
    high: Spell
    python: Any = ()
    number: Any = None


def leaves_of(fields: Any, path: Path = (), places: Sequence[int] = ()) -> list[Leaf]:
    """Return the columns without fields, those of structs in their place."""
    leaves: list[Leaf] = []
    for at, field in enumerate(fields):
        inner, there = (*path, field.name), (*places, at)
        if kinds.is_struct(field.type):
            leaves += leaves_of(field.type, inner, there)
        else:
            leaves.append(Leaf(inner, there, field.type))
    return leaves


def paths_of(fields: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each leaf of a file, in the order of the file."""
    for field in fields:
        kind, inner = field.type, (*path, field.name)
        if kinds.is_nested(kind):
            yield from paths_of([kind.field(at) for at in range(kind.num_fields)], inner)
        else:
            yield inner


def kinds_of(fields: Any) -> Mapping[Path, Any]:
    """Return the types of the columns without fields, by their paths."""
    return {each.path: each.kind for each in leaves_of(fields)}


def put(trees: Sequence[dict[str, Any]], path: Path, texts: Sequence[str | None]) -> None:
    """Put a text into each tree of names; None is left out."""
    for tree, text in zip(trees, texts, strict=True):
        if text is not None:
            for name in path[:-1]:
                tree = tree.setdefault(name, {})  # noqa: PLW2901 - down the tree
            tree[path[-1]] = text


def bound_json(spell: Spell, value: Any) -> str | None:
    """Return a bound as JSON, None for one that cannot be spelled; a decimal keeps all digits."""
    try:
        bound = spell(value)
    except (OverflowError, ValueError):
        return None
    if bound is None or isinstance(bound, Decimal):
        return None if bound is None else format(bound, "f")
    return json.dumps(bound, ensure_ascii=False)


def finite(number: float) -> float | None:
    """Return a number, None for an infinite one, which JSON does not have."""
    return (number or 0.0) if math.isfinite(number) else None


def low_text(text: str) -> str:
    """Return a lower bound of a text."""
    return text[:TEXT_CHARS_MAX]


def high_text(text: str) -> str | None:
    """Return an upper bound of a text: a cut one ends with the highest character."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    cut = next((at for at in range(TEXT_CHARS_MAX, len(text)) if text[at] < HIGHEST), None)
    return None if cut is None else text[:cut] + HIGHEST


def day_text(days: int) -> str:
    """Return a day, counted from 1970."""
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def time_text(millis: int) -> str:
    """Return a time without a zone, in milliseconds since 1970."""
    moment = EPOCH + timedelta(milliseconds=millis)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def low_time(micros: int) -> str:
    """Return the millisecond at or before a time."""
    return time_text(micros // MICROS)


def high_time(micros: int) -> str:
    """Return the millisecond at or after a time."""
    return time_text(-(-micros // MICROS))


def as_object(tree: Mapping[str, Any]) -> str:
    """Return a tree of JSON texts as compact JSON."""
    parts = []
    for name, part in tree.items():
        text = part if isinstance(part, str) else as_object(part)
        parts.append(f"{json.dumps(name, ensure_ascii=False)}:{text}")
    return f"{{{','.join(parts)}}}"


# The physical types of Parquet in which days and microseconds are whole numbers.
WHOLE_TYPES: Final = frozenset({"INT32", "INT64"})
FORMS: Final[Mapping[Family, BoundForm]] = {
    Family.WHOLE: BoundForm(int, int, int),
    Family.FLOATING: BoundForm(finite, finite, float),
    Family.DECIMAL: BoundForm(Decimal, Decimal, Decimal),
    Family.STRING: BoundForm(low_text, high_text, str),
    Family.DATE: BoundForm(day_text, day_text, number=pa.int32()),
    Family.TIMESTAMP: BoundForm(
        lambda at: f"{low_time(at)}Z", lambda at: f"{high_time(at)}Z", number=pa.int64()
    ),
    Family.TIMESTAMP_NTZ: BoundForm(low_time, high_time, number=pa.int64()),
}
