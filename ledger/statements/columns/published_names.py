"""Names in data files that readers of a published Delta log look for.

In a table that is mapped by name, each column and each field within one has a name in files. A file
of another program has field ids, by which the ledger finds its columns, and may have other names:
then readers of Delta see NULL in place of the values.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ledger.core.commands import TableDefinition
from ledger.core.conflicts.metadata_diff import NESTED_TYPE
from ledger.errors import UnreadableTableError
from ledger.files.footers import AT_ONCE, FieldInFile, fields_in
from ledger.files.foreign_bounds import is_foreign
from ledger.files.storage import storage_at
from ledger.properties.column_mapping import physical_name
from ledger.properties.field_ids import ID, IN_FILES, WITHIN, Tree, fields_of
from ledger.reads.port import Reads, TableRow


def problem_of_names(file: Iterable[FieldInFile], definition: TableDefinition) -> str:
    """Return which column of a file has another name than a table that is mapped by name, or "".

    Partition columns are not looked for: their values stand in the log.
    """
    parts = {each.lower() for each in definition.partition_columns}
    nodes: dict[str, tuple[int, Tree | None]] = {}
    for column in definition.columns:
        # The fields of a column from Delta are known by its own metadata.
        tree = None if NESTED_TYPE in column.metadata else fields_of(column)
        nodes[physical_name(column)] = (column.id, tree)
    free = {each.id for each in definition.columns if each.name.lower() in parts}
    return problem_within(file, nodes, free)


def problem_within(
    file: Iterable[FieldInFile],
    nodes: Mapping[str, tuple[int, Tree | None]],
    free: Iterable[int] = (),
) -> str:
    """Return which field has another name than `nodes` say, "" without any.

    `nodes` has by name in files the id of a field, and the tree of the fields within it; None for
    one that is not judged. The ids in `free` may have any name.
    """
    called = {number: name for name, (number, _) in nodes.items() if number}
    for field in file:
        number, tree = nodes.get(field.name, (0, None))
        if field.name in nodes and field.number in (0, number):
            inner = {
                node.get(IN_FILES, name): (int(node[ID]), node.get(WITHIN, {}))
                for name, node in (tree or {}).items()
            }
            if inner and (found := problem_within(field.fields, inner)):
                return found
        elif field.name in nodes or field.number not in free:
            wanted = called.get(field.number)
            return f"has {field.name!r} where files of the table have {wanted or 'no such column'}"
    return ""


def check_published(reads: Reads, row: TableRow, after: TableDefinition) -> None:
    """Raise UnreadableTableError for a file with other names than a definition by names says.

    The footers of the live files of other programs are read.
    """
    others = [each.path for each in reads.files(row.table) if is_foreign(each.path)]
    if not others:
        return
    storage = storage_at(after.location)

    def wrong_in(path: str) -> str:
        found = problem_of_names(fields_in(storage, path), after)
        return found and f"{path} {found}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = next(filter(None, pool.map(wrong_in, others)), "")
    if wrong:
        raise UnreadableTableError(
            f"table {row.name} cannot be published as it is: {wrong}, and readers of Delta find "
            "columns by these names. Write all its files anew, by Ledger.optimize with sort_by, "
            "and publish it then"
        )
