"""Read predicates out of Spark SQL: the text of a condition becomes the wire form of the core.

A part that the wire form cannot express becomes an `unknown` node, as small as possible. It counts
as TRUE when the predicate is judged. A qualified name is such a part: `t.part` may be a column of
this table, a column of another table, or a field of a struct.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.json_text import DEPTH_MAX, depth_of
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.core.predicates.types import number_type, parse_type
from ledger.errors import LedgerError

Node = list[Any]

# The parser also logs what it refuses. Without a handler its words would reach stderr.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

DIALECT: Final = "spark"
# Depth of nested brackets, below the limit of the parser. CASE and repeated signs nest as well.
BRACKETS_MAX: Final = 20
OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})
# Words between two AND, OR or commas: each operator of a chain is a level of the parser's tree.
CHAIN_MAX: Final = 1000
PARTING: Final = frozenset({TokenType.AND, TokenType.OR, TokenType.COMMA})
SIGNS: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
PARSED_MAX: Final = 16
UNKNOWN_CHARS_MAX: Final = 200
CUT: Final = "\u2026"
"""The end of a text that is shown in part."""

TRUE_NODE: Final[Node] = json.loads(TRUE_PREDICATE)
FALSE_NODE: Final[Node] = ["lit", "false", "boolean"]
# Escapes in literals that Spark and the parser read alike.
KNOWN_ESCAPES: Final = re.compile(r"(?:[^\\]|\\[\\'\"%_nrt])*", re.DOTALL)

# This end of a line does not end a comment in Spark; in the parser it does.
COMMENT_GOES_ON: Final = "\\\n"

COMPARISONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
OPERATORS: Final[Mapping[type[exp.Expr], str]] = {
    **COMPARISONS,
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
FUNCTIONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Abs: "abs",
    exp.Coalesce: "coalesce",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.Length: "length",
    exp.Lower: "lower",
    exp.Month: "month",
    exp.Substring: "substring",
    exp.Upper: "upper",
    exp.Year: "year",
}
# The known forms with their known arguments; any other argument makes a form unknown.
FORMS: Final[Mapping[type[exp.Expr], AbstractSet[str]]] = {
    **{form: {"this", "expression"} for form in OPERATORS},
    **{form: {"this"} for form in FUNCTIONS},
    exp.And: {"this", "expression"},
    exp.Between: {"this", "low", "high"},
    exp.Boolean: {"this"},
    exp.Cast: {"this", "to"},
    exp.Coalesce: {"this", "expressions"},
    exp.Column: {"this"},
    exp.Div: {"this", "expression", "typed", "safe"},
    exp.In: {"this", "expressions"},
    exp.Is: {"this", "expression"},
    exp.Like: {"this", "expression", "negate"},
    exp.Literal: {"this", "is_string"},
    exp.Neg: {"this"},
    exp.Not: {"this"},
    exp.Null: set(),
    exp.NullSafeNEQ: {"this", "expression"},
    exp.Or: {"this", "expression"},
    exp.Paren: {"this"},
    exp.Substring: {"this", "start", "length"},
    exp.TryCast: {"this", "to"},
    exp.TsOrDsToDate: {"this", "safe"},
}
# The parser's message, which names its own classes.
MISSING: Final = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+\.(\w+)'>")
# Spark gives all of these one precedence, the parser several: without brackets it may group them in
# another way than Spark.
RANKED: Final = (*COMPARISONS, exp.NullSafeNEQ, exp.Is, exp.In, exp.Like, exp.Between)


class PredicateSyntaxError(LedgerError, ValueError):
    """A text is not a condition of Spark SQL; the message holds the text and the place."""


def predicate_tree(sql: str) -> str:
    """Return the wire form of a condition in Spark SQL.

    Raises PredicateSyntaxError if it does not parse, TypeError for anything but a text. A condition
    that is too large, or nested too deep, is `unknown` as a whole.
    """
    if not isinstance(sql, str):
        raise TypeError(f"a condition must be a text of Spark SQL or an expression, got {sql!r}")
    try:
        tree = node_of(parsed(sql)) if is_readable(sql) else unknown_text(sql)
    except RecursionError:
        tree = unknown_text(sql)
    return wire_text(tree if fits(tree) else unknown_text(sql))


def fits(tree: Node) -> bool:
    """Return whether every judge reads a condition: it is neither too large nor too deep."""
    return depth_of(tree) <= DEPTH_MAX and len(wire_text(tree)) <= PREDICATE_CHARS_MAX


def wire_text(tree: Node) -> str:
    """Return the one text of a tree."""
    return json.dumps(tree, separators=(",", ":"))


@lru_cache(PARSED_MAX)
def parsed(sql: str) -> exp.Expr:
    """Return the parsed condition, which is not to be changed; raises PredicateSyntaxError."""
    try:
        found = sqlglot.parse_one(sql, read=DIALECT, into=exp.Condition)
    except SqlglotError as error:
        raise PredicateSyntaxError(f"'{sql}' is not a condition: {place_of(error)}") from error
    except RecursionError:
        raise PredicateSyntaxError(
            f"'{sql[:UNKNOWN_CHARS_MAX]}' must be nested less deep: join conditions with AND and OR"
        ) from None
    if isinstance(found, exp.Block):
        raise PredicateSyntaxError(f"'{sql}' is not a condition: it is more than one statement")
    if any(is_empty(each) for each in found.find_all(exp.In)):
        raise PredicateSyntaxError(f"'{sql}' is not a condition: IN needs one value at least")
    return found


def is_empty(found: exp.In) -> bool:
    """Return whether an IN has no values, which the parser takes and Spark refuses."""
    return not any(value for name, value in found.args.items() if name != "this")


def place_of(error: SqlglotError) -> str:
    """Return where and why the parser stopped."""
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else None
    if first is None:
        return str(error)
    place = f"line {first['line']}, column {first['col']}, at '{first['highlight']}'"
    return f"{place}: {MISSING.sub(missing, first['description'])}"


def missing(found: re.Match[str]) -> str:
    """Return what is missing, in words of Spark SQL and not of the parser's classes."""
    symbols = {form.__name__: symbol for form, symbol in OPERATORS.items()}
    return f"an operand of {symbols.get(found[1], found[1].upper())} is missing"


