"""Values of options and arguments that need no validator: texts, choices, and defaults.

Typer builds a validator of pydantic for each of them. To load pydantic takes a tenth of the time of
a short command. A value of any other form, and a wrong one, still goes to Typer's own validator.
"""

from enum import Enum
from typing import Any, Final

import typer

ATTRIBUTE: Final = "_runtime_param"
"""Where Typer keeps the validator of a parameter, None until it is built."""

CHECKED_KINDS: Final = (int, float, bool, Enum)
"""The kinds of defaults that are values of their parameter already."""


class PlainValue:
    """Takes the place of the validator of one parameter until a value needs that."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command gets it; raises as Typer's validator."""
        if value is None or self._is_plain(value, param):
            return value
        if isinstance(self._kind, type) and issubclass(self._kind, Enum):
            for each in self._kind:
                if each.value == value:
                    return each
        setattr(param, ATTRIBUTE, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)

    def _is_plain(self, value: Any, param: Any) -> bool:
        """Return whether a value is a text for a text, or the default itself."""
        if self._kind is str:
            return type(value) is str
        return value is param.default and isinstance(value, CHECKED_KINDS)


def load_no_validators(command: Any) -> None:
    """Let a command, and the ones in it, build validators for no value that needs none."""
    for param in command.get_params(typer.Context(command)):  # With --help.
        kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        is_single = param.nargs == 1 and not getattr(param, "multiple", False)
        if is_single and getattr(param, ATTRIBUTE, kind) is None:
            setattr(param, ATTRIBUTE, PlainValue(kind))
    for each in getattr(command, "commands", {}).values():
        load_no_validators(each)
