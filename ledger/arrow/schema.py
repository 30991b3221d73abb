"""The schema of a table: its columns as Arrow has them, and how data files name and number them.

A column is found in a data file by its id. Tables with Delta's column mapping name their columns in
files otherwise than in SQL: the physical name stays when a column is renamed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import pyarrow as pa

from ledger.arrow.type_fields import delta_type, is_strict, numbered, stored_type, with_ids
from ledger.arrow.types import NESTED, Family, Lengths, arrow_type, column_type, family_of
from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import (
    MAPPING_MODE,
    NESTED_TYPE,
    PHYSICAL_NAME,
    column_metadata,
    properties,
)
from ledger.core.partitions.transforms import PartitionTransform, parse_transform, transforms_in
from ledger.core.partitions.values import form_of, read
from ledger.definitions.partition_texts import PartitionColumn
from ledger.errors import UnreadableTableError
from ledger.properties.column_lists import SortKey, lists_of
from ledger.properties.column_values import (
    Numbering,
    default_of,
    generation_of,
    identity_of,
    initial_of,
)
from ledger.properties.field_ids import fields_of
from ledger.properties.known_properties import asks_for_encryption, inline_bytes

UNMAPPED: Final = "none"


@dataclass(frozen=True)
class TableColumn:
    """A column: `declared` is its Spark SQL type, `physical` its name in data files.

    `problem` says why the column cannot be read as rows, "" if it can. `default` is the SQL of its
    value in rows that leave it out, "" = NULL, and `initial` the text of its value in files that
    lack it, None = NULL. `generated` is its expression over other columns, "" without one.
    `partitions` says that files are divided by the column, and that an empty text in it is NULL.
    `identity` are its numbers, None for a column that is no identity column.
    Fields within the type hold their ids and physical names as metadata, where they have some.
    """

    name: str
    type: pa.DataType
    nullable: bool
    id: int
    physical: str
    declared: str
    problem: str = ""
    default: str = ""
    partitions: bool = False
    initial: str | None = None
    generated: str = ""
    identity: Numbering | None = None

    @cached_property
    def absent(self) -> pa.Scalar:
        """The value of the column in files that lack it; raises UnreadableTableError."""
        return initial_scalar(self)

    def check_readable(self) -> None:
        """Raise UnreadableTableError for a column whose type Arrow lacks."""
        if self.problem:
            raise UnreadableTableError(
                f"{self.problem}. Name the other columns: this one cannot be read as rows"
            )

    @cached_property
    def lengths(self) -> Lengths:
        """The lengths of texts in the type, none for a type that is not known."""
        return {} if self.problem else column_type(self.declared).lengths

    @cached_property
    def is_strict(self) -> bool:
        """Whether the type has NOT NULL fields."""
        return is_strict(self.type)

    @cached_property
    def field(self) -> pa.Field:
        """The column as a field of Arrow, with its id."""
        return numbered(pa.field(self.name, self.type, self.nullable), self.id)

    @cached_property
    def stored(self) -> pa.Field:
        """The column as a field of a data file that is written now."""
        type_ = stored_type(self.type)
        return numbered(pa.field(self.physical, type_, self.nullable), self.id)


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, in order; `mapping` is Delta's mode: none, name or id.

    `name` and `table` are the table's name and id in messages. `sort` is the order of rows in new
    files, and `bloom` has the columns that get Bloom filters there. The log says no values of the
    columns in `skipped`: neither their bounds nor what new rows have. Up to `inline` bytes of rows
    go into the log in place of a file, encrypted if the table is `encrypted`: then all columns are
    skipped.
    """

    columns: Sequence[TableColumn]
    partition_columns: Sequence[str]
    mapping: str = UNMAPPED
    name: str = ""
    table: int = 0
    sort: Sequence[SortKey] = ()
    bloom: Sequence[str] = ()
    skipped: Sequence[str] = ()
    inline: int = 0
    encrypted: bool = False

    @classmethod
    def of(cls, definition: TableDefinition, name: str = "", table: int = 0) -> "TableSchema":
        """Return the schema of a definition; a column of an unknown type has a `problem`."""
        mapping = properties(definition).get(MAPPING_MODE, UNMAPPED)
        columns, partitioned = tuple(definition.columns), tuple(definition.partition_columns)
        lists, inline = lists_of(definition), inline_bytes(definition)
        found = schema_of(
            columns, partitioned, mapping, lists, name=name, table=table, inline=inline
        )
        return found.as_encrypted if inline and asks_for_encryption(definition) else found

    @cached_property
    def as_encrypted(self) -> "TableSchema":
        """The same columns with their rows encrypted in the log."""
        return replace(self, encrypted=True, skipped=tuple(each.name for each in self.columns))

    @cached_property
    def arrow(self) -> pa.Schema:
        """All columns as a schema of Arrow, with their ids as metadata of the fields."""
        return pa.schema([column.field for column in self.columns])

    @cached_property
    def readable(self) -> Sequence[pa.Field]:
        """The columns that can be read, as fields of Arrow."""
        return [column.field for column in self.columns if not column.problem]

    @cached_property
    def stored(self) -> pa.Schema:
        """The schema of a new data file, with physical names."""
        return pa.schema([column.stored for column in self.stored_columns])

    @cached_property
    def divided_by(self) -> Sequence[PartitionColumn]:
        """The partition columns and transforms, for the texts of their values."""
        return [
            PartitionColumn(name, self.transforms[name].result_type(self._declared(name)))
            if name in self.transforms
            else PartitionColumn(self.by_name[name.lower()].name, self._declared(name))
            for name in self.partition_columns
        ]

    @cached_property
    def unstated(self) -> AbstractSet[str]:
        """The names in data files of the columns without statistics."""
        return {self.by_name[name.lower()].physical for name in self.skipped}

    @cached_property
    def transforms(self) -> Mapping[str, PartitionTransform]:
        """The transforms among the partition columns, by their texts."""
        return transforms_in(self.partition_columns, [column.name for column in self.columns])

    def _declared(self, name: str) -> str:
        """Return the type of a partition column, or of the column that a transform takes."""
        column = self.transforms[name].column if name in self.transforms else name
        return self.by_name[column.lower()].declared

    @cached_property
    def undivided(self) -> "TableSchema":
        """The same columns for a file without partition values, if transforms alone divide."""
        is_by_transforms = len(self.transforms) == len(self.partition_columns)
        return replace(self, partition_columns=()) if is_by_transforms else self

    @cached_property
    def data_columns(self) -> Sequence[TableColumn]:
        """The columns whose values are in the data files."""
        inside = set(self.partition_columns)
        return [column for column in self.columns if column.name not in inside]

    @cached_property
    def stored_columns(self) -> Sequence[TableColumn]:
        """The columns of a new data file: a column of NULLs alone has no type there."""
        return [column for column in self.data_columns if not pa.types.is_null(column.type)]

    def check_holds_rows(self) -> None:
        """Raise ValueError for a table whose files would lose rows or partition values.

        A Parquet file without columns has no rows, and the name of a folder has no bytes that are
        no text.
        """
        if not any(each.problem or not pa.types.is_null(each.type) for each in self.data_columns):
            raise ValueError(
                f"table {self.name} must have a column in its files to hold rows, got only "
                f"{', '.join(each.name for each in self.columns) or 'no columns'}: add a column "
                "with a type that is not a partition column"
            )
        for name in self.partition_columns:
            column = self.find(name)
            if column is not None and (column.problem or not is_spelled(column.type)):
                raise ValueError(
                    f"column {name} of table {self.name} cannot partition rows: a value of type "
                    f"{column.declared} has no exact text. Partition by another column"
                )

    def find(self, name: str) -> TableColumn | None:
        """Return a column by its name in any case of letters, None if absent."""
        return self.by_name.get(name.lower())

    @cached_property
    def by_name(self) -> Mapping[str, TableColumn]:
        """The columns by their names in lower case."""
        return {column.name.lower(): column for column in self.columns}