def is_readable(sql: str) -> bool:
    """Return whether the parser reads this text as Spark does, and within bounds.

    Raises PredicateSyntaxError if the text cannot be divided into words.
    """
    if len(sql) > PREDICATE_CHARS_MAX or COMMENT_GOES_ON in sql:
        return False
    try:
        tokens = sqlglot.tokenize(sql, read=DIALECT)
    except SqlglotError as error:
        raise PredicateSyntaxError(f"'{sql}' is not a condition: {error}") from error
    signs, open_chains = 0, [0]
    for token in tokens:
        literal = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING and not KNOWN_ESCAPES.fullmatch(literal):
            return False
        signs = signs + 1 if token.token_type in SIGNS else 0
        open_chains[-1] = 0 if token.token_type in PARTING else open_chains[-1] + 1
        if token.token_type in OPENING:
            open_chains.append(0)
        elif token.token_type in CLOSING and len(open_chains) > 1:
            open_chains.pop()
        if len(open_chains) + signs - 1 > BRACKETS_MAX or open_chains[-1] > CHAIN_MAX:
            return False
    return True


def node_of(found: exp.Expr) -> Node:  # noqa: PLR0911 - one case for each form
    """Return the tree of a parsed condition or of a part of it."""
    if not is_plain(found):
        return unknown(found)
    match found:
        case exp.Paren():
            return node_of(found.this)
        case exp.And():
            return connected("and", map(node_of, found.flatten()))
        case exp.Or():
            return connected("or", map(node_of, found.flatten()))
        case exp.Not():
            return negated(node_of(found.this))
        case exp.Column():
            return ["col", found.name]
        case exp.Cast() | exp.TsOrDsToDate():
            return cast(found)
        case exp.NullSafeNEQ() | exp.Is() | exp.In() | exp.Like() | exp.Between():
            return worded(found)
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Neg():
            return constant(found)
        case _:
            return computed(found)


