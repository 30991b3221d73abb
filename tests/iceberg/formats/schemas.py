"""Drawn schemas: as Iceberg's JSON, with all types that the ledger has, to any depth."""

from typing import Any, Final

from hypothesis import strategies as st

ATOMS: Final = (
    *("boolean", "int", "long", "float", "double", "string", "binary", "date", "timestamp"),
    *("timestamptz", "decimal(1, 0)", "decimal(9, 2)", "decimal(18, 18)", "decimal(38, 10)"),
)
NAMES: Final = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), max_codepoint=0x2FFF), min_size=1, max_size=6
)


def structs(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return structs of fields with different names in any case; ids come later."""
    field = st.fixed_dictionaries(
        {"id": st.just(0), "name": NAMES, "required": st.booleans(), "type": types},
        optional={"doc": st.text("abc '", min_size=1, max_size=5)},
    )
    return st.lists(
        field, min_size=1, max_size=4, unique_by=lambda each: each["name"].lower().casefold()
    ).map(lambda fields: {"type": "struct", "fields": fields})


def lists(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return types.map(
        lambda inner: {"type": "list", "element-id": 0, "element": inner, "element-required": False}
    )


def maps(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(types, types).map(
        lambda inner: {
            "type": "map",
            "key-id": 0,
            "key": inner[0],
            "value-id": 0,
            "value": inner[1],
            "value-required": False,
        }
    )


TYPES: Final = st.recursive(
    st.sampled_from(ATOMS), lambda inner: structs(inner) | lists(inner) | maps(inner), max_leaves=6
)


class Given:
    """Gives different ids to the fields of a drawn schema, in an order of its own."""

    def __init__(self, first: int, step: int) -> None:
        self._next, self._step = first, step

    def number(self) -> int:
        self._next += self._step
        return self._next

    def of(self, kind: Any) -> Any:
        """Return a type with ids."""
        if isinstance(kind, str):
            return kind
        made = {
            key: self.of(each) if key in ("element", "key", "value") else each
            for key, each in kind.items()
        }
        made |= {key: self.number() for key in made if key.endswith("-id")}
        if "fields" in kind:
            made["fields"] = [
                {**each, "id": self.number(), "type": self.of(each["type"])}
                for each in kind["fields"]
            ]
        return made


SCHEMAS: Final = st.builds(
    lambda struct, first, step: {**Given(first, step).of(struct), "schema-id": 0},
    structs(TYPES),
    st.integers(0, 1000),
    st.integers(1, 7),
)
"""Schemas with ids from 1 on that are all different."""
