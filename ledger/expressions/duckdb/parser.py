"""Spark SQL as text, and conditions in the wire form, as terms of DuckDB's SQL."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from ledger.arrow.types import arrow_type
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.types import number_type
from ledger.expressions.duckdb.casts import cast, literal
from ledger.expressions.duckdb.functions import called
from ledger.expressions.duckdb.operators import (
    COMPARED,
    arithmetic,
    as_read,
    both,
    case,
    compared,
    contained,
    is_null,
    joined,
    like,
    literal_text,
    negated,
    negative,
)
from ledger.expressions.duckdb.terms import BOOLEAN, NULL, SqlTerm, duck_type, refused, string
from ledger.expressions.parse import (
    CUT,
    DIALECT,
    OPERATORS,
    RANKED,
    PredicateSyntaxError,
    is_readable,
    parsed,
)

Column = Callable[[Sequence[str]], SqlTerm]
"""Returns the column of a name with its qualifiers; raises an error for an unknown one."""

# Classes of the parser that are functions, their names, and the arguments that they may have.
CALLS: Final[Mapping[type[exp.Expr], tuple[str, Sequence[str]]]] = {
    exp.Abs: ("abs", ("this",)),
    exp.Ceil: ("ceil", ("this",)),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
    exp.Contains: ("contains", ("this", "expression")),
    exp.DateDiff: ("datediff", ("this", "expression")),
    exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("day", ("this",)),
    exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)),
    exp.EndsWith: ("endswith", ("this", "expression")),
    exp.Floor: ("floor", ("this",)),
    exp.Greatest: ("greatest", ("this", "expressions")),
    exp.Hour: ("hour", ("this",)),
    exp.If: ("if", ("this", "true", "false")),
    exp.IntDiv: ("div", ("this", "expression")),
    exp.IsNan: ("isnan", ("this",)),
    exp.Least: ("least", ("this", "expressions")),
    exp.Length: ("length", ("this",)),
    exp.Lower: ("lower", ("this",)),
    exp.Minute: ("minute", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Negative: ("negative", ("this",)),
    exp.Nullif: ("nullif", ("this", "expression")),
    exp.Nvl2: ("nvl2", ("this", "true", "false")),
    exp.Quarter: ("quarter", ("this",)),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Second: ("second", ("this",)),
    exp.StartsWith: ("startswith", ("this", "expression")),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.TsOrDsToDate: ("to_date", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.WeekOfYear: ("weekofyear", ("this",)),
    exp.Year: ("year", ("this",)),
}
# What the parser adds to a form by itself, and what does not change its meaning in Spark.
HARMLESS: Final = frozenset({"typed", "safe", "ignore_nulls", "is_string", "negate"})
TERM_CHARS_MAX: Final = 400_000
DEPTH_MAX: Final = 200
TRIMS: Final = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
SQL_TYPES: Final = {
    exp.DataType.Type.TIMESTAMP: "timestamp",
    exp.DataType.Type.TIMESTAMPTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPLTZ: "timestamp",
    exp.DataType.Type.TIMESTAMPNTZ: "timestamp_ntz",
}


class SqlText:
    """A text of Spark SQL over columns, read in a session time zone, "" = UTC."""

    def __init__(self, text: str, column: Column, zone: str) -> None:
        self.text, self.column, self.zone = text, column, zone

    def term(self) -> SqlTerm:
        """Return the text as a term; raises PredicateSyntaxError and UnknownColumnError."""
        if not is_readable(self.text):
            raise too_large(self.text)
        tree = parsed(self.text)
        if depth_of(tree) > DEPTH_MAX:
            raise too_large(self.text)
        return self.of(tree)

    def of(self, found: exp.Expr) -> SqlTerm:
        """Return a part of the text as a term; raises PredicateSyntaxError if it grows too large.

        Some forms repeat what they are made of, so that their nesting would double the text.
        """
        term = self.part(found)
        if len(term.sql) > TERM_CHARS_MAX:
            raise too_large(self.text)
        return term

    def part(self, found: exp.Expr) -> SqlTerm:  # noqa: C901, PLR0911, PLR0912 - a case for each form
        """Return a part of the text as a term of any size."""
        if isinstance(found, RANKED):
            self.check_grouped(found)
        match found:
            case exp.Paren():
                return self.of(found.this)
            case exp.And():
                return both("AND", [self.of(each) for each in found.flatten()], self.zone)
            case exp.Or():
                return both("OR", [self.of(each) for each in found.flatten()], self.zone)
            case exp.Not():
                return negated(self.of(found.this), self.zone)
            case exp.Column():
                return self.column([part.name for part in found.parts])
            case exp.Dot():
                return self.field(found)
            case exp.Cast() | exp.TryCast():
                return self.cast(found)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return constant(found)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return number(f"-{found.this.this}")
            case exp.Neg():
                return negative(self.of(found.this))
            case exp.NullSafeNEQ() | exp.Is() | exp.In() | exp.Like() | exp.Between():
                return self.worded(found)
            case exp.Case():
                return self.case(found)
            case exp.DPipe() | exp.Concat():
                return self.joined(found)
            case exp.Trim() | exp.TsOrDsAdd() | exp.Anonymous():
                return self.special(found)
        symbol = OPERATORS.get(type(found))
        if symbol is not None:
            return operated(symbol, self.of(found.this), self.of(found.expression), self.zone)
        return self.called(found)

    def check_grouped(self, found: exp.Expr) -> None:
        """Raise PredicateSyntaxError for a form that Spark groups in another way."""
        sides = (found.args.get(name) for name in ("this", "expression", "low", "high"))
        if any(isinstance(side, (*RANKED, exp.Not, exp.Connector)) for side in sides):
            raise PredicateSyntaxError(
                f"'{found.sql(dialect=DIALECT)}' needs brackets: Spark groups it in another way "
                "than most engines"
            )

    def field(self, found: exp.Expr) -> SqlTerm:
        """Return a field of a struct."""
        return field_of(self.of(found.this), found.expression.name)

    def cast(self, found: exp.Expr) -> SqlTerm:
        """Return a cast."""
        if found.args.get("safe") or found.args.get("format"):
            raise refused(found.sql(dialect=DIALECT))
        kind = found.args["to"]
        name = SQL_TYPES.get(kind.this) or kind.sql(dialect=DIALECT)
        try:
            type_ = arrow_type(name)
        except ValueError as problem:
            raise PredicateSyntaxError(f"CAST: {problem}") from problem
        inner = found.this
        if isinstance(inner, exp.Literal) and not inner.is_string and type_ == pa.float64():
            return literal(float(inner.this), type_)
        return cast(self.of(inner), type_, self.zone)

    def worded(self, found: exp.Expr) -> SqlTerm:
        """Return a test that Spark SQL spells with words."""
        value, other = self.of(found.this), found.args.get("expression")
        match found:
            case exp.Between():
                low, high = (as_read(self.of(found.args[end])) for end in ("low", "high"))
                ends = ((">=", low), ("<=", high))
                met = [compared(sign, as_read(value), end, self.zone) for sign, end in ends]
                return both("AND", met, self.zone)
            case exp.In() if found.expressions and not found.args.get("query"):
                return contained(value, [self.of(each) for each in found.expressions], self.zone)
            case exp.Like():
                made = like(value, self.of(found.expression))
                return negated(made, self.zone) if found.args.get("negate") else made
            case exp.NullSafeNEQ():
                return negated(
                    compared("<=>", value, self.of(found.expression), self.zone), self.zone
                )
            case exp.Is() if isinstance(other, exp.Null):
                return is_null(value)
            case exp.Is() if isinstance(other, exp.Boolean):
                return compared("<=>", value, constant(other), self.zone)
        raise refused(found.sql(dialect=DIALECT))

    def case(self, found: exp.Expr) -> SqlTerm:
        """Return CASE, with or without a value to compare."""
        value = found.args.get("this")
        branches = []
        for each in found.args["ifs"]:
            condition = self.of(each.this)
            if value is not None:
                condition = compared("=", self.of(value), condition, self.zone)
            branches.append((condition, self.of(each.args["true"])))
        default = found.args.get("default")
        return case(branches, None if default is None else self.of(default), self.zone)

    def joined(self, found: exp.Expr) -> SqlTerm:
        """Return a concatenation."""
        if isinstance(found, exp.DPipe):
            return joined([self.of(found.this), self.of(found.expression)], self.zone)
        if not all(isinstance(each, exp.Expr) for each in found.expressions):
            raise refused(found.sql(dialect=DIALECT))
        return joined([self.of(each) for each in found.expressions], self.zone)

    def special(self, found: exp.Expr) -> SqlTerm:
        """Return a function for which the parser has a form of its own."""
        match found:
            case exp.Trim(this=inner) if not found.args.get("expression"):
                name = TRIMS.get(str(found.args.get("position") or ""))
                if name is not None:
                    return called(name, [self.of(inner)], self.zone)
            case exp.TsOrDsAdd(this=inner, expression=days):
                if found.text("unit").upper() == "DAY":
                    moved = [self.of(inner), self.of(days)]
                    return called("date_add", moved, self.zone)
            case exp.Anonymous(this=str(name)):
                return called(
                    name.lower(), [self.of(each) for each in found.expressions], self.zone
                )
        raise refused(found.sql(dialect=DIALECT))

    def called(self, found: exp.Expr) -> SqlTerm:
        """Return a function that the parser knows; raises PredicateSyntaxError for others."""
        name, wanted = CALLS.get(type(found), ("", ()))
        given = {key for key, value in found.args.items() if value and key not in HARMLESS}
        if not name or not given <= set(wanted):
            raise refused(f"'{found.sql(dialect=DIALECT)}'")
        arguments = []
        for key in wanted:
            value = found.args.get(key)
            several = value if isinstance(value, list) else [value]
            arguments += [self.of(each) for each in several if each is not None]
        return called(name, arguments, self.zone)


def too_large(text: str) -> PredicateSyntaxError:
    """Return the error for a text that the parser, or DuckDB, cannot follow."""
    return refused(f"'{text[:80]}{CUT}', which is too large, too deep or oddly escaped,")


def depth_of(tree: exp.Expr) -> int:
    """Return how deep a text is nested; a chain of AND or of OR is one level."""
    deepest = 0
    left = [(tree, 1)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        for each in node.iter_expressions():
            is_chain = isinstance(node, exp.Connector) and type(each) is type(node)
            left.append((each, depth if is_chain else depth + 1))
    return deepest


def constant(found: exp.Expr) -> SqlTerm:
    """Return a literal."""
    match found:
        case exp.Null():
            return SqlTerm("NULL", NULL)
        case exp.Boolean():
            return SqlTerm("TRUE" if found.this else "FALSE", BOOLEAN)
        case exp.Literal(is_string=True):
            return literal_text(found.this)
    return number(str(found.this))


def number(text: str) -> SqlTerm:
    """Return a number with Spark's type for it; raises PredicateSyntaxError if it has none."""
    type_ = number_type(text)
    if type_ is None:
        raise refused(f"the number {text}, which has too many digits,")
    made = arrow_type(str(type_))
    return SqlTerm(f"CAST('{text}' AS {duck_type(made)})", made)


