"""Definitions of tables: how a caller gives one, and how one becomes the next.

A column that keeps its name keeps its id. A new column gets an id that no column of the table ever
had, as older files may hold values under a used id. If the column with the highest id is dropped,
Delta's own property remembers the id.

Only the first word of a column's type is checked, so that a misspelled type fails at once. Spark
judges the rest. A definition with full columns, as an import gives, may name any type.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import PurePath
from typing import Final, TypedDict, Unpack

from ledger.core.commands import Column, Layout, Property, TableDefinition, TableKind
from ledger.core.predicates.types import BY_NAME
from ledger.core.state.traits import keeps_partitions, known_key
from ledger.definitions.declared import Declaration, declaration_of
from ledger.definitions.given import check_list, check_name_of, check_text
from ledger.definitions.locations import in_one_spelling
from ledger.properties.column_lists import followed
from ledger.properties.column_mapping import (
    HIGHEST_ID,
    highest_held,
    highest_id,
    is_highest_id,
    is_mapped,
    is_published,
    loses_names,
    mapped,
    new_name,
)
from ledger.properties.column_values import DEFAULT, with_values
from ledger.properties.field_ids import check_fields, numbered
from ledger.properties.partitioning import divided_by, followed_by_transforms
from ledger.reads.port import TableRow

# The data types of Spark SQL: those of the table of types, and others. Only Hive has the last one.
KNOWN: Final = BY_NAME.keys() | {
    *("array", "map", "struct", "variant", "interval", "time", "character", "geography"),
    *("geometry", "uniontype"),
}


def check_type(column: str, kind: str) -> None:
    """Raise ValueError for a type that neither Spark SQL nor Hive has."""
    found = re.match(r"\s*(\w*)", kind)
    word = found[1].lower() if found else ""
    if word in KNOWN:
        return
    alike = get_close_matches(word, KNOWN, n=1)
    meant = f", did you mean {alike[0]}?" if alike else "; one looks like bigint or array<string>"
    raise ValueError(f"column {column!r} has type {kind!r}, which Spark SQL does not know{meant}")


ColumnLike = Column | tuple[str, str]
"""A column, or its name and its declaration: a Spark SQL type, as in 'int NOT NULL DEFAULT 5'."""

Change = TableDefinition | Callable[[TableDefinition], TableDefinition]
"""A new definition, or a function that makes it from the present one."""


class TableOptions(TypedDict, total=False):
    """Options of a table besides its columns; by default managed, listed and unpartitioned.

    `location` is the folder of its files, `properties` are table properties with Delta's names.
    """

    partition_columns: Sequence[str]
    kind: TableKind
    layout: Layout
    location: str | PathLike[str]
    properties: Mapping[str, str]


class TableChanges(TypedDict, total=False):
    """Changes of a table; what is left out stays. `columns` replaces all columns.

    `properties` are added to the present ones, and the keys in `unset` are removed.
    """

    columns: Sequence[ColumnLike]
    partition_columns: Sequence[str]
    location: str | PathLike[str]
    properties: Mapping[str, str]
    unset: Sequence[str]


def table_definition(
    columns: Sequence[ColumnLike] = (), **options: Unpack[TableOptions]
) -> TableDefinition:
    """Return the definition of a table; columns without an id are numbered from 1.

    Raises TypeError for an unknown option, for a property that is not a text, and for a column that
    is not a pair of texts; ValueError for an unknown type.
    """
    check_named(options, TableOptions)
    check_several(columns)
    made = TableDefinition(
        options.get("kind", "managed"),
        options.get("layout", "listed"),
        location_of(options.get("location", "")),
        [column_of(each, number) for number, each in enumerate(columns, start=1)],
        names_of("partition columns", options.get("partition_columns", ())),
        properties_of(options.get("properties", {})),
    )
    made = made._replace(partition_columns=divided_by(made.partition_columns, made.columns))
    return made if not are_numbers(made) else numbered((), made, highest_id(made))


def location_of(location: str | PathLike[str]) -> str:
    """Return a location in the one spelling of its folder.

    Raises TypeError for anything but a path, and ValueError for a wrong URI.
    """
    return in_one_spelling(text_of(location))


def text_of(location: str | PathLike[str]) -> str:
    """Return a location as a text; raises TypeError for anything but a path."""
    found = location.as_posix() if isinstance(location, PurePath) else location
    found = fspath(found) if isinstance(found, PathLike) else found
    check_text("a location", found)
    return found


def check_named(given: Mapping[str, object], options: type) -> None:
    """Raise TypeError for unknown names: a misspelled option would silently do nothing."""
    unknown, known = given.keys() - options.__annotations__.keys(), options.__annotations__
    if unknown:
        raise TypeError(
            f"an option of a table must be one of {', '.join(known)}, got "
            f"{', '.join(sorted(unknown))}"
        )


def check_lasting(changes: Mapping[str, object]) -> None:
    """Raise TypeError for an iterator: read a second time, it would be an empty list."""
    for name, given in changes.items():
        if isinstance(given, Iterator):
            raise TypeError(f"{name} must be a list, got {given!r}, which can be read only once")


def column_of(column: ColumnLike, number: int) -> Column:
    """Return a column; a pair of name and declaration gets this id."""
    if isinstance(column, Column):
        check_name_of("the name of a column", column.name)
        return column
    name, said = pair(column)
    return with_values(Column(name, said.type, nullable=said.nullable, id=number), said.values)


def pair(column: tuple[str, str]) -> tuple[str, Declaration]:
    """Return name and declaration of a column; raises TypeError for anything but two texts.

    A single text, "id", would be taken for a column i of type d. Raises ValueError for an unknown
    type, and for a clause that is not obeyed.
    """
    match column:
        case (str() as name, str() as kind):
            check_name_of("the name of a column", name)
            if not name:
                raise ValueError(f"the name of a column must not be empty, got {column!r}")
            said = declaration_of(name, kind)
            check_type(name, said.type)
            check_fields(name, said.type)
            return name, said
        case _:
            raise TypeError(
                "a column must be a pair of name and Spark SQL type, such as ('id', 'bigint'), "
                f"got {column!r}. A table is made of rows too: a data frame, or a list of dicts"
            )


def names_of(what: str, names: Iterable[str]) -> list[str]:
    """Return names as a list; raises TypeError for anything but a list of texts."""
    if isinstance(names, str):
        raise TypeError(f"{what} must be a list of names, such as [{names!r}], got {names!r}")
    check_list(what, names)
    found = list(names)
    for each in found:
        check_text(f"one of {what}", each)
    return found


def properties_of(properties: Mapping[str, str]) -> list[Property]:
    """Return table properties as a definition has them; raises TypeError unless all are texts."""
    if not isinstance(properties, Mapping):
        raise TypeError(
            f"properties must be a mapping, such as {{'owner': 'ada'}}, got {properties!r}"
        )
    check_texts(properties.items())
    return [Property(*item) for item in sorted(properties.items())]


def check_several(columns: object) -> None:
    """Raise TypeError for anything but a list of columns."""
    if isinstance(columns, str):
        raise TypeError(
            "columns must be a list of pairs of name and Spark SQL type, such as "
            f"[('id', 'bigint')], got {columns!r}"
        )
    check_list("columns (names with their types)", columns)


def check_texts(properties: Iterable[object]) -> None:
    """Raise TypeError for a property that is not a pair of texts: it has no defined spelling."""
    for each in properties:
        match each:
            case (str(), str()):
                continue
            case (key, value):
                said = f"{key!r} is {value!r}"
            case _:
                said = f"{each!r} is not a pair of key and value"
        raise TypeError(
            f"table property {said}: key and value must be texts, such as '3' or 'true'"
        )


def changed_definition(
    before: TableDefinition, change: Change | None = None, **changes: Unpack[TableChanges]
) -> TableDefinition:
    """Return the changed definition: by `change` as a whole, or by the named changes.

    Raises ValueError if both or neither are given, and for an unknown type of a column. Raises
    TypeError for an unknown name, for an iterator (a change may be repeated), for a property that
    is not a text, for a text in place of a list, for a column that is not a pair of texts, and for
    a change that does not make a definition.
    """
    check_named(changes, TableChanges)
    check_lasting(changes)
    if (change is None) == (not changes):
        raise ValueError("give either a new definition, or a function that makes it, or changes")
    if change is not None:
        made = change(before) if callable(change) else change
        check_made(made)
        if made.location != before.location and isinstance(made.location, str):
            made = made._replace(location=location_of(made.location))
        return settled(before, made)
    unset = names_of("properties to unset", changes.get("unset", ()))
    set_anew = dict(changes.get("properties", {}))
    check_texts(set_anew.items())
    gone = set(map(known_key, (*unset, *set_anew)))
    kept = {each.key: each.value for each in before.properties if known_key(each.key) not in gone}
    partition_columns = changes.get("partition_columns", before.partition_columns)
    after = before._replace(
        location=location_of(changes["location"]) if "location" in changes else before.location,
        partition_columns=names_of("partition columns", partition_columns),
        properties=properties_of(kept | set_anew),
    )
    columns = changes.get("columns")
    if columns is not None:
        check_several(columns)
        after = with_columns(after, columns, highest_id(before))
    by = divided_by(after.partition_columns, after.columns)
    return settled(before, after._replace(partition_columns=by))


def settled(before: TableDefinition, after: TableDefinition) -> TableDefinition:
    """Return a changed definition with the ids, lists and names in files that follow from it."""
    made = followed(before, with_ids(before, followed_by_transforms(before, after)))
    return mapped(before, remembering(made, highest_id(before)))


def with_ids(before: TableDefinition, after: TableDefinition) -> TableDefinition:
    """Return a definition with other columns whose fields have ids, all of them."""
    if list(before.columns) == list(after.columns) or not are_numbers(after):
        return after
    highest = max(highest_id(before), highest_id(after))
    name = (
        new_name
        if is_mapped(after) or (is_published(after) and loses_names(before, after))
        else None
    )
    return numbered(before.columns, after, highest, name)


def altered(row: TableRow, definition: TableDefinition, position: int) -> TableRow:
    """Return the row of a table with another definition.

    Files up to `position` have the values of the partition columns of before, if these change.
    """
    is_other = not keeps_partitions(row.definition, definition)
    since = max(row.partitioned, position) if is_other else row.partitioned
    return row._replace(definition=definition, partitioned=since)


def check_made(made: object) -> None:
    """Raise TypeError if the result of a change is not a definition with valid parts."""
    if not isinstance(made, TableDefinition):
        raise TypeError(
            f"a change must be a TableDefinition, or a function that returns one, got {made!r}"
        )
    for column in made.columns:
        if not isinstance(column, Column):
            raise TypeError(f"a column of a changed definition must be a Column, got {column!r}")
    names_of("partition columns", made.partition_columns)
    check_texts(made.properties)


def with_columns(
    definition: TableDefinition, columns: Sequence[ColumnLike], highest: int
) -> TableDefinition:
    """Return a definition with other columns; `highest` is the highest id used so far."""
    given = [column.id for column in columns if isinstance(column, Column)]
    highest = max(highest, highest_id(definition), *given, 0)
    made = list(renewed(definition.columns, columns, highest + 1))
    held = highest_held(made)
    kept = {key: value for key, value in definition.properties if not is_highest_id(key)}
    if highest > held or len(kept) < len(definition.properties):
        kept[HIGHEST_ID] = str(max(highest, held))
    return definition._replace(columns=made, properties=properties_of(kept))


def remembering(definition: TableDefinition, highest: int) -> TableDefinition:
    """Return a definition that remembers the highest id used so far, though its column is gone.

    An id that is no number is refused where the definition is sent.
    """
    if not are_numbers(definition) or highest <= highest_id(definition):
        return definition
    kept = {key: value for key, value in definition.properties if not is_highest_id(key)}
    return definition._replace(properties=properties_of(kept | {HIGHEST_ID: str(highest)}))


def are_numbers(definition: TableDefinition) -> bool:
    """Return whether all ids of columns are whole numbers."""
    return all(isinstance(column.id, int) for column in definition.columns)


def renewed(
    before: Sequence[Column], columns: Sequence[ColumnLike], following: int
) -> Iterator[Column]:
    """Yield the columns of a changed table, matched by name in any case of letters.

    `following` is the id of the first new column.
    """
    known = {each.name.lower(): each for each in before}
    for column in columns:
        if isinstance(column, Column):
            yield column
            continue
        name, said = pair(column)
        same = known.get(name.lower())
        check_filled(name, said, same)
        if same is not None:
            yield with_values(same._replace(name=name, type=said.type), said.values)
        else:
            yield column_of(column, following)
            following += 1


def check_filled(name: str, said: Declaration, before: Column | None) -> None:
    """Raise ValueError for a column of a table that becomes NOT NULL where rows may have NULL."""
    is_filled = said.values.get(DEFAULT) is not None if before is None else not before.nullable
    if not said.nullable and not is_filled:
        raise ValueError(
            f"column {name} must stay without NOT NULL, as present rows may have NULL there: add a "
            "new column with NOT NULL DEFAULT <value>"
        )


def operation_of(before: TableDefinition, after: TableDefinition) -> str:
    """Return Delta's name of the change from one definition to the next."""
    if list(before.partition_columns) != list(after.partition_columns):
        return "REPLACE TABLE"
    if list(before.columns) != list(after.columns):
        return columns_operation(before.columns, after.columns)
    if before.location != after.location:
        return "SET LOCATION"
    set_anew = set(after.properties) - set(before.properties)
    return "UNSET TBLPROPERTIES" if not set_anew and before != after else "SET TBLPROPERTIES"


def columns_operation(before: Sequence[Column], after: Sequence[Column]) -> str:
    """Return Delta's name of a change of columns; columns with equal ids are the same."""
    old, new = {each.id: each for each in before}, {each.id: each for each in after}
    if old.keys() == new.keys():
        renamed = any(old[each].name != new[each].name for each in old)
        return "RENAME COLUMN" if renamed else "CHANGE COLUMN"
    if old.keys() < new.keys():
        return "ADD COLUMNS"
    return "DROP COLUMNS" if new.keys() < old.keys() else "REPLACE COLUMNS"
