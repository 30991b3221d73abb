"""The LOCATION of Spark SQL: the folder that Spark's own tables would have, for data and log."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from ledger.testing import InMemoryLedger
from spark_sink import Lake
from tests.spark_sink.catalog.sql import done, rows
from tests.tables.published_lake import publish

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("file://", "my%20lake"),
        ("", "my%20lake"),
        ("file:", "my lake"),
        ("", "100% flüge"),
        ("file://", "a+b#c?d"),
    ],
)
def test_files_of_a_location(
    lake: Lake, memory: InMemoryLedger, tmp_path: Path, root: str, name: str
) -> None:
    """Nothing in a LOCATION is escaped, as in every path of Hadoop: all files lie there."""
    folder = tmp_path / "lake" / name
    done(
        lake,
        f"CREATE TABLE ledger.db.t (id INT, p STRING) PARTITIONED BY (p) "
        f"LOCATION '{root}{folder}' TBLPROPERTIES ('lakeledger.publish' = 'delta')",
        "INSERT INTO ledger.db.t VALUES (1, 'a b'), (2, '100%'), (3, 'a%20b')",
        "DELETE FROM ledger.db.t WHERE id = 1",
    )
    lake.ledger.append("db.t", [{"id": 4, "p": "x"}])
    assert not publish(memory.log).stopped
    lake.ledger.vacuum("db.t", older_than_h=0.0)
    assert [each.name for each in folder.parent.iterdir()] == [name]
    assert lake.ledger.table("db.t").definition.location == str(folder)
    assert rows(lake, "SELECT id FROM ledger.db.t") == [(2,), (3,), (4,)]
    assert lake.ledger.scan("db.t").to_arrow().num_rows == 3
    if name != "my%20lake":  # deltalake 1.6 decodes the name of a folder twice.
        assert DeltaTable(str(folder)).to_pyarrow_table().num_rows == 3
