"""Many seeds over several processes, and the hunt for mutants."""

from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import Pool
from typing import Final, NamedTuple

from ledger.core.conflicts.index import ConflictIndex
from ledger.core.evolve.form import restore_winners, winners_form
from ledger.core.state.domain import DomainState
from tests.isolation.judge import Finding
from tests.isolation.mutants import BY_NAME, HONEST, broken
from tests.isolation.play import played_seed

CHUNK: Final = 16
MUTANT_SEEDS: Final = 800


class Result(NamedTuple):
    """What a seed's history came to: verdicts by name, and what is wrong with them."""

    seed: int
    counts: dict[str, int]
    findings: tuple[str, ...]


def run_seed(name: str, seed: int) -> Result:
    """Play and judge the history of a seed, with a mutant or the honest check."""
    with broken(BY_NAME.get(name, HONEST)):
        try:
            player = played_seed(seed)
        except (AssertionError, KeyError) as error:
            return Result(seed, {}, (f"the ledger stops: {error!r}",))
        judge = player.judge
        judge.findings += index_findings(player.driver.state)
    told = (f"{finding.law} at {finding.position}: {finding.what}" for finding in judge.findings)
    return Result(seed, dict(judge.counts), tuple(told))


def index_findings(state: DomainState) -> list[Finding]:
    """Return what is wrong with an index that a checkpoint would bring back otherwise."""
    anew = ConflictIndex(floor=state.winners.floor)
    restore_winners(anew, winners_form(state.winners))
    if (keys_of(anew), anew.entries) == (keys_of(state.winners), state.winners.entries):
        return []
    return [Finding("index", state.position, "it is not that of its parts")]


def keys_of(index: ConflictIndex) -> dict[int, object]:
    """Return all an index finds its parts by."""
    return {
        table: (each.marks, list(each.recent.items()), each.by_value)
        for table, each in index.tables.items()
    }


def run_many(seeds: Iterable[int], jobs: int, name: str = "") -> Iterator[Result]:
    """Yield the results of seeds in their order, run by `jobs` processes."""
    with Pool(jobs) as pool:
        yield from pool.imap(partial(run_seed, name), seeds, CHUNK)


def first_told(name: str, seeds: Iterable[int] = range(MUTANT_SEEDS)) -> Result | None:
    """Return the first seed that tells a mutant, None if it survives them all."""
    return next((result for seed in seeds if (result := run_seed(name, seed)).findings), None)
