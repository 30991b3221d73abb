"""Partition values as texts: one text for all spellings of a value, and what a column can hold.

`canonical` follows Spark: two texts have one canonical text exactly if Spark SQL reads one value of
them ('01' and '1' of an INT). `written` is for a value that is about to be written: it must say
what its column will hold, so a digit or a time of day that the type would lose is refused.
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
from ledger.core.predicates.types import BITS, DOUBLE, Kind, SparkType, parse_type

# What Hive writes in a folder's name for NULL, and Delta too.
HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
NULLS: Final = frozenset({"", HIVE_NULL})
LENGTH_FORM: Final = re.compile(r"(?:var)?char(?:acter)?\s*\(\s*([0-9]{1,9})\s*\)")
FLOATS: Final = frozenset({"float", "real"})
FLOAT_DIGITS_MAX: Final = 9
MICRO_DIGITS: Final = 6
MIDNIGHT_FORM: Final = re.compile(r"[ T]0?0(?::0?0(?::0?0(?:\.0{1,9})?)?)?")
QUOTED_CHARS_MAX: Final = 80


class Form(NamedTuple):
    """How values of a type are spelled.

    `wanted` says which texts the type takes. `read` returns the value of a text, `spell` the
    canonical text of a value, and `keeps` tells whether the type has all that the text says.
    """

    wanted: str
    read: Callable[[str], Any]
    spell: Callable[[Any], str]
    keeps: Callable[[str, Any], bool]


def canonical(text: str | None, type_text: str) -> str | None:
    """Return the one text for all spellings of a partition value of a Spark SQL type.

    None is NULL, as are the empty text and Hive's name of NULL. A text of a type that is not judged
    is left as it is. Timestamps are in UTC; one without a zone is taken as UTC. Raises ValueError
    for a text that is no value of the type.
    """
    if text is None or text in NULLS:
        return None
    form = form_of(type_text)
    return text if form is None else form.spell(read(form, text))


def written(text: str | None, type_text: str) -> str | None:
    """Return the text under which a new partition value is written.

    It is the canonical one, but a timestamp with a zone ends with Z: Spark reads one without it in
    the zone of its session. Raises ValueError for a text that is no value of the type, and for one
    that says more than the type keeps.
    """
    found = canonical(text, type_text)
    form = form_of(type_text)
    if found is None or text is None or form is None:
        return found
    if not form.keeps(text.strip(SPACES), read(form, text)):
        raise refused(form, text)
    return f"{found}Z" if has_zone(text, type_text) else found


def read(form: Form, text: str) -> Any:
    """Return the value of a text; raises ValueError if it is none."""
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
    """Return how values of a type are spelled, None for a type that is not judged."""
    length = LENGTH_FORM.fullmatch(type_text.strip().lower())
    if length is not None:
        return text_form(type_text, int(length[1]))
    if type_text.strip().lower() in FLOATS:
        return FLOAT_FORM
    found = parse_type(type_text)
    return None if found is None or found.kind not in WANTED else kind_form(found)


def kind_form(target: SparkType) -> Form:
    """Return how values of a judged type are spelled."""
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
    """Return which texts a type takes."""
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
    """Return the form of texts of at most so many characters."""

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
    """Return a double as Spark and Delta's readers take it; there is one zero."""
    if isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "NaN" if number != number else repr(number or 0.0)  # noqa: PLR0124 - NaN only


def float_text(number: float) -> str:
    """Return the shortest digits that a float of 32 bits is read from."""
    if isinf(number) or number != number:  # noqa: PLR0124 - NaN only
        return double_text(number)
    shortest = (
        float(f"{number:.{digits}g}")
        for digits in range(1, FLOAT_DIGITS_MAX + 1)
        if read_float(f"{number:.{digits}g}") == number
    )
    return double_text(next(shortest))


def is_finite_if_said(text: str, number: float) -> bool:
    """Tell whether a number is infinite only where its text says so."""
    return not isinf(number) or text.lower() in INFINITIES


def keeps_all_digits(text: str, number: Decimal) -> bool:
    """Tell whether a decimal is the number of its text, and not rounded."""
    return DECIMALS.compare(Decimal(text), number) == 0


def is_day_only(text: str, _: object) -> bool:
    """Tell whether a text names a whole day and no time of it other than its beginning."""
    found = DATE_FORM.fullmatch(text)
    ending = "" if found is None or found[3] is None else text[found.end(3) :]
    is_whole = found is not None and found[3] is not None
    return is_whole and (not ending or MIDNIGHT_FORM.fullmatch(ending) is not None)


def is_micros(text: str, _: object) -> bool:
    """Tell whether a text has no part of a second below a microsecond."""
    found = TIMESTAMP_FORM.fullmatch(text)
    return found is not None and not (found[7] or "")[MICRO_DIGITS:].strip("0")


def has_zone(text: str, type_text: str) -> bool:
    """Tell whether a text of a timestamp names its zone."""
    found = parse_type(type_text)
    if found is None or found.kind is not Kind.TIMESTAMP:
        return False
    matched = TIMESTAMP_FORM.fullmatch(text.strip(SPACES))
    return matched is not None and matched[8] is not None


def always(_text: str, _value: object) -> bool:
    """Tell that a type keeps all that a text says."""
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
