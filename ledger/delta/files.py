"""Files of a Delta log: their content, line by line, or the damaged file."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ledger.delta.actions import DeltaCommit
from ledger.delta.fields import BeyondError, ShapeError
from ledger.delta.schema import check_definition
from ledger.errors import DeltaLogError, IncompatibleError

BLANK_BYTES_MAX: Final = 64


def lines_of(path: Path, content: bytes) -> Iterator[Any]:
    """Yield the actions of a file with one JSON object a line."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield json_of(path, line, f"line {number}: ")


def json_of(path: Path, content: bytes, place: str = "") -> Any:
    """Return the value of a JSON text; raises DeltaLogError."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{place}it is no JSON ({error})") from error


def take_all(commit: DeltaCommit, path: Path, actions: Iterable[Any]) -> None:
    """Take in all actions of a file; raises DeltaLogError, IncompatibleError."""
    number = 0
    try:
        for number, action in enumerate(actions, start=1):  # noqa: B007 - named in the error
            commit.take(action)
        number = 0
        commit.check()
    except BeyondError as error:
        raise IncompatibleError(
            f"the Delta table cannot be imported from {path} on: {error}. Take a release of "
            "LakeLedger that knows it, or take it away from the table where that is written"
        ) from error
    except ShapeError as error:
        place = f"action {number}: " if number else ""
        raise damaged(path, f"{place}{error}") from error


def check_table(commit: DeltaCommit, path: Path) -> None:
    """Raise DeltaLogError if the metadata in a file is invalid for every reader."""
    if commit.metadata is None:
        return
    try:
        check_definition(commit.metadata)
    except ShapeError as error:
        raise damaged(path, str(error)) from error


def is_blank(path: Path) -> bool:
    """Return whether a file is empty, as after the death of its writer, or is gone by now.

    Raises OSError if it cannot be read.
    """
    try:
        return path.stat().st_size <= BLANK_BYTES_MAX and not path.read_bytes().strip()
    except FileNotFoundError:
        return True


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise DeltaLogError if the operating system refuses to read a file or folder."""
    try:
        yield
    except OSError as error:
        raise damaged(Path(error.filename or path), f"it cannot be read: {error}") from error


def damaged(path: Path, what: str) -> DeltaLogError:
    """Return the error for a file of a log."""
    return DeltaLogError(str(path), what)
