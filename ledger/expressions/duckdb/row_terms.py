"""The nodes of a condition as terms of DuckDB's SQL."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from ledger.arrow.types import arrow_type
from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.time_zones import canonical_zone
from ledger.core.predicates.tree import (
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
    RowForm,
    Unknown,
)
from ledger.expressions.duckdb.casts import cast, literal
from ledger.expressions.duckdb.functions import called
from ledger.expressions.duckdb.operators import (
    arithmetic,
    as_read,
    both,
    case,
    compared,
    contained,
    is_null,
    like,
    literal_text,
    negated,
    negative,
)
from ledger.expressions.duckdb.terms import NULL, SqlTerm, duck_type, refused, string
from ledger.expressions.parse import PredicateSyntaxError, too_large
from ledger.expressions.row_forms import (
    Between,
    Case,
    FieldOf,
    QualifiedColumn,
    RefusedForm,
    Ungrouped,
)

ColumnTerm = Callable[[Sequence[str]], SqlTerm]
"""Returns the column of a name with its qualifiers; raises an error for an unknown one."""

# Room for the longest list that the wire form takes.
TERM_CHARS_MAX: Final = 2_000_000


class RowTerms:
    """Makes terms of the nodes of a condition, read in a session time zone, "" = UTC."""

    def __init__(self, root: Node, column: ColumnTerm, zone: str) -> None:
        self.root, self.column, self.zone = root, column, zone

    def of(self, node: Node) -> SqlTerm:
        """Return a node as a term; raises PredicateSyntaxError and UnknownColumnError.

        Some forms repeat what they are made of, so that their nesting would double the text.
        """
        while isinstance(node, RowForm):
            node = node.rows
        term = self._part(node)
        if len(term.sql) > TERM_CHARS_MAX:
            raise refused(too_large(sql_of_node(self.root)).what)
        return term

    def _part(self, node: Node) -> SqlTerm:  # noqa: C901, PLR0911, PLR0912 - a case for each node
        """Return a node as a term of any size."""
        match node:
            case ColumnRef(name):
                return self.column([name])
            case Literal():
                return self._literal(node)
            case Compare(symbol, left, right):
                return compared(symbol, self.of(left), self.of(right), self.zone)
            case And(parts):
                return both("AND", list(map(self.of, parts)), self.zone)
            case Or(parts):
                return both("OR", list(map(self.of, parts)), self.zone)
            case Not(value):
                return negated(self.of(value), self.zone)
            case IsNull(value):
                return is_null(self.of(value))
            case In(value, items):
                return contained(self.of(value), list(map(self.of, items)), self.zone)
            case Like(value, pattern):
                return like(self.of(value), self.of(pattern))
            case Call(name, arguments):
                return called(name, list(map(self.of, arguments)), self.zone)
            case Cast():
                return self._cast(node)
            case Arithmetic(symbol, left, right):
                return arithmetic(symbol, self.of(left), self.of(right), self.zone)
            case Negative(value):
                return negative(self.of(value))
            case InZone(zone, value):
                return RowTerms(self.root, self.column, canonical_zone(zone)).of(value)
            case QualifiedColumn(names):
                return self.column(names)
            case FieldOf(value, name):
                return field_of(self.of(value), name)
            case Between():
                return self._between(node)
            case Case():
                return self._case(node)
        raise self._refused(node)

    def _refused(self, node: Node) -> PredicateSyntaxError:
        """Return the error for a node that has no term; an error of a part of it comes first."""
        match node:
            case RefusedForm(what, parts):
                for part in parts:
                    self.of(part)
                return refused(what)
            case Ungrouped(sql):
                return PredicateSyntaxError(
                    f"'{sql}' needs brackets: Spark groups it in another way than most engines"
                )
            case Unknown(sql):
                return refused(too_large(sql).what)
        return refused(f"'{node}'")

    def _literal(self, node: Literal) -> SqlTerm:
        """Return a constant; raises PredicateSyntaxError for a number with too many digits."""
        if node.text is None:
            return cast(SqlTerm("NULL", NULL), arrow_type(node.type), self.zone)
        if not node.is_number:
            text = literal_text(node.text)
            return text if node.type == "string" else cast(text, arrow_type(node.type), self.zone)
        if not node.type:
            raise refused(f"the number {node.text}, which has too many digits,")
        type_ = arrow_type(node.type)
        return SqlTerm(f"CAST('{node.text}' AS {duck_type(type_)})", type_)

    def _cast(self, node: Cast) -> SqlTerm:
        """Return a cast; a number becomes a double as it is written."""
        try:
            type_ = arrow_type(node.type)
        except ValueError as problem:
            raise PredicateSyntaxError(f"CAST: {problem}") from problem
        match node.value:
            case Literal(str(text), _, True) | RowForm(_, Literal(str(text), _, True)):
                if type_ == pa.float64() and not text.startswith("-"):
                    return literal(float(text), type_)
        return cast(self.of(node.value), type_, self.zone)

    def _between(self, node: Between) -> SqlTerm:
        """Return BETWEEN, for which Spark fills up no text."""
        value = as_read(self.of(node.value))
        ends = (">=", as_read(self.of(node.low))), ("<=", as_read(self.of(node.high)))
        return both("AND", [compared(sign, value, end, self.zone) for sign, end in ends], self.zone)

    def _case(self, node: Case) -> SqlTerm:
        """Return CASE, with or without a value to compare."""
        branches = []
        for condition, value in node.branches:
            term = self.of(condition)
            if node.value is not None:
                term = compared("=", self.of(node.value), term, self.zone)
            branches.append((term, self.of(value)))
        default = None if node.default is None else self.of(node.default)
        return case(branches, default, self.zone)


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
