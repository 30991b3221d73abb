"""Values as columns, without the records whose values do not fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ledger.arrow.schema import TableColumn
from ledger.ingest.source import TopicRecord
from ledger.ingest.values.fields import REASON_MAX, BadRecord, ReadColumn
from ledger.ingest.values.formats import Misfit
from ledger.ingest.values.row_trial import stored_key


def without(
    table: pa.Table, records: Sequence[TopicRecord], faults: Mapping[int, str], bad: list[BadRecord]
) -> tuple[pa.Table, Sequence[TopicRecord]]:
    """Return rows without those at the places of faults, with their records; these are bad."""
    if not faults:
        return table, records
    bad += [BadRecord(records[at], why[:REASON_MAX]) for at, why in faults.items()]
    left = [at for at in range(len(table)) if at not in faults]
    return table.take(pa.array(left, pa.int64())), [records[at] for at in left]


def checked_key(values: Any, column: TableColumn, start: int, stop: int) -> None:
    """Raise ValueError if a key of some rows is no key."""
    stored_key(values.slice(start, stop - start), column)


def in_columns(
    columns: Sequence[ReadColumn], pairs: Sequence[tuple[TopicRecord, Any]], bad: list[BadRecord]
) -> tuple[pa.Table, Sequence[TopicRecord]]:
    """Return values as columns, with their records; a record whose value does not fit is bad."""
    while True:
        arrays = []
        faults: dict[int, BadRecord] = {}
        for each in columns:
            given = [value for _, value in pairs] if each.is_field else [one for one, _ in pairs]
            try:
                arrays.append(each.array([each.get(value) for value in given]))
            except Misfit:
                faults |= faults_in(each, given, pairs)
        if not faults:
            schema = pa.schema([(each.column.name, each.column.type) for each in columns])
            return pa.table(arrays, schema=schema), [record for record, _ in pairs]
        bad += faults.values()
        pairs = [pair for at, pair in enumerate(pairs) if at not in faults]


def faults_in(
    column: ReadColumn, given: Sequence[Any], pairs: Sequence[tuple[TopicRecord, Any]]
) -> dict[int, BadRecord]:
    """Return the values that do not fit a column by themselves, by their place."""
    found = {}
    for at, value in enumerate(given):
        try:
            column.array([column.get(value)])
        except Misfit as problem:
            bad = BadRecord.of(pairs[at][0], problem)
            found[at] = bad._replace(reason=f"column {column.column.name}: {bad.reason}")
    return found
