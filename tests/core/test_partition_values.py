"""Texts of partition values: tables of known answers, and the law that ties them to their keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.partitions.keys import UNCASTABLE, key_of
from ledger.core.partitions.values import canonical, written

DIGITS_OF_A_FLOAT = "0.100000001490116119384765625"
ALIKE: list[tuple[str, str, list[str]]] = [
    ("INT", "1", ["1", "01", "+1", " 1 ", "0001\n"]),
    ("int", "0", ["0", "-0", "+00"]),
    ("integer", "-7", ["-7", "-07"]),
    ("TINYINT", "127", ["127", "0127"]),
    ("byte", "-128", ["-128"]),
    ("BIGINT", "9223372036854775807", ["9223372036854775807"]),
    ("BOOLEAN", "true", ["true", "TRUE", "t", "yes", "1"]),
    ("BOOLEAN", "false", ["false", "F", "no", "0"]),
    ("DATE", "2024-01-05", ["2024-01-05", "2024-1-5", " 2024-01-5 ", "2024-01-05 00:00:00"]),
    ("DECIMAL(5,2)", "1.50", ["1.5", "1.50", "01.500", "15e-1", "+1.5"]),
    ("DECIMAL(5,2)", "0.00", ["0", "-0", "0.000", ".0"]),
    ("DECIMAL", "12", ["12", "12.0", "1.2e1"]),
    ("DOUBLE", "1.5", ["1.5", "1.50", "15e-1", "+1.5", "1.5E0"]),
    ("DOUBLE", "0.0", ["0", "-0", "-0.0", "0e9"]),
    ("DOUBLE", "Infinity", ["inf", "Infinity", "+INF"]),
    ("DOUBLE", "NaN", ["nan", "NaN"]),
    ("DOUBLE", "1e+16", ["1e16", "10000000000000000"]),
    ("FLOAT", "0.1", ["0.1", "0.10", DIGITS_OF_A_FLOAT]),
    ("REAL", "16777216.0", ["16777216", "16777217"]),
    ("TIMESTAMP_NTZ", "2024-01-05 10:00:00", ["2024-01-05 10:00", "2024-1-5T10:00:00.000"]),
    ("TIMESTAMP_NTZ", "2024-01-05 10:00:00.5", ["2024-01-05 10:00:00.500"]),
    ("STRING", "01", ["01"]),
    ("STRING", " a ", [" a "]),
    ("VARCHAR(3)", "abc", ["abc"]),
    ("CHAR(3)", "ab", ["ab"]),
    ("BINARY", "a%3Ab", ["a%3Ab"]),
    ("array<int>", "[01]", ["[01]"]),
    ("INTERVAL YEAR", "01", ["01"]),
]
REFUSED = [
    ("INT", "march", "must be a whole number from -2147483648 to 2147483647 (INT), got 'march'"),
    ("TINYINT", "300", "must be a whole number from -128 to 127 (TINYINT), got '300'"),
    ("SMALLINT", "1.0", "must be a whole number from -32768 to 32767 (SMALLINT), got '1.0'"),
    ("BIGINT", "9223372036854775808", "(BIGINT), got '9223372036854775808'"),
    ("INT", " ", "(INT), got ' '"),
    ("INT", "9" * 100, f"got '{'9' * 80}...'"),
    ("BOOLEAN", "maybe", "must be true or false (BOOLEAN), got 'maybe'"),
    ("DATE", "2024-13-45", "must be a day such as 2024-01-31 (DATE), got '2024-13-45'"),
    ("DATE", "2023-02-29", "(DATE), got '2023-02-29'"),
    ("DECIMAL(5,2)", "1234.5", "at most 3 digits before the point and 2 behind it (DECIMAL(5,2))"),
    ("DOUBLE", "1,5", "must be a number (DOUBLE), got '1,5'"),
    ("FLOAT", "one", "must be a number (FLOAT), got 'one'"),
    ("TIMESTAMP", "noon", "must be a time such as 2024-01-31 23:59:59.5"),
    ("TIMESTAMP_NTZ", "2024-01-05T10:00:00Z", "must be a time without a zone"),
    ("VARCHAR(3)", "abcd", "must be a text of at most 3 characters (VARCHAR(3)), got 'abcd'"),
]
# What Spark reads all the same, with less than the text says.
LOSSY = [
    ("DATE", "2024-01-05 12:30", "2024-01-05"),
    ("DATE", "2024-01-05 noon", "2024-01-05"),
    ("DATE", "2024", "2024-01-01"),
    ("DATE", "2024-02", "2024-02-01"),
    ("DECIMAL(5,2)", "1.555", "1.56"),
    ("DOUBLE", "1e400", "Infinity"),
    ("FLOAT", "1e39", "Infinity"),
    ("FLOAT", "-1e39", "-Infinity"),
    ("TIMESTAMP_NTZ", "2024-01-05 10:00:00.1234567", "2024-01-05 10:00:00.123456"),
]
JUDGED = ("boolean", "tinyint", "int", "bigint", "double", "decimal(5,2)", "string", "date")
JUDGED_TIMES = ("timestamp", "timestamp_ntz")
SPELLINGS = st.one_of(
    st.from_regex(r"[+-]?0{0,2}[0-9]{1,3}(\.[0-9]{0,3})?(e-?[01])?", fullmatch=True),
    st.from_regex(r"2024-0?[1-3](-0?[1-3]([ T]0?[0-2]:0{1,2}(:0?1\.50{0,2})?)?)?", fullmatch=True),
    st.from_regex(r"2024-01-01 0[0-3]:00(Z|\+0[01]:00|-01:00)", fullmatch=True),
    st.sampled_from(["true", "T", "yes", "no", "0", "1", "01", "x", " 1 ", "-0", "inf", "1e3"]),
)


@pytest.mark.parametrize(("type_", "wanted", "texts"), ALIKE)
def test_spellings_of_one_value_have_one_text(type_: str, wanted: str, texts: list[str]) -> None:
    assert {canonical(text, type_) for text in texts} == {wanted}
    assert {written(text, type_) for text in [*texts, wanted]} == {wanted}


@pytest.mark.parametrize(("type_", "text", "words"), REFUSED)
def test_no_value_of_the_type(type_: str, text: str, words: str) -> None:
    with pytest.raises(ValueError, match="must be") as raised:
        canonical(text, type_)
    assert words in str(raised.value)


@pytest.mark.parametrize(("type_", "text", "read"), LOSSY)
def test_nothing_is_written_that_its_type_does_not_keep(type_: str, text: str, read: str) -> None:
    """Spark reads it as another value, so it is one in the log, and none to write."""
    assert canonical(text, type_) == read
    with pytest.raises(ValueError, match="must be"):
        written(text, type_)


@pytest.mark.parametrize("type_", ["INT", "STRING", "DATE", "BINARY", "array<int>", "VARCHAR(1)"])
@pytest.mark.parametrize("text", [None, "", "__HIVE_DEFAULT_PARTITION__"])
def test_null_of_every_type(type_: str, text: str | None) -> None:
    assert canonical(text, type_) is None
    assert written(text, type_) is None


def test_instants_are_compared_in_utc_and_written_with_their_zone() -> None:
    """Spark reads a time without a zone in the zone of its session, and another not at all so."""
    zoned, plain = "2024-01-05T12:00:00+02:00", "2024-01-05 10:00"

    assert canonical(zoned, "TIMESTAMP") == canonical(plain, "TIMESTAMP") == "2024-01-05 10:00:00"
    assert written(zoned, "TIMESTAMP") == "2024-01-05 10:00:00Z"
    assert written(plain, "TIMESTAMP") == "2024-01-05 10:00:00"
    assert written("2024-01-05 10:00:00Z", "TIMESTAMP") == "2024-01-05 10:00:00Z"


@settings(deadline=None)
@given(st.sampled_from(JUDGED + JUDGED_TIMES), SPELLINGS, SPELLINGS)
def test_law_equal_texts_have_equal_keys(type_: str, one: str, other: str) -> None:
    keys, texts = [key_of(text, type_) for text in (one, other)], [one, other]
    if UNCASTABLE not in keys:
        assert (keys[0] == keys[1]) == (canonical(one, type_) == canonical(other, type_))
    for key, text in zip(keys, texts, strict=True):
        if key is not UNCASTABLE:
            found = canonical(text, type_)
            assert key_of(found, type_) == key
            assert canonical(found, type_) == found
        else:
            with pytest.raises(ValueError, match="must be"):
                canonical(text, type_)
