"""JSON schemas of answers and parameters, from the types of the reads.

They follow `ledger.reads.remote.http_form`: rows are objects by field, sequences lists, bytes hex
digits.
"""

from collections.abc import Mapping, Sequence
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from ledger.core.limits import NUMBER_MAX
from ledger.reads.remote.http_form import names_of

Schema = dict[str, Any]
COMPONENTS: Final = "#/components/schemas/"
SCALARS: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "pattern": "^([0-9a-f]{2})*$"},
    NoneType: {"type": "null"},
    Any: {},
}
# A number in a request; answers hold others too, such as -1 for no version.
NUMBER: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": NUMBER_MAX}


class FormSchemas:
    """The schemas of the classes that were met, by name, in `found`."""

    def __init__(self) -> None:
        self.found: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type; classes become references."""
        if kind in SCALARS:
            return dict(SCALARS[kind])
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in {Union, UnionType}:
            return {"anyOf": [self.of(each) for each in inner]}
        names = list(get_type_hints(kind)) if is_typeddict(kind) else names_of(kind)
        if isinstance(kind, type) and names:
            return self._of_class(kind, names)
        return self._of_container(kind, origin, inner)

    def _of_container(self, kind: Any, origin: Any, inner: Sequence[Any]) -> Schema:
        made = origin or kind
        if isinstance(made, type) and issubclass(made, Mapping):
            values = {"additionalProperties": self.of(inner[1])} if inner else {}
            return {"type": "object", **values}
        if isinstance(made, type) and issubclass(made, str):
            return {"type": "string"}
        if isinstance(made, type) and issubclass(made, int):
            return {"type": "integer"}
        if isinstance(made, type) and issubclass(made, Sequence | set | frozenset):
            return {"type": "array", "items": self.of(inner[0]) if inner else {}}
        raise TypeError(f"no schema is known for {kind!r}")

    def _of_class(self, kind: type, names: Sequence[str]) -> Schema:
        name = kind.__name__
        if name not in self.found:
            self.found[name] = {}  # Met while it is made, it is a reference.
            hints = get_type_hints(kind)
            required = sorted(getattr(kind, "__required_keys__", names))
            self.found[name] = {
                "type": "object",
                "description": (getdoc(kind) or "").partition("\n\n")[0],
                "properties": {each: self.of(hints[each]) for each in names},
                "required": list(required),
                "additionalProperties": False,
            }
        return {"$ref": f"{COMPONENTS}{name}"}
