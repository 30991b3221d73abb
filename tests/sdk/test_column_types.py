"""Types of columns: what Spark and Hive have is taken as it is, what nobody has is refused."""

import re
from functools import partial

import pytest

from ledger.core.commands import Column
from ledger.definitions.definitions import changed_definition, table_definition

BEFORE = table_definition([("id", "int")])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bigit", "'id' has type 'bigit', which Spark SQL does not know, did you mean bigint?"),
        ("Strng", "did you mean string?"),
        ("aray<int>", "did you mean array?"),
        ("", "; one looks like bigint or array<string>"),
        ("<int>", "; one looks like bigint or array<string>"),
        ("5", "; one looks like bigint or array<string>"),
    ],
)
def test_misspelled_types(kind: str, said: str) -> None:
    """A type that there is not is refused with what may be meant: Spark would tell much later."""
    for make in (table_definition, partial(changed_definition, BEFORE)):
        with pytest.raises(ValueError, match=re.escape(said)):
            make(columns=[("id", kind)])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("struct<``:int>", "must have a name"),
        ("struct<`a\nb`:int>", "must not hold a control character"),
        ("array<struct<x:map<int,struct<`\x07`:int>>>>", "must not hold a control character"),
        ("struct<a:int,A:int>", "got a twice"),
        ("map<int,struct<b:struct<c:int,c:string>>>", "got c twice"),
    ],
)
def test_names_of_fields_obey_the_rules_at_every_depth(kind: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        table_definition([("id", kind)])


@pytest.mark.parametrize(
    "kind",
    [
        "struct<a:struct<a:int>,b:array<struct<a:int>>>",
        "BIGINT",
        " int",
        "decimal(10, 2)",
        "dec",
        "varchar(3)",
        "char (3)",
        "string collate utf8_lcase",
        "interval day to second",
        "timestamp_ntz",
        "struct<a: array<int> not null comment 'x', b: map<string, void>>",
        "variant",
        "uniontype<int,string>",
    ],
)
def test_a_type_of_spark_or_of_hive_stands_in_the_definition_as_it_was_given(kind: str) -> None:
    assert table_definition([("id", kind)]).columns[0].type == kind


def test_who_says_a_column_in_full_may_name_any_type() -> None:
    column = Column("day", "of_tomorrow", nullable=True, id=1)

    assert changed_definition(BEFORE, columns=[column]).columns[0] == column
