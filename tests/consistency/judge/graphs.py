"""Graphs of txns: edges of some kinds, knots, the shortest ways, and ways with gaps.

A knot is a strongly connected component: each of its txns comes before each other one.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tests.consistency.judge.dependencies import Edge, EdgeKind

Graph: TypeAlias = Mapping[str, Sequence[Edge]]
BEHIND = "'"


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


def spaced(graph: Graph) -> Graph:
    """Return a graph in which no way has two missed writes in a row.

    Each txn is there twice: `x'` is x behind a missed write, and no missed write leaves it.
    """
    found: dict[str, Sequence[Edge]] = {}
    for node, edges in graph.items():
        found[node] = [
            edge._replace(target=edge.target + BEHIND) if edge.kind == "rw" else edge
            for edge in edges
        ]
        found[node + BEHIND] = [
            edge._replace(source=node + BEHIND) for edge in edges if edge.kind != "rw"
        ]
    return found


def plain(edge: Edge) -> Edge:
    """Return an edge of a spaced graph as it was."""
    return edge._replace(
        source=edge.source.removesuffix(BEHIND), target=edge.target.removesuffix(BEHIND)
    )
