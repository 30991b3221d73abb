"""What belongs to the process that made it."""

from typing import NoReturn


class OfOneProcess:
    """What rests on threads and connections of this process, and cannot be had in another."""

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: what arrived elsewhere would have no session."""
        raise TypeError(
            f"{self!r} does not travel to another process: call Ledger.connect there, and begin "
            "there what that process is to commit"
        )
