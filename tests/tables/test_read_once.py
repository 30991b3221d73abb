"""Rows that can be read once: the attempts of one `run` share them, a second statement may not."""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ledger.arrow.given_rows import opened
from ledger.arrow.read_once import ReadOnce
from ledger.client import Ledger
from ledger.errors import LogError, UnknownTableError
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from ledger.work.given_files import are_rows
from tests.tables.reading import rows_of

NEW = [{"id": each, "k": "new"} for each in (1, 2, 3)]
TABLE = pa.Table.from_pylist(NEW)


def relation() -> Any:
    """Return a relation over a reader: its second execution has no rows."""
    return duckdb.from_arrow(TABLE.to_reader(max_chunksize=2))


def broken() -> Iterator[dict[str, Any]]:
    """Yield a row, then fail, as a generator over the ledger may."""
    yield NEW[0]
    raise LogError("away")


ONCE: dict[str, Callable[[], Any]] = {
    "reader": lambda: TABLE.to_reader(max_chunksize=2),
    "relation": relation,
    "generator": lambda: (each for each in NEW),
    "map": lambda: map(dict, NEW),
    "batches": lambda: iter(TABLE.to_batches(max_chunksize=2)),
    "columns": lambda: {"id": iter([1, 2, 3]), "k": (each["k"] for each in NEW)},
}


def merged(txn: Transaction, rows: Any) -> None:
    txn.merge("db.t", rows, "target.id = source.id", when_not_matched_insert=True)


def made(txn: Transaction, rows: Any) -> None:
    """Make a table of rows, where rows make one, and copy it."""
    if are_rows(rows):
        row = txn.create_table(f"db.new{txn.id}", rows)
        txn.insert("db.t", txn.scan(row).to_arrow())
    else:
        txn.insert("db.t", rows)


VERBS: dict[str, Callable[[Transaction, Any], Any]] = {
    "insert": lambda txn, rows: txn.insert("db.t", rows),
    "evolve": lambda txn, rows: txn.insert("db.t", rows, evolve=True),
    "overwrite": lambda txn, rows: txn.overwrite("db.t", rows),
    "merge": merged,
    "create": made,
}


@pytest.fixture
def lake(memory: InMemoryLedger, tmp_path: Path) -> Ledger:
    """Return a client with a table that holds one row."""
    ledger = memory.connect(warehouse=str(tmp_path))
    ledger.create_table("db.t", [{"id": 0, "k": "old"}])
    return ledger


def tries(ledger: Ledger, work: Callable[[Transaction], object]) -> int:
    """Run work that loses to another writer at its first attempt; return the attempts."""
    count = 0

    def once(txn: Transaction) -> None:
        nonlocal count
        count += 1
        txn.scan("db.t").to_arrow()
        work(txn)
        if count == 1:
            with ledger.transaction() as other:
                other.update("db.t", {"k": "'other'"}, "id = 0")

    ledger.run(once)
    return count


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ONCE)
def test_the_next_attempt_has_the_rows(lake: Ledger, kind: str, verb: str) -> None:
    rows = ONCE[kind]()
    assert tries(lake, lambda txn: VERBS[verb](txn, rows)) == 2
    found = [each for each in rows_of(lake, "db.t") if each["id"]]
    assert sorted(found, key=lambda each: int(each["id"])) == NEW
    rows = ONCE[kind]()
    with lake.begin() as txn:
        VERBS[verb](txn, rows)
        with pytest.raises(ValueError, match=r"(has read|of the same txn): give a list or a table"):
            txn.insert("db.t", rows)
        txn.abort()


def test_rows_that_are_refused_are_not_read_yet(lake: Ledger) -> None:
    rows = (each for each in [{"id": 1, "more": 2}])
    with lake.begin() as txn:
        with pytest.raises(UnknownTableError):
            txn.insert("db.unknown", rows)
        txn.insert("db.t", rows, evolve=True)
    assert len(rows_of(lake, "db.t")) == len(["old", "new"])


