"""Cycles of dependencies, the shortest of each kind in each knot of txns.

A knot is a strongly connected component. Reads of writes and writes over writes alone give G0 and
G1c. One edge of a missed write more gives G-single, several give G2. Orders of session, token and
time come last, so that a cycle has the name of what alone shows it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from tests.consistency.judge.anomalies import Anomaly, Kind
from tests.consistency.judge.dependencies import Edge, EdgeKind

Graph: TypeAlias = Mapping[str, Sequence[Edge]]
PER_KIND_MAX: Final = 20
PLAIN: Final[frozenset[EdgeKind]] = frozenset({"ww", "wr"})
SESSION: Final[frozenset[EdgeKind]] = PLAIN | {"so", "tk"}
TIMED: Final[frozenset[EdgeKind]] = SESSION | {"rt"}
LOGGED: Final[frozenset[EdgeKind]] = PLAIN | {"log"}
MISSED: Final[frozenset[EdgeKind]] = frozenset({"rw"})


def graph_of(edges: Iterable[Edge], kinds: frozenset[EdgeKind]) -> Graph:
    """Return the edges of some kinds by their source, each pair of txns once for each kind."""
    kept: dict[str, list[Edge]] = defaultdict(list)
    known: set[tuple[str, str, EdgeKind]] = set()
    for edge in edges:
        name = edge.source, edge.target, edge.kind
        is_edge = edge.kind in kinds and edge.source and edge.target
        if is_edge and edge.source != edge.target and name not in known:
            known.add(name)
            kept[edge.source].append(edge)
    return kept


def knots(graph: Graph) -> Iterator[frozenset[str]]:
    """Yield the strongly connected components of more than one txn (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    held: set[str] = set()
    for root in list(graph):
        if root in index:
            continue
        work: list[tuple[str, Iterator[Edge]]] = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        held.add(root)
        while work:
            node, edges = work[-1]
            for edge in edges:
                if edge.target not in index:
                    index[edge.target] = low[edge.target] = len(index)
                    stack.append(edge.target)
                    held.add(edge.target)
                    work.append((edge.target, iter(graph.get(edge.target, ()))))
                    break
                if edge.target in held:
                    low[node] = min(low[node], index[edge.target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield from component(node, stack, held)


def component(node: str, stack: list[str], held: set[str]) -> Iterator[frozenset[str]]:
    """Take a component off the stack."""
    members: list[str] = []
    while not members or members[-1] != node:
        members.append(stack.pop())
        held.discard(members[-1])
    if len(members) > 1:
        yield frozenset(members)


def path(graph: Graph, source: str, target: str, within: frozenset[str]) -> list[Edge] | None:
    """Return the shortest way from one txn to another that stays within some."""
    came: dict[str, Edge | None] = {source: None}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for edge in graph.get(node, ()):
            if edge.target == target:
                return [*way_back(came, node), edge]
            if edge.target in within and edge.target not in came:
                came[edge.target] = edge
                queue.append(edge.target)
    return None


def way_back(came: Mapping[str, Edge | None], node: str) -> list[Edge]:
    """Return the edges by which a search came to a txn."""
    found: list[Edge] = []
    edge = came[node]
    while edge is not None:
        found.append(edge)
        edge = came[edge.source]
    return found[::-1]


def told(kind: Kind, cycle: Sequence[Edge]) -> Anomaly:
    """Return a cycle as a finding."""
    steps = "; ".join(f"{edge.source} -{edge.kind}-> {edge.target} ({edge.why})" for edge in cycle)
    return Anomaly(kind, steps, [edge.source for edge in cycle])


def single_cycles(
    edges: Sequence[Edge], kinds: frozenset[EdgeKind], name: Callable[[Sequence[Edge]], Kind | None]
) -> Iterator[Anomaly]:
    """Yield cycles of some kinds of edges with exactly one missed write."""
    whole = graph_of(edges, kinds | MISSED)
    plain = graph_of(edges, kinds)
    for knot in knots(whole):
        for edge in (edge for node in knot for edge in whole.get(node, ()) if edge.kind == "rw"):
            way = path(plain, edge.target, edge.source, knot)
            kind = name([edge, *way]) if way is not None else None
            if way is not None and kind is not None:
                yield told(kind, [edge, *way])


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
    del cycle
    return "G-single"


def session_name(cycle: Sequence[Edge]) -> Kind | None:
    """Return which promise to a session a cycle breaks, None if it is not by a session."""
    kinds = {edge.kind for edge in cycle}
    if "tk" in kinds:
        return "token ignored"
    if "so" not in kinds:
        return None
    is_own = any(edge.kind == "so" and edge.source == cycle[0].target for edge in cycle)
    return "read your writes" if is_own else "monotonic reads"


def time_name(cycle: Sequence[Edge]) -> Kind | None:
    return "stale read" if any(edge.kind == "rt" for edge in cycle) else None


def cycle_anomalies(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield what all cycles of a history show, each kind bounded."""
    yield from few(any_cycles(edges, frozenset({"ww"}), "G0"))
    circular = few(any_cycles(edges, PLAIN, "G1c"))
    yield from (anomaly for anomaly in circular if "-wr->" in anomaly.what)
    yield from few(single_cycles(edges, PLAIN, plain_name))
    yield from few(single_cycles(edges, SESSION, session_name))
    yield from few(single_cycles(edges, TIMED, time_name))
    yield from few(skews(edges, "G2-item"))
    yield from few(log_cycles(edges))


def skews(edges: Sequence[Edge], kind: Kind) -> Iterator[Anomaly]:
    """Yield cycles with several missed writes."""
    missed = any_cycles(edges, PLAIN | MISSED, kind)
    return (anomaly for anomaly in missed if anomaly.what.count("-rw->") > 1)


def log_cycles(edges: Sequence[Edge]) -> Iterator[Anomaly]:
    """Yield commits that depend on what stands behind them in the log."""
    found = any_cycles(edges, LOGGED, "log order broken")
    return (anomaly for anomaly in found if "-log->" in anomaly.what)
