"""The namespaces that were created: facts of their own, beside the tables whose names lie in them.

A table needs no namespace of its name. So a namespace is there if it was created, or if the name of
a table begins with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.core.commands import Property
from ledger.core.state.tables import Tables, name_key


class Namespace(NamedTuple):
    """A namespace that was created; `changed` is the position of its last change."""

    catalog: str
    name: str
    properties: Sequence[Property]
    changed: int


@dataclass(slots=True)
class Namespaces:
    """The created namespaces of a domain, by catalog and name in small letters."""

    by_name: dict[tuple[str, str], Namespace] = field(default_factory=dict)

    def named(self, catalog: str, name: str) -> Namespace | None:
        """Return a created namespace, in any case of letters, or None."""
        return self.by_name.get(name_key(catalog, name))

    def put(self, namespace: Namespace) -> None:
        """Add a namespace, or give it other properties."""
        self.by_name[name_key(namespace.catalog, namespace.name)] = namespace

    def drop(self, catalog: str, name: str) -> None:
        """Remove a created namespace; one that only tables lie in stays with them."""
        self.by_name.pop(name_key(catalog, name), None)

    def inside(self, tables: Tables, catalog: str, name: str) -> Iterator[str]:
        """Return the names of the tables and created namespaces in a namespace."""
        prefix = f"{name.lower()}."
        for (of, key), table in tables.names.items():
            if of == catalog and key.startswith(prefix):
                yield f"table {tables.by_id[table].name}"
        for (of, key), namespace in self.by_name.items():
            if of == catalog and key.startswith(prefix):
                yield f"namespace {namespace.name}"
