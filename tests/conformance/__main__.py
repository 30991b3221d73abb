"""Run the cases of one file: `python -m tests.conformance SUITE FILE [--log memory|kafka]`.

One line is printed for each failed case, the count as the last line. Exit status 1 if any failed, 2
if the suite or file cannot be used. Anything a case does not expect is its failure, not the end of
the run.
"""

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conformance import cache, delta, hive, hive_format
from tests.conformance.suite import Case, Mismatch, Skipped, Suite

SUITES: Mapping[str, Suite] = {
    "cache": cache.SUITE,
    "delta": delta.SUITE,
    "hive": hive.SUITE,
    "hive-format": hive_format.SUITE,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("file", type=Path, help="a JSON list of cases")
    parser.add_argument("--log", choices=("memory", "kafka"), default="memory")
    parser.add_argument("--verbose", action="store_true", help="print every case, and tracebacks")
    options = parser.parse_args(arguments)
    try:
        cases = read_cases(options.file)
    except (OSError, ValueError) as error:
        parser.error(f"{options.file} holds no cases: {error}")
    return run_cases(SUITES[options.suite], cases, log=options.log, verbose=options.verbose)


def read_cases(file: Path) -> list[Case]:
    """Return the cases of a file; ValueError if it is not a JSON list of objects."""
    cases = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ValueError("it is not a JSON list of objects")
    return cases


def run_cases(suite: Suite, cases: Sequence[Case], *, log: str, verbose: bool) -> int:
    """Run all cases, print what became of them, and return the exit status."""
    counts: Counter[str] = Counter()
    skips: Counter[str] = Counter()
    with suite.resource(log) as resource:
        for index, case in enumerate(cases, 1):
            name = case.get("name", f"case {index}")
            try:
                suite.run(case, resource)
            except Skipped as skipped:
                counts["skipped"] += 1
                skips[skipped.tag] += 1
                print_if(verbose, f"skip {name}: {skipped.tag}")
            except Exception as error:  # noqa: BLE001 - whatever breaks a case is its failure
                counts["failed"] += 1
                print(" ".join(f"FAIL {name}: {told(error)}".splitlines()))
                print_if(verbose, "".join(traceback.format_exception(error)))
            else:
                counts["passed"] += 1
                print_if(verbose, f"pass {name}")
    print_counts(counts, skips)
    return 1 if counts["failed"] else 0


def told(error: Exception) -> str:
    """Return why a case failed, also for an exception that its suite did not expect."""
    if isinstance(error, Mismatch):
        return str(error)
    return f"expected an answer got {type(error).__name__}: {error}"


def print_counts(counts: Counter[str], skips: Counter[str]) -> None:
    """Print the skips by tag, if any, and the last line of a run."""
    print_if(bool(skips), "skipped: " + ", ".join(f"{n} {tag}" for tag, n in sorted(skips.items())))
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")


def print_if(wanted: bool, line: str) -> None:  # noqa: FBT001 - the condition is the argument
    """Print a line that not every run shows."""
    if wanted:
        print(line)


if __name__ == "__main__":
    sys.exit(main())
