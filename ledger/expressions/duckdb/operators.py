"""The operators of Spark SQL over terms: logic, comparisons, arithmetic, LIKE, CASE."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from ledger.core.predicates.functions import like_tokens
from ledger.core.predicates.types import DECIMAL_DIGITS_MAX, UndecidableError, as_decimal
from ledger.expressions.duckdb.casts import cast
from ledger.expressions.duckdb.terms import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    MAY_FAIL,
    NULL,
    SQL_OF,
    STRING,
    TYPE_OF,
    WIDTH_OF,
    SqlTerm,
    common_type,
    failing,
    filled,
    is_floating,
    is_integral,
    is_number,
    made,
    needed,
    refused,
    string,
    type_name,
)
from ledger.expressions.parse import PredicateSyntaxError

DIVISION_BY_ZERO: Final = failing("division by zero")
WILD: Final = {"%": ".*", "_": "."}
WILD_MAX: Final = 1000


def truth_of(term: SqlTerm, zone: str) -> SqlTerm:
    """Return a condition; raises PredicateSyntaxError for a value of another type."""
    if term.type == NULL:
        return cast(term, BOOLEAN, zone)
    if term.type != BOOLEAN:
        raise PredicateSyntaxError(f"a condition must be a BOOLEAN, got {type_name(term.type)}")
    return term


def both(word: str, parts: Sequence[SqlTerm], zone: str) -> SqlTerm:
    """Return AND or OR of conditions; a later part is not evaluated where it does not count."""
    terms = [truth_of(part, zone) for part in parts]
    sql = f"({f' {word} '.join(map(SQL_OF, terms))})"
    if any(map(MAY_FAIL, terms[1:])):
        decided, value = ("NOT ", "FALSE") if word == "AND" else ("", "TRUE")
        whens = " ".join(f"WHEN {decided}{term.sql} THEN {value}" for term in terms[:-1])
        sql = f"CASE {whens} ELSE {sql} END"
    return made(sql, BOOLEAN, *terms)


def negated(term: SqlTerm, zone: str) -> SqlTerm:
    """Return NOT."""
    inner = truth_of(term, zone)
    return made(f"(NOT {inner.sql})", BOOLEAN, inner)


def alike(terms: Sequence[SqlTerm], zone: str) -> tuple[pa.DataType, list[SqlTerm]]:
    """Return terms cast to their common type."""
    type_ = common_type(*map(TYPE_OF, terms))
    return type_, [cast(term, type_, zone) for term in terms]


def of_one_length(terms: Sequence[SqlTerm]) -> Sequence[SqlTerm]:
    """Return texts to be compared, filled up as Spark does where one of them is a column of CHAR.

    Columns of CHAR and literals get the length of the longest one. Beside any other column Spark
    fills up nothing. Whether it does beside a computed text depends on what it computes early. A
    NULL in a list of texts keeps it from filling them up.
    """
    if not any(map(WIDTH_OF, terms)) or any(term.type != STRING for term in terms[:2]):
        return terms
    if any(term.width is None and term.text is None for term in terms):
        raise refused("a comparison of a column of CHAR with a text that is computed, or NULL,")
    if any(term.width == 0 for term in terms):
        return terms
    width = max(term.width or len(term.text or "") for term in terms)
    return [filled_up(term, width) for term in terms]


def filled_up(term: SqlTerm, width: int) -> SqlTerm:
    """Return a column of CHAR, or a literal, with spaces behind it up to a length."""
    if term.text is not None:
        return literal_text(term.text.ljust(width))
    return term._replace(sql=filled(term.sql, width)) if width > (term.width or 0) else term


def as_read(term: SqlTerm) -> SqlTerm:
    """Return a text as Spark reads it, for forms in which it fills up nothing to compare."""
    return term._replace(width=None)


def compared(symbol: str, left: SqlTerm, right: SqlTerm, zone: str) -> SqlTerm:
    """Return a comparison; raises PredicateSyntaxError for values that have no order."""
    type_, (one, two) = alike(of_one_length([left, right]), zone)
    if pa.types.is_nested(type_):
        raise refused(f"a comparison of {type_name(type_)}")
    word = "IS NOT DISTINCT FROM" if symbol == "<=>" else symbol
    return made(f"({one.sql} {word} {two.sql})", BOOLEAN, one, two)


def contained(value: SqlTerm, items: Sequence[SqlTerm], zone: str) -> SqlTerm:
    """Return IN; Spark fills up texts for a list of constants, and for a list of one."""
    terms: Sequence[SqlTerm] = [value, *items]
    if len(items) == 1 or all(item.width is None for item in items):
        terms = of_one_length(terms)
    type_, (one, *others) = alike(terms, zone)
    if pa.types.is_nested(type_):
        raise refused(f"IN over {type_name(type_)}")
    sql = f"({one.sql} IN ({', '.join(map(SQL_OF, others))}))"
    return made(sql, BOOLEAN, one, *others)


def is_null(term: SqlTerm) -> SqlTerm:
    """Return IS NULL."""
    return made(f"({term.sql} IS NULL)", BOOLEAN, term)


def like(value: SqlTerm, pattern: SqlTerm) -> SqlTerm:
    """Return LIKE with a literal pattern, in which a backslash escapes.

    DuckDB tries a pattern by going back: with several `%` that takes a power of the length.
    """
    if pattern.text is None or value.type != STRING:
        raise refused("LIKE over other values than a STRING and a literal pattern")
    try:
        tokens = like_tokens(pattern.text)
    except UndecidableError as problem:
        raise PredicateSyntaxError(f"LIKE: {problem}") from problem
    if tokens.count("%") < 2:  # noqa: PLR2004 - one is found from both ends
        sql = f"({value.sql} LIKE {pattern.sql} ESCAPE '\\')"
    elif tokens[0] == tokens[-1] == "%" and not {"%", "_"}.intersection(tokens[1:-1]):
        inner = "".join(token[1:] for token in tokens[1:-1])
        sql = f"contains({value.sql}, {string(inner)})"
    else:
        wild = sum(token in WILD for token in tokens)
        if wild > WILD_MAX:
            raise PredicateSyntaxError(
                f"LIKE must have {WILD_MAX} wildcards at most, got {wild}: use a shorter pattern"
            )
        form = "".join(WILD.get(token) or f"\\x{{{ord(token[1:]):x}}}" for token in tokens)
        sql = f"regexp_full_match({value.sql}, '(?s){form}')"
    return made(sql, BOOLEAN, value)


def arithmetic(symbol: str, left: SqlTerm, right: SqlTerm, zone: str) -> SqlTerm:
    """Return a sum, difference, product, quotient or remainder."""
    if left.type == DATE and symbol in "+-" and is_integral(right.type):
        days = cast(right, pa.int32(), zone)
        return made(f"({left.sql} {symbol} {days.sql})", DATE, left, days, may_fail=True)
    type_ = common_type(left.type, right.type)
    type_ = BIGINT if type_ == NULL else type_
    if not is_number(type_):
        raise refused(f"{type_name(left.type)} {symbol} {type_name(right.type)}")
    if pa.types.is_decimal(type_):
        return decimal_arithmetic(symbol, left, right, zone)
    if symbol == "/":
        type_ = DOUBLE
    one, two = cast(left, type_, zone), cast(right, type_, zone)
    if symbol in "/%":
        return divided(symbol, one, two, type_)
    can_overflow = is_integral(type_)
    return made(f"({one.sql} {symbol} {two.sql})", type_, one, two, may_fail=can_overflow)


def divided(symbol: str, one: SqlTerm, two: SqlTerm, type_: pa.DataType) -> SqlTerm:
    """Return a quotient or remainder, which fails for a divisor of zero."""
    sql = (
        f"CASE WHEN {one.sql} IS NULL THEN NULL WHEN {two.sql} = 0 THEN {DIVISION_BY_ZERO} "
        f"ELSE ({one.sql} {symbol} {two.sql}) END"
    )
    return made(sql, type_, one, two, may_fail=True)


def whole_quotient(left: SqlTerm, right: SqlTerm, zone: str) -> SqlTerm:
    """Return DIV: a quotient of whole numbers without its fraction, as a BIGINT."""
    if not (is_integral(left.type) and is_integral(right.type)):
        raise refused(f"{type_name(left.type)} DIV {type_name(right.type)}")
    return divided("//", cast(left, BIGINT, zone), cast(right, BIGINT, zone), BIGINT)


def decimal_arithmetic(symbol: str, left: SqlTerm, right: SqlTerm, zone: str) -> SqlTerm:
    """Return a sum, difference or product of decimals that are computed without rounding."""
    one, two = as_decimal(needed(left.type)), as_decimal(needed(right.type))
    if symbol == "*":
        precision, scale = one.precision + two.precision + 1, one.scale + two.scale
    else:
        scale = max(one.scale, two.scale)
        whole = max(one.precision - one.scale, two.precision - two.scale)
        precision = whole + scale + 1
    if symbol not in "+-*" or precision > DECIMAL_DIGITS_MAX:
        raise refused(f"{type_name(left.type)} {symbol} {type_name(right.type)}, which may round,")
    type_ = pa.decimal128(precision, scale)
    if symbol == "*":
        operands = [
            cast(left, pa.decimal128(one.precision, one.scale), zone),
            cast(right, pa.decimal128(two.precision, two.scale), zone),
        ]
    else:
        operands = [cast(left, type_, zone), cast(right, type_, zone)]
    sql = f"CAST(({operands[0].sql} {symbol} {operands[1].sql}) AS DECIMAL({precision},{scale}))"
    return made(sql, type_, *operands)


def negative(term: SqlTerm) -> SqlTerm:
    """Return a number with the other sign."""
    if not is_number(term.type):
        raise refused(f"the negative of {type_name(term.type)}")
    return made(f"(-{term.sql})", term.type, term, may_fail=is_integral(term.type))


def joined(parts: Sequence[SqlTerm], zone: str) -> SqlTerm:
    """Return the concatenation of texts; it is NULL if one of them is."""
    if any(is_floating(part.type) or pa.types.is_nested(part.type) for part in parts):
        raise refused("a concatenation with other values than texts, whole numbers and dates")
    texts = [cast(part, STRING, zone) for part in parts]
    return made(f"({' || '.join(map(SQL_OF, texts))})", STRING, *texts)


def case(branches: Sequence[tuple[SqlTerm, SqlTerm]], other: SqlTerm | None, zone: str) -> SqlTerm:
    """Return CASE: the value of the first condition that is true."""
    values = [value for _, value in branches]
    type_, cast_values = alike([*values, other or SqlTerm("NULL", NULL)], zone)
    conditions = [truth_of(condition, zone) for condition, _ in branches]
    whens = " ".join(
        f"WHEN {condition.sql} THEN {value.sql}"
        for condition, value in zip(conditions, cast_values, strict=False)
    )
    sql = f"CASE {whens} ELSE {cast_values[-1].sql} END"
    return made(sql, type_, *conditions, *cast_values)


def literal_text(text: str) -> SqlTerm:
    """Return a literal string."""
    return SqlTerm(string(text), STRING, text=text)
