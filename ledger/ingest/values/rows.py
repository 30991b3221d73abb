"""The rows of one topic in a batch: those to add, or the last one of each key, and the bad records.

A record is bad if any of its values does not fit. So all values become columns first, and only
then the last record of each key is taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.arrow.types import NESTED, family_of
from ledger.errors import SettingsError
from ledger.ingest.mapping import TopicMapping
from ledger.ingest.source import TopicRecord
from ledger.ingest.values.fields import (
    REASON_MAX,
    BadRecord,
    NeededFields,
    ReadColumn,
    read_columns,
    sources_of,
)
from ledger.ingest.values.fitting import checked_key, in_columns, without
from ledger.ingest.values.formats import Misfit, ValueFormat
from ledger.ingest.values.new_fields import NEW_TYPES, why_not_added
from ledger.ingest.values.row_trial import RowTrial, misfits, reason_of, stored_key
from ledger.statements.constraints import Constraint

DELETED: Final = "lakeledger_deleted"
"""The column that marks removed rows, by a name that no column of the table has."""


class TopicRows(NamedTuple):
    """What records of a topic do to its table.

    `rows` are new rows, or with a key the last row of each key. Then the column `deleted` marks
    those that a tombstone removed, "" if there are none. `records` has the record of each row.
    `new` are columns that the table lacks: the records must be read again once it has them.
    `given` are the records.
    """

    rows: pa.Table
    records: Sequence[TopicRecord]
    bad: Sequence[BadRecord]
    new: Mapping[str, str]
    given: Sequence[TopicRecord]
    deleted: str = ""

    @property
    def read(self) -> int:
        """How many records there are."""
        return len(self.given)


class TopicReader:
    """Reads records of one topic as rows of a table with a schema."""

    def __init__(
        self,
        mapping: TopicMapping,
        schema: TableSchema,
        values: ValueFormat,
        keys: ValueFormat,
        *,
        constraints: Sequence[Constraint] = (),
        unadded: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.mapping, self.schema, self._unadded = mapping, schema, unadded
        self._deleted = DELETED
        while schema.find(self._deleted):
            self._deleted += "_"
        self._values = values
        self._nulls: frozenset[str] = frozenset()
        self._sources = sources_of(mapping, schema)
        self._key = [schema.by_name[name.lower()].name for name in mapping.key]
        for name in self._key:
            if family_of(schema.by_name[name.lower()].type) in NESTED:
                raise SettingsError(
                    f"topic {mapping.topic}: key column {name} must have one value, got "
                    f"{schema.by_name[name.lower()].declared}"
                )
        self._make()
        self._read_key = self._key_reader(keys)
        self.trial = RowTrial(schema, self._sources, constraints)

    def read(self, records: Iterable[TopicRecord]) -> TopicRows:
        """Return what records do to the table, in their order."""
        good: list[tuple[TopicRecord, Any]] = []
        gone: list[tuple[TopicRecord, Any]] = []
        order: dict[TopicRecord, int] = {}
        bad: list[BadRecord] = []
        unread: list[BadRecord] = []
        for at, record in enumerate(records):
            order[record] = at
            if record.value is None:
                self._take_tombstone(record, gone, bad)
                continue
            try:
                good.append((record, self._read(record.value)))
            except Misfit as problem:
                unread.append(BadRecord.of(record, problem))
        new = self._new_columns(unread) if self.mapping.new_fields == "add" else {}
        if new is None:
            return self.read(order)
        bad += unread
        table, kept = self._tried(*in_columns(self._columns, good, bad), bad)
        if self._key:
            table, kept = self._keyed(table, kept, bad)
            keys, removed = self._keyed(*in_columns(self._key_columns(), gone, bad), bad)
            table, kept = self._last(order, table, kept, keys, removed)
        deleted = self._deleted if self._deleted in table.column_names else ""
        return TopicRows(table, kept, bad, new, [*order], deleted)

    def _tried(
        self, table: pa.Table, records: Sequence[TopicRecord], bad: list[BadRecord]
    ) -> tuple[pa.Table, Sequence[TopicRecord]]:
        """Return the rows that the table takes, with their records."""
        return without(table, records, self.trial.faults(table), bad)

    def _keyed(
        self, table: pa.Table, records: Sequence[TopicRecord], bad: list[BadRecord]
    ) -> tuple[pa.Table, Sequence[TopicRecord]]:
        """Return rows whose keys are as the table stores them, with their records."""
        for name in self._key:
            column = self.schema.by_name[name.lower()]
            check = partial(checked_key, table.column(name), column)
            faults = {at: reason_of(why) for at, why in misfits(len(table), check).items()}
            table, records = without(table, records, faults, bad)
            stored = stored_key(table.column(name), column)
            table = table.set_column(table.schema.get_field_index(name), name, stored)
        return table, records

    def _make(self) -> None:
        """Make the type of a record, and the columns that take their values from it."""
        policy = self.mapping.new_fields
        known = {name: self.schema.by_name[name.lower()] for name in self._sources}
        fields = [(known[name], source) for name, source in self._sources.items() if source.path]
        self._fields = NeededFields(
            fields,
            frozenset(self._key),
            closed=policy != "ignore",
            deep=policy == "refuse",
            nulls=self._nulls,
            plain=self.mapping.format == "avro",
        )
        self._read = self._values.reader(self._fields.type)
        self._columns = read_columns(self.mapping, self.schema, self._sources, self._fields.getters)

    def _key_columns(self) -> list[ReadColumn]:
        by_name = {each.column.name: each for each in self._columns}
        return [
            by_name[name]._replace(get=self._key_getters[name])
            if by_name[name].is_field
            else by_name[name]
            for name in self._key
        ]

    def _key_reader(self, keys: ValueFormat) -> Any:
        """Return what reads the key of a record: an object of the key's fields, or one value."""
        known = [(self.schema.by_name[name.lower()], self._sources[name]) for name in self._key]
        parts = [(column, source) for column, source in known if source.path]
        if not parts:
            return None
        plain = self.mapping.written_keys == "avro"
        fields = NeededFields(parts, frozenset(self._key), plain=plain)
        self._key_getters = dict(fields.getters)
        if len(parts) > 1:
            return keys.reader(fields.type)
        (column, source) = parts[0]
        alone = fields.type.__annotations__["f0"]
        # One column may be written as an object with its field, or as its value.
        inner = fields.getters[column.name]
        self._key_getters[column.name] = lambda value: (
            inner(value) if isinstance(value, fields.type) else value
        )
        is_nested = len(source.path) > 1
        if self.mapping.written_keys == "text":
            return keys.reader(alone)
        whole = keys.reader(fields.type)
        return whole if is_nested else either(whole, keys.reader(alone))

    def _take_tombstone(
        self, record: TopicRecord, gone: list[tuple[TopicRecord, Any]], bad: list[BadRecord]
    ) -> None:
        """Note a record without a value as the mapping says."""
        policy = self.mapping.on_tombstone
        if policy == "bad":
            bad.append(BadRecord(record, "the record has no value"))
        if policy != "delete":
            return
        try:
            if self._read_key is None:
                gone.append((record, None))
            elif record.key is None:
                raise ValueError("the record has neither a key nor a value")
            else:
                gone.append((record, self._read_key(record.key)))
        except Misfit as problem:
            found = BadRecord.of(record, problem)
            bad.append(found._replace(reason=f"its key: {found.reason}"))

    def _new_columns(self, unread: list[BadRecord]) -> dict[str, str] | None:
        """Return the columns that unread records need, None if they can be read once more now."""
        new: dict[str, str] = {}
        nulls = set(self._nulls)
        for at, (record, _) in enumerate(unread):
            try:
                fields = self._values.fields(record.value or b"")
            except Misfit:
                continue
            names = sorted(fields.keys() - self._fields.names)
            if reason := why_not_added(names, fields, self.schema, self._unadded):
                unread[at] = BadRecord(record, reason[:REASON_MAX])
                continue
            nulls.update(name for name in names if fields[name] is None)
            for name in names:
                if fields[name] is not None and name.lower() not in {each.lower() for each in new}:
                    new[name] = NEW_TYPES[type(fields[name])]
        if not new and nulls != self._nulls:
            self._nulls = frozenset(nulls)
            self._make()
            return None
        return new

    def _last(
        self,
        order: Mapping[TopicRecord, int],
        table: pa.Table,
        kept: Sequence[TopicRecord],
        keys: pa.Table,
        removed: Sequence[TopicRecord],
    ) -> tuple[pa.Table, Sequence[TopicRecord]]:
        """Return the last row of each key; a key that a tombstone removed last is marked."""
        last: dict[tuple[Any, ...], tuple[int, int]] = {}
        for rows, names, offset in ((table, kept, 0), (keys, removed, len(kept))):
            values = zip(*(rows.column(name).to_pylist() for name in self._key), strict=True)
            for number, key in enumerate(values):
                place = order[names[number]]
                if place >= last.get(key, (-1, 0))[0]:
                    last[key] = place, offset + number
        taken = sorted(number for _, number in last.values())
        if not len(keys):
            return table.take(pa.array(taken, pa.int64())), [kept[number] for number in taken]
        marked = table.append_column(self._deleted, pa.array([False] * len(table), pa.bool_()))
        absent = {
            field.name: keys.column(field.name)
            if field.name in self._key
            else pa.nulls(len(keys), field.type)
            for field in table.schema
        }
        deleted = pa.array([True] * len(keys), pa.bool_())
        both = pa.concat_tables(
            [marked, pa.table({**absent, self._deleted: deleted}, marked.schema)]
        )
        names = [*kept, *removed]
        return both.take(pa.array(taken, pa.int64())), [names[number] for number in taken]


def either(first: Callable[[bytes], Any], second: Callable[[bytes], Any]) -> Any:
    """Return what reads a value in one of two ways; raises as the second one."""

    def read(data: bytes) -> Any:
        try:
            return first(data)
        except Misfit:
            return second(data)

    return read
