"""Layers of configuration: flags, environment and files, each with its origin.

Paths may begin with `~`.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.errors import SettingsError


def path_of(text: str, variable: str) -> Path:
    """Return a path without `~`; raises SettingsError if the user has no home.

    The error names the `variable` to set.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError as problem:
        raise SettingsError(
            f"{text} leads nowhere, as the home of the user is not known. Set {variable} to a "
            "path without ~"
        ) from problem


def is_there(path: Path) -> bool:
    """Return whether a file exists; a file that this user may not look at does not count."""
    try:
        return path.is_file()
    except PermissionError:
        return False


PREFIX: Final = "LAKELEDGER_"
FILE: Final = "LAKELEDGER_CONFIG"
# Variables that are not settings: folders of settings and of fetched files, the Java, the output,
# the name of a role.
FETCHED: Final = "LAKELEDGER_CACHE"
OTHERS: Final = {
    FILE,
    FETCHED,
    *(PREFIX + each for each in ("DEBUG", "JAVA", "MAVEN_REPO", "ROLE")),
}
PROJECT_FILE: Final = "lakeledger.toml"


class Layer(NamedTuple):
    """The settings of one origin, by their dotted names."""

    origin: str
    values: Mapping[str, Any]


def variables() -> Mapping[str, str]:
    """Return the environment's settings, also under names that no setting has."""
    said = {name.upper(): each for name, each in os.environ.items() if each}
    return {
        name.removeprefix(PREFIX).lower().replace("__", "."): each
        for name, each in said.items()
        if name.startswith(PREFIX) and name not in OTHERS
    }


def files() -> list[Path]:
    """Return the existing files; the first one goes before the second."""
    if named := os.environ.get(FILE):
        return [path_of(named, FILE)]
    every = [Path(PROJECT_FILE)]
    with suppress(RuntimeError):  # The home of the user is not known.
        user = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
        every.append(user / "lakeledger" / "config.toml")
    return [path for path in every if is_there(path)]


def file_layer(path: Path) -> Layer:
    """Return the settings of a file; raises SettingsError if it cannot be read."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as problem:
        raise SettingsError(f"the settings in {path} cannot be read: {problem}") from problem
    return Layer(str(path), dict(flat(found)))


def flat(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by their dotted names."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def split(text: str) -> tuple[str, str]:
    """Return name and value of `name=value`."""
    name, found, value = text.partition("=")
    if not found:
        raise SettingsError(f"a setting must look like name=value, got {text!r}")
    return name.strip(), value
