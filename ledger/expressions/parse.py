"""The front end of conditions: Spark SQL becomes a tree, parsed once."""

import logging
import re
from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from ledger.core.limits import PREDICATE_CHARS_MAX
from ledger.core.predicates.tree import (
    CUT,
    SHOWN_CHARS_MAX,
    Node,
    RowForm,
    fits,
    judged,
    shown_unknown,
)
from ledger.errors import LedgerError
from ledger.expressions.row_forms import RefusedForm
from ledger.expressions.sql_nodes import DIALECT, OPERATORS, OwnName, SqlNodes, unqualified

# The parser also logs what it refuses. Without a handler its words would reach stderr.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

# Depth of nested brackets, below the limit of the parser. CASE and repeated signs nest as well.
BRACKETS_MAX: Final = 20
OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE})
CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END})
# Words between two AND, OR or commas: each operator of a chain is a level of the parser's tree.
CHAIN_MAX: Final = 1000
PARTING: Final = frozenset({TokenType.AND, TokenType.OR, TokenType.COMMA})
SIGNS: Final = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
# Levels that rows evaluate.
DEPTH_MAX: Final = 200
# Escapes in literals that Spark and the parser read alike.
KNOWN_ESCAPES: Final = re.compile(r"(?:[^\\]|\\[\\'\"%_nrt])*", re.DOTALL)

# This end of a line does not end a comment in Spark; in the parser it does.
COMMENT_GOES_ON: Final = "\\\n"
# The parser's message, which names its own classes.
MISSING: Final = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+\.(\w+)'>")


class PredicateSyntaxError(LedgerError, ValueError):
    """A text is not a condition of Spark SQL; the message holds the text and the place."""


def parse(sql: str, own_name: OwnName = unqualified) -> Node:
    """Return the tree of a condition or a value in Spark SQL; `own_name` knows the table's columns.

    Raises PredicateSyntaxError if it does not parse, TypeError for anything but a text. A condition
    that is too large, or nested too deep, is `unknown` as a whole.
    """
    if not isinstance(sql, str):
        raise TypeError(f"a condition must be a text of Spark SQL or an expression, got {sql!r}")
    if not is_readable(sql):
        return RowForm(shown_unknown(sql), too_large(sql))
    found, nodes = parsed(sql), SqlNodes(own_name)
    try:
        tree = nodes.of(found)
        known = shown_unknown(sql) if nodes.is_too_deep or not fits(tree) else tree
    except RecursionError:
        return RowForm(shown_unknown(sql), too_large(sql))
    if depth_of(found) > DEPTH_MAX:
        return RowForm(judged(known), too_large(sql))
    return tree if known is tree else RowForm(known, tree)


def too_large(sql: str) -> RefusedForm:
    """Return the form of a text that the parser, or DuckDB, cannot follow."""
    return RefusedForm(f"'{sql[:80]}{CUT}', which is too large, too deep or oddly escaped,")


def depth_of(tree: exp.Expr) -> int:
    """Return how deep a text is nested; a chain of AND or of OR is one level."""
    deepest = 0
    left = [(tree, 1)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        for expression in node.iter_expressions():
            is_chain = isinstance(node, exp.Connector) and type(expression) is type(node)
            left.append((expression, depth if is_chain else depth + 1))
    return deepest


def parsed(sql: str) -> exp.Expr:
    """Return the parsed condition; raises PredicateSyntaxError."""
    try:
        found = sqlglot.parse_one(with_escapes(sql), read=DIALECT, into=exp.Condition)
    except SqlglotError as error:
        raise PredicateSyntaxError(f"'{sql}' is not a condition: {place_of(error)}") from error
    except RecursionError:
        raise PredicateSyntaxError(
            f"'{sql[:SHOWN_CHARS_MAX]}' must be nested less deep: join conditions with AND and OR"
        ) from None
    if isinstance(found, exp.Block):
        raise PredicateSyntaxError(f"'{sql}' is not a condition: it is more than one statement")
    if any(is_empty(each) for each in found.find_all(exp.In)):
        raise PredicateSyntaxError(f"'{sql}' is not a condition: IN needs one value at least")
    return found


def with_escapes(sql: str) -> str:
    """Return a text whose doubled quotes are escaped: Spark takes them for one, the parser none."""
    parts, start = [], 0
    tokens = sqlglot.tokenize(sql, read=DIALECT)
    for left, right in pairwise(tokens):
        is_doubled = left.end + 1 == right.start and sql[left.end] == sql[right.start]
        if is_doubled and left.token_type is right.token_type is TokenType.STRING:
            parts.append(f"{sql[start : left.end]}\\")
            start = right.start
    return "".join([*parts, sql[start:]])


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
