"""Cycles of dependencies, the shortest of each kind in each knot of txns.

Reads of writes and writes over writes alone give G0 and G1c. Missed writes give G-single (one),
G-nonadjacent (several, no two in a row) and G2 (any). Orders of session, token and time come last,
so that a cycle has the name of what alone shows it: Elle ends such names in -process and -realtime.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tests.consistency.judge.anomalies import Anomaly, Kind
from tests.consistency.judge.dependencies import Edge, EdgeKind
from tests.consistency.judge.graphs import BEHIND, graph_of, knots, path, plain, spaced

PER_KIND_MAX: Final = 20
WRITTEN: Final[frozenset[EdgeKind]] = frozenset({"ww"})
PLAIN: Final[frozenset[EdgeKind]] = frozenset({"ww", "wr"})
PROCESS: Final[frozenset[EdgeKind]] = frozenset({"so", "tk"})
TIME: Final[frozenset[EdgeKind]] = frozenset({"rt"})
SESSION: Final[frozenset[EdgeKind]] = PLAIN | PROCESS
TIMED: Final[frozenset[EdgeKind]] = SESSION | TIME
LOGGED: Final[frozenset[EdgeKind]] = TIMED | {"log"}
MISSED: Final[frozenset[EdgeKind]] = frozenset({"rw"})


def told(kind: Kind, cycle: Sequence[Edge]) -> Anomaly:
    """Return a cycle as a finding."""
    steps = "; ".join(f"{edge.source} -{edge.kind}-> {edge.target} ({edge.why})" for edge in cycle)
    tables = sorted({edge.table for edge in cycle} - {""})
    return Anomaly(kind, steps, [edge.source for edge in cycle], tables)


def missed_cycles(
    edges: Sequence[Edge], kinds: frozenset[EdgeKind], name: Callable[[Sequence[Edge]], Kind | None]
) -> Iterator[Anomaly]:
    """Yield cycles with missed writes of which no two stand in a row.

    One snapshot for each txn allows none of them: what follows a missed write in such a cycle began
    its commit after the reader had its snapshot.
    """
    whole, direct = spaced(graph_of(edges, kinds | MISSED)), graph_of(edges, kinds)
    for knot in knots(whole):
        within = frozenset(node.removesuffix(BEHIND) for node in knot)
        for edge in (edge for node in knot for edge in whole.get(node, ())):
            if edge.kind != "rw" or edge.target not in knot:
                continue
            first = plain(edge)
            way = path(direct, first.target, first.source, within)
            way = way or path(whole, edge.target, edge.source, knot)
            cycle = [first, *map(plain, way or ())]
            kind = name(cycle) if way is not None else None
            if kind is not None:
                yield told(kind, cycle)


def any_cycles(edges: Sequence[Edge], kinds: frozenset[EdgeKind], kind: Kind) -> Iterator[Anomaly]:
    """Yield the shortest cycle of each knot of some kinds of edges."""
    graph = graph_of(edges, kinds)
    for knot in knots(graph):
        ways = (path(graph, node, node, knot) for node in sorted(knot)[:PER_KIND_MAX])
        found = [way for way in ways if way is not None]
        yield told(kind, min(found, key=len))


def few(found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """Yield findings with different txns, and no more of one kind than a reader looks at."""
    known: set[tuple[Kind, frozenset[str]]] = set()
    counts: dict[Kind, int] = defaultdict(int)
    for anomaly in found:
        name = anomaly.kind, frozenset(anomaly.txns)
        if name not in known and counts[anomaly.kind] < PER_KIND_MAX:
            known.add(name)
            counts[anomaly.kind] += 1
            yield anomaly


def plain_name(cycle: Sequence[Edge]) -> Kind:
    return "G-nonadjacent" if is_fork(cycle) else "G-single"


def is_fork(cycle: Sequence[Edge]) -> bool:
    return sum(edge.kind == "rw" for edge in cycle) > 1


def session_name(cycle: Sequence[Edge]) -> Kind | None:
    """Return which promise to a session a cycle breaks, None if it is not by a session."""
    kinds = {edge.kind for edge in cycle}
    if not kinds & {"so", "tk"}:
        return None
    if is_fork(cycle):
        return "G-nonadjacent-process"
    if "tk" in kinds:
        return "token ignored"
    is_own = any(edge.kind == "so" and edge.source == cycle[0].target for edge in cycle)
    return "read your writes" if is_own else "monotonic reads"


def time_name(cycle: Sequence[Edge]) -> Kind | None:
    if not any(edge.kind == "rt" for edge in cycle):
        return None
    return "G-nonadjacent-realtime" if is_fork(cycle) else "stale read"


def cycle_anomalies(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield what all cycles of a history show, each kind bounded."""
    yield from few(any_cycles(edges, WRITTEN, "G0"))
    yield from few(with_edge("wr", any_cycles(edges, PLAIN, "G1c")))
    yield from few(missed_cycles(edges, PLAIN, plain_name))
    yield from few(ordered_cycles(edges))
    yield from few(missed_cycles(edges, SESSION, session_name))
    yield from few(missed_cycles(edges, TIMED, time_name))
    yield from few(ordered_skews(edges))
    yield from few(with_edge("log", any_cycles(edges, LOGGED, "log order broken")))


def ordered_cycles(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield cycles without a missed write by which a session, a token or time goes backwards."""
    yield from of_process(with_edge("ww", any_cycles(edges, WRITTEN | PROCESS, "G0-process")))
    yield from of_process(with_edge("wr", any_cycles(edges, SESSION, "G1c-process")))
    by_time = any_cycles(edges, WRITTEN | PROCESS | TIME, "G0-realtime")
    yield from with_edge("rt", with_edge("ww", by_time))
    yield from with_edge("rt", with_edge("wr", any_cycles(edges, TIMED, "G1c-realtime")))


def with_edge(kind: EdgeKind, found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """Yield the cycles that have an edge of a kind."""
    return (anomaly for anomaly in found if f"-{kind}->" in anomaly.what)


def of_process(found: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """Yield the cycles that have an edge of a session or of a token."""
    return (each for each in found if "-so->" in each.what or "-tk->" in each.what)


def skews(
    edges: Sequence[Edge], kind: Kind, kinds: frozenset[EdgeKind] = PLAIN
) -> Iterator[Anomaly]:
    """Yield cycles with several missed writes."""
    missed = any_cycles(edges, kinds | MISSED, kind)
    return (anomaly for anomaly in missed if anomaly.what.count("-rw->") > 1)


def ordered_skews(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield cycles with several missed writes that sessions or time close."""
    yield from of_process(skews(edges, "G2-item-process", SESSION))
    yield from with_edge("rt", skews(edges, "G2-item-realtime", TIMED))
