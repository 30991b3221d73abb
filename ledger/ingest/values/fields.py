"""Decoding: the records of a topic as rows of its table, and the records that do not fit.

The fields that columns need are one type of msgspec, made from the types of the columns. So a
record is read and checked in one step, and what no column needs is passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from ledger.arrow.schema import TableColumn, TableSchema
from ledger.arrow.types import Family, family_of
from ledger.errors import SettingsError
from ledger.ingest.mapping import ColumnSource, TopicMapping
from ledger.ingest.source import TopicRecord
from ledger.ingest.values.field_types import exact, field_type, in_arrow
from ledger.ingest.values.formats import Misfit
from ledger.ingest.values.row_trial import reason_of

ROOT: Final = "record"
REASON_MAX: Final = 1_000

Path = tuple[str, ...]
Getter = Callable[[Any], Any]

RECORD_PARTS: Final[Mapping[str, tuple[Callable[[TopicRecord], Any], frozenset[Family]]]] = {
    "topic": (lambda record: record.partition.topic, frozenset({Family.STRING})),
    "partition": (lambda record: record.partition.number, frozenset({Family.WHOLE})),
    "offset": (lambda record: record.offset, frozenset({Family.WHOLE})),
    "timestamp": (lambda record: record.at, frozenset({Family.WHOLE, Family.TIMESTAMP})),
    "key": (lambda record: record.key, frozenset({Family.STRING, Family.BINARY})),
    "value": (lambda record: record.value, frozenset({Family.STRING, Family.BINARY})),
}


class BadRecord(NamedTuple):
    """A record that does not fit its table, and why."""

    record: TopicRecord
    reason: str

    @classmethod
    def of(cls, record: TopicRecord, problem: BaseException) -> "BadRecord":
        """Return a record with what it raised."""
        return cls(record, reason_of(problem)[:REASON_MAX])


class ReadColumn(NamedTuple):
    """A column with the place its values come from; `get` takes them from a value or a record."""

    column: TableColumn
    source: ColumnSource
    get: Getter

    @property
    def is_field(self) -> bool:
        """Whether the values are in the records' values."""
        return bool(self.source.path)

    def array(self, values: list[Any]) -> pa.Array:
        """Return values as Arrow has them; raises one of `Misfit`."""
        form = self.source.form
        if self.source.record == "timestamp" and family_of(self.column.type) is Family.TIMESTAMP:
            form = "epoch_ms"
        elif self.source.record in {"key", "value"} and pa.types.is_string(self.column.type):
            values = [None if value is None else value.decode() for value in values]
        return in_arrow(values, self.column, form)


class NeededFields:
    """The fields that some columns need, as one type.

    `closed` fields allow no other beside them, at the top alone or (`deep`) at all levels. Fields
    in `nulls` are allowed as long as they are null.
    """

    def __init__(
        self,
        columns: Sequence[tuple[TableColumn, ColumnSource]],
        required: frozenset[str],
        *,
        closed: bool = False,
        deep: bool = False,
        nulls: frozenset[str] = frozenset(),
        plain: bool = False,
    ) -> None:
        self._closed, self._deep, self._nulls = closed, deep, nulls
        self._plain = plain
        tree: dict[str, Any] = {}
        for column, source in columns:
            place = tree
            for name in source.path[:-1]:
                place = place.setdefault(name, {})
                if not isinstance(place, dict):
                    raise twice(source.path)
            if source.path[-1] in place:
                raise twice(source.path)
            needed = column.name in required or not column.nullable
            place[source.path[-1]] = (column, source, needed)
        self.names = frozenset(tree)
        self.getters: dict[str, Getter] = {}
        self.type, _ = self._type_of(tree, (), ())

    def _type_of(self, tree: Mapping[str, Any], place: Path, attributes: Path) -> tuple[Any, bool]:
        """Return the type of an object, and whether it must be there."""
        fields: list[Any] = []
        names: dict[str, str] = {}
        is_needed = False
        for number, (name, part) in enumerate(tree.items()):
            attribute = f"f{number}"
            inner = (*attributes, attribute)
            names[attribute] = name
            if isinstance(part, dict):
                kind, needed = self._type_of(part, (*place, name), inner)
            else:
                column, source, needed = part
                kind = field_type(column, source.form, closed=self._deep)
                if kind is msgspec.Raw and self._plain:
                    kind = Any
                self.getters[column.name] = getter(inner)
            is_needed |= needed
            # A part that is kept as it stands may be null as well.
            wide = kind if kind in {msgspec.Raw, Any} else kind | None
            fields.append((attribute, kind) if needed else (attribute, wide, None))
        if not place:
            for number, name in enumerate(sorted(self._nulls - tree.keys())):
                names[f"n{number}"] = name
                fields.append((f"n{number}", None, None))
        made = msgspec.defstruct(
            ".".join((ROOT, *place)),
            fields,
            rename=names,
            kw_only=True,
            gc=False,
            forbid_unknown_fields=self._deep or (self._closed and not place),
        )
        return made, is_needed


