"""Errors of storages: a disk or a cloud that refuses an access to a file, by the file's name."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ledger.errors.root import LedgerError

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
ELSEWHERE: Final = "Check rights, login, region and endpoint"
# What helps, by the number of the operating system.
HELP: Final[Mapping[int, str]] = {
    errno.EROFS: "Mount the disk for writing",
    errno.EACCES: "Give this user rights there",
    errno.EPERM: "Give this user rights there",
    errno.EMFILE: "Raise the limit of open files of the process (ulimit -n)",
    errno.ENFILE: "Raise the limit of open files of the machine (fs.file-max)",
    errno.EFBIG: "Raise the limit of the size of files (ulimit -f)",
    errno.EIO: "Check the disk: it failed",
}


class StorageError(LedgerError):
    """A disk or a cloud refused an access to the file at `place`."""

    retry_unchanged = True

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class DiskFullError(StorageError):
    """A disk has no room for the file at `place`, or a user has no more of its quota."""


def refused(
    place: str, problem: OSError, *, safe: str = "", then: str = "repeat the call"
) -> StorageError:
    """Return the error for an access that was refused.

    `safe` says what became of the work, and `then` what follows once the cause is gone.
    """
    what = str(problem.strerror or problem).rstrip(".")
    said = f"{safe}. " if safe else ""
    if problem.errno in NO_ROOM:
        return DiskFullError(
            f"{place} cannot be written, since there is no room: {what}. {said}Make room on the "
            f"disk, for example by `lakeledger table vacuum --all`; then {then}",
            place=place,
        )
    advice = HELP.get(problem.errno or 0, ELSEWHERE)
    return StorageError(f"{place} cannot be used: {what}. {said}{advice}; then {then}", place=place)


@contextmanager
def refusals_named(
    place: str,
    *,
    safe: str = "",
    then: str = "repeat the call",
    passing: tuple[type[OSError], ...] = (),
) -> Iterator[None]:
    """Raise StorageError if the operating system or a cloud refuses an access in the block.

    Errors of the classes `passing` are left as they are; the rest is as for `refused`.
    """
    try:
        yield
    except passing:
        raise
    except OSError as problem:
        raise refused(place, problem, safe=safe, then=then) from problem
