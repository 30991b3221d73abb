"""The command that plays many histories of tables with marks, in one process.

python -m tests.tables.laws.row_grain --histories 300
python -m tests.tables.laws.row_grain --first 17 --histories 1 --law pairs --whole
"""

import argparse
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from time import perf_counter

import structlog

from tests.tables.laws.row_mutants import MUTANTS, hunt
from tests.tables.laws.row_play import LAWS, laws_of, play

LINE = 240
LINES = 30


def be_quiet() -> None:
    """Keep the ledgers from logging and from warning: a failure tells what was done."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    warnings.simplefilter("ignore")


def account(law: str, seed: int, error: BaseException, *, whole: bool) -> Iterator[str]:
    """Yield what to print of a failure: how to get it again, and its last steps."""
    yield f"FAILED  {law}, seed {seed}: {type(error).__name__}: {error}"[: LINE * 3]
    yield (
        f"  again: python -m tests.tables.laws.row_grain --first {seed} --histories 1 "
        f"--law '{law}' --whole"
    )
    lines = [line for note in getattr(error, "__notes__", ()) for line in note.splitlines()]
    yield from lines if whole else (line[:LINE] for line in [*lines[:2], *lines[2:][-LINES:]])


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def hunt_all() -> int:
    """Hunt every mutant, and return how many survived."""
    survived = 0
    for mutant in MUTANTS:
        told = hunt(mutant)
        survived += told is None
        say(
            f"SURVIVED  {mutant.name}"
            if told is None
            else f"killed    {mutant.name}, by {told.law} of seed {told.seed}: {told.error}"[:LINE]
        )
    say(f"{len(MUTANTS)} mutants, {survived} survived")
    return survived


def main(given: Sequence[str] | None = None) -> int:
    """Play laws by seeds, and return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=30, help="how many seeds to play")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--law", choices=list(LAWS), help="play this law alone")
    parser.add_argument("--mutants", action="store_true", help="hunt the mutants instead")
    parser.add_argument("--whole", action="store_true", help="print all steps of a failure")
    asked = parser.parse_args(given)
    be_quiet()
    if asked.mutants:
        return 1 if hunt_all() else 0
    failed, total, took = 0, {law: Counter[str]() for law in LAWS}, Counter[str]()
    for seed in range(asked.first, asked.first + asked.histories):
        for law in [asked.law] if asked.law else laws_of(seed):
            began = perf_counter()
            try:
                total[law] += play(law, seed) + Counter(seeds=1)
            except Exception as error:  # noqa: BLE001 - any exception is a finding
                failed += 1
                say("\n".join(account(law, seed, error, whole=asked.whole)))
            took[law] += perf_counter() - began  # type: ignore[assignment]
    for law, counts in total.items():
        if counts:
            told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
            say(f"{law}: {told}; {took[law]:.0f} s")
    say(f"{asked.histories} histories, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