def test_what_cannot_be_read_again_is_refused() -> None:
    small = ReadOnce(repeats=True, kept_bytes_max=TABLE.nbytes)
    first, second = TABLE.to_reader(max_chunksize=2), TABLE.to_reader(max_chunksize=2)
    failing = broken()
    for attempt in (1, 2):
        small.again()
        given = [small.lasting(each, "insert into", "t") for each in (first, second)]
        assert opened(given[0]).read_all().to_pylist() == NEW
        if attempt == 1:
            assert opened(given[1]).read_all().to_pylist() == NEW
            with suppress(LogError):
                list(small.lasting(failing, "insert into", "t"))
        else:
            with pytest.raises(ValueError, match=r"insert into t .* too large to keep"):
                opened(given[1]).read_all()
            with pytest.raises(ValueError, match="broke off"):
                list(small.lasting(failing, "insert into", "t"))
    for _ in range(3):
        small.again()
    with pytest.raises(ValueError, match="make it within the function"):
        opened(small.lasting(first, "insert into", "t")).read_all()


def test_files_and_names_that_are_read_once(lake: Ledger) -> None:
    files, columns = iter(["a.parquet"]), (each for each in [("p", "int"), ("x", "int")])
    by, tables = iter(["p"]), iter(["db.t"])

    def work(txn: Transaction) -> None:
        txn.add_files("db.t", files)
        txn.create_table("db.new", columns, partition_columns=by)  # type: ignore[arg-type]
        txn.app("a", 1, tables=tables)

    assert tries(lake, work) == 2
    assert "a.parquet" in lake.read("db.t").paths
    made = lake.table("db.new").definition
    assert ([column.name for column in made.columns], made.partition_columns) == (["p", "x"], ["p"])
    assert [each.table.name for each in lake.progress("a")] == ["db.t"]


# What no longer has rows, and what cannot be told from something without any.
TWICE: dict[str, tuple[Callable[[], Any], bool]] = {
    "reader": (ONCE["reader"], True),
    "relation over a reader": (relation, True),
    "generator": (ONCE["generator"], True),
    "chunks": (lambda: pd.read_csv(StringIO("id\n1\n"), chunksize=1), True),
    "scan": (lambda: TABLE.to_reader().cast(TABLE.schema), True),
    "relation": (lambda: duckdb.sql("SELECT 1 AS id, 'new' AS k"), False),
    "lazy frame": (lambda: pl.DataFrame(NEW).lazy(), False),
    "map": (ONCE["map"], False),
    "batches": (ONCE["batches"], False),
    "no rows": (TABLE.slice(0, 0).to_reader, False),
}


@pytest.mark.parametrize("verb", ["append", *VERBS])
@pytest.mark.parametrize("kind", TWICE)
def test_a_second_call_with_one_object_is_refused(lake: Ledger, kind: str, verb: str) -> None:
    make, is_refused = TWICE[kind]
    rows = make()
    takes = lake.create_table if verb == "create" and are_rows(rows) else lake.append

    def call(number: int) -> None:
        if verb in {"append", "create"}:
            takes(f"db.new{number}" if takes == lake.create_table else "db.t", rows)
        else:
            with lake.transaction() as txn:
                VERBS[verb](txn, rows)

    with suppress(TypeError):  # no rows for this verb, or not in this form
        call(1)
    before = lake.table("db.t").version
    if is_refused:
        with pytest.raises(ValueError, match=f"got a {type(rows).__name__} that was read before"):
            call(2)
        assert lake.table("db.t").version == before
    else:
        with suppress(TypeError, ValueError):
            call(2)


def test_what_an_append_has_left_is_not_the_rows_of_the_next_one(lake: Ledger) -> None:
    batches = [pa.record_batch({"id": [1]}), pa.record_batch({"id": [2**40]})]
    lake.create_table("db.small", [("id", "int")])
    rows = pa.RecordBatchReader.from_batches(batches[0].schema, [*batches, batches[0]])
    with pytest.raises(ValueError, match="id"):
        lake.append("db.small", rows)
    with pytest.raises(ValueError, match="was read before"):
        lake.append("db.small", rows)


def test_a_new_generator_without_rows_is_an_append_without_rows(lake: Ledger) -> None:
    lake.append("db.t", (each for each in NEW[:0]))
    assert lake.table("db.t").version == 1
    ended: Generator[dict[str, Any], None, None] = (each for each in NEW)
    ended.close()
    for verb in (lake.append, lambda name, rows: lake.run(lambda txn: txn.insert(name, rows))):
        with pytest.raises(ValueError, match="got a generator that was read before"):
            verb("db.t", ended)
    columns = {"id": (each for each in [1]), "k": (each for each in ["new"])}
    lake.run(lambda txn: txn.insert("db.t", columns))
    with pytest.raises(ValueError, match="was read before"):
        lake.run(lambda txn: txn.insert("db.t", columns))
    assert len(rows_of(lake, "db.t")) == len(["old", "new"])
