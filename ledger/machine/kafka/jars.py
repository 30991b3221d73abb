"""The Java libraries of Kafka and of Spark's Kafka source: fetched once, pinned by sha256.

`jars.txt` lists exactly what is fetched; a jar counts only after a check of its sha256. `python
-m ledger.machine.kafka.jars` fetches what is missing; a second run only checks, without a network.
`ivy` fetches, `maven` chooses the repository.
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ledger.errors import JarsError, LedgerError
from ledger.machine.kafka.ivy import Jar, retrieve
from ledger.machine.kafka.java import CACHE, cache_folder, find_java
from ledger.machine.kafka.maven import find_repository

BROKER = "broker"
SPARK = "spark"
_FIELDS_PER_LINE = 5


def jar_paths(purpose: str, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the jars of a class path, `BROKER` or `SPARK`, in the order of the list.

    Raises:
        JarsError: some are not there, or were changed since they were checked.
    """
    folder = jars_folder(environ)
    jars = [jar for jar in read_list() if jar.purpose == purpose]
    with _usable(folder):
        absent = unchecked(jars, folder)
    if absent:
        raise JarsError(
            f"{len(absent)} of {len(jars)} jars for the {purpose} are not in {folder}, or not as"
            " they were fetched. Run python -m ledger.machine.kafka.jars."
        )
    return [folder / jar.path for jar in jars]


def fetch(jars: Sequence[Jar] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Fetch the jars of the list that are missing; return how many were fetched.

    May be called by several processes at once: one fetches, the others wait and find it done.

    Raises:
        JarsError: the repository is out of reach or gave other bytes than the list says.
        SettingsError: there is no Java, or a settings file cannot be read.
    """
    folder = jars_folder(environ)
    jars = read_list() if jars is None else jars
    with _usable(folder):
        if not unchecked(jars, folder):
            return 0
        with _locked(folder) as lock:
            absent = [jar for jar in unchecked(jars, folder) if not _is_sound(jar, folder)]
            if absent:
                _fetch_absent(absent, folder, lock, environ)
            _record(jars, folder)
            return len(absent)


def jars_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of this machine's jars."""
    return cache_folder(environ) / "jars"


def read_list(text: str | None = None) -> list[Jar]:
    """Return the jars of a list in the form of `jars.txt`, or of that file itself."""
    text = Path(__file__).with_name("jars.txt").read_text() if text is None else text
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    if broken := [line for line in lines if len(line) != _FIELDS_PER_LINE]:
        raise JarsError(f"The list of jars has a broken line: {' '.join(broken[0])}")
    return [Jar(*line) for line in lines]


def unchecked(jars: Sequence[Jar], folder: Path) -> list[Jar]:
    """Return the jars that are absent or differ from when their sha256 was last seen right.

    Sizes and times are compared, not contents: 50 jars take a millisecond.
    """
    records = _records(folder)
    return [jar for jar in jars if not _is_same(_seen(jar, folder), records.get(jar.path))]


def forget_checks(folder: Path) -> None:
    """Let the next `fetch` compare every sha256 again."""
    with _usable(folder):
        _records_file(folder).unlink(missing_ok=True)


def _fetch_absent(
    absent: Sequence[Jar], folder: Path, lock: int, environ: Mapping[str, str]
) -> None:
    work = folder / "fetching"
    java, repository = find_java(environ), find_repository(environ)
    fetched = retrieve(absent, work, java=java, repository=repository, keep_open=lock)
    damaged = [jar for jar in absent if not _is_sound(jar, fetched)]
    if damaged:
        shutil.rmtree(work)
        source = repository.url if repository else "Maven Central"
        raise JarsError(
            f"{damaged[0].path} as served by {source} does not have the sha256 that jars.txt"
            f" names ({len(damaged)} such jars). It was deleted. Try another repository."
        )
    for jar in absent:
        (folder / jar.path).parent.mkdir(exist_ok=True)
        (fetched / jar.path).replace(folder / jar.path)
    shutil.rmtree(work)


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Turn the errors of a folder that is full or not writable into a JarsError with advice."""
    try:
        yield
    except OSError as problem:
        raise JarsError(
            f"The folder {folder} cannot keep the jars ({problem}). Set {CACHE} to one that this"
            " user may write to, with 100 MB of room."
        ) from problem


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold the folder's lock; the descriptor may be handed to a child that should hold it too."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _is_sound(jar: Jar, folder: Path) -> bool:
    path = folder / jar.path
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == jar.sha256


def _is_same(seen: list[int | str], record: list[int | str] | None) -> bool:
    """Return whether a jar is as recorded; container images keep whole seconds only."""
    if not seen or record is None:
        return False
    (size, at, sha256), (size_then, at_then, sha256_then) = seen, record
    return (size, sha256) == (size_then, sha256_then) and _seconds(at) == _seconds(at_then)


def _seconds(ns: int | str) -> int:
    return int(ns) // 1_000_000_000


def _seen(jar: Jar, folder: Path) -> list[int | str]:
    """Return the record of a jar as it is now; empty for an absent jar."""
    try:
        status = (folder / jar.path).stat()
    except FileNotFoundError:
        return []
    return [status.st_size, status.st_mtime_ns, jar.sha256]


def _records_file(folder: Path) -> Path:
    return folder / "checked.json"


def _records(folder: Path) -> dict[str, list[int | str]]:
    """Return the record of each jar; a damaged record is left out."""
    try:
        found = json.loads(_records_file(folder).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    records = found.items() if isinstance(found, dict) else ()
    return {path: record for path, record in records if _is_record(record)}


def _is_record(found: Any) -> bool:
    match found:
        case [int(), int(), str()]:
            return True
        case _:
            return False


def _record(jars: Sequence[Jar], folder: Path) -> None:
    records = _records(folder) | {jar.path: _seen(jar, folder) for jar in jars}
    draft = _records_file(folder).with_suffix(".draft")
    draft.write_text(json.dumps(records, indent=0))
    draft.replace(_records_file(folder))


def main() -> None:
    """Fetch or check the jars, and print the result."""
    parser = argparse.ArgumentParser(
        "python -m ledger.machine.kafka.jars", description="Fetch the pinned jars."
    )
    parser.add_argument("--verify", action="store_true", help="compare every sha256 again")
    folder = jars_folder()
    try:
        if parser.parse_args().verify:
            forget_checks(folder)
        fetched = fetch()
    except LedgerError as problem:
        sys.exit(str(problem))
    print(f"{len(read_list())} jars in {folder}, {fetched} fetched now")


if __name__ == "__main__":
    main()
