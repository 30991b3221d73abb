"""The root of the errors."""

from copyreg import __newobj__ as made_anew  # type: ignore[attr-defined]
from typing import Any, ClassVar


class LedgerError(Exception):
    """Root of the tree: catching it catches everything below and nothing else."""

    retry_unchanged: bool = False
    retry_anew: ClassVar[bool] = False

    @property
    def rule(self) -> str:
        """The rule that was broken, in words without a value of a row; "" if it has no name."""
        return ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and fields: the constructors take more than the message."""
        return made_anew, (type(self), *self.args), self.__dict__


def told_cause(error: BaseException) -> str:
    """Return what the log may say of an error: its type, and the rule that was broken.

    Messages stay out of the log. They may have values of rows, also the message of an error that
    the program of a user raises.
    """
    kind, rule = type(error).__name__, error.rule if isinstance(error, LedgerError) else ""
    # A name may hold what no record takes, such as half of a surrogate pair.
    return f"{kind}: {rule}".removesuffix(": ").encode(errors="backslashreplace").decode()
