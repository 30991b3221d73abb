"""A table gets another definition: at once, or with a txn."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.commands import Column, Property, TableDefinition
from ledger.core.events.events import TableAltered
from ledger.core.state.traits import traits_of
from ledger.definitions.definitions import changed_definition, operation_of, table_definition
from ledger.log.lossy import LossyLog
from ledger.log.wire.file_list import AddFile
from ledger.properties.column_mapping import HIGHEST_ID
from ledger.testing import InMemoryLedger
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.told import bodies

BEFORE = table_definition(
    [("day", "int"), ("tail", "string")], partition_columns=["day"], properties={"a": "1", "b": "2"}
)
DAY, TAIL = BEFORE.columns


@pytest.mark.parametrize(
    ("changes", "wanted", "operation"),
    [
        ({"properties": {"c": "3"}}, {"a": "1", "b": "2", "c": "3"}, "SET TBLPROPERTIES"),
        ({"properties": {"a": "9"}}, {"a": "9", "b": "2"}, "SET TBLPROPERTIES"),
        ({"unset": ["a"]}, {"b": "2"}, "UNSET TBLPROPERTIES"),
        ({"unset": ["a"], "properties": {"c": "3"}}, {"b": "2", "c": "3"}, "SET TBLPROPERTIES"),
        ({"properties": {"a": "1"}}, {"a": "1", "b": "2"}, "SET TBLPROPERTIES"),
    ],
)
def test_properties(changes: Any, wanted: dict[str, str], operation: str) -> None:
    """Properties are added to those there are, or taken away; their keys ascend."""
    after = changed_definition(BEFORE, **changes)

    assert wanted == dict(after.properties)
    assert list(wanted) == [each.key for each in after.properties]
    assert operation == operation_of(BEFORE, after)
    assert BEFORE._replace(properties=after.properties) == after


@pytest.mark.parametrize(
    ("columns", "ids", "operation"),
    [
        ([("day", "int"), ("tail", "string"), ("delay", "double")], [1, 2, 3], "ADD COLUMNS"),
        ([("day", "int")], [1], "DROP COLUMNS"),
        ([("DAY", "bigint"), ("tail", "string")], [1, 2], "RENAME COLUMN"),
        ([("day", "bigint"), ("tail", "string")], [1, 2], "CHANGE COLUMN"),
        ([DAY, TAIL._replace(name="tail_number")], [1, 2], "RENAME COLUMN"),
        ([("day", "int"), ("delay", "double")], [1, 3], "REPLACE COLUMNS"),
        ([("day", "int"), Column("x", "int", nullable=False, id=7), ("y", "int")], [1, 7, 8], ""),
    ],
)
def test_columns(columns: Any, ids: list[int], operation: str) -> None:
    """Columns that keep their names keep their ids; a new one gets an id that was not there."""
    after = changed_definition(BEFORE, columns=columns)

    assert ids == [column.id for column in after.columns]
    assert operation_of(BEFORE, after) == (operation or "REPLACE COLUMNS")


ANY_CASE = "DELTA.columnMapping.maxColumnID"


@pytest.mark.parametrize(
    ("steps", "ids", "remembered"),
    [
        ([["day"]], [1], "2"),
        ([["day"], ["day", "delay"]], [1, 3], "3"),
        ([["day"], ["day", "delay"], ["day", "delay", "x"]], [1, 3, 4], "4"),
        ([[]], [], "2"),
        ([[], ["tail"]], [3], "3"),
        ([["tail"]], [2], None),
        ([["tail"], ["tail", "delay"]], [2, 3], None),
    ],
)
def test_ids_never_return(steps: list[list[str]], ids: list[int], remembered: str | None) -> None:
    """The id of a column that is gone is no other's: files of before may hold values under it."""
    after = BEFORE
    for names in steps:
        after = changed_definition(after, columns=[(name, "int") for name in names])

    assert ids == [column.id for column in after.columns]
    assert dict(after.properties).get(HIGHEST_ID) == remembered
    assert changed_definition(
        changed_definition(after, columns=[]), columns=[]
    ) == changed_definition(after, columns=[])


