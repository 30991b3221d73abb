"""The files of a table of layout `directories`: those in the folders of valid write ids.

A folder of a write id, `delta_<write id>`, lies in the folders of its partition. Where a listing
cannot be read as Hive reads it, the scan stops: it would show other rows than the table holds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.partitions.names import DELTA_FOLDER, Values, hive_values
from ledger.core.predicates.predicates import compile_predicate
from ledger.core.state.traits import traits_of
from ledger.errors import UnreadableTableError
from ledger.files.storage import Storage, StoredFile
from ledger.reads.port import FileRow, Reads, TableRow

VERSIONS: Final = 1_000
# Hive's names for folders of compacted and of deleted rows.
OTHERS: Final = ("delta_", "base_", "delete_delta_")
# Hive and Spark skip such files.
HIDDEN: Final = ("_", ".")

NamesThen = Callable[[FileRow], Sequence[str]]
"""Returns the partition columns that a table had when a write id was committed."""


def folder_files(
    storage: Storage,
    row: TableRow,
    ids: ValidWriteIdList,
    positions: Mapping[int, int],
    names_then: NamesThen,
) -> list[FileRow]:
    """Return the files of the valid write ids; `positions` are those of their commits.

    Raises UnreadableTableError for a folder that is of another program, or in another place.
    """
    found = []
    for stored in storage.list():
        *folders, name = stored.path.split("/")
        number = write_id_of(folders, stored.path)
        if number is None or not ids.is_valid(number) or name.startswith(HIDDEN):
            continue
        file = file_row(row, stored, positions.get(number, 0))
        values = partition_of(folders[:-1], names_then(file), stored.path)
        found.append(file._replace(partition=values))
    return found


def write_id_of(folders: Sequence[str], path: str) -> int | None:
    """Return the write id in whose folder a file lies, None for a file of no such folder."""
    at = next((at for at, each in enumerate(folders) if each.startswith(OTHERS)), None)
    if at is None:
        return None
    named = DELTA_FOLDER.fullmatch(folders[at])
    if named is None:
        raise UnreadableTableError(f"the folder of {path} is not named delta_<write id>")
    if at != len(folders) - 1:
        raise UnreadableTableError(
            f"the file {path} lies in a folder within the folder of its write id; that folder lies "
            "in the folders of its partition, and holds files only"
        )
    return int(named[1])


def partition_of(levels: Sequence[str], names: Sequence[str], path: str) -> Values:
    """Return the partition in the names of folders; raises UnreadableTableError for others."""
    values = hive_values("/".join(levels), names) if names else ()
    in_order = [level.partition("=")[0].lower() for level in levels] == [
        name.lower() for name in names
    ]
    if values is None or len(levels) != len(names) or not in_order:
        wanted = "/".join(f"{name}=<value>" for name in names) or "the location itself"
        raise UnreadableTableError(
            f"the file {path} lies in no partition of its table: the folder of its write id must "
            f"lie in {wanted}"
        )
    return values


def file_row(row: TableRow, stored: StoredFile, added: int) -> FileRow:
    """Return a file that was found as a file of the table."""
    return FileRow(
        table=row.table,
        path=stored.path,
        vector="",
        partition=(),
        size=stored.size,
        modified=stored.modified,
        stats="",
        added=added,
        version=-1,
        removed=0,
    )


def commit_positions(reads: Reads, row: TableRow) -> Mapping[int, int]:
    """Return the positions of commits by write id, as far as the columns changed after them."""
    found: dict[int, int] = {}
    if row.changed <= row.created:
        return found
    below: int | None = None
    while page := reads.versions(row.table, VERSIONS, below=below):
        found.update({each.write_id: each.position for each in page if each.write_id})
        below = page[-1].version
        if not below:
            break
    return found


def concerned(files: Sequence[FileRow], tree: str, row: TableRow) -> Iterator[FileRow]:
    """Yield the files whose partition a condition may concern."""
    schema = traits_of(row.definition).schema
    scan = compile_predicate(tree, schema, derive=True)
    for file in files:
        is_known = len(file.partition) == len(schema) and not row.partitioned
        if scan.always or not is_known or scan.matches(tuple(file.partition)):
            yield file
