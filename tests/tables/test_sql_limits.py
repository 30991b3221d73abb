"""Queries with limits: time, memory, the bytes of files, and tables alone."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest

from ledger.errors import LimitExceededError
from ledger.reads.port import Reads
from ledger.snapshot.duckdb_query import SqlLimits
from ledger.snapshot.sql import SqlPlace
from ledger.snapshot.sql_text import QuerySyntaxError
from ledger.testing import InMemoryLedger

WIDE = SqlLimits(seconds=30.0, memory_bytes=64 << 20, file_bytes=1 << 20)


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reads]:
    """Return the reads of a ledger with a small table."""
    with InMemoryLedger() as memory:
        ledger = memory.connect(warehouse=tmp_path_factory.mktemp("warehouse"))
        ledger.create_table("small", pa.table({"number": [1, 2, 3]}))
        yield memory.reads


def asked(reads: Reads, query: str, limits: SqlLimits = WIDE) -> list[dict[str, object]]:
    return SqlPlace(reads, "main", limits=limits).query(query).to_pylist()


def test_a_query_within_its_limits_is_answered(reads: Reads) -> None:
    assert asked(reads, "SELECT sum(number) AS total FROM small") == [{"total": 6}]
    assert len(asked(reads, "SELECT * FROM range(3), unnest([1, 2])")) == 6


def test_a_query_ends_with_its_time(reads: Reads) -> None:
    began_s = monotonic()
    with pytest.raises(LimitExceededError, match=r"at most 0\.3 s"):
        asked(
            reads, "SELECT sum(hash(range)) FROM range(1000000000000)", WIDE._replace(seconds=0.3)
        )
    assert monotonic() - began_s < 10


def test_a_query_ends_with_its_memory(reads: Reads) -> None:
    with pytest.raises(LimitExceededError, match="memory"):
        asked(
            reads, "SELECT list(range) FROM range(50000000)", WIDE._replace(memory_bytes=32 << 20)
        )


def test_a_query_of_large_files_is_refused_before_they_are_read(reads: Reads) -> None:
    with pytest.raises(LimitExceededError, match="files of at most 10 B"):
        asked(reads, "SELECT * FROM small", WIDE._replace(file_bytes=10))


@pytest.mark.parametrize(
    "source",
    ["read_csv('x')", "glob('*')", "duckdb_settings()", "read_text('x')", "sniff_csv('x')"],
)
def test_rows_come_from_tables_alone(reads: Reads, source: str) -> None:
    with pytest.raises(QuerySyntaxError, match="rows must come from tables of the ledger"):
        asked(reads, f"FROM {source}")


def test_a_view_reads_no_file(tmp_path: Path) -> None:
    """DuckDB would look into the file when the view is made, before it answers."""
    (tmp_path / "x.csv").write_text("a\n1\n")
    query = f"FROM read_csv('{tmp_path}/x.csv')"
    with InMemoryLedger() as memory:
        ledger = memory.connect(warehouse=tmp_path)
        with pytest.raises(QuerySyntaxError, match="disabled"):
            ledger.create_view("stolen", query)
        ledger.create_view("counted", "SELECT count(*) AS n FROM duckdb_settings()")
        with pytest.raises(QuerySyntaxError, match="rows must come from tables of the ledger"):
            asked(memory.reads, "FROM counted")


def test_the_hint_of_a_wrong_column_has_the_same_limits(reads: Reads) -> None:
    with pytest.raises(QuerySyntaxError, match="number"):
        asked(reads, "SELECT numbr FROM small")


def test_without_limits_a_query_may_name_a_function(reads: Reads, tmp_path: Path) -> None:
    """Only the access to files is closed then: what DuckDB says of itself is no secret."""
    place = SqlPlace(reads, "main")
    assert place.query("SELECT count(*) AS n FROM duckdb_settings()").to_pylist()[0]["n"] > 0
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(QuerySyntaxError, match="disabled"):
        place.query(f"FROM read_csv('{tmp_path}/x.csv')")