@pytest.mark.parametrize(
    ("properties", "following", "remembered"),
    [
        ({HIGHEST_ID: "7"}, 8, "8"),
        ({ANY_CASE: "7"}, 8, "8"),
        ({HIGHEST_ID: "1"}, 3, "3"),
        ({HIGHEST_ID: "many"}, 3, "3"),
        ({HIGHEST_ID: "9" * 30}, 3, "3"),
    ],
)
def test_highest_id(properties: dict[str, str], following: int, remembered: str) -> None:
    """A table that was Delta's says which ids it had, under any case of that property's name."""
    before = changed_definition(BEFORE, properties=properties)
    after = changed_definition(before, columns=[*BEFORE.columns, ("delay", "double")])

    assert after.columns[-1].id == following
    assert {key for key, _ in after.properties} == {"a", "b", HIGHEST_ID}
    assert dict(after.properties)[HIGHEST_ID] == remembered


def test_an_alter_cannot_make_a_table_forget_which_ids_it_had() -> None:
    dropped = changed_definition(BEFORE, columns=[("day", "int")])
    after = changed_definition(dropped, columns=[("day", "int"), ("x", "int")], unset=[HIGHEST_ID])

    assert [column.id for column in after.columns] == [1, 3]


@pytest.mark.parametrize(
    ("changes", "operation"),
    [
        ({"partition_columns": ["tail"]}, "REPLACE TABLE"),
        ({"location": "s3://lake/flights"}, "SET LOCATION"),
    ],
)
def test_location_and_partition_columns_can_be_changed_too(changes: Any, operation: str) -> None:
    after = changed_definition(BEFORE, **changes)

    assert BEFORE._replace(**changes) == after
    assert operation == operation_of(BEFORE, after)


@pytest.mark.parametrize("given", [{}, {"change": BEFORE, "unset": ["a"]}])
def test_what_is_to_change(given: Any) -> None:
    """A change says one thing: a definition, a function, or what is to change."""
    with pytest.raises(ValueError, match="give either a new definition"):
        changed_definition(BEFORE, **given)


def test_text_in_place_of_keys() -> None:
    """A text to unset is refused: its letters would be taken for keys, and may be some."""
    with pytest.raises(TypeError, match=r"properties to unset must be a list of names.* \['a'\]"):
        changed_definition(BEFORE, unset="a")


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"properties": {"DELTA.isolationLevel": "Serializable"}}, "Serializable"),
        ({"unset": ["delta.isolationlevel"]}, "WriteSerializable"),
    ],
)
def test_a_key_of_delta_replaces_another_spelling_of_it(changes: Any, level: str) -> None:
    before = changed_definition(BEFORE, properties={"delta.isolationLevel": "SnapshotIsolation"})

    assert level == traits_of(changed_definition(before, **changes)).level


def test_keys_of_the_tables_own_are_told_apart_by_the_case_of_letters() -> None:
    after = changed_definition(BEFORE, properties={"A": "3"})

    assert list(after.properties) == [("A", "3"), ("a", "1"), ("b", "2")]


@pytest.mark.parametrize("name", ["columns", "partition_columns", "unset"])
def test_read_once_only(ledger: Ledger, name: str) -> None:
    """What can be read once only is no list of nothing: the table keeps what it has."""
    before = create_flights(ledger).definition
    changes: Any = {name: iter(())}

    with pytest.raises(TypeError, match=f"{name} must be a list.*read only once"):
        ledger.alter_table(TABLE, **changes)

    assert before.columns == list(ledger.metadata(TABLE).definition.columns)


def test_a_name_that_there_is_not_is_an_error_not_a_table_that_lacks_what_was_meant() -> None:
    misspelled: Any = {"partition_column": ["month"], "propertys": {"a": "b"}}
    for make in (table_definition, partial(changed_definition, BEFORE)):
        with pytest.raises(TypeError, match="got partition_column, propertys"):
            make(**misspelled)


