"""Mutants of the judge: one check off or altered. Some planted history must tell each of them."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from tests.consistency.history import History, Txn
from tests.consistency.judge import (
    anomalies,
    cells,
    changes,
    cycles,
    dependencies,
    feeds,
    graphs,
    grounds,
    judging,
    pasts,
    published,
    stocks,
    sums,
    values,
)
from tests.consistency.judge.clean import CLEAN
from tests.consistency.judge.dependencies import Edge
from tests.consistency.judge.mutant_lines import LINES
from tests.consistency.judge.planted import NO_MORE, PLANTED
from tests.isolation.mutants import Mutant, Swap
from tests.isolation.mutants import broken as swapped


def nothing(*_: object, **__: object) -> Sequence[Any]:
    return ()


def always(answer: object) -> Any:
    """Return a function that gives one answer."""

    def told(*_: object) -> object:
        return answer

    return told


def uncut(history: History) -> Sequence[Txn]:
    return list(history.txns)


def without(kind: str) -> Any:
    """Return the collection of edges without one kind."""

    def graph_of(edges: Sequence[Edge], kinds: frozenset[Any]) -> Any:
        return HONEST_GRAPH([edge for edge in edges if edge.kind != kind], kinds)

    return graph_of


def backwards(kind: str) -> Any:
    """Return the collection of edges with one kind turned round."""

    def graph_of(edges: Sequence[Edge], kinds: frozenset[Any]) -> Any:
        turned = [
            edge._replace(source=edge.target, target=edge.source) if edge.kind == kind else edge
            for edge in edges
        ]
        return HONEST_GRAPH(turned, kinds)

    return graph_of


def with_line(owner: ModuleType, name: str, line: str, instead: str) -> Mutant:
    """Return the mutant whose function has another line."""
    source = inspect.getsource(getattr(owner, name))
    if line not in source:
        message = f"{owner.__name__}.{name} must have the line {line!r}"
        raise ValueError(message)
    names = dict(vars(owner))
    exec(source.replace(line, instead), names)  # noqa: S102 - the judge's own text
    return Mutant(
        f"{name} with {instead or 'nothing'!r} for {line!r}", [Swap(owner, name, names[name])]
    )


HONEST_GRAPH: Final = graphs.graph_of

LEFT_OUT: Final = (
    (values, "doubled_values"),
    (values, "bad_value"),
    (values, "intermediate"),
    (cells, "key_anomalies"),
    (cells, "missed_rows"),
    (cells, "order_anomalies"),
    (cells, "own_rows_missed"),
    (cells, "lost_updates"),
    (cells, "lost_writes"),
    (cells, "lost_registers"),
    (cells, "lost_claims"),
    (grounds, "run_anomalies"),
    (stocks, "stock_edges"),
    (stocks, "twin_edges"),
    (sums, "sum_anomalies"),
    (sums, "balance_anomalies"),
    (stocks, "stock_anomalies"),
    (stocks, "returned_rows"),
    (stocks, "replaced_twice"),
    (feeds, "feed_anomalies"),
    (feeds, "wrong_order"),
    (feeds, "differences"),
    (feeds, "left_out"),
    (feeds, "unexplained_rows"),
    (changes, "divided"),
    (changes, "misplaced"),
    (changes, "wrong_rows"),
    (changes, "wrong_moves"),
    (published, "published_anomalies"),
    (pasts, "past_anomalies"),
    (pasts, "wrong_registers"),
    (pasts, "wrong_values"),
    (pasts, "two_pasts"),
    (dependencies, "list_edges"),
    (dependencies, "bag_edges"),
    (dependencies, "session_edges"),
    (dependencies, "time_edges"),
    (dependencies, "log_edges"),
    (dependencies, "register_edges"),
    (cycles, "missed_cycles"),
    (cycles, "any_cycles"),
    (cycles, "ordered_cycles"),
    (cycles, "ordered_skews"),
    (cycles, "skews"),
    (graphs, "knots"),
)

ALTERED: Final = (
    Mutant("no cut", [Swap(judging, "without_cut", uncut)]),
    Mutant("every txn is blind", [Swap(dependencies, "is_blind", always("yes"))]),
    Mutant("no fork is one", [Swap(cycles, "is_fork", always(answer=False))]),
    Mutant("all ways are spaced", [Swap(graphs, "spaced", lambda graph: graph)]),
    *(
        Mutant(f"no order of {name}", [Swap(cycles, name, frozenset())])
        for name in ("PROCESS", "TIME")
    ),
    Mutant("the log alone", [Swap(cycles, "LOGGED", cycles.PLAIN | {"log"})]),
    Mutant("every claim counts", [Swap(values, "is_claim", always(""))]),
    Mutant("no doubt adds up", [Swap(sums, "sums_of", always({0}))]),
    Mutant("two rows are a key", [Swap(cells, "twice", always("doubled key"))]),
    Mutant("one row twice", [Swap(cells, "twice", always("doubled row"))]),
    *(
        Mutant(f"no {kind}", [Swap(graphs, "graph_of", without(kind))])
        for kind in ("ww", "wr", "rw", "so", "tk", "rt", "log")
    ),
    *(
        Mutant(f"{kind} backwards", [Swap(graphs, "graph_of", backwards(kind))])
        for kind in ("ww", "wr", "rw", "so", "tk", "rt")
    ),
)

MUTANTS: Final[Sequence[Mutant]] = (
    *(Mutant(f"no {name}", [Swap(owner, name, nothing)]) for owner, name in LEFT_OUT),
    *ALTERED,
    *(with_line(*line) for line in LINES),
)


MODULES: Final = (
    *(anomalies, cells, changes, cycles, dependencies, feeds, graphs, grounds),
    *(judging, pasts, published, stocks, sums, values),
)


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """Let the judge be broken inside the block, wherever a module knows the name."""
    swaps = [
        Swap(module, swap.name, swap.instead)
        for swap in mutant.swaps
        for module in MODULES
        if hasattr(module, swap.name)
    ]
    with swapped(Mutant(mutant.name, swaps)):
        yield


def told_by() -> Iterator[str]:
    """Yield the histories that the judge in use gets wrong: an anomaly missed, or one too many."""
    for name, (kind, found) in PLANTED.items():
        kinds = {anomaly.kind for anomaly in judging.anomalies(found)}
        if kind not in kinds or kinds - NO_MORE.get(name, kinds):
            yield name
    yield from (name for name, found in CLEAN.items() if any(judging.anomalies(found)))
