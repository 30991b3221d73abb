"""Names of columns in new files: read from their footers where a name may be an earlier one.

A client knows a column by its id, and may write a file while another client renames the column. The
ledger finds a column of such a file by its id only where all ids agree with the names of the table.
So a file with earlier names is refused. Tables without a renamed field need no look.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ledger.arrow.schema import UNMAPPED, TableSchema
from ledger.core.commands import TableDefinition
from ledger.errors import LedgerError
from ledger.files.footers import AT_ONCE, FieldInFile, fields_in
from ledger.files.storage import Storage
from projections.iceberg.commits.definitions.schema_changes import fields_by_id
from projections.iceberg.commits.given_json import Given, shown
from projections.iceberg.errors import bad_request

FILES_MAX: Final = 10_000
"""The footers of so many files are read in one commit."""


def check_names(
    storage: Storage, definition: TableDefinition, schema: Given, paths: Iterable[str]
) -> None:
    """Raise IcebergRefusal for a new file with other names of columns than the table has now."""
    if TableSchema.of(definition).mapping != UNMAPPED:
        return  # Such a table finds all columns by their ids.
    names = {
        number: (field.above, field.name.lower()) for number, field in fields_by_id(schema).items()
    }
    places = {place: number for number, place in names.items()}

    def wrong_in(path: str) -> str:
        for number, above, name in numbered_in(storage, path):
            if names.get(number, (above, name)) != (above, name):
                return f"{path} has {name!r} where the table has {names[number][1]!r}"
            if places.get((above, name), number) != number:
                return f"{path} has a former column {name!r}"
        return ""

    several = list(paths)
    if len(several) > FILES_MAX:
        raise bad_request(
            f"a commit to a table with renamed columns must add {FILES_MAX} files at most, got "
            f"{len(several)}"
        )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = next(filter(None, pool.map(wrong_in, several)), "")
    if wrong:
        raise bad_request(
            f"a new file must have the names that columns have now, and {wrong}: load the table "
            "again, and write the rows into other files"
        )


def numbered_in(storage: Storage, path: str) -> Iterator[tuple[int, int, str]]:
    """Yield the fields of a file that have ids: the id, the id of the field above, the name.

    Raises IcebergRefusal for a file that is absent or no Parquet.
    """
    try:
        found = fields_in(storage, path)
    except LedgerError as error:
        raise bad_request(f"the new file {shown(path)} cannot be read: {error}") from error
    yield from within(found, 0)


def within(fields: Iterable[FieldInFile], above: int) -> Iterator[tuple[int, int, str]]:
    """Yield the fields with ids, and those within them."""
    for field in fields:
        if field.number:
            yield field.number, above, field.name.lower()
        yield from within(field.fields, field.number)
