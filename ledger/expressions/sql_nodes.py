"""Parsed Spark SQL as the nodes of a condition.

A part that the wire form cannot express becomes an `unknown` node, as small as possible. It counts
as TRUE when the predicate is judged; rows get the part itself. A qualified name is such a part:
`t.part` may be a column of this table, a column of another table, or a field of a struct.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from sqlglot import exp

from ledger.core.predicates.functions import FUNCTIONS
from ledger.core.predicates.tree import (
    FALSE,
    NULL,
    TRUE,
    And,
    Arithmetic,
    Call,
    Cast,
    ColumnRef,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    RowForm,
    Unknown,
    connected,
    judged,
    shown_unknown,
)
from ledger.core.predicates.types import number_type, parse_type
from ledger.expressions.row_forms import (
    Between,
    Case,
    FieldOf,
    QualifiedColumn,
    RefusedForm,
    Ungrouped,
)

DIALECT: Final = "spark"

OwnName = Callable[[Sequence[str]], str | None]
"""Returns the own name of a column, given with its qualifiers; None for a column of others."""

COMPARISONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
ARITHMETIC: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
OPERATORS: Final = {**COMPARISONS, **ARITHMETIC}
ONE: Final = ("this",)
TWO: Final = ("this", "expression")
MANY: Final = ("this", "expressions")
# Classes of the parser that are functions, their names, and the arguments that they may have.
CALLS: Final[Mapping[type[exp.Expr], tuple[str, Sequence[str]]]] = {
    exp.Abs: ("abs", ONE),
    exp.Ceil: ("ceil", ONE),
    exp.Coalesce: ("coalesce", MANY),
    exp.Contains: ("contains", TWO),
    exp.DateDiff: ("datediff", TWO),
    exp.Day: ("day", ONE),
    exp.DayOfMonth: ("day", ONE),
    exp.DayOfWeek: ("dayofweek", ONE),
    exp.DayOfYear: ("dayofyear", ONE),
    exp.EndsWith: ("endswith", TWO),
    exp.Floor: ("floor", ONE),
    exp.Greatest: ("greatest", MANY),
    exp.Hour: ("hour", ONE),
    exp.If: ("if", ("this", "true", "false")),
    exp.IntDiv: ("div", TWO),
    exp.IsNan: ("isnan", ONE),
    exp.Least: ("least", MANY),
    exp.Length: ("length", ONE),
    exp.Lower: ("lower", ONE),
    exp.Minute: ("minute", ONE),
    exp.Month: ("month", ONE),
    exp.Negative: ("negative", ONE),
    exp.Nullif: ("nullif", TWO),
    exp.Nvl2: ("nvl2", ("this", "true", "false")),
    exp.Quarter: ("quarter", ONE),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Second: ("second", ONE),
    exp.StartsWith: ("startswith", TWO),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Upper: ("upper", ONE),
    exp.WeekOfYear: ("weekofyear", ONE),
    exp.Year: ("year", ONE),
}
TRIMS: Final = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
# The judged forms with their known arguments; any other argument makes a form unknown.
FORMS: Final[Mapping[type[exp.Expr], AbstractSet[str]]] = {
    **{form: {"this", "expression"} for form in OPERATORS},
    **{form: set(arguments) for form, (name, arguments) in CALLS.items() if name in FUNCTIONS},
    exp.And: {"this", "expression"},
    exp.Between: {"this", "low", "high"},
    exp.Boolean: {"this"},
    exp.Cast: {"this", "to"},
    exp.Column: {"this", "table", "db", "catalog"},
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
    exp.TryCast: {"this", "to"},
    exp.TsOrDsToDate: {"this", "safe"},
}
# What the parser adds to a form by itself, and what does not change its meaning in Spark.
HARMLESS: Final = frozenset({"typed", "safe", "ignore_nulls", "is_string", "negate"})
# Spark gives all of these one precedence, the parser several: without brackets it may group them in
# another way than Spark.
RANKED: Final = (*COMPARISONS, exp.NullSafeNEQ, exp.Is, exp.In, exp.Like, exp.Between)
LOOSE: Final = (*RANKED, exp.Not, exp.Connector)


class SqlNodes:
    """Makes nodes of one parsed text.

    Attributes:
        is_too_deep: whether a part is nested too deep to be shown.
    """

    def __init__(self, own_name: OwnName) -> None:
        self.is_too_deep = False
        self._own_name = own_name
        self._is_unknown = False

    def of(self, found: exp.Expr) -> Node:
        """Return the node of the text or of a part of it."""
        while isinstance(found, exp.Paren):
            found = found.this
        if isinstance(found, RANKED) and is_ungrouped(found):
            rows: Node = Ungrouped(self._sql(found))
            return rows if self._is_unknown else RowForm(self._unknown(found), rows)
        if self._is_unknown or self._is_judged(found):
            return self._form(found)
        self._is_unknown = True
        rows = self._form(found)
        self._is_unknown = False
        return RowForm(self._unknown(found), rows)

    def _is_judged(self, found: exp.Expr) -> bool:  # noqa: PLR0911 - one case for each form
        """Return whether partitions can be judged by a part, apart from the parts in it."""
        known = FORMS.get(type(found))
        if known is None or not {name for name, value in found.args.items() if value} <= known:
            return False
        match found:
            case exp.Column():
                return self._own_name([part.name for part in found.parts]) is not None
            case exp.Literal(is_string=False):
                return number_type(found.this) is not None
            case exp.Neg(this=exp.Literal(is_string=False)):
                return number_type(f"-{found.this.this}") is not None
            case exp.Cast():
                return parse_type(found.args["to"].sql(dialect=DIALECT)) is not None
            case exp.Is():
                return isinstance(found.expression, exp.Null | exp.Boolean)
        return True

    def _form(self, found: exp.Expr) -> Node:  # noqa: C901, PLR0911, PLR0912 - a case for each form
        """Return a part as rows evaluate it, with another form to judge by where that differs."""
        if isinstance(found, RANKED):
            return self._tested(found)
        match found:
            case exp.And():
                return self._connected(And, found)
            case exp.Or():
                return self._connected(Or, found)
            case exp.Not():
                return self._negated(self.of(found.this))
            case exp.Column():
                return self._column([part.name for part in found.parts])
            case exp.Literal(is_string=True):
                return Literal(found.this, "string")
            case exp.Literal():
                return number(found.this)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return number(f"-{found.this.this}")
            case exp.Neg():
                return Negative(self.of(found.this))
            case exp.Boolean():
                return TRUE if found.this else FALSE
            case exp.Null():
                return NULL
            case exp.Cast() | exp.TryCast() | exp.TsOrDsToDate():
                return self._cast(found)
            case exp.Case():
                return self._case(found)
            case exp.Dot():
                return FieldOf(self.of(found.this), found.expression.name)
        if symbol := ARITHMETIC.get(type(found)):
            return Arithmetic(symbol, self.of(found.this), self.of(found.expression))
        return self._called(found)

    def _connected(self, kind: type[And] | type[Or], found: exp.Connector) -> Node:
        """Return AND or OR; it is judged without neutral parts and repetitions."""
        rows = kind(tuple(map(self.of, found.flatten())))
        known = rows if self._is_unknown else connected(kind, rows.parts)
        return rows if known == rows else RowForm(known, rows)

    def _negated(self, value: Node) -> Node:
        """Return NOT; twice NOT is judged as the condition itself."""
        known = judged(value)
        return RowForm(judged(known.value), Not(value)) if isinstance(known, Not) else Not(value)

    def _column(self, names: Sequence[str]) -> Node:
        """Return a column, by its own name if it has one in the table."""
        rows = ColumnRef(names[0]) if len(names) == 1 else QualifiedColumn(tuple(names))
        own = None if self._is_unknown else self._own_name(names)
        return rows if own is None or isinstance(rows, ColumnRef) else RowForm(ColumnRef(own), rows)

    def _tested(self, found: exp.Expr) -> Node:  # noqa: PLR0911 - one case for each form
        """Return a comparison, or a test that Spark SQL spells with words."""
        value, other = self.of(found.this), found.args.get("expression")
        if symbol := COMPARISONS.get(type(found)):
            return Compare(symbol, value, self.of(found.expression))
        match found:
            case exp.Between():
                low, high = self.of(found.args["low"]), self.of(found.args["high"])
                rows = Between(value, low, high)
                ends = (Compare(">=", value, low), Compare("<=", value, high))
                return rows if self._is_unknown else RowForm(connected(And, ends), rows)
            case exp.In() if found.expressions and not found.args.get("query"):
                return In(value, tuple(map(self.of, found.expressions)))
            case exp.Like():
                like = Like(value, self.of(found.expression))
                return Not(like) if found.args.get("negate") else like
            case exp.NullSafeNEQ():
                return Not(Compare("<=>", value, self.of(found.expression)))
            case exp.Is() if isinstance(other, exp.Null):
                return IsNull(value)
            case exp.Is() if isinstance(other, exp.Boolean):
                return Compare("<=>", value, TRUE if other.this else FALSE)
        return RefusedForm(self._sql(found), (value,))

    def _cast(self, found: exp.Expr) -> Node:
        """Return a cast; a cast of a text is a literal of its own."""
        if found.args.get("format") or (found.args.get("safe") and "to" in found.args):
            sql = self._sql(found)
            return RefusedForm(sql if "to" in found.args else f"'{sql}'")
        name = found.args["to"].sql(dialect=DIALECT) if "to" in found.args else "date"
        type_ = parse_type(name)
        match self.of(found.this):
            case Literal(text, "string" | "void") if type_ is not None:
                return Literal(text, str(type_))
            case value:
                return Cast(value, name if type_ is None else str(type_))

    def _case(self, found: exp.Expr) -> Node:
        """Return CASE, with or without a value to compare."""
        value, default = found.args.get("this"), found.args.get("default")
        branches = [(self.of(each.this), self.of(each.args["true"])) for each in found.args["ifs"]]
        return Case(
            None if value is None else self.of(value),
            tuple(branches),
            None if default is None else self.of(default),
        )

    def _called(self, found: exp.Expr) -> Node:  # noqa: PLR0911 - one case for each form
        """Return a function, or the operator that joins texts."""
        match found:
            case exp.DPipe():
                return self._call("concat", [found.this, found.expression])
            case exp.Concat():
                return self._call("concat", found.expressions)
            case exp.Anonymous(this=str(name)):
                return self._call(name.lower(), found.expressions)
            case exp.Trim() if not found.args.get("expression"):
                name = TRIMS.get(str(found.args.get("position") or ""), "")
                return self._call(name, [found.this]) if name else RefusedForm(self._sql(found))
            case exp.TsOrDsAdd() if found.text("unit").upper() == "DAY":
                return self._call("date_add", [found.this, found.expression])
            case exp.Trim() | exp.TsOrDsAdd() | exp.Anonymous():
                return RefusedForm(self._sql(found))
        name, wanted = CALLS.get(type(found), ("", ()))
        given = {key for key, value in found.args.items() if value and key not in HARMLESS}
        if not name or not given <= set(wanted):
            return RefusedForm(f"'{self._sql(found)}'")
        arguments: list[exp.Expr | None] = []
        for key in wanted:
            value = found.args.get(key)
            arguments += value if isinstance(value, list) else [value]
        return self._call(name, [argument for argument in arguments if argument is not None])

    def _call(self, name: str, arguments: Sequence[exp.Expr]) -> Node:
        """Return a function over parsed arguments."""
        return Call(name, tuple(map(self.of, arguments)))

    def _unknown(self, found: exp.Expr) -> Unknown:
        """Return the `unknown` node of a part, with the columns that it reads."""
        columns = found.find_all(exp.Column)
        own = [self._own_name([part.name for part in column.parts]) for column in columns]
        if found.find(exp.Query, exp.Star) or None in own:
            return shown_unknown(self._sql(found))
        if self._own_name is not unqualified:
            found = found.transform(bare)
        return shown_unknown(self._sql(found), tuple(sorted({each for each in own if each})))

    def _sql(self, found: exp.Expr) -> str:
        """Return the text of a part, "" for one that is nested too deep."""
        try:
            return found.sql(dialect=DIALECT)
        except RecursionError:
            self.is_too_deep = True
            return ""


def unqualified(names: Sequence[str]) -> str | None:
    """Return the name of a column without qualifiers, None for another."""
    return names[0] if len(names) == 1 else None


def is_ungrouped(found: exp.Expr) -> bool:
    """Return whether Spark groups a part in another way than the parser."""
    of = found.args.get
    return (
        isinstance(of("this"), LOOSE)
        or isinstance(of("expression"), LOOSE)
        or isinstance(of("low"), LOOSE)
        or isinstance(of("high"), LOOSE)
    )


def number(text: str) -> Literal:
    """Return a number with Spark's type for it, "" if Spark has no type for it."""
    type_ = number_type(text)
    return Literal(text, "" if type_ is None else str(type_), is_number=True)


def bare(node: exp.Expr) -> exp.Expr:
    """Return a column without its qualifier, quoted, since a bare name could be a word of SQL."""
    return exp.column(node.name, quoted=True) if isinstance(node, exp.Column) else node
