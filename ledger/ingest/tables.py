"""The tables of a batch: rows go into a txn, each topic into its table, bad records into theirs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.errors import CommandInvalidError, LimitExceededError, RoleEndedError, SettingsError
from ledger.ingest.bad_table import BadTable
from ledger.ingest.mapping import TopicMapping
from ledger.ingest.source import TopicRecord
from ledger.ingest.values.fields import BadRecord
from ledger.ingest.values.formats import ValueFormat
from ledger.ingest.values.row_trial import OF_ROWS, ZONE, misfits, reason_of
from ledger.ingest.values.rows import TopicReader, TopicRows
from ledger.machine.exit_codes import ExitCode
from ledger.reads.port import TableRow
from ledger.statements.constraints import RowChecks
from ledger.statements.target import check_may_remove, check_writable
from ledger.transaction.transaction import Transaction
from ledger.work.merge_clauses import MergeClause

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
        # Why the table does not take a column of a name.
        self._unadded: dict[str, str] = {}
        self._reader: TopicReader | None = None

    def prepare(self) -> None:
        """Compare the mapping with the table, and make the table of bad records."""
        self.reader()
        assert self._row is not None
        self._bad.make(self._row.definition)

    def reader(self) -> TopicReader:
        """Return what reads records as rows of the table, by its columns as of now.

        Raises SettingsError for a mapping that does not fit its table.
        """
        row = self._ledger.table(self.mapping.table)
        if self._reader is None or self._row is None or self._row.definition != row.definition:
            try:
                self._reader = self._reader_of(row)
            except (ValueError, TypeError) as problem:
                raise SettingsError(f"topic {self.mapping.topic}: {problem}") from problem
        self._row = row
        return self._reader

    def _reader_of(self, row: TableRow) -> TopicReader:
        definition = row.definition
        kind, layout = definition.kind, definition.layout
        if (kind, layout) != ("managed", "listed"):
            raise SettingsError(
                f"topic {self.mapping.topic}: table {row.name} must be a managed table of layout "
                f"listed, it is {kind} of layout {layout}"
            )
        check_writable(row.name, definition)
        if self.mapping.key:
            check_may_remove(row.name, definition)
        schema = TableSchema.of(definition, row.name, row.table)
        schema.check_holds_rows()
        checks = RowChecks(row.name, definition, ZONE).constraints
        return TopicReader(
            self.mapping,
            schema,
            self._values,
            self._keys,
            constraints=checks,
            unadded=self._unadded,
        )

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

    def write(self, txn: Transaction, found: TopicRows) -> TopicRows:
        """Put rows into the table by a txn, and bad records into theirs; return what was written.

        A row that the table refuses only now makes its record bad: its key is there already, for
        example. Raises RoleEndedError as `read`, and for rows that are refused for no row of them.
        """
        try:
            self._put(txn, found, found.rows)
        except OF_ROWS:
            found = self._sifted(found)
            try:
                self._put(txn, found, found.rows)
            except OF_ROWS as problem:
                raise RoleEndedError(
                    f"table {self.mapping.table} refuses the rows of topic {self.mapping.topic}: "
                    f"{problem}",
                    code=ExitCode.UNHEALTHY,
                ) from problem
        self._bad.write(txn, found.bad)
        return found

    def _sifted(self, found: TopicRows) -> TopicRows:
        """Return records as rows without those that the table refuses in a txn that is aborted."""
        refused: dict[TopicRecord, str] = {}
        while True:
            with self._ledger.begin() as txn:
                put = partial(self._put_part, txn, found)
                faults = misfits(len(found.rows), put)
                txn.abort()
            if not faults:
                return found
            refused |= {found.records[at]: reason_of(why) for at, why in faults.items()}
            # With a key, the record before a refused one counts now.
            left = [record for record in found.given if record not in refused]
            new = self.reader().read(left)
            bad = [*new.bad, *(BadRecord(record, why) for record, why in refused.items())]
            self._bad.check(bad)
            found = new._replace(bad=bad, given=found.given)

    def _put_part(self, txn: Transaction, found: TopicRows, start: int, stop: int) -> None:
        self._put(txn, found, found.rows.slice(start, stop - start))

    def _put(self, txn: Transaction, found: TopicRows, rows: pa.Table) -> None:
        """Put some of the rows into the table: added, or merged by their key.

        A merge names all columns. So a row never keeps a value of the row that it replaces, and
        does not depend on which records were in one batch.
        """
        if not len(rows):
            return
        if not self.mapping.key:
            txn.insert(self.mapping.table, rows)
            return
        rows = self.reader().trial.with_defaults(rows)
        gone = found.deleted
        columns = {name: f"source.{quoted(name)}" for name in rows.column_names if name != gone}
        on = " AND ".join(
            f"target.{quoted(name)} = source.{quoted(name)}" for name in self.mapping.key
        )
        clauses = [MergeClause.update(columns), MergeClause.insert(columns)]
        if gone:
            clauses = [
                MergeClause.delete(f"source.{gone}"),
                MergeClause.update(columns),
                MergeClause.insert(columns, f"NOT source.{gone}"),
            ]
        txn.merge(self.mapping.table, rows, on, clauses=clauses)

    def _add(self, new: Mapping[str, str]) -> None:
        """Add columns to the table; those that another process added meanwhile are there.

        A column that the table does not take is not asked for again.
        """
        row = self._ledger.table(self.mapping.table)
        there = {column.name.lower() for column in row.definition.columns}
        columns = [(name, kind) for name, kind in new.items() if name.lower() not in there]
        if not columns:
            return
        try:
            self._ledger.alter_table(row, columns=[*row.definition.columns, *columns])
        except (*OF_ROWS, CommandInvalidError, LimitExceededError) as problem:
            if len(columns) == 1:
                self._unadded[columns[0][0]] = str(problem)
                return
            for name, kind in columns:
                self._add({name: kind})


def quoted(name: str) -> str:
    """Return the name of a column in backticks."""
    return f"`{name.replace('`', '``')}`"
