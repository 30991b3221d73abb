"""Whole numbers as callers bring them: those of Python, of NumPy, and whatever else says it is one.

They become plain ones before a method of the oracle sees them.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import Any, Final, TypeVar

from ledger.reads.whole_numbers import whole_number

WHOLE: Final = (int, int | None)

Kind = TypeVar("Kind")


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
            parameter.name: plain(parameter, kwargs[parameter.name])
            for parameter in parameters
            if parameter.name in kwargs
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
    return whole_number(parameter.name, given)


def is_whole(parameter: Parameter) -> bool:
    return parameter.annotation in WHOLE
