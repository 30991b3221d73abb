"""The form of rows: of a value with named fields only those stand in it that say something."""

from ast import literal_eval
from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields

from projections.fold.fold import PROJECTIONS
from projections.rows.keys import Fields, read_value
from projections.rows.projection import EVERY
from projections.rows.tables import blocks, partitions

ROWS: Final = "projections.rows."
KINDS: Final = [
    kind
    for module in (*PROJECTIONS, blocks, partitions)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Fields) and kind is not Fields
]


def test_projections_name_types_of_events_alone() -> None:
    named = [set(module.ROWS) for module in PROJECTIONS]

    assert set[type]().union(*named) == EVERY


def forms_of(kind: type[Fields]) -> Iterator[type[Fields]]:
    """Yield the classes below a class."""
    for form in kind.__subclasses__():
        yield form
        yield from forms_of(form)


def made_anew(default: Any) -> Any:
    """Return an equal value that was read from somewhere, as those in a log are."""
    return literal_eval(repr(default))


def test_kinds() -> None:
    """Each form of rows belongs to one projection."""
    forms = [form for form in forms_of(Fields) if form.__module__.startswith(ROWS)]
    assert sorted(map(repr, KINDS)) == sorted(map(repr, forms))


@pytest.mark.parametrize("kind", KINDS)
def test_what_says_nothing_is_left_out(kind: type[Fields]) -> None:
    defaults = {field.name: field.default for field in fields(kind)}
    said = {name: "said" for name, default in defaults.items() if default is NODEFAULT}
    nothing = {name: made_anew(default) for name, default in defaults.items() if name not in said}

    assert not any(nothing.values())
    assert read_value(kind(**said, **nothing).value()) == said


def test_fields_are_sorted() -> None:
    """Fields stand by name, also in what they hold: rows are compared byte by byte."""
    txn = next(kind for kind in KINDS if kind.__name__ == "TxnFields")
    fields_of_txn: dict[str, Any] = {"type": "default", "evidence": {"b": 1, "a": 2}, "ended": 3}

    row = b'{"ended":3,"evidence":{"a":2,"b":1},"type":"default"}'
    assert txn(**fields_of_txn).value() == row
