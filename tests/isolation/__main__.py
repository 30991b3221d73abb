"""Prove isolation: `python -m tests.isolation --seeds N [--first K] [--jobs J] [--mutants]`.

Plays N random histories and has every commit and abort judged; with `--mutants` it then hunts each
broken check. The last line counts the seeds, or the mutants, that passed and failed; exit status 1
if any failed. One seed in full: `--seed K`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import Pool

from tests.isolation.hunt import first_told, run_many, run_seed
from tests.isolation.mutants import BY_NAME, HONEST
from tests.isolation.play import played_seed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.isolation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes run them")
    parser.add_argument("--seed", type=int, help="show this one seed's events and findings")
    parser.add_argument("--mutants", action="store_true", help="hunt the mutants as well")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return show(options.seed)
    failed = run_all(range(options.first, options.first + options.seeds), options.jobs)
    if options.mutants:
        failed += hunt_all(options.jobs)
    print(f"{options.seeds + len(BY_NAME) * options.mutants - failed} passed, {failed} failed")
    return 1 if failed else 0


def run_all(seeds: range, jobs: int) -> int:
    """Run seeds, tell what is wrong, and count everything; return how many failed."""
    counts: Counter[str] = Counter()
    failed = 0
    for result in run_many(seeds, jobs):
        counts.update(result.counts)
        failed += bool(result.findings)
        for finding in result.findings:
            print(f"seed {result.seed}, {finding}")
    for verdict, count in counts.most_common():
        print(f"{count:9d} {verdict}")
    return failed


def hunt_all(jobs: int) -> int:
    """Hunt every mutant and tell what told it; return how many survived."""
    survived = 0
    with Pool(jobs) as pool:
        for name, told in zip(BY_NAME, pool.imap(first_told, BY_NAME), strict=True):
            survived += told is None
            print(f"SURVIVED  {name}" if told is None else f"killed    {name}, by seed {told.seed}")
            print(
                "".join(f"          {each}\n" for each in (told.findings[:1] if told else ())),
                end="",
            )
    return survived


def show(seed: int) -> int:
    """Print the events of a seed's history and what is wrong with them."""
    for event in played_seed(seed).driver.events:
        print(event.control.position, event.body)
    findings = run_seed(HONEST.name, seed).findings
    print("\n".join(findings))
    print(f"{int(not findings)} passed, {int(bool(findings))} failed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
