"""What a change of a published table asks of Delta's readers, and which of them refuse the table.

A log has the features that its table needs, and a reader must know each of them. The table here is
measured: a test compares it with what these readers do.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple
from warnings import warn

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import column_metadata
from ledger.core.state.traits import features_of
from ledger.properties.column_mapping import is_mapped, is_published
from ledger.properties.column_values import default_of, generation_of, identity_of
from ledger.properties.known_properties import asks_for_marks, constraints_of
from ledger.properties.type_widening import widens
from ledger.reads.port import Reads, TableRow

ARROW: Final = "deltalake 1.6.3 (to_pyarrow_table)"
SQL: Final = "deltalake 1.6.3 (QueryBuilder)"
POLARS: Final = "Polars 2.1"
DUCKDB: Final = "DuckDB 1.5.5"
SPARK: Final = "delta-spark 4.4"
READERS: Final = (ARROW, SQL, POLARS, DUCKDB, SPARK)


class Need(NamedTuple):
    """What makes a table need a feature, and the readers that lack it."""

    change: str
    refused_by: tuple[str, ...] = ()


TYPE_CHANGES: Final = "delta.typeChanges"
MAPPING: Final = "columnMapping"
WIDENING: Final = "typeWidening"
VECTORS: Final = "deletionVectors"
VOID: Final = "void"
"""A type that is no feature: a reader knows it or not."""

ADOPTED: Final = "a Delta table that has it is adopted"
NEEDS: Final[Mapping[str, Need]] = {
    MAPPING: Need("a column, or a field of a struct, is renamed or dropped", (ARROW, POLARS)),
    WIDENING: Need("a column becomes wider, as INT to BIGINT", (ARROW, SQL, POLARS)),
    "timestampNtz": Need("a column has the type TIMESTAMP_NTZ"),
    "variantType": Need("a column has the type VARIANT"),
    VOID: Need("a column has the type VOID", (DUCKDB,)),
    "checkConstraints": Need("the table has a CHECK constraint"),
    "allowColumnDefaults": Need("a column has a default"),
    "generatedColumns": Need("a column is generated"),
    "identityColumns": Need("a column is an identity column"),
    VECTORS: Need("rows are the grain, or an adopted table has files with deleted rows", (ARROW,)),
    "v2Checkpoint": Need(ADOPTED, (ARROW, POLARS)),
    "vacuumProtocolCheck": Need(ADOPTED, (ARROW, SQL, POLARS)),
    "typeWidening-preview": Need(ADOPTED, (ARROW, SQL, POLARS)),
    "variantType-preview": Need(ADOPTED),
    "variantShredding": Need(ADOPTED, (ARROW, SQL, POLARS, DUCKDB)),
    "variantShredding-preview": Need(ADOPTED, (ARROW, SQL, POLARS)),
}


def needs_of(definition: TableDefinition) -> set[str]:
    """Return what readers and writers of a published table must know, as far as it says so."""
    columns = definition.columns
    kinds = " ".join(column.type.lower() for column in columns)
    needed = {
        MAPPING: is_mapped(definition),
        "checkConstraints": bool(constraints_of(definition)),
        "allowColumnDefaults": any(map(default_of, columns)),
        "generatedColumns": any(map(generation_of, columns)),
        "identityColumns": any(identity_of(column) is not None for column in columns),
        VECTORS: asks_for_marks(definition),
        "timestampNtz": "timestamp_ntz" in kinds,
        "variantType": "variant" in kinds,
        VOID: re.search(r"\bvoid\b(?!\s*:)", kinds) is not None,
        WIDENING: any(TYPE_CHANGES in column_metadata(column) for column in columns),
    }
    return {feature for feature, is_needed in needed.items() if is_needed}


def refused(needs: Collection[str]) -> dict[str, list[str]]:
    """Return the readers that refuse a table with these needs, each with those that it lacks."""
    lacks = {
        reader: [need for need in NEEDS if need in needs and reader in NEEDS[need].refused_by]
        for reader in READERS
    }
    return {reader: lacking for reader, lacking in lacks.items() if lacking}


def warn_of_readers(
    name: str, row: TableRow | None, after: TableDefinition, reads: Callable[[], Reads]
) -> None:
    """Warn if a definition makes readers refuse a published table that read it so far.

    `name` is the table's. `row` is the table before, None for a new one.
    """
    new = new_needs(row, after, reads) if is_published(after) else ()
    lacking = {need: NEEDS[need].refused_by for need in NEEDS if need in new}
    said = [f"{each}, which {', '.join(by)} lack" for each, by in lacking.items() if by]
    if said:
        warn(
            f"table {name} is published as Delta, and with this change some readers refuse it: it "
            f"needs {'; and '.join(said)}. The log keeps what it needs: only a new table, as "
            "CREATE TABLE AS makes one, is without it",
            stacklevel=3,
        )


def new_needs(
    row: TableRow | None, after: TableDefinition, reads: Callable[[], Reads]
) -> Collection[str]:
    """Return what a definition asks of readers that the log of its table did not ask before."""
    found = needs_of(after)
    if row is None:
        return found
    before = row.definition
    if is_published(before):
        found -= needs_of(before)
        if widens(before, after) and not was_widened(reads(), row, before):
            found.add(WIDENING)
    elif was_widened(reads(), row, after):
        found.add(WIDENING)
    # A table that was imported may have had them as a Delta table.
    known = reads().protocol(row.table) if refused(found) else None
    return found - features_of(known) if known is not None else found


def was_widened(reads: Reads, row: TableRow, definition: TableDefinition) -> bool:
    """Return whether a column has become wider since the table was made."""
    first = reads.definition(row.table, row.created)
    return first is not None and widens(first, definition)
