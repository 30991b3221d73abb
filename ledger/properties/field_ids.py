"""Ids of what lies within columns: fields of structs, elements of arrays, keys and values of maps.

An id stays with its field across renames, as that of a column does, and both come from one counter.
A field that was dropped and added again is another field: files of before have other values there.
The ids stand in the metadata of the column, as a tree of names. Fields of an imported column have
the ids of Delta instead, or are known by name alone.

Columns of earlier definitions have no tree: their files know fields by the names of their time. The
fields that a column has when it gets its tree keep those names, as what they were called.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import NESTED_TYPE, column_metadata
from ledger.core.state.tables import odd_character
from ledger.properties.type_text import TypeNode, read_type

FIELDS: Final = "lakeledger.fields"
"""Under this key a column has the tree of its fields: by name their id, and the fields within."""

ID: Final = "id"
WITHIN: Final = "in"
WAS: Final = "was"
"""The name of a field in files from before it had an id, absent for a later field."""
IN_FILES: Final = "file"
"""The name of a field in the files of a table with column mapping, if it has another one."""

NESTED: Final = re.compile(r"\s*(array|map|struct)\s*<", re.IGNORECASE)

Tree = Mapping[str, Any]
"""The fields of a type by name; a type without fields has none."""


def shape_of(type_: str) -> Tree:
    """Return the fields of a Spark SQL type by name, empty for an atomic or an unknown one."""
    try:
        return fields_within(read_type(type_)) if NESTED.match(type_) else {}
    except ValueError:
        return {}


def check_fields(column: str, type_: str) -> None:
    """Raise ValueError for a type with a field that has no name, an odd one, or that of another."""
    try:
        node = read_type(type_)
    except ValueError:
        return  # It is another text, which is refused elsewhere.
    for names in names_within(node):
        lower = [name.lower() for name in names]
        for name in names:
            if not name:
                raise ValueError(f"a field of column {column!r} must have a name, got {type_!r}")
            if (found := odd_character(name)) is not None:
                raise ValueError(
                    f"a field of column {column!r} must not hold a control character in its name, "
                    f"got {name!r} with {found!r}"
                )
            if lower.count(name.lower()) > 1:
                raise ValueError(
                    f"the fields of column {column!r} must have different names in any case of "
                    f"letters, got {name} twice in {type_!r}"
                )


def names_within(node: TypeNode) -> Iterator[list[str]]:
    """Yield the names of the fields of each struct in a type."""
    yield [field.name for field in node.fields]
    for field in node.fields:
        yield from names_within(field.type)


def fields_within(node: TypeNode) -> Tree:
    """Return the fields of a type by name."""
    return {field.name: fields_within(field.type) for field in node.fields}


def fields_of(column: Column) -> Tree:
    """Return the tree of a column's fields, empty without one."""
    if FIELDS not in column.metadata:
        return {}
    found = column_metadata(column).get(FIELDS)
    return found if isinstance(found, dict) else {}


def with_fields(column: Column, tree: Tree) -> Column:
    """Return a column with the tree of its fields; an empty one is left out."""
    if not tree and FIELDS not in column.metadata:
        return column
    metadata = {key: each for key, each in column_metadata(column).items() if key != FIELDS}
    if tree:
        metadata[FIELDS] = tree
    text = json.dumps(metadata, sort_keys=True, ensure_ascii=False) if metadata else ""
    return column._replace(metadata=text)


def numbered(
    before: Sequence[Column], definition: TableDefinition, highest: int, name: Any = None
) -> TableDefinition:
    """Return a definition in which all fields have ids; `highest` is the highest id so far.

    A field of a column keeps the id that it had in `before` under its name. `name` returns a name
    in files for a field that a column of a mapped table gets.
    """
    known = {each.id: each for each in before if each.id}
    numbers = Numbers(highest, name)
    columns = [numbers.of(column, known.get(column.id)) for column in definition.columns]
    return definition._replace(columns=columns)


