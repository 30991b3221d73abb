"""Names: how the tables and namespaces of a ledger are called in an Iceberg catalog.

A table `sales.north.orders` is `orders` in the namespace of the parts `sales` and `north`. A table
without a dot is in the namespace `default`. A part of a name holds no dot, or a name would be read
as another one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ledger.core.limits import TABLE_NAME_CHARS_MAX
from projections.iceberg.errors import bad_request

DEFAULT: Final = "default"
UNIT: Final = "\x1f"
"""The sign between the parts of a namespace in a path."""

Parts = tuple[str, ...]


class TableIdentifier(NamedTuple):
    """A table by the parts of its namespace and its own name."""

    namespace: Parts
    name: str

    def form(self) -> dict[str, object]:
        """Return the identifier as the protocol has it."""
        return {"namespace": list(self.namespace), "name": self.name}

    def text(self) -> str:
        """Return the identifier as messages show it."""
        return ".".join((*self.namespace, self.name))


def parts_of(path: str) -> Parts:
    """Return the parts of a namespace in a path."""
    return tuple(path.split(UNIT))


def namespace_name(parts: Sequence[str]) -> str:
    """Return the ledger's name of a namespace; raises IcebergRefusal for one it cannot have."""
    for part in parts:
        check_part("a part of a namespace", part)
    if not parts:
        raise bad_request("a namespace must have at least one part, got none")
    return ".".join(parts)


def table_name(identifier: TableIdentifier) -> str:
    """Return the name of a new table in the ledger; raises IcebergRefusal for an impossible one."""
    outer = namespace_name(identifier.namespace)
    check_part("the name of a table", identifier.name)
    found = identifier.name if outer.lower() == DEFAULT else f"{outer}.{identifier.name}"
    if len(found) > TABLE_NAME_CHARS_MAX:
        raise bad_request(
            f"the name of a table must have at most {TABLE_NAME_CHARS_MAX} characters with its "
            f"namespace, got {len(found)}"
        )
    return found


def names_of(identifier: TableIdentifier) -> Sequence[str]:
    """Return the names that a table in the ledger may have, the first one goes before the second.

    No name is returned for an identifier that no table has.
    """
    parts = (*identifier.namespace, identifier.name)
    if any(not part or "." in part for part in parts):
        return ()
    full = ".".join(parts)
    is_default = [part.lower() for part in identifier.namespace] == [DEFAULT]
    return (identifier.name, full) if is_default else (full,)


def identifier_of(name: str) -> TableIdentifier:
    """Return the identifier of a table of the ledger."""
    outer, _, own = name.rpartition(".")
    return TableIdentifier(tuple((outer or DEFAULT).split(".")), own)


def check_part(what: str, part: str) -> None:
    """Raise IcebergRefusal for a part of a name that is empty or holds a dot."""
    if not part or "." in part:
        raise bad_request(f"{what} must be one or more signs without a dot, got {part!r}")
