"""Whatever a txn reads of a table its commit is judged by: no way to read goes unnoticed."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from ledger.core.commands import Layout
from ledger.errors import ConflictError, FilesUnknownError
from ledger.transaction.transaction import Transaction
from spark_sink import cached_table
from tests.sources import product
from tests.spark_sink.host import NAME, Host, running_host

Reader = Callable[[Host, Transaction], object]

# What tells a txn of rows or files; by name, with how it is told that nothing depends on them.
READERS: Final[dict[str, tuple[Reader, Reader | None]]] = {
    "Transaction.read": (
        lambda _, txn: txn.read(NAME),
        lambda _, txn: txn.read(NAME, record=False),
    ),
    "Transaction.read_whole": (lambda _, txn: txn.read_whole(NAME), None),
    "Transaction.depends_on": (lambda _, txn: txn.depends_on(NAME), None),
    "Transaction.use": (lambda host, txn: txn.use(host.ledger.read(NAME)), None),
    "Transaction.scan": (
        lambda _, txn: txn.scan(NAME).count(),
        lambda _, txn: txn.scan(NAME, record=False).count(),
    ),
    "Transaction.delete": (lambda _, txn: txn.delete(NAME, "tail = 'other'"), None),
    "Transaction.update": (
        lambda _, txn: txn.update(NAME, {"tail": "upper(tail)"}, "tail = 'other'"),
        None,
    ),
    "Transaction.merge": (
        lambda _, txn: txn.merge(
            NAME, [{"tail": "other"}], "target.tail = source.tail", when_matched_delete=True
        ),
        None,
    ),
    "Transaction.overwrite": (
        lambda _, txn: txn.overwrite(NAME, [{"day": 1, "tail": "new"}], "day = 1"),
        None,
    ),
    "Transaction.restore": (
        lambda host, txn: txn.restore(NAME, version=host.ledger.table(NAME).version),
        None,
    ),
    "HostTables.resolve": (
        lambda host, txn: host.tables.resolve(NAME, txn),
        lambda host, txn: host.tables.resolve(NAME, txn, record=False),
    ),
}
SPARK_READERS: Final = {"cached_table"}
# What takes a txn, or is a part of one, and tells of no rows and no files.
OTHERS: Final = {
    "it writes": {
        *("Transaction.add_files", "Transaction.remove_files", "Transaction.rewrite_files"),
        *("Transaction.insert", "Transaction.wrote", "Transaction.app"),
        *("Transaction.operation", "Transaction.set_domain", "Transaction.set_protocol"),
        *("Transaction.create_table", "Transaction.alter_table", "Transaction.rename_table"),
        *("Transaction.drop_table", "Transaction.undrop_table", "Transaction.commit"),
        *("Transaction.abort", "Transaction.ask", "Transaction.note", "Transaction.mark_rows"),
    },
    "it writes the same rows anew": {"Transaction.flush", "Transaction.optimize"},
    "it gives ids": {
        *("Transaction.write_id", "Transaction.write_ids", "LedgerTxns.allocate", "allocate")
    },
    "it tells what may be seen": {"Transaction.valid_write_ids", "Transaction.check_shown"},
    "it tells of definitions": {
        *("Transaction.metadata", "Transaction.metadata_object", "named_for")
    },
    "it runs work in a txn, or ends txns": {
        *("LedgerTxns.run", "LedgerTxns.forget_aborted", "run", "attempt"),
        *("joining", "joining_txn", "CatalogState.begin"),
    },
    "it reads by the verbs on rows, or plans a statement that does": {"Transaction.statement"},
    "it compares or records the progress of writers": {
        *("is_new_batch", "note_batch", "LedgerOffsets.record")
    },
    "it writes by the verbs on rows": {"TopicTable.write", "BadTable.write"},
    "it imports": {"committed", "defined", "stages_in"},
}
TXNS: Final = {"ledger.transaction.transaction.Transaction", "spark_sink.host_tables.HostSnapshot"}
TAKES_TXN: Final = re.compile(r"\b(?:Transaction|HostSnapshot)\b")


def public_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef) and "_" not in {owner[:1], each.name[0]}:
                yield f"{owner}{each.name}", each


def takes_txn(function: ast.FunctionDef) -> bool:
    """Tell whether a function is given a txn, or something that is called with one."""
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return any(
        each.annotation is not None and TAKES_TXN.search(ast.unparse(each.annotation))
        for each in given
    )


def functions_of_txns() -> set[str]:
    """Return everything public that is a part of a txn, or takes one."""
    own = inspect.getmembers(Transaction, inspect.isfunction)
    return {f"Transaction.{name}" for name, _ in own if not name.startswith("_")} | {
        name
        for module in product()
        if TXNS
        & {*module.imports, *(f"{module.name}.{each}" for each in ("Transaction", "HostSnapshot"))}
        for name, function in public_functions(module.tree)
        if takes_txn(function)
    }


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with running_host(tmp_path) as host:
        yield host


def test_whatever_a_txn_can_be_asked_is_known_to_read_and_tried_below_or_known_not_to() -> None:
    known = {*READERS, *SPARK_READERS, *(name for names in OTHERS.values() for name in names)}
    assert functions_of_txns() == known


def commit_after(host: Host, layout: Layout, read: Reader, *, day: int = 1) -> None:
    """Commit what a txn wrote that had read a table, after another one changed it in a day."""
    host.create(layout)
    host.ledger.create_table("db.sums", [("n", "INT")])
    with host.ledger.transaction() as txn:
        fill(host, txn, layout, "before", 1)
        fill(host, txn, layout, "before", 2)
    txn = host.ledger.begin(level="serializable")
    read(host, txn)
    txn.add_files("db.sums", ["sum.parquet"])
    with host.ledger.transaction() as other:
        if layout == "listed":
            other.remove_files(NAME, other.read(NAME, f"day = {day}"))
        else:
            other.wrote(NAME, "update", f"day={day}")
        fill(host, other, layout, "after", day)
    txn.commit()


def fill(host: Host, txn: Transaction, layout: Layout, name: str, day: int) -> None:
    """Write a row of a day into a table of either layout."""
    if layout == "directories":
        host.insert(txn, name, day=day)
    else:
        txn.add_files(NAME, [host.file(f"day={day}/{name}.parquet", name, day=str(day))])


def layouts_of(name: str) -> tuple[Layout, ...]:
    """Return the layouts of tables that a reader tells of."""
    statements = {
        f"Transaction.{verb}" for verb in ("delete", "update", "merge", "overwrite", "restore")
    }
    is_of_files = name in {"Transaction.read", "Transaction.use", *statements}
    return ("listed",) if is_of_files else ("listed", "directories")


@pytest.mark.parametrize(
    ("name", "layout"), [(name, layout) for name in READERS for layout in layouts_of(name)]
)
def test_a_read_loses_to_what_changed_it(host: Host, name: str, layout: Layout) -> None:
    """Each way to read a table counts: a commit that came after it and changed its rows wins."""
    with pytest.raises(ConflictError):
        commit_after(host, layout, READERS[name][0])


@pytest.mark.parametrize(
    ("name", "layout"),
    [(name, each) for name, (_, free) in READERS.items() if free for each in layouts_of(name)],
)
def test_a_read_that_is_not_remembered(host: Host, name: str, layout: Layout) -> None:
    free = READERS[name][1]
    assert free is not None
    commit_after(host, layout, free)


@pytest.mark.parametrize("layout", ["listed", "directories"])
@pytest.mark.parametrize("day", [1, 2])
def test_a_read_of_a_condition(host: Host, layout: Layout, day: int) -> None:
    def read(host: Host, txn: Transaction) -> None:
        host.tables.resolve(NAME, txn, where="day = 1")

    if day == 1:
        with pytest.raises(ConflictError):
            commit_after(host, layout, read, day=day)
    else:
        commit_after(host, layout, read, day=day)


def test_only_files_that_a_condition_may_concern_are_planned_with(host: Host) -> None:
    host.create("listed")
    host.ledger.append(NAME, [host.file(f"day={day}/a.parquet", day=str(day)) for day in (1, 2)])
    found = host.tables.resolve(NAME, host.snapshot(), where="day > 1").files
    assert found is not None
    assert [each.path for each in found] == ["day=2/a.parquet"]


def test_rows_that_a_txn_added_itself_are_not_shown_and_never_said_to_be_none(host: Host) -> None:
    host.create("listed")
    with host.ledger.transaction() as txn:
        txn.add_files(NAME, [host.file("day=1/a.parquet", "N1")])
        for record in (True, False):
            with pytest.raises(FilesUnknownError):
                host.tables.resolve(NAME, txn, record=record)
        assert host.tables.resolve(NAME, txn, where="day = 2").files == []


def test_a_txn_that_is_over_remembers_nothing_more(host: Host) -> None:
    host.create("listed")
    snapshot = host.snapshot()
    snapshot.commit()
    with pytest.raises(ValueError, match="has ended"):
        host.tables.resolve(NAME, snapshot)
    assert host.tables.resolve(NAME, snapshot, record=False).files == []


@pytest.mark.spark
@pytest.mark.parametrize("layout", ["listed", "directories"])
@pytest.mark.parametrize(
    ("where", "day", "loses"), [(None, 1, True), ("day = 1", 1, True), ("day = 1", 2, False)]
)
def test_a_frame_is_a_read(
    spark: SparkSession, host: Host, *, layout: Layout, where: str | None, day: int, loses: bool
) -> None:
    """Rows that Spark shows a txn count as read: all of the table, or those of a condition."""

    def read(host: Host, txn: Transaction) -> None:
        frame = cached_table(spark, NAME, txn, host.tables, where=where)
        assert {tuple(row) for row in frame.collect()} == (
            {(1, "before"), (2, "before")} if where is None else {(1, "before")}
        )

    if loses:
        with pytest.raises(ConflictError):
            commit_after(host, layout, read, day=day)
    else:
        commit_after(host, layout, read, day=day)


@pytest.mark.spark
def test_a_frame_that_is_no_read(spark: SparkSession, host: Host) -> None:
    def read(host: Host, txn: Transaction) -> None:
        assert cached_table(spark, NAME, txn, host.tables, record=False).count()

    commit_after(host, "listed", read)
