"""Whole numbers as callers bring them: those of Python, of NumPy, and whatever else says it is one.

They become plain ones where they come in. Nothing behind that has to tell a number from a text.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isfunction, signature
from operator import index
from typing import Any, Final, SupportsIndex, TypeVar

from ledger.core.limits import NUMBER_MAX

WHOLE: Final = (int, int | None)
# How many rows are wanted at most: below none, some readers would give all of them.
LIMIT: Final = "limit"

Kind = TypeVar("Kind")


def whole(name: str, number: SupportsIndex) -> int:
    """Return a number as a plain one; raises TypeError for what is no whole number."""
    try:
        return int(index(number))
    except TypeError:
        raise TypeError(f"{name} is {number!r}, which is no whole number") from None


def takes_whole_numbers(kind: type[Kind]) -> type[Kind]:
    """Let the public methods of a class take any whole number where they say `int`.

    They raise TypeError for anything else, before they look for it, and ValueError for a `limit`
    that is none.
    """
    for name, method in list(vars(kind).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(kind, name, with_whole_numbers(method))
    return kind


def with_whole_numbers(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that is given plain numbers where it says `int`."""
    parameters = list(signature(method).parameters.values())
    if not any(map(is_whole, parameters)):
        return method

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {
            each.name: plain(each, kwargs[each.name]) for each in parameters if each.name in kwargs
        }
        return method(*map(plain, parameters, args), *args[len(parameters) :], **kwargs | given)

    return call


def plain(parameter: Parameter, given: Any) -> Any:
    """Return what is given for a parameter, a plain number if it says `int`.

    Raises TypeError for no number where there must be one, ValueError for no limit.
    """
    is_left_out = given is None and parameter.annotation is not int
    if is_left_out or not is_whole(parameter):
        return given
    number = whole(parameter.name, given)
    if parameter.name == LIMIT and not 0 <= number <= NUMBER_MAX:
        raise ValueError(f"{LIMIT} is {number}; it is a number from 0 to 2**63 - 1")
    return number


def is_whole(parameter: Parameter) -> bool:
    """Tell whether a parameter is a whole number."""
    return parameter.annotation in WHOLE
