"""Ids of dropped columns: no later column gets one of them, for older files have values there."""

import pytest

from ledger.core.commands import Property
from ledger.definitions.definitions import changed_definition, table_definition
from ledger.properties.column_mapping import HIGHEST_ID

BEFORE = table_definition([("day", "int"), ("tail", "string")])
DAY, _ = BEFORE.columns


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_highest_id_stays(*, is_whole: bool) -> None:
    without = BEFORE._replace(columns=[DAY])
    dropped = changed_definition(BEFORE, without if is_whole else lambda _: without)
    assert Property(HIGHEST_ID, "2") in dropped.properties
    after = changed_definition(dropped, columns=[DAY, ("tail", "string")])
    assert [column.id for column in after.columns] == [1, 3]
