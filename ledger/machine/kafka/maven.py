"""The Maven repository of this machine, from the settings that Maven and Spark read.

This module only chooses; it fetches nothing. The order is `LAKELEDGER_MAVEN_REPO`,
`DEFAULT_ARTIFACT_REPOSITORY` (Spark's own variable), then the mirror of Maven Central in the user's
settings.xml and in the settings.xml of the Maven installation.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from ledger.config.layers import is_there
from ledger.errors import SettingsError

VARIABLES = ("LAKELEDGER_MAVEN_REPO", "DEFAULT_ARTIFACT_REPOSITORY")
# The patterns of <mirrorOf> that match Maven Central, which is a remote https repository.
_MIRRORS_CENTRAL = {"central", "*", "external:*"}


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository in Maven's layout; `username` is empty when it is open to all."""

    url: str
    username: str = ""
    password: str = field(default="", repr=False)


def find_repository(environ: Mapping[str, str] = os.environ) -> Repository | None:
    """Return the repository to fetch from, or None for Maven Central itself.

    Raises:
        SettingsError: a settings.xml cannot be read, or is not XML.
    """
    for variable in VARIABLES:
        if url := environ.get(variable):
            return Repository(url)
    return mirror_of_central(_settings_files(environ), environ)


def mirror_of_central(files: Iterable[Path], environ: Mapping[str, str]) -> Repository | None:
    """Return the first mirror of Maven Central that the settings files name."""
    for file in files:
        if is_there(file) and (mirror := _mirror_in(file, environ)):
            return mirror
    return None


def _settings_files(environ: Mapping[str, str]) -> list[Path]:
    files = [Path(environ.get("HOME", Path.home())) / ".m2/settings.xml"]
    if installation := environ.get("MAVEN_HOME"):
        files.append(Path(installation) / "conf/settings.xml")
    return files


def _mirror_in(file: Path, environ: Mapping[str, str]) -> Repository | None:
    try:
        settings = ET.parse(file).getroot()  # noqa: S314 - the user's own file
    except (ET.ParseError, OSError) as problem:
        raise SettingsError(
            f"{file} cannot be read as XML ({problem}). Mend it, or name the repository in"
            f" {VARIABLES[0]}."
        ) from problem

    def text(element: ET.Element, name: str) -> str:
        """Return the text of a child, with Maven's `${env.NAME}` filled in."""
        found = (element.findtext(f"{{*}}{name}") or "").strip()
        return re.sub(r"\$\{env\.(\w+)}", lambda name: environ.get(name[1], ""), found)

    for mirror in settings.iterfind("{*}mirrors/{*}mirror"):
        mirrored = {pattern.strip() for pattern in text(mirror, "mirrorOf").split(",")}
        if "!central" in mirrored or not mirrored & _MIRRORS_CENTRAL:
            continue
        for server in settings.iterfind("{*}servers/{*}server"):
            if text(server, "id") == text(mirror, "id"):
                login = text(server, "username"), text(server, "password")
                return Repository(text(mirror, "url"), *login)
        return Repository(text(mirror, "url"))
    return None