def is_spelled(type_: pa.DataType) -> bool:
    """Return whether each value of a type has a text of its own."""
    return family_of(type_) not in (*NESTED, Family.BINARY)


@lru_cache(maxsize=128)
def schema_of(
    columns: Sequence[Column],
    partition_columns: Sequence[str],
    mapping: str,
    lists: Sequence[Sequence[SortKey]],
    *,
    name: str,
    table: int,
    inline: int = 0,
) -> TableSchema:
    """Return the schema of what a definition says of columns, the same one for the same words."""
    inside = {column.lower() for column in partition_columns}
    made = [column_of(column, inside, is_mapped=mapping != UNMAPPED) for column in columns]
    known = {each.name.lower(): each.name for each in made}
    # A table of folders may name its partition columns only.
    made += [
        TableColumn(column, pa.string(), True, 0, column, "string", partitions=True)  # noqa: FBT003
        for column in partition_columns
        if column.lower() not in known and parse_transform(column) is None
    ]
    partitioned = tuple(known.get(column.lower(), column) for column in partition_columns)
    known |= {each.name.lower(): each.name for each in made}
    sort, bloom, _, _, skipped = (
        [
            each._replace(column=known[each.column.lower()])
            for each in keys
            if each.column.lower() in known
        ]
        for keys in lists
    )
    filtered, unsaid = ([each.column for each in keys] for keys in (bloom, skipped))
    return TableSchema(
        tuple(made), partitioned, mapping, name, table, sort, filtered, unsaid, inline
    )


def column_of(column: Column, partitioned: AbstractSet[str], *, is_mapped: bool) -> TableColumn:
    """Return a column of a definition; one of an unknown type has a `problem`.

    `partitioned` are the names of the partition columns in lower case.
    """
    metadata = column_metadata(column)
    nested, why = metadata.get(NESTED_TYPE), ""
    try:
        if nested is None:
            fields = fields_of(column)
            type_ = with_ids(arrow_type(column.type, column.name), fields, is_mapped=is_mapped)
        else:
            type_ = delta_type(nested, column.name, is_mapped=is_mapped)
    except ValueError as problem:
        type_, why = pa.null(), str(problem)
    physical = metadata.get(PHYSICAL_NAME, column.name) if is_mapped else column.name
    return TableColumn(
        column.name,
        type_,
        column.nullable,
        column.id,
        physical,
        column.type,
        why,
        default_of(column),
        column.name.lower() in partitioned,
        initial_of(column),
        generation_of(column),
        identity_of(column),
    )


def initial_scalar(column: TableColumn) -> pa.Scalar:
    """Return the value of a column in files that lack it; raises UnreadableTableError."""
    if column.initial is None or column.problem:
        return pa.scalar(None, column.type)
    form = form_of(column.declared)
    try:
        value = column.initial if form is None else read(form, column.initial)
        return pa.scalar(value, column.type)
    except (ValueError, TypeError, pa.ArrowException) as problem:
        raise UnreadableTableError(
            f"column {column.name} of type {column.declared} has the value {column.initial!r} in "
            f"files that lack it, and {problem}. Drop the column, and add it again"
        ) from problem
