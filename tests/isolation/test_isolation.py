"""No history breaks isolation: every commit and every abort is what two judges say it must be."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given

from ledger.core.conflicts.checks import CHECKS
from tests.core.histories import DEEP, QUICK, Step
from tests.isolation.__main__ import main
from tests.isolation.hunt import Result, first_told, run_many, run_seed
from tests.isolation.mutants import BY_NAME, broken
from tests.isolation.play import histories, played

SEEDS: Final = 60
MANY_SEEDS: Final = 20_000
OUTCOMES: Final = {
    *("committed", "too_old", "ProtocolChanged", "MetadataChanged", "ConcurrentTransaction"),
    *("ConcurrentAppend", "ConcurrentDeleteRead", "ConcurrentDeleteDelete"),
}


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """Run some seeds once for all tests that look at them."""
    return [run_seed("", seed) for seed in range(SEEDS)]


def counted(results: Sequence[Result]) -> Counter[str]:
    """Return how often each verdict came."""
    return sum((Counter(result.counts) for result in results), Counter[str]())


def test_seeds_are_judged_right(results: list[Result]) -> None:
    """Law 7: what commits conflicts with nothing, what aborts lost to the winner it names."""
    assert {result.seed: result.findings for result in results if result.findings} == {}


def test_seeds_meet_every_verdict(results: list[Result]) -> None:
    """A few dozen seeds come to every verdict, so that agreement says something."""
    assert OUTCOMES - counted(results).keys() == set()


@QUICK
@given(histories())
def test_histories_are_judged_right(history: tuple[bytes, list[Step]]) -> None:
    """Law 7 over histories that hypothesis draws."""
    assert played(*history).judge.findings == []


@pytest.mark.parametrize(
    "name",
    [
        "no check of added files",
        "blind flag trusted when reads exist",
        "downgrade always",
        "removed-vs-read skipped",
        "winners counted from TxnOpened",
        "prune one too many",
        "floor not checked",
        "last winner named",
    ],
)
def test_a_mutant_is_told_soon(name: str) -> None:
    assert first_told(name, range(SEEDS)) is not None


def test_a_mutant_ends_with_its_block() -> None:
    mutant = BY_NAME["no app check"]
    kept = [getattr(swap.owner, swap.name) for swap in mutant.swaps]

    with pytest.raises(ZeroDivisionError), broken(mutant):
        raise ZeroDivisionError

    assert [getattr(swap.owner, swap.name) for swap in mutant.swaps] == kept == [CHECKS]


def test_the_last_line_counts_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "4", "--first", "100", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 passed, 0 failed"


@pytest.mark.slow
@DEEP
@given(histories(min_size=20, max_size=70))
def test_long_histories_are_judged_right(history: tuple[bytes, list[Step]]) -> None:
    """Law 7 over long histories, other ones in every run."""
    assert played(*history).judge.findings == []


@pytest.mark.slow
def test_many_seeds_are_judged_right() -> None:
    """Law 7 over many seeds, in which no verdict is rare."""
    results = list(run_many(range(MANY_SEEDS), 2))
    counts = counted(results)

    assert {result.seed: result.findings for result in results if result.findings} == {}
    assert {outcome for outcome in (*OUTCOMES, "applied") if counts[outcome] < 200} == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_every_mutant_is_told(name: str) -> None:
    """Each rule is there for a reason: without it some seed is judged wrong."""
    assert first_told(name) is not None
