"""A read answers or refuses: it never shows no files where it does not know which there are."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import ConflictError, FilesUnknownError, UnknownColumnError
from ledger.log.wire.file_list import AddFile
from ledger.transaction.transaction import Transaction

COLUMNS = [("day", "int"), ("tail", "string")]
IN_FOLDERS: list[dict[str, Any]] = [{"layout": "directories"}, {"kind": "external"}]


def filled(ledger: Ledger, options: dict[str, Any]) -> int:
    """Return a table partitioned by day, into which a txn wrote rows if it can."""
    table = ledger.create_table("t", COLUMNS, partition_columns=["day"], **options).table
    if options.get("kind") != "external":
        with ledger.transaction(tables=[table]) as txn:
            txn.wrote(table, "insert", "day=1")
    return table


@pytest.mark.parametrize("options", IN_FOLDERS, ids=str)
@pytest.mark.parametrize("where", [None, "day = 1"])
def test_tables_in_folders(ledger: Ledger, options: dict[str, Any], where: str | None) -> None:
    """Of files that only a listing tells neither client nor txn claims that there are none."""
    table, said = filled(ledger, options), next(iter(options.values()))
    for read in (ledger.read, ledger.begin().read, ledger.begin("read_only").read):
        with pytest.raises(FilesUnknownError, match=f"table t (is|has layout) {said}") as raised:
            read(table, where)
        assert table == raised.value.table
        reader = "spark_sink.cached_table" if said == "external" else "ledger.scan or Spark SQL"
        assert f"Read it with {reader}," in str(raised.value)


@pytest.mark.parametrize(
    ("depends", "loses"),
    [
        (lambda txn: txn.depends_on("t", "day = 1"), True),
        (lambda txn: txn.depends_on("t"), True),
        (lambda txn: txn.depends_on("t", "day = 2"), False),
        (lambda _: None, False),
    ],
    ids=["same partition", "whole", "another partition", "nothing"],
)
def test_a_txn_whose_files_are_not_known_says_by_a_condition_what_it_depends_on(
    ledger: Ledger, depends: Callable[[Transaction], object], *, loses: bool
) -> None:
    filled(ledger, {"layout": "directories"})
    ledger.create_table("sums")
    txn = ledger.begin(level="serializable")
    depends(txn)
    txn.add_files("sums", ["sum"])
    with ledger.transaction(tables=["t"]) as other:
        other.wrote("t", "update", "day=1")

    if loses:
        with pytest.raises(ConflictError):
            txn.commit()
    else:
        txn.commit()


def test_what_depends_on_listed_files(ledger: Ledger) -> None:
    """Where the files are known they count as read: one that is removed stands against it."""
    filled(ledger, {})
    ledger.append("t", [AddFile("a", ("1",))])
    txn = ledger.begin()
    txn.depends_on("t", "day = 1")
    txn.add_files("t", [AddFile("b", ("1",))])
    with ledger.transaction() as other:
        other.remove_files("t", other.read("t"))

    with pytest.raises(ConflictError):
        txn.commit()
    with pytest.raises(UnknownColumnError):
        ledger.begin().depends_on("t", "dya = 1")


def test_a_read_shows_what_was_committed(ledger: Ledger) -> None:
    with ledger.transaction() as txn:
        txn.create_table("new", COLUMNS, partition_columns=["day"])
        assert txn.read("new").paths == []
        txn.add_files("new", [AddFile("a", ("1",))])
        with pytest.raises(FilesUnknownError, match="added 1 matching files, such as a,"):
            txn.read("new")
        with pytest.raises(FilesUnknownError):
            txn.read("new", "day = 1")
        assert txn.read("new", "day = 2").paths == []

    assert ledger.read("new").paths == ["a"]