def is_plain(found: exp.Expr) -> bool:
    """Return whether a part has only known arguments, grouped as Spark groups them."""
    said = {name for name, value in found.args.items() if value}
    if not said <= FORMS.get(type(found), set()) or type(found) not in FORMS:
        return False
    if not isinstance(found, RANKED):
        return True
    sides = (found.args.get(name) for name in ("this", "expression", "low", "high"))
    return not any(isinstance(side, (*RANKED, exp.Not, exp.Connector)) for side in sides)


def connected(word: str, parts: Iterable[Node]) -> Node:
    """Return AND or OR of parts, without neutral parts and repetitions."""
    neutral = TRUE_NODE if word == "and" else FALSE_NODE
    flat = [inner for part in parts for inner in (part[1:] if part[0] == word else [part])]
    kept = list({wire_text(part): part for part in flat if part != neutral}.values())
    if len(kept) > 1:
        return [word, *kept]
    return kept[0] if kept else neutral


def negated(node: Node) -> Node:
    """Return NOT of a condition; twice NOT is the condition itself."""
    inner: Node = node[1] if node[0] == "not" else ["not", node]
    return inner


def worded(found: exp.Expr) -> Node:  # noqa: PLR0911 - one case for each form
    """Return the tree of a test that Spark SQL spells with words."""
    value, other = node_of(found.this), found.args.get("expression")
    match found:
        case exp.Between():
            low, high = node_of(found.args["low"]), node_of(found.args["high"])
            return connected("and", [[">=", value, low], ["<=", value, high]])
        case exp.In():
            return ["in", value, [node_of(item) for item in found.expressions]]
        case exp.Like():
            node = ["like", value, node_of(found.expression)]
            return negated(node) if found.args.get("negate") else node
        case exp.NullSafeNEQ():
            return negated(["<=>", value, node_of(found.expression)])
        case _ if isinstance(other, exp.Null):
            return ["is_null", value]
        case _ if isinstance(other, exp.Boolean):
            return ["<=>", value, node_of(other)]
    return unknown(found)


def cast(found: exp.Expr) -> Node:
    """Return a cast; a cast of a text is a literal of its own."""
    name = found.args["to"].sql(dialect=DIALECT) if "to" in found.args else "date"
    type_ = parse_type(name)
    if type_ is None:
        return unknown(found)
    match node_of(found.this):
        case ["lit", text, "string" | "void"]:
            return ["lit", text, str(type_)]
        case inner:
            return ["cast", inner, str(type_)]


def constant(found: exp.Expr) -> Node:
    """Return a literal, with its sign, or a value with its sign turned."""
    match found:
        case exp.Null():
            return ["lit", None, "void"]
        case exp.Boolean():
            return TRUE_NODE if found.this else FALSE_NODE
        case exp.Literal(is_string=True):
            return ["lit", found.this, "string"]
        case exp.Literal():
            return number_node(found.this) or unknown(found)
        case exp.Neg(this=exp.Literal(is_string=False)):
            return number_node(f"-{found.this.this}") or unknown(found)
    return ["neg", node_of(found.this)]


def number_node(text: str) -> Node | None:
    """Return a number with Spark's type for it, None if Spark has no type for it."""
    type_ = number_type(text)
    return None if type_ is None else ["lit", text, str(type_)]


def computed(found: exp.Expr) -> Node:
    """Return an operator or a function over its operands."""
    if symbol := OPERATORS.get(type(found)):
        return [symbol, node_of(found.this), node_of(found.expression)]
    operands = [found.args.get(name) for name in ("this", "start", "length")]
    given = [operand for operand in (*operands, *found.expressions) if operand is not None]
    return ["call", FUNCTIONS[type(found)], *map(node_of, given)]


def unknown(found: exp.Expr) -> Node:
    """Return the `unknown` node of a part, with the columns it reads."""
    node = unknown_text(found.sql(dialect=DIALECT))
    columns = list(found.find_all(exp.Column))
    if found.find(exp.Query, exp.Star) or any(len(column.parts) > 1 for column in columns):
        return node
    return [*node, sorted({column.name for column in columns})]


def unknown_text(sql: str) -> Node:
    """Return the `unknown` node of a text that may read any column."""
    shown = sql if len(sql) <= UNKNOWN_CHARS_MAX else f"{sql[: UNKNOWN_CHARS_MAX - 1]}{CUT}"
    return ["unknown", shown]
