"""Columns with another name: appends of Iceberg clients beside readers of published Delta."""

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError
from pyiceberg.table import Table
from pyiceberg.types import LongType

from ledger.errors import UnreadableTableError
from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.plain_table import PLAIN, PUBLISHED, TABLE, plain, rows
from tests.iceberg.clients.readers import Served, agreed, pyiceberg_catalog


def rename(lake: Served, old: str, new: str) -> Table:
    """Rename a column or a field by pyiceberg, and return the table."""
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    with table.update_schema() as change:
        change.rename_column(old, new)
    return table


def append(table: Table, *new: dict[str, Any]) -> None:
    table.append(pa.Table.from_pylist([*new], schema=table.schema().as_arrow()))


def test_rows_after_a_rename_in_a_published_table(lake: Served) -> None:
    """Files of clients have the new name, which readers of the Delta log would not look for."""
    plain(lake)
    table = rename(lake, "name", "title")
    before = lake.ledger.table(TABLE).version
    with pytest.raises(BadRequestError, match="Delta"):
        append(table, {"id": 3, "title": "c"})
    assert lake.ledger.table(TABLE).version == before
    lake.ledger.append(TABLE, [{"id": 4, "title": "d"}])
    wanted = [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}, {"id": 4, "title": "d"}]
    assert agreed(lake, TABLE) == texts(wanted)


def test_rows_after_a_rename_within_a_struct_of_a_published_table(lake: Served) -> None:
    columns = [("id", "bigint"), ("who", "struct<first:string,last:string>")]
    lake.ledger.create_table(TABLE, columns, properties=PUBLISHED)
    lake.ledger.append(TABLE, [{"id": 1, "who": {"first": "a", "last": "b"}}])
    table = rename(lake, "who.first", "given")
    with pytest.raises(BadRequestError, match="Delta"):
        append(table, {"id": 2, "who": {"given": "c", "last": "d"}})
    assert agreed(lake, TABLE) == texts([{"id": 1, "who": {"given": "a", "last": "b"}}])


def test_rows_of_a_column_that_a_mapped_table_got_later(lake: Served) -> None:
    """The column has a name of its own in files, which no client knows."""
    plain(lake)
    rename(lake, "name", "title")
    rename(lake, "title", "name")
    table = pyiceberg_catalog(lake.uri).load_table(TABLE)
    append(table, {"id": 3, "name": "c"})
    with table.update_schema() as change:
        change.add_column("extra", LongType())
    with pytest.raises(BadRequestError, match="Delta"):
        append(table, {"id": 4, "name": "d", "extra": 4})
    wanted = [{"id": n, "name": name, "extra": None} for n, name in ((1, "a"), (2, "b"), (3, "c"))]
    assert agreed(lake, TABLE) == texts(wanted)


def test_a_table_with_a_rename_is_published_again_once_its_files_are_written_anew(
    lake: Served,
) -> None:
    plain(lake)
    table = rename(lake, "name", "title")
    lake.ledger.alter_table(TABLE, unset=[PUBLISH])
    table.refresh()
    append(table, {"id": 3, "title": "c"})
    with pytest.raises(BadRequestError, match="sort_by"), table.transaction() as txn:
        txn.set_properties(PUBLISHED)
    with pytest.raises(UnreadableTableError, match="sort_by"):
        lake.ledger.alter_table(TABLE, properties=PUBLISHED)
    lake.ledger.optimize(TABLE, sort_by=["id"])
    lake.ledger.alter_table(TABLE, properties=PUBLISHED)
    wanted = [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}, {"id": 3, "title": "c"}]
    assert agreed(lake, TABLE) == texts(wanted)


def test_publication_is_not_turned_on_beside_rows_under_a_new_name(lake: Served) -> None:
    lake.ledger.create_table(TABLE, PLAIN)
    lake.ledger.append(TABLE, rows((1, "a")))
    table = rename(lake, "name", "title")
    new = pa.Table.from_pylist([{"id": 2, "title": "b"}], schema=table.schema().as_arrow())
    txn = table.transaction().set_properties(PUBLISHED)
    txn.append(new)
    with pytest.raises(BadRequestError, match=PUBLISH):
        txn.commit_transaction()
    lake.ledger.alter_table(TABLE, properties=PUBLISHED)
    assert agreed(lake, TABLE) == texts([{"id": 1, "title": "a"}])
