"""The mapping of names: which column a file without ids has under a name."""

import json
from collections.abc import Mapping
from typing import Any, Final

NAME_MAPPING: Final = "schema.name-mapping.default"
"""The property under which readers look for it."""


def name_mapping(schema: Mapping[str, Any], names: Mapping[str, int]) -> str:
    """Return the mapping of a schema as text; `names` are all names of columns, former ones too."""
    known: dict[int, list[str]] = {}
    for name, number in names.items():
        known.setdefault(number, []).append(name)
    fields = [
        mapped(each["id"], sorted(known.get(each["id"], [each["name"]])), each["type"])
        for each in schema["fields"]
    ]
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def mapped(number: int, names: list[str], kind: Any) -> dict[str, Any]:
    """Return the mapping of a field and of the fields within it."""
    made: dict[str, Any] = {"field-id": number, "names": names}
    if not isinstance(kind, dict):
        return made
    fields = [mapped(each["id"], [each["name"]], each["type"]) for each in kind.get("fields", ())]
    parts = [part for part in ("element", "key", "value") if part in kind]
    fields += [mapped(kind[f"{part}-id"], [part], kind[part]) for part in parts]
    return {**made, "fields": fields}
