"""The benchmarks of caches run, at a size at which their figures say nothing yet."""

from collections.abc import Iterator, Sequence

import pytest

from ledger.core.commands import Property
from ledger.core.evolve.evolve import evolve, fold
from ledger.core.state.domain import DomainState
from ledger.machine.kafka.broker import Broker
from ledger.reads.metadata import MetadataAnswer, TableMetadata
from projections.cache.entries.bootstrap import bootstrap
from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.altered_lake import Lake, Span, altered_lake
from tests.benchmarks.cache_apply import figures
from tests.benchmarks.cache_reads import FAST, hits, latencies
from tests.benchmarks.history import TABLES, History

TINY = Span(1.0, 1.0)


def properties(answer: MetadataAnswer) -> Sequence[Property]:
    """Return the properties of a table that was found."""
    assert isinstance(answer.value, TableMetadata)
    return answer.value.definition.properties


@pytest.fixture(scope="module")
def lake(broker: Broker) -> Iterator[Lake]:
    """Run a lake to alter."""
    with altered_lake(broker, "test-altered-lake") as lake:
        yield lake


@pytest.mark.kafka
def test_hits(lake: Lake) -> None:
    """Both caches give every reader the same answer, and many versions give more of them."""
    told = hits(lake, FAST, TINY)

    assert [each.id for each in told] == ["cache-hits-50", "cache-hits-50-new"]
    assert all((each.baseline or 0) < (each.value or 0) <= 1 for each in told)


@pytest.mark.kafka
def test_hits_of_both_kinds_of_entries_are_told_against_misses_twice(lake: Lake) -> None:
    told = latencies(lake, FAST, TINY)

    assert {(each.id, each.unit) for each in told} == {
        ("cache-latency", "us p50"),
        ("cache-latency-p99", "us p99"),
        ("cache-latency-rows", "us p50"),
        ("cache-latency-rows-p99", "us p99"),
    }
    assert all(each.value and each.baseline for each in told)


def test_apply() -> None:
    """Both histories are applied to cache and state."""
    told = figures(100)

    assert [each.id for each in told] == ["cache-apply", "cache-apply-writes"]
    assert all(each.value and each.baseline for each in told)


def test_a_cache_that_applies_the_altering_history_says_of_each_table_what_the_state_says() -> None:
    history = History()
    state = fold(DomainState(), history.creation())
    cache = bootstrap(state)
    for event in history.alters(500):
        evolve(state, event)
        cache.apply(event)
    wanted = cache.newest_reads(state.tables.by_id)
    known = [each.definition.properties for each in state.tables.by_id.values()]

    assert len(set(map(tuple, known))) == TABLES
    assert [properties(cache.read(each)) for each in wanted] == known


@pytest.mark.parametrize("name", ["cache-hits", "cache-latency", "cache-apply"])
def test_ids(name: str) -> None:
    """Each is measured by its id."""
    assert name in BENCHMARKS
