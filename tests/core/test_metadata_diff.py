"""What a change of a table's metadata means to commits in flight, change by change (facts a.5)."""

import json
from typing import Any

import pytest

from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.conflicts.metadata_diff import RESOLVABLE, ROW_COLUMNS, ROW_TRACKING, metadata_kind
from ledger.core.predicates.json_text import DEPTH_MAX
from tests.core.parts import table_of

EVERY_FEATURE = frozenset(feature for feature, _ in RESOLVABLE.values())
TABLE = table_of(("day", "string"), ("delay", "int"), by=["day"])
FIRST, SECOND = TABLE.columns
MARK = "delta.identity.highWaterMark"
MAPPED = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}


def having(made: TableDefinition = TABLE, /, **properties: str) -> TableDefinition:
    said = [Property(key.replace("__", "."), text) for key, text in sorted(properties.items())]
    return made._replace(properties=said)


def saying(column: Column, **metadata: Any) -> Column:
    return column._replace(
        metadata=json.dumps({key.replace("__", "."): each for key, each in metadata.items()})
    )


def columns(*several: Column, **properties: str) -> TableDefinition:
    return having(TABLE._replace(columns=list(several)), **properties)


# Property, its value before (None = it was not there), its value after, what the change is.
PROPERTIES = [
    ("delta.enableRowTracking", None, "true", "resolvable"),
    ("delta.enableRowTracking", "false", "TRUE", "resolvable"),
    ("delta.enableRowTracking", "true", "false", "properties"),
    ("delta.rowTracking.materializedRowIdColumnName", None, "_row_id", "properties"),
    ("delta.rowTracking.materializedRowIdColumnName", "_a", "_b", "properties"),
    ("delta.rowTracking.materializedRowCommitVersionColumnName", None, "_v", "properties"),
    ("delta.columnMapping.mode", None, "name", "resolvable"),
    ("delta.columnMapping.mode", "none", "name", "resolvable"),
    ("delta.columnMapping.mode", None, "id", "properties"),
    ("delta.columnMapping.mode", "id", "name", "properties"),
    ("delta.columnMapping.mode", "name", "none", "properties"),
    ("delta.columnMapping.maxColumnId", None, "2", "resolvable"),
    ("delta.columnMapping.maxColumnId", "2", "3", "resolvable"),
    ("delta.enableDeletionVectors", None, "true", "resolvable"),
    ("delta.enableDeletionVectors", "true", "false", "properties"),
    ("delta.checkpointPolicy", "classic", "v2", "resolvable"),
    ("delta.checkpointPolicy", "v2", "classic", "properties"),
    ("delta.enableInCommitTimestamps", None, "true", "resolvable"),
    ("delta.enableInCommitTimestamps", "true", "false", "properties"),
    ("delta.inCommitTimestampEnablementVersion", None, "7", "resolvable"),
    ("delta.inCommitTimestampEnablementVersion", "7", "8", "properties"),
    ("delta.inCommitTimestampEnablementTimestamp", None, "7", "resolvable"),
    ("delta.inCommitTimestampEnablementTimestamp", "7", "8", "properties"),
    ("io.unitycatalog.tableId", None, "a-b", "resolvable"),
    ("io.unitycatalog.tableId", "a-b", "c-d", "properties"),
    ("delta.isolationLevel", None, "Serializable", "properties"),
    ("delta.checkpointInterval", "10", "20", "properties"),
    ("delta.deletedFileRetentionDuration", None, "interval 1 week", "properties"),
    ("delta.enableChangeDataFeed", None, "true", "properties"),
    ("delta.appendOnly", None, "true", "properties"),
    ("delta.constraints.positive", None, "delay > 0", "properties"),
    ("comment", None, "flights", "properties"),
]


@pytest.mark.parametrize(("key", "old", "new", "expected"), PROPERTIES)
def test_properties(key: str, old: str | None, new: str, expected: str) -> None:
    """A property on the allow list is taken on in the direction that is allowed, no other is."""
    before = having(**({} if old is None else {key: old}))

    assert metadata_kind(before, having(**{key: new}), EVERY_FEATURE) == expected


@pytest.mark.parametrize("key", sorted(ROW_COLUMNS))
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(None, "true", "resolvable"), ("true", "TRUE", "resolvable"), ("true", "false", "properties")],
)
def test_row_columns(key: str, old: str | None, new: str, expected: str) -> None:
    """Columns of row tracking are taken on where the same table tracks rows, now or already."""
    before = having(**({} if old is None else {ROW_TRACKING: old}))
    after = having(**{key: "_row", ROW_TRACKING: new})

    assert metadata_kind(before, after, EVERY_FEATURE) == expected
    assert metadata_kind(before, after, EVERY_FEATURE - {"rowTracking"}) == "properties"


@pytest.mark.parametrize("key", sorted(RESOLVABLE))
def test_a_property_that_is_taken_away_is_not_taken_on_even_one_of_the_allow_list(key: str) -> None:
    assert metadata_kind(having(**{key: "true"}), TABLE, EVERY_FEATURE) == "properties"


@pytest.mark.parametrize(
    ("key", "old", "new"), [row[:3] for row in PROPERTIES if row[3] == "resolvable"]
)
def test_features(key: str, old: str | None, new: str) -> None:
    """A property of the allow list counts only with its feature in the protocol."""
    feature, _ = RESOLVABLE[key]
    before = having(**({} if old is None else {key: old}))

    assert metadata_kind(before, having(**{key: new}), frozenset({feature})) == "resolvable"
    assert metadata_kind(before, having(**{key: new}), EVERY_FEATURE - {feature}) == "properties"


