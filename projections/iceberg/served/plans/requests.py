"""The filter and the columns of a plan: what they name must be there.

The server applies no filter itself, so an unknown column would otherwise pass for one that matches.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from projections.iceberg.errors import bad_request

DEPTH_MAX: Final = 100
SHOWN: Final = 80
SEVERAL: Final = frozenset({"and", "or"})
ALONE: Final = frozenset({"is-null", "not-null", "is-nan", "not-nan"})
COMPARED: Final = frozenset(
    {"lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq", "starts-with", "not-starts-with"}
)
LISTED: Final = frozenset({"in", "not-in"})


class PlannedColumns:
    """The columns of a schema and the fields within them, by their names with dots."""

    def __init__(self, schema: Mapping[str, Any], *, case_sensitive: bool = True) -> None:
        names = set(names_in(schema))
        self._is_exact = case_sensitive
        self._names = names if case_sensitive else {name.lower() for name in names}

    def check(self, name: Any) -> None:
        """Raise IcebergRefusal for a name that no column has."""
        wanted = name if self._is_exact or not isinstance(name, str) else name.lower()
        if not isinstance(name, str) or wanted not in self._names:
            raise bad_request(f"a plan must name columns of its table, got {shown(name)}")

    def check_term(self, term: Any) -> None:
        """Raise IcebergRefusal for a term of a filter that is no column, and no transform of one.

        A transform is named in an object, with the term that it takes.
        """
        if isinstance(term, dict):
            self.check(term.get("term"))
            return
        self.check(term)

    def check_filter(self, given: Any, depth: int = 0) -> None:
        """Raise IcebergRefusal for a filter that is no expression over the columns."""
        if isinstance(given, bool):
            return
        kind = given.get("type") if isinstance(given, dict) else None
        if depth > DEPTH_MAX or not isinstance(kind, str):
            raise bad_request(
                f"a filter must be an expression of {DEPTH_MAX} levels at most, got {shown(given)}"
            )
        if kind in SEVERAL:
            for side in ("left", "right"):
                self.check_filter(given.get(side), depth + 1)
        elif kind == "not":
            self.check_filter(given.get("child"), depth + 1)
        elif kind in ALONE | COMPARED | LISTED:
            self.check_term(given.get("term"))
            check_values(kind, given)
        elif kind not in ("true", "false"):
            raise bad_request(f"a filter must be of known expressions, got {shown(kind)}")


def check_values(kind: str, given: Mapping[str, Any]) -> None:
    """Raise IcebergRefusal for a comparison that lacks what it compares with."""
    if kind in COMPARED and "value" not in given:
        raise bad_request(f"the expression {kind} must have a value")
    if kind in LISTED and not isinstance(given.get("values"), list):
        raise bad_request(f"the expression {kind} must have a list of values")


def check_request(request: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise IcebergRefusal for a plan whose filter or columns name what a schema has not."""
    is_exact = request.get("case-sensitive", True)
    if not isinstance(is_exact, bool):
        raise bad_request(f"case-sensitive must be true or false, got {shown(is_exact)}")
    columns = PlannedColumns(schema, case_sensitive=is_exact)
    if request.get("filter") is not None:
        columns.check_filter(request["filter"])
    for part in ("select", "stats-fields"):
        names = request.get(part)
        if names is not None and not isinstance(names, list):
            raise bad_request(f"{part} must be a list of columns, got {shown(names)}")
        for name in names or ():
            columns.check(name)


def names_in(kind: Any, above: str = "") -> Iterator[str]:
    """Yield the names of all fields within a type, from the outermost on."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        name = f"{above}{field['name']}"
        yield name
        yield from names_in(field["type"], f"{name}.")
    for part in ("element", "key", "value"):
        if part in kind and kind["type"] in ("list", "map"):
            yield f"{above}{part}"
            yield from names_in(kind[part], f"{above}{part}.")


def shown(value: Any) -> str:
    """Return the beginning of a value's text."""
    return repr(value)[:SHOWN]
