"""Paths as people write them: with a `~`, and at times below the home of somebody else."""

from pathlib import Path

from ledger.errors import SettingsError


def path_of(text: str, variable: str) -> Path:
    """Return the path that is meant; raises SettingsError if its `~` is nobody's.

    The error says which `variable` to set.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as problem:
        raise SettingsError(
            f"{text} leads nowhere, for nothing tells whose home is meant. Set {variable} to a "
            "path without ~"
        ) from problem


def is_there(path: Path) -> bool:
    """Tell whether there is a file, as far as this user may look: not below another one's home."""
    try:
        return path.is_file()
    except PermissionError:
        return False
