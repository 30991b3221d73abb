"""Runs Ivy, the client for Maven repositories that PySpark carries, on a list of exact jars.

Ivy requests every jar by its coordinates: no POM, no metadata, no search for versions. `jars`
decides which jars to fetch and where they go, and checks their sha256.
"""

import importlib.util
import re
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ledger.errors import JarsError
from ledger.machine.kafka.java import Java
from ledger.machine.kafka.maven import VARIABLES, Repository

_CONNECT_TIMEOUT_MS = "10000"
_READ_TIMEOUT_MS = "60000"
# Lines of Ivy's report with the cause, the deepest cause first.
_CAUSES = ("Host .* not found", "Exception", "access error", "module not found", "")
# Ivy sends a login only to a configured realm; mirrors run on these two servers.
_REALMS = ("Artifactory Realm", "Sonatype Nexus Repository Manager")


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar by its Maven coordinates; `purpose` names the class path it is for."""

    purpose: str
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def path(self) -> str:
        """Where it lies below the folder of jars."""
        return f"{self.purpose}/{self.artifact}-{self.version}.jar"


def retrieve(
    jars: Sequence[Jar], work: Path, *, java: Java, repository: Repository | None, keep_open: int
) -> Path:
    """Fetch the jars and return the folder below which each lies at its `path`.

    Args:
        jars: what to fetch.
        work: a folder of its own; called again with the same one, what has arrived is not fetched
            twice.
        java: the runtime for Ivy.
        repository: where to fetch from; None is Maven Central.
        keep_open: a file descriptor that stays open while Ivy runs, to hold a lock.

    Raises:
        JarsError: PySpark is not installed, or the repository did not give a jar.
    """
    fetched = work / "fetched"
    settings, module = work / "settings.xml", work / "module.xml"
    work.mkdir(parents=True, exist_ok=True)
    settings.touch(mode=0o600)  # It may hold a password.
    ET.ElementTree(_settings(work, repository)).write(settings)
    ET.ElementTree(_module(jars)).write(module)
    target = f"{fetched}/[conf]/[artifact]-[revision].[ext]"
    purposes = sorted({jar.purpose for jar in jars})
    ivy = ["-jar", str(_ivy_jar()), "-settings", str(settings), "-ivy", str(module)]
    with ExitStack() as stack:
        stack.callback(settings.unlink)
        process = subprocess.Popen(
            [str(java.executable), *java.flags, *ivy, "-confs", *purposes, "-retrieve", target],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=[keep_open],
        )
        stack.enter_context(process)
        stack.callback(process.kill)  # Left early, by an interrupt, it must not go on alone.
        output = _show_progress(process.stdout or [], len(jars))
        if process.wait() != 0:
            raise JarsError(_failure(output, repository))
    return fetched


def _show_progress(lines: Iterable[str], total: int) -> list[str]:
    """Show how many jars were found and fetched; return all lines once Ivy has ended."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    output = []
    with Progress(*columns, TimeElapsedColumn()) as progress:
        found = progress.add_task("jars found", total=total)
        fetched = progress.add_task("jars fetched", total=total)
        for line in lines:
            output.append(line.strip())
            progress.advance(found, line.startswith("\tfound "))
            progress.advance(fetched, "[SUCCESSFUL ]" in line)
        if any("artifacts copied" in line for line in output[-1:]):
            progress.update(fetched, completed=total)  # With what an interrupted run has left.
    return output


def _failure(output: list[str], repository: Repository | None) -> str:
    said = (line for cause in _CAUSES for line in filter(None, output) if re.search(cause, line))
    reason = next(said, "Ivy said nothing")
    source = repository.url if repository else "Maven Central"
    return (
        f"The jars could not be fetched from {source}: {reason}. Check the network, or set"
        f" {VARIABLES[0]} to a repository this machine can reach, and run again: what has arrived"
        " is kept."
    )


def _ivy_jar() -> Path:
    """Find Ivy inside PySpark without importing it, which would take a second."""
    pyspark = importlib.util.find_spec("pyspark")
    folders = (pyspark and pyspark.submodule_search_locations) or ()
    found = [jar for folder in folders for jar in Path(folder).glob("jars/ivy-*.jar")]
    if not found:
        raise JarsError(
            "Fetching jars needs Ivy, which comes with PySpark, and PySpark is not installed."
            " Run pip install 'lakeledger[spark]'."
        )
    return found[0]


def _settings(work: Path, repository: Repository | None) -> ET.Element:
    root = ET.Element("ivysettings")
    ET.SubElement(root, "settings", defaultResolver="central")
    if repository and repository.username:
        host = urlsplit(repository.url).hostname or ""
        login = {"host": host, "username": repository.username, "passwd": repository.password}
        for realm in _REALMS:
            ET.SubElement(root, "credentials", {"realm": realm, **login})
    ET.SubElement(root, "caches", defaultCacheDir=str(work / "cache"))
    patience = {"connectionTimeout": _CONNECT_TIMEOUT_MS, "readTimeout": _READ_TIMEOUT_MS}
    timeouts = ET.SubElement(root, "timeout-constraints")
    ET.SubElement(timeouts, "timeout-constraint", {"name": "patience", **patience})
    central = {"name": "central", "m2compatible": "true", "timeoutConstraint": "patience"}
    if repository:
        central["root"] = repository.url.rstrip("/") + "/"
    exact = {"usepoms": "false", "useMavenMetadata": "false"}
    ET.SubElement(ET.SubElement(root, "resolvers"), "ibiblio", {**central, **exact})
    return root


def _module(jars: Sequence[Jar]) -> ET.Element:
    root = ET.Element("ivy-module", version="2.0")
    ET.SubElement(root, "info", organisation="lakeledger", module="jars")
    purposes = ET.SubElement(root, "configurations")
    for purpose in sorted({jar.purpose for jar in jars}):
        ET.SubElement(purposes, "conf", name=purpose)
    dependencies = ET.SubElement(root, "dependencies")
    for jar in jars:
        coordinates = {"org": jar.group, "name": jar.artifact, "rev": jar.version}
        only = {"conf": f"{jar.purpose}->*", "transitive": "false"}
        dependency = ET.SubElement(dependencies, "dependency", {**coordinates, **only})
        ET.SubElement(dependency, "artifact", name=jar.artifact, type="jar", ext="jar")
    return root
