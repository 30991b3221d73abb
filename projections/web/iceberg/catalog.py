"""The catalog: the namespaces and tables that a request sees, now or as of one position.

As of a position it has the tables that existed then, each under its present name or, if it was
dropped since, its last one.
"""

from collections.abc import Sequence
from functools import cached_property

from ledger.definitions.views import is_view
from ledger.reads.namespaces import NamespaceRow, namespaces_with
from ledger.reads.port import Reads, TableRow
from projections.iceberg.errors import no_namespace, no_table
from projections.iceberg.names import DEFAULT, Parts, TableIdentifier, identifier_of, names_of


class SeenCatalog:
    """One catalog of a ledger, as `reads` answer it; `position` None = as of now."""

    def __init__(self, reads: Reads, name: str, position: int | None = None) -> None:
        self.reads, self.name, self.position = reads, name, position

    def table(self, identifier: TableIdentifier) -> TableRow:
        """Return a table; raises IcebergRefusal for one that is not there, and for a view."""
        for name in names_of(identifier):
            row = self._named(name)
            if row is not None and not is_view(row.definition):
                return row
        raise no_table(identifier.text())

    def is_taken(self, identifier: TableIdentifier) -> bool:
        """Return whether a table or a view has a name."""
        return any(self._named(name) is not None for name in names_of(identifier))

    def tables(self, namespace: Parts) -> Sequence[TableIdentifier]:
        """Return the tables of a namespace by name; raises IcebergRefusal without one."""
        self.namespace(namespace)
        wanted = lowered(namespace)
        found = [
            identifier
            for row in self._rows
            if not is_view(row.definition) and row.definition.layout == "listed"
            if lowered((identifier := identifier_of(row.name)).namespace) == wanted
        ]
        return sorted({each.name: each for each in found}.values())

    def namespaces(self, within: Parts = ()) -> Sequence[Parts]:
        """Return the namespaces directly in one, or the outermost ones; raises IcebergRefusal."""
        if within:
            self.namespace(within)
        depth = len(within)
        found = [
            parts
            for row in self._namespaces
            if len(parts := tuple(row.name.split("."))) == depth + 1
            if lowered(parts[:depth]) == lowered(within)
        ]
        return sorted(found)

    def namespace(self, parts: Parts) -> NamespaceRow:
        """Return a namespace, one of tables alone with `changed` 0; raises IcebergRefusal."""
        wanted = lowered(parts)
        for row in self._namespaces:
            if lowered(tuple(row.name.split("."))) == wanted:
                return row
        raise no_namespace(".".join(parts))

    def has_namespace(self, parts: Parts) -> bool:
        """Return whether a namespace was created, or a table is in it."""
        wanted = lowered(parts)
        return any(lowered(tuple(row.name.split("."))) == wanted for row in self._namespaces)

    def is_empty(self, parts: Parts) -> bool:
        """Return whether a namespace has neither tables nor views nor namespaces."""
        wanted = lowered(parts)
        outer = (lowered(identifier_of(row.name).namespace) for row in self._rows)
        inner = (lowered(tuple(row.name.split("."))) for row in self._namespaces)
        return not (
            any(each[: len(wanted)] == wanted for each in outer)
            or any(each[: len(wanted)] == wanted and each != wanted for each in inner)
        )

    @cached_property
    def _namespaces(self) -> Sequence[NamespaceRow]:
        created = [row for row in self.reads.namespaces(self.position) if row.catalog == self.name]
        found = list(namespaces_with(created, self._rows))
        is_bare = any("." not in row.name for row in self._rows)
        if is_bare and all(row.name.lower() != DEFAULT for row in found):
            found.append(NamespaceRow(self.name, DEFAULT, (), 0))
        return found

    @cached_property
    def _rows(self) -> Sequence[TableRow]:
        if self.position is None:
            return [row for row in self.reads.tables() if row.catalog == self.name]
        then = {row.table for row in self.reads.newest_versions(self.position)}
        every = self.reads.tables(include_dropped=True)
        return [row for row in every if row.table in then and row.catalog == self.name]

    def _named(self, name: str) -> TableRow | None:
        if self.position is None:
            return self.reads.table_named(self.name, name)
        same = [row for row in self._rows if row.name.lower() == name.lower()]
        return min(same, key=lambda row: (row.dropped > 0, -row.dropped), default=None)


def lowered(parts: Parts) -> Parts:
    """Return parts as the ledger compares names: the case of letters makes no difference."""
    return tuple(part.lower() for part in parts)
