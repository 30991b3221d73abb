"""Partition values as texts: one text for all spellings of a value.

`canonical` follows Spark: two texts have one canonical text exactly if Spark SQL reads the same
value from them ('01' and '1' of an INT). `written` is for a value that is about to be written. The
column must hold exactly that value, so a text with digits or a time that the type drops is refused.
"""

import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from math import isinf
from typing import Any, Final, NamedTuple

from ledger.core.partitions.keys import FAILURES
from ledger.core.predicates.casts import (
    CASTS,
    DATE_FORM,
    DECIMALS,
    INFINITIES,
    SPACES,
    TIMESTAMP_FORM,
    boolean_text,
    date_text,
    decimal_text,
    family,
    read_double,
    timestamp_text,
    whole_text,
)
from ledger.core.predicates.types import BITS, DOUBLE, FLOATS, Kind, SparkType, parse_type

# Hive and Delta write this in a folder's name for NULL.
HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
NULLS: Final = frozenset({"", HIVE_NULL})
LENGTH_FORM: Final = re.compile(r"(?:var)?char(?:acter)?\s*\(\s*([0-9]{1,9})\s*\)")
FLOAT_DIGITS_MAX: Final = 9
MICRO_DIGITS: Final = 6
MIDNIGHT_FORM: Final = re.compile(r"[ T]0?0(?::0?0(?::0?0(?:\.0{1,9})?)?)?")
QUOTED_CHARS_MAX: Final = 80


class Form(NamedTuple):
    """How values of a type are spelled.

    `wanted` names the texts of the type. `read` returns the value of a text, `spell` the canonical
    text of a value, and `keeps` whether the value has all digits of the text.
    """

    wanted: str
    read: Callable[[str], Any]
    spell: Callable[[Any], str]
    keeps: Callable[[str, Any], bool]


def canonical(text: str | None, type_text: str) -> str | None:
    """Return the one text for all spellings of a partition value of a Spark SQL type.

    None is NULL, as are the empty text and Hive's name of NULL. A text of an unsupported type is
    unchanged. Timestamps are in UTC, also those without a zone. Raises ValueError for a text that
    is no value of the type.
    """
    if text is None or text in NULLS:
        return None
    form = form_of(type_text)
    return text if form is None else form.spell(read(form, text))


def written(text: str | None, type_text: str) -> str | None:
    """Return the text under which a new partition value is written.

    It is the canonical text, but a timestamp with a zone ends with Z, because Spark reads one
    without a zone in the zone of its session. Raises ValueError for a text that is no value of the
    type, or that has more digits than the type keeps.
    """
    found = canonical(text, type_text)
    form = form_of(type_text)
    if found is None or text is None or form is None:
        return found
    if not form.keeps(text.strip(SPACES), read(form, text)):
        raise refused(form, text)
    return f"{found}Z" if has_zone(text, type_text) else found


def read(form: Form, text: str) -> Any:
    """Return the value of a text; raises ValueError if the text is no value."""
    try:
        return form.read(text)
    except FAILURES:
        raise refused(form, text) from None


def refused(form: Form, text: str) -> ValueError:
    """Return the error for a text that is no value of a type."""
    shown = text if len(text) <= QUOTED_CHARS_MAX else f"{text[:QUOTED_CHARS_MAX]}..."
    return ValueError(f"must be {form.wanted}, got {shown!r}")


@lru_cache(maxsize=256)
def form_of(type_text: str) -> Form | None:
    """Return how values of a type are spelled, None for an unsupported type."""
    length = LENGTH_FORM.fullmatch(type_text.strip().lower())
    if length is not None:
        return text_form(type_text, int(length[1]))
    if type_text.strip().lower() in FLOATS:
        return FLOAT_FORM
    found = parse_type(type_text)
    return None if found is None or found.kind not in WANTED else kind_form(found)


def kind_form(target: SparkType) -> Form:
    """Return how values of a supported type are spelled."""
    kind = target.kind
    if kind is Kind.DOUBLE:
        return DOUBLE_FORM
    cast = CASTS["string"][family(kind)]
    spell, keeps = SPELLED[family(kind)]
    return Form(
        wanted_of(target),
        lambda text: cast(text, target),
        lambda value: spell(value, target),
        keeps,
    )


