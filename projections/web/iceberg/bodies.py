"""Bodies of requests: objects of JSON, and the texts, lists and names in them.

What is wrong is refused by its name. Fields that nothing reads are left alone: clients of newer
versions send more.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from projections.iceberg.errors import bad_request
from projections.iceberg.names import Parts, TableIdentifier

HALF_LETTER: Final = re.compile(rb"\\u[dD][89a-fA-F]")
SHOWN_CHARS: Final = 80


def object_in(body: bytes) -> Mapping[str, Any]:
    """Return the object that a body holds; raises IcebergRefusal."""
    try:
        found = json.loads(body, parse_constant=no_number)
        if HALF_LETTER.search(body):
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        said = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise bad_request(f"the body must be JSON: {said[:SHOWN_CHARS]}") from None
    if not isinstance(found, Mapping):
        raise bad_request(f"the body must be an object, got {shown(found)}")
    return found


def no_number(text: str) -> NoReturn:
    """Raise ValueError for a number that JSON does not have."""
    raise ValueError(f"{text} is no number of JSON")


def identifier_in(form: Mapping[str, Any], name: str) -> TableIdentifier:
    """Return the table that a field names; raises IcebergRefusal."""
    found = form.get(name)
    if not isinstance(found, Mapping):
        raise bad_request(f"{name} must be an object with namespace and name, got {shown(found)}")
    return TableIdentifier(parts_in(found, "namespace"), text_in(found, "name"))


def parts_in(form: Mapping[str, Any], name: str) -> Parts:
    """Return the parts of the namespace that a field names; raises IcebergRefusal."""
    return tuple(texts_in(form, name, form.get(name)))


def texts_in(form: Mapping[str, Any], name: str, otherwise: Any = ()) -> Sequence[str]:
    """Return a field that is a list of texts; `otherwise` stands in for one that is missing."""
    found = form.get(name)
    found = otherwise if found is None else found
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise bad_request(f"{name} must be a list of texts, got {shown(found)}")
    return list(found)


def text_in(form: Mapping[str, Any], name: str) -> str:
    """Return a field that is a text of one or more signs; raises IcebergRefusal."""
    found = form.get(name)
    if not isinstance(found, str) or not found:
        raise bad_request(f"{name} must be a text of one or more signs, got {shown(found)}")
    return found


def properties_in(form: Mapping[str, Any], name: str) -> Mapping[str, str]:
    """Return a field that is a map of texts, {} if it is missing; raises IcebergRefusal."""
    found = form.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(each, str) for each in found.values()):
        raise bad_request(f"{name} must be an object of texts, got {shown(found)}")
    return found


def objects_in(form: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    """Return a field that is a list of one or more objects; raises IcebergRefusal."""
    found = form.get(name)
    if not isinstance(found, list) or not found:
        raise bad_request(f"{name} must be a list of one or more objects, got {shown(found)}")
    for each in found:
        if not isinstance(each, Mapping):
            raise bad_request(f"{name} must be a list of objects, got {shown(each)} in it")
    return found


def shown(found: Any) -> str:
    """Return a value as a message shows it, cut."""
    text = "nothing" if found is None else json.dumps(found, ensure_ascii=True)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