def operated(symbol: str, left: SqlTerm, right: SqlTerm, zone: str) -> SqlTerm:
    """Return a comparison or a computation."""
    if symbol in COMPARED:
        return compared(symbol, left, right, zone)
    return arithmetic(symbol, left, right, zone)


def field_of(term: SqlTerm, name: str) -> SqlTerm:
    """Return a field of a struct; raises PredicateSyntaxError if there is no such field."""
    if not pa.types.is_struct(term.type):
        raise PredicateSyntaxError(f"a value without fields has no field {name}")
    for each in term.type:
        if each.name.lower() == name.lower():
            inner = string(each.name)
            return SqlTerm(
                f"struct_extract({term.sql}, {inner})", each.type, term.may_fail, width=0
            )
    known = ", ".join(each.name for each in term.type)
    raise PredicateSyntaxError(f"a struct with the fields {known} has no field {name}")


def wire_term(tree: str, column: Column, zone: str) -> SqlTerm:
    """Return a condition in wire form as a term; raises as `SqlText.term`."""
    return of_node(json.loads(tree), column, zone)


def of_node(node: Any, column: Column, zone: str) -> SqlTerm:  # noqa: C901, PLR0911 - a case for each
    """Return a part of a condition in wire form."""
    match node:
        case ["and" | "or" as word, *parts]:
            return both(word.upper(), [of_node(each, column, zone) for each in parts], zone)
        case ["not", inner]:
            return negated(of_node(inner, column, zone), zone)
        case ["is_null", inner]:
            return is_null(of_node(inner, column, zone))
        case ["in", inner, [*items]]:
            given = [of_node(each, column, zone) for each in items]
            return contained(of_node(inner, column, zone), given, zone)
        case ["in_zone", str(other), inner]:
            return of_node(inner, column, canonical_zone(other))
        case ["col", str(name)]:
            return column([name])
        case ["lit", None, str(type_)]:
            return cast(SqlTerm("NULL", NULL), arrow_type(type_), zone)
        case ["lit", str(text), str(type_)]:
            return cast(literal_text(text), arrow_type(type_), zone)
        case [("neg" | "cast" | "call" | "like"), *_]:
            return of_call(node, column, zone)
        case ["unknown", str(sql), *_]:
            if sql.endswith(CUT):
                raise too_large(sql)
            return SqlText(sql, column, zone).term()
    symbol, left, right = node
    return operated(symbol, of_node(left, column, zone), of_node(right, column, zone), zone)


def of_call(node: Any, column: Column, zone: str) -> SqlTerm:
    """Return a function, a cast or LIKE in wire form."""
    match node:
        case ["neg", inner]:
            return negative(of_node(inner, column, zone))
        case ["cast", inner, str(type_)]:
            return cast(of_node(inner, column, zone), arrow_type(type_), zone)
        case ["like", inner, pattern]:
            return like(of_node(inner, column, zone), of_node(pattern, column, zone))
    _, name, *given = node
    return called(name, [of_node(each, column, zone) for each in given], zone)
