"""Run the simulation: `python -m tests.simulation --seeds N [--first K] [--jobs J]`.

`--hours H` runs seeds on all cores until the time is over, and tells what they met of the core.
Or one seed, told in full: `--seed K --trace`; or the mutants: `--mutants`. The last line counts the
seeds that passed and failed. Exit status 1 if any failed, if a kind of fault struck too seldom to
prove anything, or if a mutant survived.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.progress import track

from ledger.core.acceptance import Verdict
from tests.simulation import coverage
from tests.simulation.faults import Fault
from tests.simulation.hunt import be_quiet, hunt, report, run_many
from tests.simulation.mutants import MUTANTS
from tests.simulation.run import Result, run_seed

# In ten thousand seeds even the rarest kind of fault, a lost end, strikes four hundred times.
SEEDS_A_STRIKE: Final = 25
ENOUGH_TO_COUNT: Final = 1_000
YEAR_S: Final = 365.25 * 86_400
SEEDS_MAX: Final = 100_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--hours", type=float, help="run seeds for so long, on all cores")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes run them")
    parser.add_argument("--seed", type=int, help="run this one seed only")
    parser.add_argument("--trace", action="store_true", help="tell everything that happens in it")
    parser.add_argument("--mutants", action="store_true", help="hunt the mutants")
    options = parser.parse_args(arguments)
    if options.mutants:
        return hunt_all(options.jobs)
    if options.seed is not None:
        return run_one(options.seed, trace=options.trace)
    if options.hours is not None:
        return run_for(options.hours, options.first)
    seeds = range(options.first, options.first + options.seeds)
    return run_all(seeds, shown(run_many(seeds, options.jobs), len(seeds), "seeds"))


def run_for(hours: float, first: int) -> int:
    """Run seeds on all cores until the time is over, and tell what they met."""
    until_s = time.monotonic() + hours * 3600
    seeds = range(first, first + SEEDS_MAX)
    return run_all(seeds, until(until_s, run_many(seeds, os.cpu_count() or 1)), is_long=True)


def until(until_s: float, results: Iterator[Result]) -> Iterator[Result]:
    """Yield results until a time, by the clock of this process."""
    for result in results:
        yield result
        if time.monotonic() >= until_s:
            return


def run_all(seeds: range, results: Iterable[Result], *, is_long: bool = False) -> int:
    """Tell the failed seeds, and count everything; a long run also tells what it met."""
    covered: Counter[str] = Counter()
    seconds = 0.0
    strikes: Counter[Fault] = Counter()
    dropped: Counter[Verdict] = Counter()
    counts: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for result in results:
        covered += result.covered
        seconds += result.seconds
        strikes += result.strikes
        dropped += result.dropped
        met += result.met
        counts["commands"] += result.commands
        counts["events"] += result.events
        counts["passed" if result.broken is None else "failed"] += 1
        if result.broken is not None:
            tell(result)
    print(f"{counts['commands']} commands, {counts['events']} events that counted")
    for verdict in Verdict:
        if dropped[verdict]:
            print(
                f"{dropped[verdict]:9d} records dropped: {verdict.name.lower().replace('_', ' ')}"
            )
    for kind in Fault:
        print(f"{strikes[kind]:9d} {kind}")
    for what, times in sorted(met.items()):
        print(f"{times:9d} {what}")
    if is_long:
        print(*coverage.lines(covered), sep="\n")
        print(f"{seconds / YEAR_S:.3f} years simulated, {seconds:.0f} s; seeds from {seeds.start}")
    ran = counts.total() - counts["commands"] - counts["events"]
    seldom = [kind for kind in Fault if strikes[kind] < ran // SEEDS_A_STRIKE]
    if seldom and ran >= ENOUGH_TO_COUNT:
        print(f"struck too seldom to prove anything: {', '.join(seldom)}")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or (seldom and ran >= ENOUGH_TO_COUNT) else 0


def run_one(seed: int, *, trace: bool) -> int:
    """Run one seed and tell what came of it."""
    be_quiet()
    result = run_seed(seed, trace=print if trace else None)
    print(f"seed {seed} ends at {result.fingerprint}")
    if result.broken is not None:
        tell(result)
    print("0 passed, 1 failed" if result.broken else "1 passed, 0 failed")
    return 1 if result.broken else 0


def hunt_all(jobs: int) -> int:
    """Hunt every mutant and tell what told it."""
    be_quiet()
    missed = 0
    for mutant in MUTANTS:
        hunted = hunt(mutant, jobs)
        missed += not hunted.is_as_named
        print("\n".join(report(hunted)), flush=True)
    print(f"{len(MUTANTS) - missed} killed, {missed} survived")
    return 1 if missed else 0


def tell(result: Result) -> None:
    """Print why a seed failed and how to see it happen."""
    print(f"seed {result.seed} failed. {result.broken}")
    print(f"    see it: python -m tests.simulation --seed {result.seed} --trace", flush=True)


def shown(results: Iterator[Result], total: int, what: str) -> Iterable[Result]:
    """Return the results, with a progress bar where somebody looks."""
    if not sys.stdout.isatty():
        return results
    return track(results, description=what, total=total)


if __name__ == "__main__":
    sys.exit(main())
