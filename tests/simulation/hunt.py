"""Many runs: seeds over several processes, and the hunt for mutants."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from typing import Final

import structlog

from tests.simulation.faults import Fault, struck
from tests.simulation.mutants import BY_NAME, Mutant
from tests.simulation.run import Result, run_seed
from tests.simulation.variant import HONEST

CHUNK: Final = 8
MUTANT_SEEDS: Final = 2_000
HONEST_SEEDS: Final = 300
ALONE_SEEDS: Final = 40


def be_quiet() -> None:
    """Keep the sequencers from logging: a run that needs telling is traced."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def run_named(name: str, without: frozenset[Fault], seed: int) -> Result:
    """Run one seed of a mutant, or of the honest code for any other name."""
    return run_seed(seed, variant=BY_NAME.get(name, HONEST), without=without)


def run_many(
    seeds: Iterable[int],
    jobs: int,
    *,
    name: str = HONEST.name,
    without: frozenset[Fault] = frozenset(),
) -> Iterator[Result]:
    """Yield the results of seeds in their order, run by `jobs` processes."""
    with Pool(jobs, be_quiet) as pool:
        yield from pool.imap(partial(run_named, name, without), seeds, CHUNK)


@dataclass(frozen=True)
class Hunted:
    """What became of a mutant: the run that told it, and which faults it takes.

    `alone` are kinds that tell it with no other about, each with a seed; if there are none,
    `enough` are those the run cannot do without; if there are neither, it takes no fault at all.
    `slipped` is a run that told it without the faults that alone should be able to.
    """

    mutant: Mutant
    told: Result | None = None
    alone: dict[Fault, int] = field(default_factory=dict)
    enough: tuple[Fault, ...] = ()
    slipped: Result | None = None

    @property
    def is_as_named(self) -> bool:
        """Tell whether it was told, and only by the faults that should tell it."""
        return self.told is not None and self.slipped is None


def hunt(mutant: Mutant, jobs: int) -> Hunted:
    """Run a mutant until a law breaks; then see what it takes to tell it."""
    if mutant.swaps:
        told = first_broken(mutant, jobs, HONEST_SEEDS, frozenset(Fault))
        if told is not None:
            return Hunted(mutant, told)
    told = first_broken(mutant, jobs, MUTANT_SEEDS, frozenset())
    if told is None:
        return Hunted(mutant)
    slipped = None
    if mutant.shown_by:
        slipped = first_broken(mutant, jobs, HONEST_SEEDS, frozenset(mutant.shown_by))
    if first_broken(mutant, jobs, ALONE_SEEDS, frozenset(Fault)) is not None:
        return Hunted(mutant, told)
    alone = telling_alone(mutant, jobs, told)
    enough = () if alone else enough_faults(mutant, told)
    return Hunted(mutant, told, alone, enough, slipped)


def first_broken(mutant: Mutant, jobs: int, seeds: int, without: frozenset[Fault]) -> Result | None:
    """Return the first run that breaks a law, or None."""
    runs = run_many(range(seeds), jobs, name=mutant.name, without=without)
    return next((result for result in runs if result.broken is not None), None)


def enough_faults(mutant: Mutant, told: Result) -> tuple[Fault, ...]:
    """Return the faults that remain when each the seed can do without is left out."""
    without: frozenset[Fault] = frozenset()
    for kind in Fault:
        fewer = without | {kind}
        if run_named(mutant.name, fewer, told.seed).broken is not None:
            without = fewer
    left = run_named(mutant.name, without, told.seed)
    return tuple(kind for kind in Fault if left.strikes[kind])


def telling_alone(mutant: Mutant, jobs: int, told: Result) -> dict[Fault, int]:
    """Return which of the kinds that struck tell the mutant with no other about."""
    found: dict[Fault, int] = {}
    for kind in Fault:
        if told.strikes[kind]:
            others = frozenset(Fault) - {kind}
            result = first_broken(mutant, jobs, ALONE_SEEDS, others)
            if result is not None:
                found[kind] = result.seed
    return found


def report(hunted: Hunted) -> Iterator[str]:
    """Yield what to print of a hunt."""
    mutant, told = hunted.mutant, hunted.told
    if told is None:
        yield f"SURVIVED  {mutant.name}: in {MUTANT_SEEDS} seeds no law broke"
        return
    yield f"killed    {mutant.name}"
    yield f"          by seed {told.seed}: {told.broken}"
    yield f"          there struck: {', '.join(struck(told.strikes)) or 'nothing'}"
    if hunted.alone:
        kinds = ", ".join(f"{kind} (seed {seed})" for kind, seed in hunted.alone.items())
        yield f"          told alone by {kinds}"
    else:
        yield f"          it takes {' with '.join(hunted.enough) or 'no fault at all'}"
    if mutant.shown_by:
        kinds = " and ".join(mutant.shown_by)
        if hunted.slipped is None:
            yield f"          without {kinds} it passes {HONEST_SEEDS} seeds"
        else:
            slip = hunted.slipped
            yield f"NOT ALONE without {kinds} seed {slip.seed} tells it too: {slip.broken}"
