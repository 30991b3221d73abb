"""The command line of Iceberg's catalog tests: which pass, and whether only known ones do not."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from ledger.machine.kafka.java import find_java
from ledger.machine.process import ExitCode
from tests.iceberg.clients.catalog_tests import __doc__ as described
from tests.iceberg.clients.served import serving_catalog

HERE: Final = Path(__file__).parent
TESTS: Final = "LedgerCatalogTests"
SAID_MAX: Final = 300
# What fails because the ledger has no such thing, by test.
NO_EXPIRY: Final = "a vacuum alone deletes what only earlier versions need"
OUTSIDE: Final = "files lie below the location of their table"
NO_SOURCE: Final = "metadata files are made from the log, and are no source"
KNOWN: Final[Mapping[str, str]] = {
    "testCreateTableWithDefaultColumnValue()": "columns have no defaults that clients apply",
    "testLoadTableWithMissingMetadataFile(Path)": NO_SOURCE,
    "testRegisterTable()": "a registered snapshot has the time at which the ledger took it",
    "testRemoveUnusedSchemas(boolean)[1]": NO_EXPIRY,
    "testRemoveUnusedSchemas(boolean)[2]": NO_EXPIRY,
    "testRemoveUnusedSpec(boolean)[1]": NO_EXPIRY,
    "testRemoveUnusedSpec(boolean)[2]": NO_EXPIRY,
    "testCatalogWithCustomMetricsReporter()": OUTSIDE,
    "testCompleteCreateTransactionMultipleSchemas()": OUTSIDE,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; the exit status is 0 if only tests of `KNOWN` fail."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.iceberg.clients.catalog_tests", description=described
    )
    parser.add_argument("--jars", type=Path, required=True, help="the jars; fetched if absent")
    parser.add_argument("--uri", help="a server that runs; by default one of this process")
    parser.add_argument("--warehouse", default="main")
    parser.add_argument("--tables", help="where the server takes tables, as file:/folder")
    parser.add_argument("--only", help="one test by its name")
    options = parser.parse_args(arguments)
    fetch(options.jars)
    with ExitStack() as held, tempfile.TemporaryDirectory() as place:
        uri = options.uri or held.enter_context(serving_catalog(Path(place))).uri
        tables = options.tables or f"file:{place}/warehouse/made"
        given = {"uri": uri, "warehouse": options.warehouse, "tables": tables}
        reports = run(options.jars, Path(place), given, options.only)
        passed, failed, skipped = counted(reports)
    for name, why in sorted(failed.items()):
        known = f" (known: {KNOWN[name]})" if name in KNOWN else ""
        print(f"FAILED {name}{known}: {why}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} do not apply")
    return ExitCode.FAILED if failed.keys() - KNOWN.keys() or not passed else ExitCode.DONE


def fetch(jars: Path) -> None:
    """Fetch the jars by Maven if the folder has none."""
    if any(jars.glob("iceberg-core-*-tests.jar")):
        return
    goal = "dependency:copy-dependencies"
    command = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), goal, f"-DoutputDirectory={jars}"]
    subprocess.run(command, check=True)


def run(jars: Path, place: Path, told: Mapping[str, str], only: str | None) -> Path:
    """Compile the class of tests, and run it; return the folder of its reports, as XML."""
    classes, reports = place / "classes", place / "reports"
    compiler = ["javac", "-proc:none", "-cp", f"{jars}/*", "-d", str(classes)]
    subprocess.run([*compiler, str(HERE / f"{TESTS}.java")], check=True)
    (console,) = jars.glob("junit-platform-console-standalone-*.jar")
    path = os.pathsep.join([str(classes), *map(str, sorted(jars.glob("*.jar")))])
    chosen = [f"--select-method={TESTS}#{only}"] if only else [f"--select-class={TESTS}"]
    given = ["-Xmx512m", *(f"-D{name}={value}" for name, value in told.items())]
    execute = ["execute", "-cp", path, *chosen, "--details=none", f"--reports-dir={reports}"]
    subprocess.run(
        [str(find_java().executable), *given, "-jar", str(console), *execute],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return reports


def counted(reports: Path) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the tests that passed, those that failed with why, and those that do not apply."""
    passed: list[str] = []
    failed: dict[str, str] = {}
    skipped: list[str] = []
    for file in reports.glob("TEST-*.xml"):
        for case in ET.parse(file).iter("testcase"):  # noqa: S314 - written by the run above
            name = str(case.get("name"))
            problem = next((each for each in case if each.tag in ("failure", "error")), None)
            if case.find("skipped") is not None:
                skipped.append(name)
            elif problem is not None:
                said = " ".join((problem.get("message") or problem.text or "").split())
                failed[name] = f"{problem.get('type', '').rpartition('.')[2]}: {said[:SAID_MAX]}"
            else:
                passed.append(name)
    return passed, failed, skipped


if __name__ == "__main__":
    sys.exit(main())