def wanted_of(target: SparkType) -> str:
    """Return a description of the texts of a type, for error messages."""
    name = str(target).upper()
    if target.kind in BITS:
        bound = 1 << (BITS[target.kind] - 1)
        return f"a whole number from {-bound} to {bound - 1} ({name})"
    if target.kind is Kind.DECIMAL:
        before = target.precision - target.scale
        return (
            f"a number with at most {before} digits before the point and {target.scale} behind it "
            f"({name})"
        )
    return f"{WANTED[target.kind]} ({name})"


def text_form(type_text: str, length: int) -> Form:
    """Return the form of texts with at most `length` characters."""

    def fitting(text: str) -> str:
        if len(text) > length:
            raise ValueError
        return text

    wanted = f"a text of at most {length} characters ({type_text.strip().upper()})"
    return Form(wanted, fitting, str, lambda _text, _value: True)


def read_any_double(text: str) -> float:
    """Return the nearest double of a text, NaN too."""
    is_nan = text.strip(SPACES).lower() == "nan"
    return float("nan") if is_nan else read_double(text, DOUBLE)


def read_float(text: str) -> float:
    """Return the nearest float of 32 bits of a text."""
    number = read_any_double(text)
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def double_text(number: float) -> str:
    """Return the text of a double that Spark and Delta's readers accept; -0.0 becomes 0.0."""
    if isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "NaN" if number != number else repr(number or 0.0)  # noqa: PLR0124 - NaN only


def float_text(number: float) -> str:
    """Return the shortest text from which a float of 32 bits is read again."""
    if isinf(number) or number != number:  # noqa: PLR0124 - NaN only
        return double_text(number)
    shortest = (
        float(f"{number:.{digits}g}")
        for digits in range(1, FLOAT_DIGITS_MAX + 1)
        if read_float(f"{number:.{digits}g}") == number
    )
    return double_text(next(shortest))


def is_finite_if_said(text: str, number: float) -> bool:
    """Tell whether a number is finite or its text names infinity."""
    return not isinf(number) or text.lower() in INFINITIES


def keeps_all_digits(text: str, number: Decimal) -> bool:
    """Tell whether a decimal equals the number in its text, without rounding."""
    return DECIMALS.compare(Decimal(text), number) == 0


def is_day_only(text: str, _: object) -> bool:
    """Tell whether a text names a whole day, without a time or with midnight."""
    found = DATE_FORM.fullmatch(text)
    ending = "" if found is None or found[3] is None else text[found.end(3) :]
    is_whole = found is not None and found[3] is not None
    return is_whole and (not ending or MIDNIGHT_FORM.fullmatch(ending) is not None)


def is_micros(text: str, _: object) -> bool:
    """Tell whether a text has no digits below a microsecond."""
    found = TIMESTAMP_FORM.fullmatch(text)
    return found is not None and not (found[7] or "")[MICRO_DIGITS:].strip("0")


def has_zone(text: str, type_text: str) -> bool:
    """Tell whether the text of a timestamp names a zone."""
    found = parse_type(type_text)
    if found is None or found.kind is not Kind.TIMESTAMP:
        return False
    matched = TIMESTAMP_FORM.fullmatch(text.strip(SPACES))
    return matched is not None and matched[8] is not None


def always(_text: str, _value: object) -> bool:
    """Return True: every text of the type keeps all its digits."""
    return True


WANTED: Final[Mapping[Kind, str]] = {
    **dict.fromkeys(BITS, "a whole number"),
    Kind.BOOLEAN: "true or false",
    Kind.DOUBLE: "a number",
    Kind.DECIMAL: "a number",
    Kind.DATE: "a day such as 2024-01-31",
    Kind.TIMESTAMP: "a time such as 2024-01-31 23:59:59.5 or 2024-01-31T23:59:59Z",
    Kind.TIMESTAMP_NTZ: "a time without a zone such as 2024-01-31 23:59:59.5",
}
SPELLED: Final[Mapping[str, tuple[Callable[..., str], Callable[..., bool]]]] = {
    "boolean": (boolean_text, always),
    "integral": (whole_text, always),
    "decimal": (decimal_text, keeps_all_digits),
    "date": (date_text, is_day_only),
    "timestamp": (timestamp_text, is_micros),
}
DOUBLE_FORM: Final = Form("a number (DOUBLE)", read_any_double, double_text, is_finite_if_said)
FLOAT_FORM: Final = Form("a number (FLOAT)", read_float, float_text, is_finite_if_said)
