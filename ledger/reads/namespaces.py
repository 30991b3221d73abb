"""Namespaces as reads answer them: facts of the log, and those that tables alone make."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ledger.core.commands import Property
from ledger.core.state.tables import name_key
from ledger.reads.rows import TableRow


class NamespaceRow(NamedTuple):
    """A namespace that was created, and the position of its last change."""

    catalog: str
    name: str
    properties: Sequence[Property]
    changed: int


def namespaces_with(
    created: Iterable[NamespaceRow], tables: Iterable[TableRow]
) -> Sequence[NamespaceRow]:
    """Return namespaces by name. One that only tables name has `changed` 0."""
    found: dict[tuple[str, str], NamespaceRow] = {}
    for row in created:
        found[name_key(row.catalog, row.name)] = row
    names = [(row.catalog, row.name) for row in found.values()]
    for catalog, name in (*names, *((table.catalog, table.name) for table in tables)):
        outer = name.rpartition(".")[0]
        while outer and name_key(catalog, outer) not in found:
            found[name_key(catalog, outer)] = NamespaceRow(catalog, outer, (), 0)
            outer = outer.rpartition(".")[0]
    return [found[key] for key in sorted(found)]
