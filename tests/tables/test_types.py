"""Types of columns: Spark SQL's texts and Arrow's types."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.arrow.types import arrow_type, sql_type
from ledger.core.predicates.types import BY_NAME, SQL_NAMES
from ledger.properties.field_ids import shape_of
from ledger.properties.type_widening import delta_name

PAIRS = (
    ("boolean", pa.bool_()),
    ("tinyint", pa.int8()),
    ("smallint", pa.int16()),
    ("int", pa.int32()),
    ("bigint", pa.int64()),
    ("float", pa.float32()),
    ("double", pa.float64()),
    ("decimal(38,18)", pa.decimal128(38, 18)),
    ("string", pa.string()),
    ("binary", pa.binary()),
    ("date", pa.date32()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("timestamp_ntz", pa.timestamp("us")),
    ("void", pa.null()),
)
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
types = st.recursive(
    st.sampled_from([text for text, _ in PAIRS]),
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(inner.filter("void".__ne__), inner).map(lambda two: f"map<{two[0]},{two[1]}>"),
        st.dictionaries(names, inner, max_size=3).map(
            lambda fields: (
                f"struct<{','.join(f'`{quoted(name)}`:{kind}' for name, kind in fields.items())}>"
            )
        ),
    ),
    max_leaves=6,
)


def quoted(name: str) -> str:
    """Return a name as it stands between backticks."""
    return name.replace("`", "``")


@pytest.mark.parametrize(("text", "arrow"), PAIRS)
def test_each_type_has_one_text(text: str, arrow: pa.DataType) -> None:
    assert arrow_type(text.upper()) == arrow
    assert sql_type(arrow) == text


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("varchar(10)", pa.string()),
        ("char ( 3 )", pa.string()),
        ("string collate UNICODE", pa.string()),
        ("decimal", pa.decimal128(10, 0)),
        ("NUMERIC(5)", pa.decimal128(5, 0)),
        ("timestamp_ltz", pa.timestamp("us", "UTC")),
        ("struct<a:int NOT NULL COMMENT 'x,>',b int>", None),
    ],
)
def test_sparks_other_spellings_are_known(text: str, arrow: pa.DataType | None) -> None:
    wanted = arrow or pa.struct([pa.field("a", pa.int32(), nullable=False), ("b", pa.int32())])
    assert arrow_type(text) == wanted


@given(types)
def test_a_type_is_read_again(text: str) -> None:
    arrow = arrow_type(text)
    assert arrow_type(sql_type(arrow)) == arrow


@pytest.mark.parametrize(
    "text",
    [
        "interval day",
        "variant",
        "decimal(39,1)",
        "decimal(3,4)",
        "decimal(1,1,1)",
        "array",
        "array<int",
        "map<int>",
        "map<void,int>",
        "struct<a>",
        "int>",
        "int;",
        "",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="column price: ") as raised:
        arrow_type(text, "price")
    assert repr(text) in str(raised.value)


def test_an_unsigned_number_gets_the_next_wider_type() -> None:
    assert sql_type(pa.uint32()) == "bigint"
    assert sql_type(pa.dictionary(pa.int8(), pa.large_string())) == "string"
    assert sql_type(pa.timestamp("ns", "Europe/Berlin")) == "timestamp"
    with pytest.raises(ValueError, match="duration"):
        sql_type(pa.duration("s"))


def test_a_field_is_found_whatever_the_types_around_it_are() -> None:
    text = "struct<a:interval day NOT NULL,b:map<int,struct<`c d`:time(6)>>,e:timestamp(9)>"

    assert shape_of(text) == {"a": {}, "b": {"key": {}, "value": {"c d": {}}}, "e": {}}
    with pytest.raises(ValueError, match="'interval' is not a supported type"):
        arrow_type(text)
    with pytest.raises(ValueError, match=r"'\(' follows a whole type"):
        arrow_type("timestamp(9)")


def test_each_type_has_its_names() -> None:
    for word, row in BY_NAME.items():
        assert sql_type(arrow_type(word)).partition("(")[0] == SQL_NAMES[row.delta]
        assert delta_name(word).partition("(")[0] == row.delta
