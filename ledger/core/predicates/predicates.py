"""Read predicates: their evaluation on a file's partition values.

Their form is in `tree.py`, types are Spark SQL's, functions are in `functions.FUNCTIONS`. Values
compare as in Spark's ANSI mode, in the session time zone of the predicate, or in UTC. A timestamp
without a zone, in a literal or a partition value, is in that zone.

An unsupported part counts as TRUE, so a predicate may match too much, never too little. From the
root down through AND and OR, a part that is unknown, not deterministic or over other columns is
TRUE. Any other operator above such a part, also NOT, is TRUE as a whole. A part whose evaluation
fails for a file, for example on a partition value that is not of its type, is TRUE for that file.

The predicates of the latest scans stay compiled, for the next scan with the same text.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.core.partitions.keys import FAILURES, UNCASTABLE, Key, PartitionSchema, Row, key_of
from ledger.core.predicates.expressions import (
    Evaluate,
    Points,
    Typed,
    cast,
    column,
    compare,
    connected,
    contains,
    is_null,
    literal,
    negation,
    null_safe,
)
from ledger.core.predicates.functions import FUNCTIONS, arithmetic, like, negative
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.tree import (
    TRUE_PREDICATE,
    And,
    Arithmetic,
    Call,
    Cast,
    ColumnRef,
    Compare,
    In,
    InZone,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    Unknown,
    node_of,
    parts_of,
    read_wire,
)
from ledger.core.predicates.types import BOOLEAN, Kind, SparkType, UndecidableError, parse_type

__all__ = [
    "TRUE_PREDICATE",
    "UNCASTABLE",
    "CompiledPredicate",
    "Key",
    "PartitionSchema",
    "compile_predicate",
    "key_of",
]

# About as many characters are matched against a pattern in the time of one comparison.
STEPS_PER_COMPARISON: Final = 16


class Scope(NamedTuple):
    """The columns by lower name, with number and type, and the session time zone."""

    columns: Mapping[str, tuple[int, str]]
    zone: str = ""

    def type_of(self, text: str) -> SparkType:
        """Return the type of a text; raises UndecidableError if it is not supported."""
        found = known_type(text)
        has_zone = self.zone and found.kind is Kind.TIMESTAMP
        return found._replace(zone=self.zone) if has_zone else found


@dataclass(frozen=True, slots=True)
class CompiledPredicate:
    """A predicate, ready to be evaluated on the partition values of a file.

    `text` is its wire form. `matches` takes the values as in the log, in the order of the schema,
    and returns whether the predicate is TRUE or not decidable for them. `always`: it matches any
    values. `equals` maps the number of a bound column to the keys of `key_of` that its value has in
    a match, besides UNCASTABLE. An evaluation costs about `operators` comparisons, and `wildcards`
    more steps for each character of the values.
    """

    text: str
    matches: Callable[[Row], bool]
    always: bool
    equals: Mapping[int, frozenset[Key]]
    operators: int = 1
    wildcards: int = 0

    def cost(self, text: str) -> int:
        """Return the cost of an evaluation on one partition, in comparisons."""
        return self.operators + self.wildcards * len(text) // STEPS_PER_COMPARISON


class Bound(NamedTuple):
    """A condition that holds for every matching file, and the keys that columns then have."""

    test: Callable[[Row], bool]
    points: Points


ALWAYS: Final = Bound(lambda _row: True, {})
# It leaves no key for the first column, which every partitioned table has.
NEVER: Final = Bound(lambda _row: False, {0: frozenset()})


def compile_predicate(text: str, schema: PartitionSchema, *, derive: bool) -> CompiledPredicate:
    """Return a predicate in wire form, compiled for the partition columns of a schema.

    A conjunct at the top that reads other columns counts as TRUE, unless `derive` allows
    conclusions from its parts, as for DELETE and UPDATE. Never raises: an unknown text counts as
    TRUE, and so does every predicate in a table without partition columns.
    """
    scope = Scope({name.lower(): (number, type_) for number, (name, type_) in enumerate(schema)})
    tree, operators, wildcards = read_wire(text)
    bound = top_bound(node_of(tree), scope, derive=derive) if schema else ALWAYS
    return CompiledPredicate(
        text, bound.test, bound is ALWAYS, bound.points, max(1, operators), wildcards
    )


def top_bound(node: Node, scope: Scope, *, derive: bool) -> Bound:
    """Return the bound of the conjuncts at the top."""
    match node:
        case And(conjuncts):
            return every(top_bound(conjunct, scope, derive=derive) for conjunct in conjuncts)
        case InZone(zone, inner):
            return top_bound(inner, within(scope, zone), derive=derive)
        case _ if derive or is_own(node, scope):
            return bound_of(node, scope)
        case _:
            return ALWAYS


def is_own(node: Node, scope: Scope) -> bool:
    """Tell whether an expression reads partition columns only."""
    match node:
        case ColumnRef(name):
            return name.lower() in scope.columns
        case Unknown(_, names):
            return names is not None and all(name.lower() in scope.columns for name in names)
        case _:
            return all(is_own(part, scope) for part in parts_of(node))


def bound_of(node: Node, scope: Scope) -> Bound:
    """Return the bound of a condition, widened for its unsupported parts."""
    match node:
        case And(parts):
            return every(bound_of(part, scope) for part in parts)
        case Or(parts):
            return some(bound_of(part, scope) for part in parts)
        case InZone(zone, inner):
            return bound_of(inner, within(scope, zone))
        case _:
            return leaf(node, scope)


def every(bounds: Iterable[Bound]) -> Bound:
    """Return the conjunction of bounds."""
    kept = [bound for bound in bounds if bound is not ALWAYS]
    if len(kept) < 2:  # noqa: PLR2004 - none and one need no conjunction
        return kept[0] if kept else ALWAYS
    tests = [bound.test for bound in kept]
    points: dict[int, frozenset[Key]] = {}
    for number, keys in (item for bound in kept for item in bound.points.items()):
        points[number] = points.get(number, keys) & keys
    return Bound(lambda row: all(test(row) for test in tests), points)


def some(bounds: Iterable[Bound]) -> Bound:
    """Return the disjunction of bounds."""
    kept = [bound for bound in bounds if bound is not NEVER]
    if ALWAYS in kept:
        return ALWAYS
    if len(kept) < 2:  # noqa: PLR2004 - none and one need no disjunction
        return kept[0] if kept else NEVER
    tests = [bound.test for bound in kept]
    confined = frozenset.intersection(*(frozenset(bound.points) for bound in kept))
    points = {
        number: frozenset[Key]().union(*(bound.points[number] for bound in kept))
        for number in sorted(confined)
    }
    return Bound(lambda row: any(test(row) for test in tests), points)


def leaf(node: Node, scope: Scope) -> Bound:
    """Return the bound of a condition that is neither AND nor OR."""
    try:
        found = typed(node, scope)
    except FAILURES:
        return ALWAYS
    if found.type != BOOLEAN and not found.constant:
        return ALWAYS
    if found.constant:
        return NEVER if is_never_true(found.value(())) else ALWAYS
    return Bound(judged(found.value), found.points)


def is_never_true(constant: object) -> bool:
    """Tell whether a constant condition excludes every row; the number 0 is no condition."""
    return constant is None or constant is False


def judged(evaluate: Evaluate) -> Callable[[Row], bool]:
    """Return the test that an expression is TRUE, or not decidable."""

    def test(row: Row) -> bool:
        try:
            return evaluate(row) is True
        except FAILURES:
            return True

    return test


def typed(  # noqa: C901, PLR0911, PLR0912 - one case for each node, each a line
    node: Node, scope: Scope
) -> Typed:
    """Return the expression of a node; raises one of FAILURES if it is not supported."""

    def inner(each: Node) -> Typed:
        return typed(each, scope)

    match node:
        case ColumnRef(name):
            number, type_ = scope.columns[name.lower()]
            return column(number, scope.type_of(type_))
        case Literal(text, type_):
            return literal(text, scope.type_of(type_))
        case Compare("<=>", left, right):
            return null_safe(inner(left), inner(right))
        case Compare(symbol, left, right):
            return compare(symbol, inner(left), inner(right))
        case And(parts) | Or(parts):
            return connected([inner(part) for part in parts], decisive=isinstance(node, Or))
        case Not(value):
            return negation(inner(value))
        case IsNull(value):
            return is_null(inner(value))
        case In(value, items):
            return contains(inner(value), [inner(item) for item in items])
        case Like(value, pattern):
            return like(inner(value), inner(pattern))
        case Cast(value, type_):
            return cast(inner(value), scope.type_of(type_))
        case Call(name, arguments):
            return called(name, [inner(argument) for argument in arguments])
        case Arithmetic(symbol, left, right):
            return arithmetic(symbol, inner(left), inner(right))
        case Negative(value):
            return negative(inner(value))
        case InZone(zone, value):
            return typed(value, within(scope, zone))
    raise UndecidableError(f"{node} is not supported")


def called(name: str, arguments: list[Typed]) -> Typed:
    """Return the call of a function."""
    function, fewest, most = FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        raise UndecidableError(
            f"{name} must have {fewest} to {most} arguments, got {len(arguments)}"
        )
    return function(*arguments)


def within(scope: Scope, zone: str) -> Scope:
    """Return a scope in another session time zone, by the canonical name of the zone.

    An unknown zone stays as it is, and an expression that needs its rules fails.
    """
    try:
        return scope._replace(zone=canonical_zone(zone))
    except UndecidableError:
        return scope._replace(zone=zone)


def known_type(text: str) -> SparkType:
    """Return the type of a text; raises UndecidableError if it is not supported."""
    found = parse_type(text)
    if found is None:
        raise UndecidableError(f"type {text} is not supported")
    return found


COMPILED_MAX: Final = 4_096
# A compiled text takes up to forty times its length in memory.
COMPILED_CHARS_MAX: Final = 4 * 1024 * 1024
# A comparison takes microseconds. A part whose scans need more of them, over all new partitions,
# would delay all other commands: its scans count as reading everything.
ASKED_MAX: Final = 100_000


@dataclass(slots=True)
class Predicates:
    """A cache of compiled predicates, from which the least recently used leave.

    The scans of one part take at most `asked_max` steps over new partitions. `chars` is the length
    of all texts in the cache.
    """

    compiled: OrderedDict[tuple[str, PartitionSchema, bool], CompiledPredicate] = field(
        default_factory=OrderedDict
    )
    asked_max: int = ASKED_MAX
    chars: int = 0

    def of(self, text: str, schema: PartitionSchema, *, derive: bool) -> CompiledPredicate:
        """Return a predicate, compiled for a schema; the newest ones are kept."""
        key = text, schema, derive
        found = self.compiled.get(key)
        if found is None:
            found = self.compiled[key] = compile_predicate(text, schema, derive=derive)
            self.chars += len(text)
            while len(self.compiled) > COMPILED_MAX or self.chars > COMPILED_CHARS_MAX:
                oldest, _ = self.compiled.popitem(last=False)
                self.chars -= len(oldest[0])
        else:
            self.compiled.move_to_end(key)
        return found
