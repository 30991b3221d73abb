"""The tables of a batch: rows go into a txn, each topic into its table, bad records into theirs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.errors import RoleEndedError, SettingsError, TableExistsError, UnknownTableError
from ledger.ingest.mapping import TopicMapping
from ledger.ingest.source import TopicRecord
from ledger.ingest.values.fields import BadRecord
from ledger.ingest.values.formats import ValueFormat
from ledger.ingest.values.rows import DELETED, TopicReader, TopicRows
from ledger.machine.exit_codes import ExitCode
from ledger.reads.port import TableRow
from ledger.statements.constraints import RowChecks
from ledger.transaction.transaction import Transaction
from ledger.work.merge_clauses import MergeClause

BAD_COLUMNS: Final = (
    ("topic", "STRING", pa.string()),
    ("partition", "INT", pa.int32()),
    ("offset", "BIGINT", pa.int64()),
    ("at", "TIMESTAMP", pa.timestamp("us", "UTC")),
    ("key", "BINARY", pa.binary()),
    ("value", "BINARY", pa.binary()),
    ("reason", "STRING", pa.string()),
)
"""The columns of a table of bad records."""

ADD_ATTEMPTS: Final = 10


Formats = Callable[[str], ValueFormat]
"""Returns a form of values by its name."""


class TopicTable:
    """The table of a topic, as it is now, and that of its bad records."""

    def __init__(self, ledger: Ledger, mapping: TopicMapping, formats: Formats) -> None:
        self.mapping = mapping
        self._ledger = ledger
        self._values, self._keys = formats(mapping.format), formats(mapping.written_keys)
        self._bad = BadTable(ledger, mapping)
        self._row: TableRow | None = None
        self._reader: TopicReader | None = None

    def prepare(self) -> None:
        """Compare the mapping with the table, and make the table of bad records."""
        self.reader()
        self._bad.make()

    def reader(self) -> TopicReader:
        """Return what reads records as rows of the table, by its columns as of now."""
        row = self._ledger.table(self.mapping.table)
        kind, layout = row.definition.kind, row.definition.layout
        if (kind, layout) != ("managed", "listed"):
            raise SettingsError(
                f"topic {self.mapping.topic}: table {row.name} must be a managed table of layout "
                f"listed, it is {kind} of layout {layout}"
            )
        if self._reader is None or self._row is None or self._row.definition != row.definition:
            schema = TableSchema.of(row.definition, row.name, row.table)
            schema.check_holds_rows()
            checks = RowChecks(row.name, row.definition, "").constraints
            self._reader = TopicReader(self.mapping, schema, self._values, self._keys, checks)
        self._row = row
        return self._reader

    def read(self, records: Sequence[TopicRecord]) -> TopicRows:
        """Return the rows of records; columns of new fields are added to the table first.

        Raises RoleEndedError for a bad record that no table takes.
        """
        for _ in range(ADD_ATTEMPTS):
            found = self.reader().read(records)
            if not found.new:
                break
            self._add(found.new)
        self._bad.check(found.bad)
        return found

    def write(self, txn: Transaction, found: TopicRows) -> None:
        """Put rows into the table by a txn: added, or merged by their key; bad ones into theirs."""
        self._bad.write(txn, found.bad)
        if not len(found.rows):
            return
        if not self.mapping.key:
            txn.insert(self.mapping.table, found.rows)
            return
        columns = {
            name: f"source.{quoted(name)}" for name in found.rows.column_names if name != DELETED
        }
        on = " AND ".join(
            f"target.{quoted(name)} = source.{quoted(name)}" for name in self.mapping.key
        )
        clauses = [MergeClause.update(columns), MergeClause.insert(columns)]
        if found.has_deletes:
            clauses = [
                MergeClause.delete(f"source.{DELETED}"),
                MergeClause.update(columns),
                MergeClause.insert(columns, f"NOT source.{DELETED}"),
            ]
        txn.merge(self.mapping.table, found.rows, on, clauses=clauses)

    def _add(self, new: Mapping[str, str]) -> None:
        """Add columns to the table; those that another process added meanwhile are there."""
        row = self._ledger.table(self.mapping.table)
        there = {column.name.lower() for column in row.definition.columns}
        columns = [(name, kind) for name, kind in new.items() if name.lower() not in there]
        if columns:
            self._ledger.alter_table(row, columns=[*row.definition.columns, *columns])


def quoted(name: str) -> str:
    """Return the name of a column in backticks."""
    return f"`{name.replace('`', '``')}`"


class BadTable:
    """The table of the bad records of a topic; without one the first of them stops the ingest."""

    def __init__(self, ledger: Ledger, mapping: TopicMapping) -> None:
        self._ledger, self._mapping = ledger, mapping

    def make(self) -> None:
        """Create the table, if the mapping names one that is not there."""
        name = self._mapping.bad_table
        if name is None:
            return
        with suppress(UnknownTableError):
            self._ledger.table(name)
            return
        with suppress(TableExistsError):
            self._ledger.create_table(name, [(column, kind) for column, kind, _ in BAD_COLUMNS])

    def check(self, bad: Sequence[BadRecord]) -> None:
        """Raise RoleEndedError for a bad record that no table takes."""
        if bad and self._mapping.bad_table is None:
            first = min(bad, key=lambda each: each.record.offset)
            place = first.record.partition
            raise RoleEndedError(
                f"the record of topic {place.topic}, partition {place.number}, offset "
                f"{first.record.offset} does not fit table {self._mapping.table}: {first.reason}. "
                'Correct the mapping, or give bad = "table" and bad_table to keep such records',
                code=ExitCode.UNHEALTHY,
            )

    def write(self, txn: Transaction, bad: Iterable[BadRecord]) -> None:
        """Put bad records into the table by a txn."""
        lines = [
            (
                *(each.record.partition.topic, each.record.partition.number, each.record.offset),
                *(each.record.at * 1000, each.record.key, each.record.value, each.reason),
            )
            for each in bad
        ]
        if lines and self._mapping.bad_table is not None:
            arrays = [
                pa.array(values, kind)
                for values, (_, _, kind) in zip(zip(*lines, strict=True), BAD_COLUMNS, strict=True)
            ]
            names = [column for column, _, _ in BAD_COLUMNS]
            txn.insert(self._mapping.bad_table, pa.table(arrays, names=names))
