"""The table of the bad records of a topic; without one the first bad record ends the ingest."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa

from ledger.arrow.schema import TableSchema
from ledger.client import Ledger
from ledger.core.commands import TableDefinition
from ledger.errors import RoleEndedError, SettingsError, TableExistsError, UnknownTableError
from ledger.ingest.mapping import TopicMapping
from ledger.ingest.values.fields import BadRecord
from ledger.machine.exit_codes import ExitCode
from ledger.properties.column_lists import SKIPPED
from ledger.properties.known_properties import ENCRYPTED, INLINE, asks_for_encryption
from ledger.transaction.transaction import Transaction

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


class BadTable:
    """The table of the bad records of a topic."""

    def __init__(self, ledger: Ledger, mapping: TopicMapping) -> None:
        self._ledger, self._mapping = ledger, mapping

    def make(self, of: TableDefinition) -> None:
        """Create the table, if the mapping names one that is not there; `of` is the topic's table.

        Raises SettingsError for a table that cannot hold bad records, or that shows values in the
        log which the topic's table keeps out of it.
        """
        name = self._mapping.bad_table
        if name is None:
            return
        properties = kept_secret(of)
        with suppress(TableExistsError):
            if not self._is_there(name):
                columns = [(column, kind) for column, kind, _ in BAD_COLUMNS]
                self._ledger.create_table(name, columns, properties=properties)
        definition = self._ledger.table(name).definition
        faults = faults_of(definition, name)
        if ENCRYPTED in properties and not asks_for_encryption(definition):
            faults.append(f"it must have {ENCRYPTED} = true, as table {self._mapping.table} has")
        if faults:
            raise SettingsError(
                f"topic {self._mapping.topic}: bad_table {name} cannot hold bad records: "
                f"{faults[0]}. Name a table that is not there: it is created"
            )

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

    def _is_there(self, name: str) -> bool:
        with suppress(UnknownTableError):
            self._ledger.table(name)
            return True
        return False


def kept_secret(of: TableDefinition) -> Mapping[str, str]:
    """Return the properties by which bad records stay out of the log as the rows of a table do."""
    known = {each.key.lower(): each.value for each in of.properties}
    if asks_for_encryption(of):
        return {INLINE: known[INLINE], ENCRYPTED: "true"}
    return {SKIPPED: "key, value, reason"} if SKIPPED in known else {}


def faults_of(definition: TableDefinition, name: str) -> list[str]:
    """Return why a table cannot hold bad records."""
    found = []
    if (definition.kind, definition.layout) != ("managed", "listed"):
        found.append("it must be a managed table of layout listed")
    schema = TableSchema.of(definition, name)
    for column, kind, type_ in BAD_COLUMNS:
        has = schema.find(column)
        if has is None or has.type != type_ or not has.nullable or has.generated or has.identity:
            said = "no such column" if has is None else has.declared
            found.append(f"its column {column} must be {kind}, got {said}")
    names = {column for column, _, _ in BAD_COLUMNS}
    found += [
        f"its column {each.name} must not be NOT NULL"
        for each in schema.columns
        if each.name.lower() not in names and not (each.nullable or each.default)
    ]
    return found