ODD: Any = {"a": 3, "b": "1"}


@pytest.mark.parametrize(
    "make",
    [
        lambda ledger: ledger.create_table("odd", properties=ODD),
        lambda ledger: ledger.begin().create_table("odd", properties=ODD),
        lambda ledger: ledger.alter_table(TABLE, properties=ODD),
        lambda ledger: ledger.alter_table(TABLE, BEFORE._replace(properties=[Property("a", ODD)])),
        lambda ledger: ledger.alter_table(TABLE, properties={3: "x", "a": "x"}),
    ],
    ids=["create", "create in a txn", "alter", "as a whole", "key"],
)
def test_properties_that_are_no_texts(ledger: Ledger, make: Callable[[Ledger], object]) -> None:
    """A property that is no pair of texts is named before anything is sent."""
    create_flights(ledger)

    with pytest.raises(TypeError, match=r"property ('a'|3) is .*: key and value must be texts"):
        make(ledger)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"properties": {"ab": "1"}}, "table property 'ab' is not a pair of key and value"),
        ({"partition_columns": "ab"}, r"columns must be a list of names, such as \['ab'\]"),
        ({"columns": [("a", "int")]}, r"must be a Column, got \('a', 'int'\)"),
    ],
)
def test_a_change_that_makes_a_definition_of_odd_parts_is_refused(parts: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        changed_definition(BEFORE, BEFORE._replace(**parts))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ["id"]}, r"a pair of .* such as \('id', 'bigint'\), got 'id'"),
        ({"columns": [("id", 5)]}, "a column must be a pair of name and Spark SQL type"),
        ({"columns": [("id", "int", True)]}, "a column must be a pair of name and Spark SQL type"),
        ({"columns": [None]}, "pair of name.*got None"),
        ({"columns": 5}, r"columns \(names with their types\) must be a list, got 5"),
        ({"partition_columns": "id"}, r"columns must be a list of names, such as \['id'\]"),
    ],
)
def test_odd_columns(options: Any, said: str) -> None:
    """A text where a pair or a list belongs is refused: its letters would be taken for names."""
    for make in (table_definition, partial(changed_definition, BEFORE)):
        with pytest.raises(TypeError, match=said):
            make(**options)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (BEFORE._replace(location=ODD), "location of .* must be a text"),
        (BEFORE._replace(partition_columns=[ODD]), "one of partition columns must be a text"),
        (BEFORE._replace(kind=ODD), "kind of TableDefinition: must be one of managed"),
        (BEFORE._replace(columns=[DAY._replace(nullable=ODD)]), "nullable of Column: must be"),
        (
            BEFORE._replace(columns=[DAY._replace(id=ODD["b"])]),
            "id of Column: must be a whole number, got '1'",
        ),
    ],
)
def test_odd_definition(ledger: Ledger, definition: TableDefinition, said: str) -> None:
    """The part of a definition that fits no record is named before anything is sent."""
    create_flights(ledger)
    before = ledger.token

    with pytest.raises((TypeError, ValueError), match=said):
        ledger.alter_table(TABLE, definition)

    assert before == ledger.token


def comment(definition: TableDefinition) -> TableDefinition:
    return changed_definition(definition, properties={"comment": "seen"})


@pytest.mark.parametrize(
    "change", [{"properties": {"comment": "seen"}}, {"change": comment}, {"change": BEFORE}]
)
def test_a_managed_table_is_altered_by_a_commit(ledger: Ledger, log: LossyLog, change: Any) -> None:
    table = create_flights(ledger).table

    receipt = ledger.alter_table(TABLE, **change)

    after = ledger.table(TABLE).definition
    (altered,) = bodies(log, TableAltered)
    assert {table: 2} == receipt.versions
    assert after == altered.definition
    assert altered.operation == "SET TBLPROPERTIES"
    assert dict(after.properties).keys() & {"comment", "a"}


