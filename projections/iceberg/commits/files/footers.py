"""Names of columns in new files: read from their footers where a name may be another one.

A client knows a column by its id, and may write a file while another client renames the column. The
ledger finds a column of such a file by its id only where all ids agree with the names of the table.
So a file with earlier names is refused. Tables without a renamed field need no look.

Readers of a published Delta log find a column by its name in files. A column that was renamed while
its table was published keeps the earlier name there, and clients write the new one: such a file is
refused too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ledger.arrow.schema import UNMAPPED, TableSchema
from ledger.core.commands import TableDefinition
from ledger.errors import LedgerError
from ledger.files.footers import AT_ONCE, FieldInFile, fields_in
from ledger.files.storage import Storage
from ledger.properties.column_mapping import is_published
from ledger.statements.columns.published_names import problem_of_names
from projections.iceberg.commits.definitions.schema_changes import fields_by_id
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request

FILES_MAX: Final = 10_000
"""The footers of so many files are read in one commit."""


def check_names(
    storage: Storage,
    definition: TableDefinition,
    schema: Given,
    paths: Iterable[str],
    *,
    has_renames: bool,
) -> None:
    """Raise IcebergRefusal for a new file with other names of columns than its readers look for.

    `has_renames` says whether a column may have had another name. A table that is mapped finds all
    columns by their ids; if it is published by names, its files must have these names.
    """
    mapping = TableSchema.of(definition).mapping
    if mapping == "name" and is_published(definition):
        wrong = first_wrong(storage, paths, lambda file: problem_of_names(file, definition))
        if wrong:
            raise bad_request(
                f"a new file must have the names that the table's columns have in files, and "
                f"{wrong}: readers of its published Delta log look for that name, as columns were "
                "renamed, added or dropped. Write by the SDK, by SQL or in Spark by LakeLedger, "
                "or unset lakeledger.publish, or copy the table into a new one"
            )
    elif mapping == UNMAPPED and has_renames:
        wrong = first_wrong(storage, paths, lambda file: earlier_name(file, schema))
        if wrong:
            raise bad_request(
                f"a new file must have the names that columns have now, and {wrong}: load the "
                "table again, and write the rows into other files"
            )


def first_wrong(
    storage: Storage, paths: Iterable[str], problem: Callable[[Iterable[FieldInFile]], str]
) -> str:
    """Return a file with a problem and what it is, "" without any; raises IcebergRefusal."""
    several = list(paths)
    if len(several) > FILES_MAX:
        raise bad_request(
            f"a commit to a table with renamed columns must add {FILES_MAX} files at most, got "
            f"{len(several)}"
        )

    def wrong_in(path: str) -> str:
        found = problem(fields_of(storage, path))
        return found and f"{path} {found}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return next(filter(None, pool.map(wrong_in, several)), "")


def fields_of(storage: Storage, path: str) -> Sequence[FieldInFile]:
    """Return the fields of a new file; raises IcebergRefusal if it is absent or no Parquet."""
    try:
        return fields_in(storage, path)
    except LedgerError as error:
        raise bad_request(f"the new file {shown(path)} cannot be read: {error}") from error


def numbered_in(storage: Storage, path: str) -> Iterator[tuple[int, int, str]]:
    """Yield the fields of a new file that have ids, as `within`; raises as `fields_of`."""
    yield from within(fields_of(storage, path), 0)


def earlier_name(file: Iterable[FieldInFile], schema: Given) -> str:
    """Return which name a file has that a column had before, "" without any."""
    names = {
        number: (field.above, field.name.lower()) for number, field in fields_by_id(schema).items()
    }
    places = {place: number for number, place in names.items()}
    for number, above, name in within(file, 0):
        if names.get(number, (above, name)) != (above, name):
            return f"has {name!r} where the table has {names[number][1]!r}"
        if places.get((above, name), number) != number:
            return f"has a former column {name!r}"
    return ""


def within(fields: Iterable[FieldInFile], above: int) -> Iterator[tuple[int, int, str]]:
    """Yield the fields that have ids: the id, the id of the field above, the name."""
    for field in fields:
        if field.number:
            yield field.number, above, field.name.lower()
        yield from within(field.fields, field.number)
