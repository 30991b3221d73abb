"""The shape of long bodies, checked before they are read.

The reader of a body collects every error in it: for hundreds of thousands of bad values that takes
all memory, and all threads wait for it. So the shape of a long body is checked first, and a body of
many parts is read some parts at a time.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from ledger.reads.remote.http_form import read_json

FEW_BYTES: Final = 4 << 10
FIELDS_MAX: Final = 64
ITEMS_MAX: Final = 100

Kind = TypeVar("Kind")
Part = TypeVar("Part")


def read_shaped(kind: type[Kind], data: bytes) -> Kind:
    """Return the value of this kind in JSON; raises ValueError with the errors and their places."""
    if len(data) > FEW_BYTES:
        check_shape([form_in(data)])
    return read_json(kind, data)


def read_parts(kind: type[Part], forms: Sequence[Any], field: str) -> list[Part]:
    """Return the values of the forms in a field, each of a kind; raises as `read_shaped`."""
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
    """Return the JSON of a body; raises ValueError for anything else."""
    try:
        return json.loads(data, parse_constant=no_constant)
    except RecursionError:
        raise ValueError("Invalid JSON: it is nested too deeply") from None
    except ValueError as problem:
        raise ValueError(f"Invalid JSON: {problem}") from problem


def check_shape(forms: Iterable[Any]) -> None:
    """Raise ValueError for an object of many fields, or a long list of anything but numbers."""
    left = list(forms)
    while left:
        form = left.pop()
        if isinstance(form, dict):
            if len(form) > FIELDS_MAX:
                raise ValueError(f"an object must have at most {FIELDS_MAX} fields, got more")
            left += form.values()
        elif isinstance(form, list) and not set(map(type, form)) <= {int}:
            if len(form) > ITEMS_MAX:
                raise ValueError(
                    f"a list of more than {ITEMS_MAX} items must hold whole numbers only"
                )
            left += form


def no_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and infinities, which JSON does not have."""
    raise ValueError(f"JSON has no {name}")
