"""Bodies of requests: an object of JSON, and the names in it.

Fields that nothing reads are left alone: clients of newer versions send more.
"""

import json
import re
from collections.abc import Sequence
from typing import Final, NoReturn

from projections.iceberg.commits.given_json import (
    Given,
    list_in,
    names_in,
    object_in,
    object_of,
    text_in,
)
from projections.iceberg.errors import bad_request
from projections.iceberg.names import Parts, TableIdentifier

HALF_LETTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
SHOWN_CHARS: Final = 80
PARTS_MAX: Final = 100
TABLES_MAX: Final = 1_000


def body_of(data: bytes) -> Given:
    """Return the object that a body holds; raises IcebergRefusal."""
    try:
        found = json.loads(data, parse_constant=no_number)
        if HALF_LETTER.search(data):
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        said = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise bad_request(f"the body must be JSON: {said[:SHOWN_CHARS]}") from None
    return object_of("the body", found)


def no_number(text: str) -> NoReturn:
    """Raise ValueError for a number that JSON does not have."""
    raise ValueError(f"{text} is no number of JSON")


def identifier_in(form: Given, key: str, what: str) -> TableIdentifier:
    """Return the table that a member names; raises IcebergRefusal."""
    found = object_in(form, key, what)
    return TableIdentifier(parts_in(found, key), text_in(found, "name", key))


def parts_in(form: Given, what: str) -> Parts:
    """Return the parts of the namespace in an object; raises IcebergRefusal."""
    return tuple(names_in(form, "namespace", what, PARTS_MAX))


def changes_in(form: Given) -> Sequence[Given]:
    """Return the changes of tables in a body, one or more; raises IcebergRefusal."""
    found = list_in(form, "table-changes", "the body", TABLES_MAX)
    if not found:
        raise bad_request("table-changes must have one or more changes, got none")
    return [object_of("each of table-changes", each) for each in found]
