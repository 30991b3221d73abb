"""A table that is replaced: what the new one keeps of the former, and what it would lose.

`mode("overwrite").saveAsTable` and CREATE OR REPLACE name columns, and seldom say again how the
table is partitioned, which values it refuses, and which properties it has. So the new table has
them too. What no longer fits the columns is refused, or lost if an option says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.arrow.schema import TableSchema
from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import IDENTITY_MARK, column_metadata
from ledger.core.partitions.transforms import transforms_of
from ledger.errors import LedgerError
from ledger.expressions.duckdb.conditions import row_condition
from ledger.expressions.parse import parse
from ledger.properties.column_lists import SMALL_LISTS, check_lists
from ledger.properties.known_properties import CONSTRAINT
from spark_sink.catalog.options import (
    MERGE_SCHEMA,
    OVERWRITE_MODE,
    OVERWRITE_SCHEMA,
    REPLACE_WHERE,
    WRITE,
    check_options,
    small,
)
from spark_sink.catalog.session.open_statements import unsupported

MAPPING: Final = "delta.columnMapping."
"""Names of columns in files: the new table has files of its own."""


def check_whole(options: Mapping[str, Any], name: str, location: str) -> None:
    """Raise Refusal for an option by which only a part of a table is replaced."""
    check_options(options, WRITE, location)
    given = small(options)
    for option, value in ((REPLACE_WHERE, None), (OVERWRITE_MODE, "dynamic")):
        said = given.get(option.lower())
        if said is not None and value in (None, said.lower()):
            raise unsupported(
                f"{option} must be left out where table {name} is replaced as a whole, got "
                f"{said!r}: use df.write.mode('overwrite').option(...).insertInto({name!r})"
            )
    if given.get(MERGE_SCHEMA.lower(), "").lower() == "true":
        raise unsupported(
            f"{MERGE_SCHEMA} must be false where table {name} is replaced as a whole, got true: "
            "use INSERT WITH SCHEMA EVOLUTION"
        )


def keeping(
    name: str,
    before: TableDefinition,
    columns: Sequence[Column],
    made: dict[str, Any],
    options: Mapping[str, Any],
) -> Sequence[Column]:
    """Let a new table keep what the former one had, and return its columns.

    `made` are the options of the new table, which get the rest. Raises Refusal for what would be
    lost, unless `options` of the write say that it may.
    """
    check_whole(options, name, made.get("location", ""))
    former = {column.name.lower(): column for column in before.columns}
    columns = [like(column, former.get(column.name.lower())) for column in columns]
    lost = [*partitioning_lost(before, columns, made), *places_lost(before, made)]
    said = {column.name.lower(): column_metadata(column) for column in columns}
    lost += [
        f"{key} of column {column.name}"
        for column in before.columns
        for key in column_metadata(column)
        if key.startswith("delta.")
        and not key.startswith(MAPPING)
        and key != IDENTITY_MARK
        and key not in said.get(column.name.lower(), {})
    ]
    lost += properties_lost(name, before, columns, made)
    if lost and small(options).get(OVERWRITE_SCHEMA.lower()) != "true":
        raise unsupported(
            f"table {name} must keep what it has when it is replaced, and would lose "
            f"{', '.join(lost)}: say it again in the statement, set the option {OVERWRITE_SCHEMA} "
            "of the write, drop the table first, or replace its rows with INSERT OVERWRITE"
        )
    return columns


def like(new: Column, before: Column | None) -> Column:
    """Return a column that refuses NULL if its former one did."""
    return new if before is None or before.nullable else new._replace(nullable=False)


def partitioning_lost(
    before: TableDefinition, columns: Sequence[Column], made: dict[str, Any]
) -> Sequence[str]:
    """Take the partitioning if none is given; return it if it is lost."""
    wanted = before.partition_columns
    if not made["partition_columns"]:
        made["partition_columns"] = divided_like(before, columns)
    if [each.lower() for each in made["partition_columns"]] == [each.lower() for each in wanted]:
        return []
    return [f"the partitioning by {', '.join(wanted)}"] if wanted else []


def divided_like(before: TableDefinition, columns: Sequence[Column]) -> list[str]:
    """Return what divided a table, spelled as the new columns are; [] if that divides them not."""
    there = {column.name.lower(): column for column in columns}
    transforms, found = transforms_of(before), []
    for name in before.partition_columns:
        transform = transforms.get(name)
        column = there.get((name if transform is None else transform.column).lower())
        if column is None or not (transform is None or transform.takes(column.type)):
            return []
        now = column.name if transform is None else transform._replace(column=column.name).text
        found.append(now)
    return found


def places_lost(before: TableDefinition, made: Mapping[str, Any]) -> Sequence[str]:
    """Return what is lost of the place and the layout of files."""
    lost = []
    if before.kind == "external" and "location" not in made:
        lost.append(f"the location {before.location}")
    if made.get("layout", "listed") != before.layout:
        lost.append(f"the layout {before.layout}")
    return lost


def properties_lost(
    name: str, before: TableDefinition, columns: Sequence[Column], made: dict[str, Any]
) -> Sequence[str]:
    """Take the properties that are not given anew; return the constraints that are lost."""
    definition = TableDefinition("managed", "listed", "", columns, made["partition_columns"], ())
    schema = TableSchema.of(definition, name)
    given, lost = made["properties"], []
    taken = {key.lower() for key in given}
    for key, value in before.properties:
        if key.startswith(MAPPING) or key.lower() in taken:
            continue
        if key.lower().startswith(CONSTRAINT.lower()):
            try:
                row_condition(parse(value), schema, "")
            except (LedgerError, ValueError):
                lost.append(f"constraint {key[len(CONSTRAINT) :]}")
                continue
        if key.lower() in SMALL_LISTS:
            alone = definition._replace(properties=[Property(key, value)])
            try:
                check_lists(name, alone)
            except ValueError:
                lost.append(f"property {key}")
                continue
        given = {**given, key: value}
    made["properties"] = given
    return lost
