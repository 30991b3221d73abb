"""Conditions without SQL text: `(col("month") == 3) & col("country").isin("DE", "FR")`.

An expression can replace the SQL text of a condition, and has the same bounds: one that is too
large, or nested too deep, is unknown as a whole. A comparison builds an expression and no bool, so
`&`, `|` and `~` replace `and`, `or` and `not`.
"""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NoReturn

from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import (
    NULL,
    And,
    ColumnRef,
    Compare,
    In,
    InZone,
    IsNull,
    Literal,
    Node,
    Or,
    Unknown,
    connected,
    fits,
    negated,
    parts_of,
    shown_unknown,
)
from ledger.core.predicates.types import number_type
from ledger.definitions.partition_texts import python_value
from ledger.definitions.time_zones import ZoneLike, zone_named

Constant = bool | int | float | Decimal | str | date | datetime


class Expression:
    """A condition, or a part of one, over the columns of a table."""

    __slots__ = ("_node",)
    __hash__ = None  # type: ignore[assignment]  # Equality builds an expression, it compares none.

    def __init__(self, node: Node) -> None:
        self._node = node

    def tree(self) -> str:
        """Return the wire form."""
        return self._node.to_wire()

    def sql(self) -> str:
        """Return the Spark SQL that means the same."""
        return sql_of_node(self._node)

    def __repr__(self) -> str:
        return f"<condition {self.sql()}>"

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]
        return self._compared("<>", other)

    def __lt__(self, other: "Expression | Constant") -> "Expression":
        return self._compared("<", other)

    def __le__(self, other: "Expression | Constant") -> "Expression":
        return self._compared("<=", other)

    def __gt__(self, other: "Expression | Constant") -> "Expression":
        return self._compared(">", other)

    def __ge__(self, other: "Expression | Constant") -> "Expression":
        return self._compared(">=", other)

    def __and__(self, other: "Expression") -> "Expression":
        return bounded(connected(And, [self._node, other._node]))

    def __or__(self, other: "Expression") -> "Expression":
        return bounded(connected(Or, [self._node, other._node]))

    def __invert__(self) -> "Expression":
        return bounded(negated(self._node))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is neither true nor false by itself: join conditions with &, | and ~, each "
            "in brackets, instead of 'and', 'or' and 'not'"
        )

    def isin(self, *values: Constant) -> "Expression":
        """Return that the value is one of these; raises TypeError for None, ValueError for ()."""
        if not values:
            raise ValueError(f"{self.sql()} cannot be in an empty list: give at least one value")
        return bounded(In(self._node, tuple(map(constant_node, values))))

    def is_null(self) -> "Expression":
        """Return that there is no value."""
        return bounded(IsNull(self._node))

    def is_not_null(self) -> "Expression":
        """Return that there is a value."""
        return ~self.is_null()

    def eq_null_safe(self, other: "Expression | Constant | None") -> "Expression":
        """Return that both are equal or both NULL; it is never NULL itself."""
        value = NULL if other is None else operand(other)
        return bounded(Compare("<=>", self._node, value))

    def in_zone(self, time_zone: ZoneLike) -> "Expression":
        """Return the condition as a session of a time zone means it, whatever the reader's zone.

        The zone says when days begin and how to read timestamps without a zone. Raises ValueError
        for an unknown time zone.
        """
        return bounded(InZone(zone_named(time_zone) or "UTC", self._node))

    def zones(self) -> set[str]:
        """Return the time zones of its parts, "" for UTC."""
        return set(map(zone_named, self._node.zones()))

    def _compared(self, symbol: str, other: object) -> "Expression":
        return bounded(Compare(symbol, self._node, operand(other)))


def col(name: str) -> Expression:
    """Return a column of the table, in any case of letters."""
    return bounded(ColumnRef(name))


def lit(value: Constant) -> Expression:
    """Return a constant."""
    return bounded(constant_node(value))


def bounded(node: Node) -> Expression:
    """Return the expression of a node, unknown if the node, or a part of it, is too large."""
    is_known = not any(isinstance(part, Unknown) for part in parts_of(node))
    return Expression(node if is_known and fits(node) else shown_unknown(sql_of_node(node)))


def operand(value: Any) -> Node:
    """Return the node of an expression or of a constant."""
    return value._node if isinstance(value, Expression) else constant_node(value)  # noqa: SLF001


def constant_node(value: Any) -> Node:  # noqa: PLR0911 - one case for each type
    """Return the node of a constant; raises TypeError if Spark SQL has no literal for it.

    A datetime with a zone is a timestamp, one without is a timestamp_ntz.
    """
    match python_value(value):
        case bool() as truth:
            return Literal(str(truth).lower(), "boolean")
        case int() | Decimal() as number if (text := digits(number)) and (
            type_ := number_type(text)
        ):
            return Literal(text, str(type_))
        case float() as number if not math.isnan(number):
            return Literal(repr(float(number)), "double")
        case str() as text:
            return Literal(text, "string")
        case datetime(tzinfo=None) as moment:
            return Literal(moment.isoformat(" "), "timestamp_ntz")
        case datetime() as moment:
            text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
            return Literal(f"{text}Z", "timestamp")
        case date() as day:
            return Literal(day.isoformat(), "date")
    raise TypeError(
        f"a constant must be a text, number, boolean, date or datetime, got {value!r}; for NULL "
        "use is_null(), is_not_null() or eq_null_safe(None)"
    )


def digits(number: int | Decimal) -> str:
    """Return a number without an exponent; "" if it is not finite.

    The repr of an enumeration's number, or of a NumPy float, may hold words.
    """
    if isinstance(number, int):
        return str(int(number))
    return format(number, "f") if number.is_finite() else ""


def condition_in(where: "str | Expression | None") -> Node | None:
    """Return the tree of a condition as a caller gives it: SQL text, an expression, or None.

    Raises PredicateSyntaxError for a text that is not a condition of Spark SQL, and TypeError for
    anything else.
    """
    if where is None or isinstance(where, Expression):
        return None if where is None else where._node  # noqa: SLF001
    from ledger.expressions.parse import parse  # noqa: PLC0415 - loads the parser of SQL

    return parse(where)