def getter(attributes: Path) -> Getter:
    """Return what takes a nested attribute; None if an object on the way is."""
    if len(attributes) == 1:
        return attrgetter(attributes[0])

    def get(value: Any) -> Any:
        for attribute in attributes:
            if value is None:
                return None
            value = getattr(value, attribute)
        return value

    return get


def twice(path: Path) -> SettingsError:
    """Return the error for a field that is read twice, or whole and in parts."""
    return SettingsError(
        f"field {'.'.join(path)} must be read by one column, and not whole and in parts too"
    )


def sources_of(mapping: TopicMapping, schema: TableSchema) -> dict[str, ColumnSource]:
    """Return where each column comes from, by its name in the table; raises SettingsError."""
    named = mapping.sources()
    found: dict[str, ColumnSource] = {}
    for name, source in named.items():
        column = schema.find(name)
        if column is None:
            names = ", ".join(each.name for each in schema.columns)
            raise SettingsError(
                f"topic {mapping.topic}: table {schema.name} has no column {name}, it has {names}"
            )
        if column.generated or column.identity:
            raise SettingsError(
                f"topic {mapping.topic}: column {name} of table {schema.name} is computed by the "
                "table: leave it out of the columns"
            )
        found[column.name] = source
    if not named or mapping.new_fields == "add":
        for column in schema.columns:
            if not (column.generated or column.identity or column.name in found):
                found[column.name] = ColumnSource(field=[column.name])
    lacking = [name for name in mapping.key if schema.find(name) is None]
    if lacking:
        raise SettingsError(f"topic {mapping.topic}: the table has no key column {lacking[0]}")
    for column in schema.columns:
        has_value = column.nullable or column.default or column.generated or column.identity
        if not has_value and column.name not in found:
            raise SettingsError(
                f"topic {mapping.topic}: column {column.name} of table {schema.name} must not be "
                "null: name it among the columns"
            )
    return found


def read_columns(
    mapping: TopicMapping,
    schema: TableSchema,
    sources: Mapping[str, ColumnSource],
    getters: Mapping[str, Getter],
) -> list[ReadColumn]:
    """Return the columns of a table that a topic fills; raises SettingsError for a wrong part."""
    found = []
    for name, source in sources.items():
        column = schema.by_name[name.lower()]
        if source.path:
            found.append(ReadColumn(column, source, getters[name]))
        elif source.record is not None:
            get, families = RECORD_PARTS[source.record]
            if family_of(column.type) not in families:
                raise SettingsError(
                    f"topic {mapping.topic}: column {name} must be {' or '.join(sorted(families))} "
                    f"to hold the {source.record} of a record"
                )
            found.append(ReadColumn(column, source, get))
        else:
            found.append(ReadColumn(column, source, constant(mapping, column, source.value)))
    return found


def constant(mapping: TopicMapping, column: TableColumn, value: Any) -> Getter:
    """Return what gives a constant as its column has it; raises SettingsError for another type."""
    try:
        known = msgspec.convert(value, field_type(column, None), dec_hook=exact)
        in_arrow([known], column, None)
    except Misfit as problem:
        raise SettingsError(
            f"topic {mapping.topic}: the value of column {column.name} does not fit: {problem}"
        ) from problem
    return lambda _: known
