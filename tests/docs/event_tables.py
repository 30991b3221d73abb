"""The tables of all events, made from their schemas.

`python -m tests.docs.event_tables` prints them; `make docs` puts them into docs/events.md, and a
test compares both.
"""

import json
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, get_args

from ledger.core.events.events import Body, Control
from tests.docs.pages import ROOT
from tests.docs.sdk_page import escaped, index

SCHEMAS: Final = ROOT / "ledger" / "log" / "schemas"
SECOND: Final = ".2"
WIDTH: Final = 150
ABOUT_RECORDS: Final = "## Records within events\n"
ABOUT_LISTS: Final = "## The file list and its records\n"

Schema = Mapping[str, Any]


def tables() -> str:
    """Return the tables of all events, then those of the records within them."""
    numbers = json.loads((SCHEMAS / "index.json").read_text(encoding="utf-8"))
    names = sorted((each.__name__ for each in get_args(Body)), key=lambda name: int(numbers[name]))
    schemas = [
        schema_of(f"{name}{SECOND}" if f"{name}{SECOND}" in numbers else name) for name in names
    ]
    parts = [index(names), ""]
    for schema in schemas:
        own = schema["fields"][len(Control._fields) :]
        name = schema["name"]
        about = f"{schema['doc']} The schema id is {numbers[name]}."
        if second := numbers.get(f"{name}{SECOND}"):
            about += f" The id of the second schema is {second}."
        parts += section(name, about, own)
    parts.append(ABOUT_RECORDS)
    inner = {record["name"]: record for schema in schemas for record in records(schema["fields"])}
    first = {
        record["name"]: {field["name"] for field in record["fields"]}
        for name in names
        for record in records(schema_of(name)["fields"])
    }
    for name in sorted(inner):
        fields = [marked(each, first.get(name)) for each in inner[name]["fields"]]
        parts += section(name, inner[name]["doc"], fields)
    file_list = schema_of("FileList")
    about = f"{file_list['doc']} The schema id is {numbers['FileList']}."
    parts += [ABOUT_LISTS, *section("FileList", about, file_list["fields"])]
    for record in records(file_list["fields"]):
        parts += section(record["name"], record["doc"], record["fields"])
    return "\n".join(parts).rstrip() + "\n"


def marked(field: Schema, first: Collection[str] | None) -> Schema:
    """Return a field, with a sentence if the first schema has its record without it."""
    if first is None or field["name"] in first:
        return field
    return {**field, "doc": f"{field['doc']} Only in the second schema."}


def schema_of(name: str) -> Schema:
    found: Schema = json.loads((SCHEMAS / f"{name}.avsc").read_text(encoding="utf-8"))
    return found


def records(kind: Any) -> Iterator[Schema]:
    """Yield the records that are defined within a type."""
    match kind:
        case {"type": "record", "fields": fields}:
            yield kind
            yield from records(fields)
        case {"type": inner} if not isinstance(inner, str):
            yield from records(inner)
        case {"items": items}:
            yield from records(items)
        case list():
            for each in kind:
                yield from records(each)
        case _:
            pass


def section(name: str, about: str, fields: Iterable[Schema]) -> Iterator[str]:
    """Yield the heading, the text and the table of a record."""
    yield f"### {name}\n"
    yield "\n".join(textwrap.wrap(escaped(about), WIDTH)) + "\n"
    yield "| Field | Type | Is |"
    yield "|---|---|---|"
    for field in fields:
        yield f"| `{field['name']}` | {type_name(field['type'])} | {escaped(field['doc'])} |"
    yield ""


def type_name(kind: Any) -> str:
    """Return the name of a type, for people."""
    match kind:
        case str():
            found = kind
        case ["null", inner]:
            found = f"{type_name(inner)} or null"
        case {"type": "map", "values": values}:
            found = f"map of {type_name(values)}"
        case {"type": "array", "items": ["null", _] as items}:
            found = f"({type_name(items)})[]"
        case {"type": "array", "items": items}:
            found = f"{type_name(items)}[]"
        case {"type": "enum", "symbols": symbols}:
            found = ", ".join(f"`{symbol}`" for symbol in symbols)
        case {"type": "fixed", "size": size}:
            found = f"fixed({size})"
        case {"type": "record", "name": str(name)} | {"logicalType": str(name)}:
            found = name
        case _:
            raise ValueError(f"a type of Avro is expected, not {kind!r}")
    return found


if __name__ == "__main__":
    sys.stdout.write(tables())
