"""Partition transforms: their results are those of Iceberg, and one transform has one spelling."""

from decimal import Decimal

import pytest

from ledger.core.partitions.murmur import hash_of_bytes, hash_of_long
from ledger.core.partitions.transforms import parse_transform
from ledger.core.predicates.types import parse_type
from ledger.core.state.traits import partitioned_by, traits_of
from ledger.definitions.definitions import changed_definition, table_definition

SIGNED = 1 << 32

# Appendix B of Iceberg's specification.
HASHES = [
    (hash_of_long(34), 2017239379),
    (hash_of_bytes(b"iceberg"), 1210000089),
    (hash_of_bytes(bytes([0, 1, 2, 3])), -188683207),
    (hash_of_bytes((1420).to_bytes(2, "big")), -500754589),
    (hash_of_long(17486), -653330422),
    (hash_of_long(1510871468000000), -2047944441),
]


@pytest.mark.parametrize(("found", "wanted"), HASHES)
def test_the_hash_is_that_of_the_specification(found: int, wanted: int) -> None:
    assert found == wanted % SIGNED


RESULTS = [
    ("years(a)", "2026-07-31", "date", "2026"),
    ("months(a)", "2026-07-31", "date", "2026-07"),
    ("days(a)", "0099-07-31", "date", "0099-07-31"),
    ("days(a)", "2026-07-31T23:30:00Z", "timestamp", "2026-07-31"),
    ("days(a)", "1969-12-31 23:59:59.999999", "timestamp_ntz", "1969-12-31"),
    ("hours(a)", "2026-07-31 23:30:00", "timestamp_ntz", "2026-07-31-23"),
    ("bucket(16, a)", "34", "bigint", "3"),
    ("bucket(16, a)", "34", "int", "3"),
    ("truncate(10, a)", "19", "int", "10"),
    ("truncate(10, a)", "-1", "int", "-10"),
    ("truncate(50, a)", "10.65", "decimal(9,2)", "10.5"),
    ("truncate(10, a)", f"{'9' * 34}.9999", "decimal(38,4)", f"{'9' * 34}.9990"),
    ("bucket(1000, a)", "1234567890123456789012345678901234.5678", "decimal(38,4)", "235"),
    ("truncate(3, a)", "iceberg", "string", "~ice"),
    ("truncate(3, a)", "", "string", "~"),
    ("truncate(2, a)", "a\U0001f600b", "varchar(10)", "~a\U0001f600"),
    ("bucket(16, a)", None, "string", None),
]


@pytest.mark.parametrize(("text", "value", "type_", "wanted"), RESULTS)
def test_a_value_has_its_result(text: str, value: str | None, type_: str, wanted: str) -> None:
    transform = parse_transform(text)
    assert transform is not None
    found = transform.of_text(value, type_)
    assert found == wanted or Decimal(found or "") == Decimal(wanted)


REFUSED = ["hours(a):date", "years(a):string", "truncate(3, a):date", "bucket(3, a):double"]


@pytest.mark.parametrize("case", REFUSED)
def test_a_transform_takes_the_types_of_iceberg_only(case: str) -> None:
    text, type_ = case.split(":")
    transform = parse_transform(text)
    assert transform is not None
    assert not transform.takes(type_)


SPELLINGS = [
    ("day(At)", "days(at)"),
    ("Bucket(16,ID)", "bucket(16, id)"),
    ("truncate( name , 4 )", "truncate(4, name)"),
    ("date_hour(at)", "hours(at)"),
    ("`odd name`", "`odd name`"),
    ("years(`a b`)", "years(`a b`)"),
]


@pytest.mark.parametrize(("given", "wanted"), SPELLINGS)
def test_a_definition_has_one_spelling(given: str, wanted: str) -> None:
    columns = [("at", "timestamp"), ("id", "bigint"), ("name", "string"), ("a b", "date")]
    assert table_definition(columns, partition_columns=[given]).partition_columns == [wanted]


@pytest.mark.parametrize("text", ["bucket(id)", "bucket(0, id)", "bucket(2, id, 3)", "days(3, at)"])
def test_a_wrong_width_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        table_definition([("id", "bigint"), ("at", "date")], partition_columns=[text])


def test_a_column_whose_name_looks_like_a_transform_is_that_column() -> None:
    definition = table_definition([("days(at)", "string")], partition_columns=["days(at)"])
    assert traits_of(definition).schema == (("days(at)", "string"),)


def test_a_transform_follows_its_column() -> None:
    before = table_definition([("at", "timestamp")], partition_columns=["days(at)"])
    column = before.columns[0]._replace(name="when it was")
    after = changed_definition(before, before._replace(columns=[column]))
    assert after.partition_columns == ["days(`when it was`)"]
    assert partitioned_by(after)[0][1:] == ("date", column.id)


def test_results_are_values_of_their_types() -> None:
    kinds = {"years(a)": "int", "months(a)": "string", "days(a)": "date"}
    kinds["truncate(3, a)"] = "bigint"
    for text, wanted in kinds.items():
        transform = parse_transform(text)
        assert transform is not None
        assert transform.result_type("int" if "truncate" in text else "date") == wanted
        assert parse_type(wanted) is not None
