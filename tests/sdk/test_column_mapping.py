"""Columns of published tables keep their names in files when they are renamed or dropped."""

from collections.abc import Callable

import pytest

from ledger.core.commands import Column, TableDefinition
from ledger.core.conflicts.metadata_diff import MAPPING_MODE, properties
from ledger.definitions.definitions import changed_definition, table_definition
from ledger.properties.column_mapping import HIGHEST_ID, PUBLISH, is_mapped, physical_name

PUBLISHED = {PUBLISH: "delta"}
PLAIN = table_definition([("id", "bigint"), ("day", "int")], properties=PUBLISHED)


def names(definition: TableDefinition) -> list[tuple[str, str]]:
    return [(column.name, physical_name(column)) for column in definition.columns]


def renamed(old: str, new: str) -> Callable[[TableDefinition], TableDefinition]:
    def change(before: TableDefinition) -> TableDefinition:
        columns = [
            column._replace(name=new) if column.name == old else column for column in before.columns
        ]
        return before._replace(columns=columns)

    return change


def test_the_first_rename_maps_the_columns_by_name() -> None:
    after = changed_definition(PLAIN, renamed("day", "month"))
    assert names(after) == [("id", "id"), ("month", "day")]
    assert properties(after) == {**PUBLISHED, MAPPING_MODE: "name", HIGHEST_ID: "2"}
    assert '"delta.columnMapping.id": 2' in after.columns[1].metadata


def test_renamed_in_a_circle() -> None:
    """Names may go from column to column and back: files keep the first ones."""
    after = changed_definition(PLAIN, renamed("day", "x"))
    after = changed_definition(after, renamed("id", "day"))
    after = changed_definition(after, renamed("x", "id"))
    assert names(after) == [("day", "id"), ("id", "day")]


def test_a_column_with_the_name_of_a_dropped_one_has_another_name_in_files() -> None:
    after = changed_definition(PLAIN, columns=[("id", "bigint")])
    assert names(after) == [("id", "id")]
    assert properties(after)[HIGHEST_ID] == "2"
    again = changed_definition(after, columns=[("id", "bigint"), ("day", "int")])
    (_, (name, physical)) = names(again)
    assert (name, again.columns[1].id) == ("day", 3)
    assert physical.startswith("col-")
    assert names(changed_definition(again, properties={"owner": "ada"})) == names(again)


def test_a_new_column_with_the_name_of_a_dropped_one_is_told_apart() -> None:
    other = Column("day", "string", nullable=True, id=3)
    after = changed_definition(PLAIN, columns=[PLAIN.columns[0], other])
    assert names(after)[1][1] != "day"


@pytest.mark.parametrize(
    "after",
    [
        changed_definition(PLAIN, columns=[("id", "bigint"), ("day", "int"), ("new", "int")]),
        changed_definition(PLAIN, columns=[("id", "bigint"), ("day", "bigint")]),
        changed_definition(PLAIN, properties={"owner": "ada"}),
        changed_definition(
            table_definition([("id", "bigint"), ("day", "int")]), renamed("day", "month")
        ),
        changed_definition(PLAIN, unset=[PUBLISH]),
    ],
)
def test_columns_that_keep_their_names_need_no_mapping(after: TableDefinition) -> None:
    assert not is_mapped(after)
