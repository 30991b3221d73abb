"""The tree of a condition: typed nodes, and their form on the wire.

The wire form is one compact JSON text, a tree of arrays that begin with a word:

    ["and", x, y, ...]   ["or", x, y, ...]   ["not", x]   ["is_null", x]
    ["=", a, b]   and likewise <>  <  <=  >  >=  <=>  +  -  *  /  %
    ["in", x, [item, ...]]   ["neg", x]   ["cast", x, type]   ["call", function, x, ...]
    ["like", x, pattern]             the escape character is a backslash
    ["col", name]                    a column of the table, in any case of letters
    ["lit", text, type]              CAST(text AS type); NULL is ["lit", null, "void"]
    ["unknown", sql, [name, ...]]    not representable or not deterministic, reads these columns
    ["unknown", sql]                 the same, but may read any column
    ["in_zone", zone, x]             x in a session of another time zone than UTC

This module alone knows the arrays. A client may send any JSON: what is no such form becomes `Odd`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.json_text import DEPTH_MAX, depth_of, read_json

TRUE_PREDICATE: Final = '["lit","true","boolean"]'
COMPARED: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
COMPUTED: Final = frozenset({"+", "-", "*", "/", "%"})
LEAVES: Final = frozenset({"col", "lit"})
SHOWN_CHARS_MAX: Final = 200
CUT: Final = "\u2026"
"""The end of a text that is shown in part."""


@dataclass(frozen=True, slots=True)
class Node:
    """A condition or a value, or a part of one."""

    def to_wire(self) -> str:
        """Return the wire form."""
        return wire_text(arrays_of(self))

    def columns(self) -> list[str]:
        """Return the columns that it names, in their order."""
        found: dict[str, None] = {}
        for node in walked(self):
            if isinstance(node, ColumnRef):
                found[node.name] = None
            elif isinstance(node, Unknown):
                found.update(dict.fromkeys(node.names or ()))
        return list(found)

    def zones(self) -> set[str]:
        """Return the time zones that its parts name."""
        return {node.zone for node in walked(self) if isinstance(node, InZone)}

    def in_zone(self, zone: str) -> "Node":
        """Return the condition as a session of a time zone means it, "" = UTC."""
        return self if not zone or judged(self) == TRUE else InZone(zone, self)


@dataclass(frozen=True, slots=True)
class ColumnRef(Node):
    """A column of the table."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant by its text, None for NULL; `is_number` if SQL has it as a number."""

    text: str | None
    type: str
    is_number: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Unknown(Node):
    """What no evaluation understands; it reads the columns of these names, None = any column."""

    sql: str
    names: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Several(Node):
    """Parts that belong together."""

    parts: Sequence[Node]


class And(Several):
    """All of some conditions."""

    __slots__ = ()


class Or(Several):
    """One of some conditions."""

    __slots__ = ()


class Odd(Several):
    """What is no form of a condition, with the parts in it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Single(Node):
    """An operator on one value."""

    value: Node


class Not(Single):
    """NOT, which keeps NULL."""

    __slots__ = ()


class IsNull(Single):
    """Whether there is no value; it is never NULL itself."""

    __slots__ = ()


class Negative(Single):
    """A number with the other sign."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Pair(Node):
    """An operator between two values."""

    symbol: str
    left: Node
    right: Node


class Compare(Pair):
    """A comparison."""

    __slots__ = ()


class Arithmetic(Pair):
    """A sum, difference, product, quotient or remainder."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Like(Node):
    """LIKE; the escape character is a backslash."""

    value: Node
    pattern: Node


@dataclass(frozen=True, slots=True)
class In(Node):
    """IN over a list."""

    value: Node
    items: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A value in another type."""

    value: Node
    type: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function over arguments."""

    name: str
    arguments: Sequence[Node]


@dataclass(frozen=True, slots=True)
class InZone(Node):
    """A part that is meant in the time zone of another session."""

    zone: str
    value: Node


@dataclass(frozen=True, slots=True)
class RowForm(Node):
    """A part in two forms: as partitions and bounds are judged by it, and as rows evaluate it."""

    judged: Node
    rows: Node


TRUE: Final = Literal("true", "boolean")
FALSE: Final = Literal("false", "boolean")
NULL: Final = Literal(None, "void")
# What may read any column, for a form that should name one and does not.
ANY: Final = Unknown("")


def of_wire(text: str) -> Node:
    """Return the tree of a text; raises ValueError if it is no JSON, too large or too deep."""
    if len(text) > PREDICATE_CHARS_MAX:
        raise ValueError(f"a condition must have {PREDICATE_CHARS_MAX} characters at most")
    return node_of(read_json(text))


def read_wire(text: str) -> tuple[Any, int, int]:
    """Return any text as `node_of` takes it, its number of operators and characters of patterns."""
    try:
        tree = read_json(text) if len(text) <= PREDICATE_CHARS_MAX else None
    except ValueError:
        tree = None
    operators = chars = 0
    for array in arrays_in(tree):
        operators += array[0] not in LEAVES
        chars += len(str(array[-1])) if array[0] == "like" else 0
    return tree, operators, chars


def is_array(text: str) -> bool:
    """Return whether a text has the outer form of a condition; raises ValueError for no JSON."""
    return isinstance(read_json(text), list)


def arrays_in(tree: Any) -> Iterator[list[Any]]:
    """Yield every array that begins with a word."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, list):
            left.extend(node)
            if node and isinstance(node[0], str):
                yield node