def test_the_caller_may_say_what_the_change_is_called(ledger: Ledger, log: LossyLog) -> None:
    create_flights(ledger)

    ledger.alter_table(TABLE, comment, operation="COMMENT ON TABLE")

    assert [body.operation for body in bodies(log, TableAltered)] == ["COMMENT ON TABLE"]


class Rival:
    """A change of a table that another session changes first, `times` times."""

    def __init__(self, ledger: Ledger, times: int) -> None:
        self.calls = 0
        self._ledger = ledger
        self._times = times

    def __call__(self, definition: TableDefinition) -> TableDefinition:
        """Return the definition with how often this was asked."""
        self.calls += 1
        if self.calls <= self._times:
            self._ledger.alter_table(TABLE, properties={"rival": str(self.calls)})
        return changed_definition(definition, properties={"own": str(self.calls)})


def test_a_change_is_made_again_of_what_is_new(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger)

    ledger.alter_table(TABLE, Rival(memory.connect(), 2))

    found = dict(ledger.table(TABLE).definition.properties)
    assert (found["rival"], found["own"]) == ("2", "3")


@pytest.mark.parametrize("how", ["always too late", "read_at"])
def test_changed_every_time(ledger: Ledger, memory: InMemoryLedger, how: str) -> None:
    """A change that is always too late, or that was planned from one read, is told so."""
    create_flights(ledger)
    planned = ledger.token
    rival = Rival(memory.connect(), 10**9)

    with pytest.raises(errors.MetadataChangedException) as raised:
        ledger.alter_table(TABLE, rival, read_at=planned if how == "read_at" else 0)

    assert rival.calls == (1 if how == "read_at" else 10)
    assert raised.value.as_dict() == {"exception": "MetadataChanged", "message": str(raised.value)}


def test_a_txn_sees_what_it_altered_first(ledger: Ledger, memory: InMemoryLedger) -> None:
    table = create_flights(ledger).table
    other = memory.connect()
    with ledger.transaction() as txn:
        txn.alter_table(TABLE, columns=[("day", "int"), ("tail", "string"), ("hour", "int")])
        txn.alter_table(table, partition_columns=["day", "hour"])
        txn.add_files(TABLE, [AddFile("new", ("3", "1"))])
        before = other.table(TABLE).definition

    after = other.table(TABLE).definition
    assert (before.partition_columns, after.partition_columns) == (["day"], ["day", "hour"])
    assert [column.name for column in after.columns] == ["day", "tail", "hour"]
    assert txn.receipt is not None
    assert {table: 2} == txn.receipt.versions
    ledger.append(TABLE, [AddFile("newer", ("3", "2"))])


def test_a_txn_alters_the_table_it_created(ledger: Ledger) -> None:
    with ledger.transaction() as txn:
        row = txn.create_table("routes", [("origin", "string")])
        txn.alter_table(row, properties={"a": "1"})

    assert dict(ledger.table("routes").definition.properties) == {"a": "1"}


def test_a_table_changed_since_is_not_altered(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger)
    txn = ledger.begin()
    memory.connect().alter_table(TABLE, comment)

    with pytest.raises(errors.MetadataChangedException):
        txn.alter_table(TABLE, comment)


def test_a_client_learns_that_another_altered(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger)
    memory.connect().alter_table(TABLE, partition_columns=["tail"])
    ledger.reads().wait(memory.reads.position(), 10_000)
    ledger.create_table("any")  # The answer comes behind the change.

    with pytest.raises(ValueError, match="one partition value per column \\(tail\\), got 2"):
        ledger.append(TABLE, [AddFile("a", ("1", "2"))])


def test_an_append_that_is_made_after_an_alter_does_not_lose_to_it(ledger: Ledger) -> None:
    create_flights(ledger)
    ledger.alter_table(TABLE, comment)

    assert ledger.append(TABLE, [of_day(3)]).txn
