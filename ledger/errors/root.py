"""The root of the errors."""

from copyreg import __newobj__ as made_anew  # type: ignore[attr-defined]
from typing import Any, ClassVar


class LedgerError(Exception):
    """Root of the tree: catching it catches everything below and nothing else."""

    retry_unchanged: bool = False
    retry_anew: ClassVar[bool] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and fields: the constructors take more than the message."""
        return made_anew, (type(self), *self.args), self.__dict__
