"""The mapping of names: which column a file without ids has under a name."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from projections.iceberg.served.shapes import Shown, TableShape

NAME_MAPPING: Final = "schema.name-mapping.default"
"""The property under which readers look for it."""


def names_in(shapes: Sequence[TableShape], reading: Shown) -> Mapping[str, int]:
    """Return the columns of a table by all names under which files may know them.

    A name belongs to the column that has it now, else to the last one that had it; the shape that
    is shown is the last of `shapes`.
    """
    there = {column.id for column in reading.definition.columns}
    found: dict[str, int] = {}
    for shape in shapes:
        found |= {each.name: each.id for each in shape.definition.columns if each.id in there}
    return found


def problem_of_names(files: TableShape, known: Mapping[str, int]) -> str:
    """Return why columns of files would be taken for others by name, "" if they would not.

    `known` is what `names_in` returns.
    """
    for column in files.definition.columns:
        if known.get(column.name, column.id) != column.id:
            return (
                f"files of another program know their columns by name, and the name {column.name} "
                "was another column's; write them anew with OPTIMIZE"
            )
    return ""


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