class Numbers:
    """Gives ids to the fields of columns, from one counter."""

    def __init__(self, highest: int, name: Any = None) -> None:
        self._highest, self._name = highest, name

    def of(self, column: Column, before: Column | None) -> Column:
        """Return a column with the ids of its fields; an imported one keeps what it has."""
        if NESTED_TYPE in column.metadata or not (NESTED.match(column.type) or column.metadata):
            return column
        held = fields_of(column) or ({} if before is None else fields_of(before))
        was = {} if held or before is None else shape_of(before.type)
        is_new = before is None
        return with_fields(column, self._tree(shape_of(column.type), held, was, is_new=is_new))

    def _tree(self, shape: Tree, held: Tree, was: Tree, *, is_new: bool) -> dict[str, Any]:
        known = {name.lower(): each for name, each in held.items()}
        former = {name.lower(): (name, each) for name, each in was.items()}
        made = {}
        for name, within in shape.items():
            node = known.get(name.lower())
            if node is None:
                called, inner = former.get(name.lower(), (None, {}))
                node = self._node(called, is_new=is_new)
            else:
                called, inner = None, {}
            below = self._tree(
                within, node.get(WITHIN, {}), inner, is_new=is_new or IN_FILES in node
            )
            kept = {key: each for key, each in node.items() if key != WITHIN}
            made[name] = kept | ({WITHIN: below} if below else {})
        return made

    def _node(self, called: str | None, *, is_new: bool) -> dict[str, Any]:
        self._highest += 1
        node: dict[str, Any] = {ID: self._highest}
        if called is not None:
            node[WAS] = called
        elif self._name is not None and not is_new:
            node[IN_FILES] = self._name()
        return node


def ids_in(tree: Tree) -> Iterator[tuple[int, str]]:
    """Yield the ids of all fields of a tree with their names."""
    for name, node in tree.items():
        yield node[ID], name
        yield from ids_in(node.get(WITHIN, {}))


def paths_in(shape: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all fields of a type, in lower case."""
    for name, within in shape.items():
        path = (*above, name.lower())
        yield path
        yield from paths_in(within, path)


def lost_field(before: Column, after: Column) -> str:
    """Return a field of a column that is renamed or dropped in a later one, "" without any."""
    kept = dict(ids_in(fields_of(after)))
    for number, name in ids_in(fields_of(before)):
        if kept.get(number, "").lower() != name.lower():
            return name
    there = set(paths_in(shape_of(after.type)))
    return next((path[-1] for path in paths_in(shape_of(before.type)) if path not in there), "")


def renamed(column: Column, path: Sequence[str], name: str) -> Column:
    """Return a column with another name for a field, which keeps its id.

    Raises KeyError for a path to no field.
    """
    return with_fields(column, renamed_in(fields_of(column), path, name))


def renamed_in(tree: Tree, path: Sequence[str], name: str) -> Tree:
    """Return a tree with another name for a field."""
    first, *rest = path
    found = next((each for each in tree if each.lower() == first.lower()), None)
    if found is None:
        raise KeyError(first)
    called, node = (name, tree[found])
    if rest:
        within = renamed_in(node.get(WITHIN, {}), rest, name)
        called, node = found, {**node, WITHIN: within}
    return dict((called, node) if each == found else (each, tree[each]) for each in tree)


def names_in_files(tree: Tree) -> Iterator[tuple[int, str]]:
    """Yield the ids of all fields of a tree with their names in the files of a mapped table."""
    for name, node in tree.items():
        yield node[ID], node.get(IN_FILES, name)
        yield from names_in_files(node.get(WITHIN, {}))


def with_names(tree: Tree, known: Mapping[int, str]) -> Tree:
    """Return a tree whose fields have the names in files that are known by their ids."""
    made = {}
    for name, node in tree.items():
        called = known.get(node[ID]) or node.get(IN_FILES) or node.get(WAS, name)
        kept = {key: each for key, each in node.items() if key not in (IN_FILES, WITHIN)}
        made[name] = kept | ({IN_FILES: called} if called != name else {})
        if WITHIN in node:
            made[name][WITHIN] = with_names(node[WITHIN], known)
    return made
