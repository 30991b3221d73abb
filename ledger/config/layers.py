"""Layers of configuration: what flags, environment and files say, each with its origin.

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


PREFIX: Final = "LAKELEDGER_"
FILE: Final = "LAKELEDGER_CONFIG"
# What is no setting: where settings are and what is fetched goes, which Java runs, what is shown.
FETCHED: Final = "LAKELEDGER_CACHE"
OTHERS: Final = {FILE, FETCHED, *(PREFIX + each for each in ("DEBUG", "JAVA", "MAVEN_REPO"))}
PROJECT_FILE: Final = "lakeledger.toml"


class Layer(NamedTuple):
    """The settings of one origin, by their dotted names."""

    origin: str
    values: Mapping[str, Any]


def variables() -> Mapping[str, str]:
    """Return what the environment says, also under names that no setting has."""
    said = {name.upper(): each for name, each in os.environ.items() if each}
    return {
        name.removeprefix(PREFIX).lower().replace("__", "."): each
        for name, each in said.items()
        if name.startswith(PREFIX) and name not in OTHERS
    }


def files() -> list[Path]:
    """Return the files that are there, the one that counts more first."""
    if named := os.environ.get(FILE):
        return [path_of(named, FILE)]
    every = [Path(PROJECT_FILE)]
    with suppress(RuntimeError):  # Nothing tells where the user's home is.
        user = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
        every.append(user / "lakeledger" / "config.toml")
    return [path for path in every if is_there(path)]


def file_layer(path: Path) -> Layer:
    """Return what a file says; raises SettingsError if that cannot be read."""
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
        raise SettingsError(f"{text!r} sets nothing; write name=value")
    return name.strip(), value
