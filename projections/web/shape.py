"""The shape of long bodies, looked at before they are read.

What reads a body collects all that is wrong with it, for hundreds of thousands of values in as many
parts: that takes all memory, and all threads wait for it. So of a body that is more than a few
values first the shape must fit, and one that may have many parts is read some of them at a time.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from ledger.reads.http_form import read_json

FEW_BYTES: Final = 4 << 10
FIELDS_MAX: Final = 64
ITEMS_MAX: Final = 100

Kind = TypeVar("Kind")
Part = TypeVar("Part")


def read_shaped(kind: type[Kind], data: bytes) -> Kind:
    """Return what JSON says of this kind; raises ValueError, with what is wrong where, if not."""
    if len(data) > FEW_BYTES:
        check_shape([form_in(data)])
    return read_json(kind, data)


def read_parts(kind: type[Part], forms: Sequence[Any], field: str) -> list[Part]:
    """Return what the forms in a field say, each of a kind; raises ValueError as `read_shaped`."""
    found: list[Part] = []
    for start in range(0, len(forms), ITEMS_MAX):
        some = forms[start : start + ITEMS_MAX]
        check_shape(some)
        try:
            found += read_json(list[kind], json.dumps(some).encode())  # type: ignore[valid-type]
        except ValueError as problem:
            raise ValueError(f"{field}, from number {start} on: {problem}") from problem
    return found


def form_in(data: bytes) -> Any:
    """Return the JSON of a body; raises ValueError if it is none."""
    try:
        return json.loads(data, parse_constant=no_constant)
    except RecursionError:
        raise ValueError("Invalid JSON: it is nested too deeply") from None
    except ValueError as problem:
        raise ValueError(f"Invalid JSON: {problem}") from problem


def check_shape(forms: Iterable[Any]) -> None:
    """Raise ValueError for an object of many fields, or a long list of other than numbers."""
    left = list(forms)
    while left:
        form = left.pop()
        if isinstance(form, dict):
            if len(form) > FIELDS_MAX:
                raise ValueError(f"an object in it has more than {FIELDS_MAX} fields")
            left += form.values()
        elif isinstance(form, list) and not set(map(type, form)) <= {int}:
            if len(form) > ITEMS_MAX:
                raise ValueError(
                    f"a list in it has more than {ITEMS_MAX} items that are not all whole numbers"
                )
            left += form


def no_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and the like, which are no JSON."""
    raise ValueError(f"{name} is no JSON")