def node_of(tree: Any) -> Node:  # noqa: C901, PLR0911, PLR0912 - a case for each form
    """Return the node of an array; anything else is odd."""
    match tree:
        case ["col", str(name)]:
            return ColumnRef(name)
        case ["lit", str() | None as text, str(type_)]:
            return Literal(text, type_)
        case ["lit", *_]:
            return Odd(())
        case ["and", *parts] if parts:
            return And(tuple(map(node_of, parts)))
        case ["or", *parts] if parts:
            return Or(tuple(map(node_of, parts)))
        case ["not", value]:
            return Not(node_of(value))
        case ["is_null", value]:
            return IsNull(node_of(value))
        case ["neg", value]:
            return Negative(node_of(value))
        case ["in", value, [*items]] if items:
            return In(node_of(value), tuple(map(node_of, items)))
        case ["like", value, pattern]:
            return Like(node_of(value), node_of(pattern))
        case ["cast", value, str(type_)]:
            return Cast(node_of(value), type_)
        case ["call", str(name), *arguments]:
            return Call(name, tuple(map(node_of, arguments)))
        case ["in_zone", str(zone), value]:
            return InZone(zone, node_of(value))
        case ["unknown", str(sql), [*names]] if all(isinstance(each, str) for each in names):
            return Unknown(sql, tuple(names))
        case ["unknown", str(sql), *_]:
            return Unknown(sql)
        case ["col" | "unknown", *_]:
            return Odd((ANY,))
        case [str(symbol), left, right] if symbol in COMPARED:
            return Compare(symbol, node_of(left), node_of(right))
        case [str(symbol), left, right] if symbol in COMPUTED:
            return Arithmetic(symbol, node_of(left), node_of(right))
        case [*parts]:
            return Odd(tuple(map(node_of, parts)))
    return Odd(())


def arrays_of(node: Node) -> list[Any]:  # noqa: C901, PLR0911, PLR0912 - a case for each node
    """Return the array of a node; raises TypeError for a node that has none."""
    match node:
        case ColumnRef(name):
            return ["col", name]
        case Literal(text, type_):
            return ["lit", text, type_]
        case Compare(symbol, left, right) | Arithmetic(symbol, left, right):
            return [symbol, arrays_of(left), arrays_of(right)]
        case And(parts):
            return ["and", *map(arrays_of, parts)]
        case Or(parts):
            return ["or", *map(arrays_of, parts)]
        case Not(value):
            return ["not", arrays_of(value)]
        case IsNull(value):
            return ["is_null", arrays_of(value)]
        case In(value, items):
            return ["in", arrays_of(value), [arrays_of(item) for item in items]]
        case RowForm(form):
            return arrays_of(form)
        case Like(value, pattern):
            return ["like", arrays_of(value), arrays_of(pattern)]
        case Cast(value, type_):
            return ["cast", arrays_of(value), type_]
        case Call(name, arguments):
            return ["call", name, *map(arrays_of, arguments)]
        case Negative(value):
            return ["neg", arrays_of(value)]
        case InZone(zone, value):
            return ["in_zone", zone, arrays_of(value)]
        case Unknown(sql, None):
            return ["unknown", sql]
        case Unknown(sql, names):
            return ["unknown", sql, list(names or ())]
    raise TypeError(f"{node} has no wire form")


def parts_of(node: Node) -> Sequence[Node]:
    """Return the nodes directly in a node, as it is judged."""
    match node:
        case Several(parts) | Call(_, parts):
            return parts
        case Pair(_, left, right) | Like(left, right):
            return left, right
        case Single(value) | Cast(value) | InZone(_, value) | RowForm(value):
            return (value,)
        case In(value, items):
            return value, *items
    return ()


def walked(node: Node) -> Iterator[Node]:
    """Yield a node and all parts of it, from left to right."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left.extend(reversed(parts_of(found)))


def judged(node: Node) -> Node:
    """Return a node as partitions and bounds are judged by it."""
    return node.judged if isinstance(node, RowForm) else node


def wire_text(arrays: list[Any]) -> str:
    """Return the one text of a tree."""
    return json.dumps(arrays, separators=(",", ":"))


def fits(node: Node) -> bool:
    """Return whether every judge reads a condition: it is neither too large nor too deep."""
    arrays = arrays_of(node)
    return depth_of(arrays) <= DEPTH_MAX and len(wire_text(arrays)) <= PREDICATE_CHARS_MAX


def connected(kind: type[And] | type[Or], parts: Iterable[Node]) -> Node:
    """Return AND or OR of parts, without neutral parts and repetitions."""
    neutral = TRUE if kind is And else FALSE
    flat: list[Node] = []
    for part in map(judged, parts):
        flat += part.parts if isinstance(part, kind) else (part,)
    kept = list({part.to_wire(): part for part in flat if part != neutral}.values())
    if len(kept) > 1:
        return kind(tuple(kept))
    return kept[0] if kept else neutral


def negated(node: Node) -> Node:
    """Return NOT of a condition; twice NOT is the condition itself."""
    return node.value if isinstance(node, Not) else Not(node)


def shown_unknown(sql: str, names: Sequence[str] | None = None) -> Unknown:
    """Return the unknown node of a text, which is shown in part if it is long."""
    is_long = len(sql) > SHOWN_CHARS_MAX
    return Unknown(f"{sql[: SHOWN_CHARS_MAX - 1]}{CUT}" if is_long else sql, names)
