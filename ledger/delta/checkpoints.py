"""Checkpoints of a Delta log: the whole state at a version, in Parquet or JSON, in parts or not."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.core.partitions.file_paths import file_key
from ledger.delta.actions import DeltaCommit
from ledger.delta.fields import ActionFields, ShapeError, is_number
from ledger.delta.files import check_table, damaged, is_blank, json_of, lines_of, reading, take_all
from ledger.delta.parquet import parquet_rows
from ledger.errors import DeltaLogError

LAST_CHECKPOINT: Final = "_last_checkpoint"
SIDECAR_FOLDER: Final = "_sidecars"
CHECKPOINT_NAME: Final = re.compile(
    r"(\d+)\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9A-Fa-f-]{36})?\.(?:parquet|json)"
)


class DeltaCheckpoint(NamedTuple):
    """The state at a version: `files` are all of its `parts`, or fewer if some are missing."""

    version: int
    parts: int
    files: tuple[Path, ...]

    @property
    def is_complete(self) -> bool:
        """Whether no part is missing; what the parts hold is not looked at."""
        return len(self.files) == self.parts


def checkpoints_of(files: Iterable[Path]) -> list[DeltaCheckpoint]:
    """Return the checkpoints, complete or not, by version.

    An empty file is the remainder of a writer that died: readers ignore it.
    """
    found: dict[tuple[int, int, str], list[Path]] = {}
    for path in files:
        named = CHECKPOINT_NAME.fullmatch(path.name)
        if named is not None and not is_blank(path):
            parts = int(named[3] or 1)
            key = int(named[1]), parts, "" if named[2] else path.name
            found.setdefault(key, []).append(path)
    return [DeltaCheckpoint(key[0], key[1], tuple(paths)) for key, paths in sorted(found.items())]


def hinted_version(hint: Path) -> int:
    """Return the version of the last checkpoint according to a hint file, -1 if absent.

    No reader needs the hint, and a writer that dies leaves it cut or empty.
    """
    try:
        said = json_of(hint, hint.read_bytes())
    except (OSError, DeltaLogError):
        return -1
    version: Any = said.get("version") if isinstance(said, dict) else None
    return int(version) if is_number(version) else -1


def read_checkpoint(checkpoint: DeltaCheckpoint) -> DeltaCommit:
    """Return all there is at a version; raises DeltaLogError."""
    state = DeltaCommit(checkpoint.version, is_checkpoint=True)
    actions = []
    for path in checkpoint.files:
        rows = list(rows_of(path))
        actions.extend(rows)
        try:
            names = sidecars_of(rows)
        except ShapeError as error:
            raise damaged(path, str(error)) from error
        for name in names:
            actions.extend(rows_of(sidecar(path, name)))
    take_all(state, checkpoint.files[0], actions)
    check_table(state, checkpoint.files[0])
    return state


def sidecars_of(actions: Iterable[Any]) -> list[str]:
    """Return the names of the files that a checkpoint is continued in; raises ShapeError."""
    found = (action.get("sidecar") for action in actions if isinstance(action, dict))
    return [ActionFields("sidecar", each).text("path") for each in found if isinstance(each, dict)]


def sidecar(path: Path, name: str) -> Path:
    """Return the path of a sidecar that a checkpoint names; raises DeltaLogError.

    Writers are asked for the name alone, and may write the whole path.
    """
    folder = path.parent / SIDECAR_FOLDER
    key = file_key(name, str(folder.resolve()))
    found = folder / key
    if "/" in key:
        raise damaged(path, f"its sidecar {name} lies elsewhere; only those beside it are read")
    with reading(found):
        if not found.exists():
            raise damaged(path, f"its sidecar {name} is missing")
    return found


def rows_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the actions of a file of a checkpoint; raises DeltaLogError, SettingsError."""
    if path.suffix == ".json":
        with reading(path):
            content = path.read_bytes()
        yield from lines_of(path, content)
        return
    yield from parquet_rows(path)
