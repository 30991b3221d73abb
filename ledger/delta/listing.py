"""Files of a Delta log as its folder lists them, and the places from which they can be read."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ledger.delta.checkpoints import DeltaCheckpoint
from ledger.delta.files import damaged, is_blank
from ledger.errors import DeltaLogError

VERSION_DIGITS: Final = 20
COMMIT_NAME: Final = re.compile(r"(\d+)\.json")

Start = DeltaCheckpoint | None
"""A place to begin with: a checkpoint, or None for version 0."""


def version_of(start: Start) -> int:
    """Return the version that a place to begin is of."""
    return start.version if start is not None else 0


def commits_of(files: Iterable[Path]) -> dict[int, Path]:
    """Return the files of versions; raises DeltaLogError if their names are not one for each."""
    commits: dict[int, Path] = {}
    for path in files:
        named = COMMIT_NAME.fullmatch(path.name)
        if named is None:
            continue
        version = int(named[1])
        if version in commits:
            raise damaged(path, f"version {version} has another file, {commits[version].name}")
        commits[version] = path
    for path in commits.values():
        if len(path.stem) != VERSION_DIGITS:
            raise damaged(path, f"the name of a version has {VERSION_DIGITS} digits")
    return commits


def unbroken(
    folder: Path, listed: Mapping[int, Path], checkpoints: Sequence[int]
) -> dict[int, Path]:
    """Return the files of the newest versions that stand in a row, as they are by now.

    A list that is made while others write and clean up may lack a file before one that it has, and
    have one whose followers were gone already. Asked for by name, each is there or is not. Newest
    files that are empty are only being written, or their writer died: their versions are not there.
    """
    commits = dict(listed)
    known = max(checkpoints, default=-1)
    while commits and max(commits) > known and is_blank(commits[max(commits)]):
        del commits[max(commits)]
    found: dict[int, Path] = {}
    for version in range(max([*commits, known]), -1, -1):
        path = commits.get(version, folder / f"{version:0{VERSION_DIGITS}}.json")
        if version not in commits and not path.exists():
            break
        found[version] = path
    while found and not found[min(found)].exists():
        del found[min(found)]
    return {version: found[version] for version in sorted(found)}


def starts_of(
    folder: Path,
    listed: Mapping[int, Path],
    commits: Mapping[int, Path],
    checkpoints: Sequence[DeltaCheckpoint],
) -> list[Start]:
    """Return the places from which all `commits` can be read, oldest first; None is version 0.

    Raises DeltaLogError if there is none.
    """
    newest = max(
        (checkpoint.version for checkpoint in checkpoints if checkpoint.is_complete), default=0
    )
    first = min(commits, default=newest)
    fitting = [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.version >= first - (1 if commits else 0)
    ]
    starts: list[Start] = [None] if 0 in commits else []
    starts.extend(each for each in fitting if each.is_complete)
    if starts:
        return starts
    if commits and min(listed) < first:
        raise damaged(commits[first], f"version {first - 1} before it is missing")
    if fitting:
        broken = fitting[0]
        raise damaged(
            broken.files[0],
            f"the checkpoint has {broken.parts} parts, {len(broken.files)} of them are here",
        )
    if not commits:
        raise DeltaLogError(str(folder), "it holds neither versions nor checkpoints")
    raise DeltaLogError(
        str(folder), f"versions before {first} are gone, and no checkpoint takes their place"
    )


def unneeded(
    listed: Mapping[int, Path], commits: Mapping[int, Path], starts: Sequence[Start]
) -> Iterator[tuple[str, str]]:
    """Yield the files of versions that are passed over, with the reason.

    They are the newest one below a version that is missing, and newest ones that are empty.
    """
    first = min(commits, default=version_of(starts[0]) + 1)
    below = max((version for version in listed if version < first), default=-1)
    if below >= 0:
        yield str(listed[below]), f"version {below + 1} after it is missing"
    for version in sorted(listed):
        if version > max(commits, default=first):
            yield str(listed[version]), "it is empty"
