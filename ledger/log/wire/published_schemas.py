"""The published Avro schemas: of every event and command, and of file lists.

They are files of the package, so no program needs a registry to read a log.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from sys import intern
from typing import Any, Final

FOLDER: Final = files("ledger.log").joinpath("schemas")
EVENT_IDS: Final = range(741_001, 742_000)
COMMAND_IDS: Final = range(742_001, 743_000)


@cache
def schema_ids() -> Mapping[str, int]:
    """Return the id of each schema by its name."""
    found: dict[str, int] = json.loads(FOLDER.joinpath("index.json").read_text(encoding="utf-8"))
    return found


def schema_text(name: str) -> str:
    """Return the text of a schema as it is published."""
    return FOLDER.joinpath(f"{name}.avsc").read_text(encoding="utf-8")


def coding_schema(name: str) -> Any:
    """Return a schema in the form that bytes are written and read by."""
    return fast_form(json.loads(schema_text(name)))


def fast_form(schema: Any) -> Any:
    """Return the schema in a form that is faster to use and gives the same bytes.

    It has no logical types, so that times stay integers. Its names are interned, because fastavro
    compares names for every field of every record.
    """
    if isinstance(schema, dict):
        return {
            intern(key): fast_form(each) for key, each in schema.items() if key != "logicalType"
        }
    if isinstance(schema, list):
        return [fast_form(each) for each in schema]
    return intern(schema) if isinstance(schema, str) else schema