CHANGES = [
    ("nothing", TABLE, TABLE, "resolvable"),
    ("another location", TABLE, TABLE._replace(location="s3://b"), "properties"),
    (
        "two properties, one of them not on the list",
        TABLE,
        having(delta__enableDeletionVectors="true", comment="x"),
        "properties",
    ),
    (
        "two properties of the list",
        TABLE,
        having(delta__enableDeletionVectors="true", delta__enableRowTracking="true"),
        "resolvable",
    ),
    (
        "another location beside a property of the list",
        TABLE,
        having(TABLE._replace(location="s3://b"), delta__enableRowTracking="true"),
        "properties",
    ),
    ("a new column", TABLE, columns(FIRST, SECOND, SECOND._replace(name="c", id=3)), "shape"),
    ("a column less", TABLE, columns(FIRST), "shape"),
    ("another type", TABLE, columns(FIRST, SECOND._replace(type="bigint")), "shape"),
    ("another name", TABLE, columns(FIRST, SECOND._replace(name="late")), "shape"),
    ("not nullable", TABLE, columns(FIRST, SECOND._replace(nullable=False)), "shape"),
    ("another order", TABLE, columns(SECOND, FIRST), "shape"),
    ("a comment", TABLE, columns(FIRST, saying(SECOND, comment="minutes")), "shape"),
    ("other partition columns", TABLE, TABLE._replace(partition_columns=["delay"]), "shape"),
    ("no partition columns", TABLE, TABLE._replace(partition_columns=[]), "shape"),
    ("a first identity mark", TABLE, columns(FIRST, saying(SECOND, **{MARK: 7})), "identity"),
    (
        "a higher identity mark",
        columns(FIRST, saying(SECOND, comment="n", **{MARK: 7})),
        columns(FIRST, saying(SECOND, **{MARK: 9}, comment="n")),
        "identity",
    ),
    (
        "an identity mark and another type",
        columns(FIRST, saying(SECOND, **{MARK: 7})),
        columns(FIRST._replace(type="date"), saying(SECOND, **{MARK: 9})),
        "shape",
    ),
    (
        "an identity mark and a property",
        columns(FIRST, saying(SECOND, **{MARK: 7})),
        columns(FIRST, saying(SECOND, **{MARK: 9}), delta__enableRowTracking="true"),
        "shape",
    ),
    (
        "metadata of a column that is no JSON",
        TABLE,
        columns(FIRST, SECOND._replace(metadata="{")),
        "shape",
    ),
    (
        "column mapping by name",
        TABLE,
        columns(saying(FIRST, **MAPPED), SECOND._replace(id=9), delta__columnMapping__mode="name"),
        "resolvable",
    ),
    (
        "column mapping by name, said to be none before",
        having(delta__columnMapping__mode="none"),
        columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="name"),
        "resolvable",
    ),
    (
        "column mapping by id",
        TABLE,
        columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="id"),
        "shape",
    ),
    (
        "column mapping that was there before",
        having(delta__columnMapping__mode="name"),
        columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="name"),
        "shape",
    ),
    (
        "column mapping, and a name changed with it",
        TABLE,
        columns(
            saying(FIRST._replace(name="d"), **MAPPED), SECOND, delta__columnMapping__mode="name"
        ),
        "shape",
    ),
    (
        "column mapping, and a comment given with it",
        TABLE,
        columns(saying(FIRST, comment="x", **MAPPED), SECOND, delta__columnMapping__mode="name"),
        "shape",
    ),
    (
        "column mapping, and other partition columns",
        TABLE,
        columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="name")._replace(
            partition_columns=[]
        ),
        "shape",
    ),
    (
        "column mapping beside a property that is not on the list",
        TABLE,
        columns(saying(FIRST, **MAPPED), SECOND, comment="x", delta__columnMapping__mode="name"),
        "shape",
    ),
    (
        "column mapping and another location",
        TABLE,
        columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="name")._replace(
            location="s3://b"
        ),
        "shape",
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "expected"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES]
)
def test_changes(before: TableDefinition, after: TableDefinition, expected: str) -> None:
    """Only identity marks, the allow list and column mapping turned on leave writers alone."""
    assert metadata_kind(before, after, EVERY_FEATURE) == expected


def test_mapping_needs_its_feature() -> None:
    made = columns(saying(FIRST, **MAPPED), SECOND, delta__columnMapping__mode="name")

    assert metadata_kind(TABLE, made, EVERY_FEATURE - {"columnMapping"}) == "shape"


def test_sequences_do_not_matter() -> None:
    made = having(delta__enableRowTracking="true")
    other = made._replace(
        columns=tuple(made.columns),
        partition_columns=tuple(made.partition_columns),
        properties=tuple(made.properties),
    )

    assert metadata_kind(TABLE, other, EVERY_FEATURE) == "resolvable"


@pytest.mark.parametrize("frames", [0, 300])
def test_deep_metadata_is_read_alike(frames: int) -> None:
    if frames:
        return test_deep_metadata_is_read_alike(frames - 1)
    for depth, kind in ((DEPTH_MAX - 2, "identity"), (DEPTH_MAX + 1, "shape"), (900, "shape")):
        deep = "[" * depth + "]" * depth
        marked = [SECOND._replace(metadata=f'{{"deep":{deep},"{MARK}":{mark}}}') for mark in (1, 2)]
        before, after = (columns(FIRST, column) for column in marked)
        assert metadata_kind(before, after, EVERY_FEATURE) == kind
    return None
