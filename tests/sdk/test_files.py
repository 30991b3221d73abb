"""What a txn and a client do with the files of tables, and what the commit says of it."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import pytest

from ledger.client import Ledger
from ledger.core.commands import Domain, Protocol
from ledger.core.events.events import TxnCommitted
from ledger.core.limits import ROWS_PER_WRITE_MAX
from ledger.errors import ConcurrentAppendException
from ledger.expressions.build import Expression, col
from ledger.log.lossy import LossyLog
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.reads.port import VersionRow
from ledger.session.receipt import Token
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.told import bodies


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


def last_version(memory: InMemoryLedger, table: int) -> VersionRow:
    return memory.reads.versions(table, 1)[0]


class Change(NamedTuple):
    """What a txn does, and what is there then: files, operation, level and blindness."""

    do: Callable[[Transaction], object]
    files: list[str]
    operation: str
    level: str = "WriteSerializable"
    blind: bool = False


def overwrite(txn: Transaction) -> None:
    txn.remove_files(TABLE, txn.read(TABLE, "day = 1"))
    txn.add_files(TABLE, [of_day(1, "new")])


def update(txn: Transaction) -> None:
    """Replace a file by one with a deletion vector, which has the same path."""
    txn.remove_files(TABLE, txn.read(TABLE, "day = 1"), operation="UPDATE")
    txn.add_files(TABLE, [AddFile("day1", ("1",), vector="dv1")])


def read_and_append(txn: Transaction) -> None:
    txn.read(TABLE)
    txn.add_files(TABLE, [of_day(3)])


def append_and_name(txn: Transaction) -> None:
    txn.add_files(TABLE, [of_day(3)])
    txn.operation(TABLE, "STREAMING UPDATE")


def two_statements(txn: Transaction) -> None:
    txn.remove_files(TABLE, txn.read(TABLE, "day = 1"), operation="UPDATE")
    txn.add_files(TABLE, [of_day(1, "new")], operation="UPDATE")
    txn.remove_files(TABLE, txn.read(TABLE, "day = 2"), operation="DELETE")


def coarse_too(txn: Transaction) -> None:
    """Update a day in folders, beside files that come."""
    txn.add_files(TABLE, [of_day(3)], operation="MERGE")
    txn.wrote(TABLE, "update", "day=1")


CHANGES = {
    "two statements": Change(two_statements, ["new"], "UPDATE, DELETE"),
    "coarse too": Change(coarse_too, ["day1", "day2", "day3"], "MERGE, update"),
    "append": Change(
        lambda txn: txn.add_files(TABLE, [of_day(3)]), ["day1", "day2", "day3"], "WRITE", blind=True
    ),
    "append after reading": Change(read_and_append, ["day1", "day2", "day3"], "WRITE"),
    "remove what was read": Change(
        lambda txn: txn.remove_files(TABLE, txn.read(TABLE, "day = 2")), ["day1"], "DELETE"
    ),
    "remove by path": Change(
        lambda txn: txn.remove_files(TABLE, ["day1"], operation="TRUNCATE"), ["day2"], "TRUNCATE"
    ),
    "remove as it was added": Change(
        lambda txn: txn.remove_files(TABLE, [of_day(2)]), ["day1"], "DELETE"
    ),
    "remove by hand": Change(
        lambda txn: txn.remove_files(TABLE, [RemoveFile("day1", ("1",))]), ["day2"], "DELETE"
    ),
    "overwrite": Change(overwrite, ["day2", "new"], "WRITE"),
    "update": Change(update, ["day1", "day2"], "UPDATE"),
    "rewrite": Change(
        lambda txn: txn.rewrite_files(TABLE, txn.read(TABLE, "day = 2"), [of_day(2, "big")]),
        ["big", "day1"],
        "OPTIMIZE",
        "SnapshotIsolation",
    ),
    "named later": Change(
        append_and_name, ["day1", "day2", "day3"], "STREAMING UPDATE", blind=True
    ),
    "nothing to delete": Change(
        lambda txn: txn.operation(TABLE, "DELETE"), ["day1", "day2"], "DELETE", blind=True
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes(ledger: Ledger, memory: InMemoryLedger, table: int, change: Change) -> None:
    """Files come and go with the commit, which says in Delta's words what was done."""
    with ledger.transaction() as txn:
        change.do(txn)

    version = last_version(memory, table)
    assert change.files == ledger.read(TABLE).paths
    assert change[2:] == (version.operation, version.level, version.blind)
    assert txn.receipt is not None
    assert {table: version.version} == txn.receipt.versions


def test_protocol_and_domain(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """Protocol and domain metadata of a Delta table are written by a commit."""
    with ledger.transaction() as txn:
        txn.set_protocol(TABLE, 3, 7, ["domainMetadata", "appendOnly"])
        txn.set_domain(TABLE, "delta.clustering", '{"by":["tail"]}')

    assert Protocol(3, 7, ["appendOnly", "domainMetadata"]) == memory.reads.protocol(table)
    assert [Domain("delta.clustering", '{"by":["tail"]}', removed=False)] == list(
        memory.reads.domains(table)
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([AddFile("a")], "one partition value per column \\(day\\), got 0"),
        ([of_day(1, "a"), of_day(1, "a")], "twice"),
        ([AddFile("", ("1",))], "path must not be empty"),
    ],
)
def test_impossible_files(ledger: Ledger, table: int, files: list[AddFile], said: str) -> None:
    """What cannot be a file of the table is said before anything is sent."""
    before = ledger.token
    with pytest.raises(ValueError, match=said):
        ledger.append(table, files)

    assert before == ledger.token


def test_one_txn_cannot_both_add_and_remove_a_file(ledger: Ledger, table: int) -> None:
    txn = ledger.begin()
    txn.add_files(table, [of_day(3)])

    with pytest.raises(ValueError, match="day3 is added or removed twice") as raised:
        txn.remove_files(table, [of_day(3)])

    assert "it still shows a file that the txn has removed" in str(raised.value)
    assert "Or use two txns, and let the second read what the first has committed" in str(
        raised.value
    )


def broken() -> Iterator[AddFile]:
    yield of_day(4)
    raise ValueError("no more files")


def to_known(txn: Transaction, table: int) -> None:
    txn.add_files(table, [of_day(5)])
    txn.rewrite_files(table, ["day1"], [of_day(5)], operation="MERGE")


def remove_known(txn: Transaction, table: int) -> None:
    txn.add_files(table, [of_day(5)])
    txn.remove_files(table, ["day1", "day5"], operation="MERGE")


GOOD, BAD = of_day(4), AddFile("bad")
REFUSED: dict[str, Callable[[Transaction, int], object]] = {
    "add": lambda txn, to: txn.add_files(to, [GOOD, BAD], operation="MERGE"),
    "add twice": lambda txn, to: txn.add_files(to, [GOOD, GOOD], operation="MERGE"),
    "add half": lambda txn, to: txn.add_files(to, broken(), operation="MERGE"),
    "remove": lambda txn, to: txn.remove_files(to, ["day1", ""], operation="MERGE"),
    "remove half": lambda txn, to: txn.remove_files(to, broken(), operation="MERGE"),
    "remove at another ledger's": lambda txn, to: txn.remove_files(
        to, ["day1"], operation="MERGE", read_at=Token("another", 0, 1)
    ),
    "rewrite": lambda txn, to: txn.rewrite_files(to, ["day1"], [GOOD, BAD], operation="MERGE"),
    "rewrite half": lambda txn, to: txn.rewrite_files(to, ["day1"], broken(), operation="MERGE"),
    "rewrite same": lambda txn, to: txn.rewrite_files(to, ["day4"], [GOOD], operation="MERGE"),
    "rewrite to a known file": to_known,
    "remove a known file": remove_known,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_files(ledger: Ledger, memory: InMemoryLedger, table: int, name: str) -> None:
    """A call that raised has noted nothing: neither some of its files nor its operation."""
    with ledger.transaction() as txn:
        txn.add_files(table, [of_day(3)])
        with pytest.raises(ValueError, match=r"."):
            REFUSED[name](txn, table)

    kept = {"day1", "day2", "day3", *(("day5",) if "known" in name else ())}
    assert kept == set(ledger.read(TABLE).paths)
    assert last_version(memory, table)[7:10] == ("WRITE", "WriteSerializable", True)


@pytest.mark.parametrize("name", [name for name in REFUSED if "known" not in name])
def test_a_table_of_a_call_that_raised_is_no_part(ledger: Ledger, table: int, name: str) -> None:
    other = ledger.create_table("other", [("day", "int")], partition_columns=["day"]).table
    with ledger.transaction() as txn:
        txn.add_files(table, [of_day(3)])
        with pytest.raises(ValueError, match=r"."):
            REFUSED[name](txn, other)
        ledger.drop_table(other)

    assert txn.receipt is not None
    assert {table: 2} == txn.receipt.versions


def test_append(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """An append is one command and one event, and a blind commit of its own."""
    before = memory.reads.position()

    receipt = ledger.append(table, [of_day(3)], operation="STREAMING UPDATE")

    version = last_version(memory, table)
    assert (before + 1, {table: 2}) == (receipt.position, receipt.versions)
    assert (receipt.txn, True, "STREAMING UPDATE") == (
        version.txn,
        version.blind,
        version.operation,
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: col("day").isin(*range(60_000)),
        lambda: f"day IN ({', '.join(map(str, range(60_000)))})",
        lambda: reduce(lambda e, _: ~(e | (col("day") == 2)), range(3_000), col("day") == 1),
    ],
    ids=["expression", "text", "nested expression"],
)
def test_a_condition_beyond_bounds_reads_the_whole_table(
    ledger: Ledger, memory: InMemoryLedger, table: int, build: Callable[[], str | Expression]
) -> None:
    txn = ledger.begin()
    read = txn.read(table, build())
    txn.add_files(table, [of_day(3)])
    with memory.connect().transaction() as winner:
        winner.read(table)
        winner.add_files(table, [of_day(70_000)])

    assert len(read) == 2
    with pytest.raises(ConcurrentAppendException):
        txn.commit()


def test_files_of_a_table_without_partitions_have_plain_paths(ledger: Ledger) -> None:
    ledger.create_table("routes")

    ledger.append("routes", ["a.parquet", "b.parquet"])

    assert ledger.read("routes").paths == ["a.parquet", "b.parquet"]


def test_the_rows_of_the_files_added_give_the_next_row_id(ledger: Ledger, log: LossyLog) -> None:
    table = ledger.create_table("tracked", properties={"delta.enableRowTracking": "true"}).table
    stats = ['{"numRecords":7}', "unreadable", "[]", '{"numRecords":"many"}', ""]

    ledger.append(table, [AddFile(f"f{at}", stats=text) for at, text in enumerate(stats)])
    ledger.append(table, [AddFile("next", stats='{"numRecords":2}')])

    parts = [part for body in bodies(log, TxnCommitted) for part in body.parts]
    assert [(part.first_row_id, part.footprint.rows_added) for part in parts if part.footprint] == [
        (0, 7),
        (7, 2),
    ]


@pytest.mark.parametrize(
    ("counts", "rows"),
    [
        ([ROWS_PER_WRITE_MAX], ROWS_PER_WRITE_MAX),
        ([ROWS_PER_WRITE_MAX + 1], 0),
        ([2**41, 7], 7),
        ([2**63 - 1, 2**70, 7], 7),
        ([ROWS_PER_WRITE_MAX, 1], 0),
        ([2**39, 2**39], ROWS_PER_WRITE_MAX),
    ],
)
def test_more_rows_than_there_can_be(
    ledger: Ledger, log: LossyLog, counts: Sequence[int], rows: int
) -> None:
    table = ledger.create_table("large").table

    ledger.append(
        table,
        [AddFile(f"f{at}", stats=f'{{"numRecords":{each}}}') for at, each in enumerate(counts)],
    )

    (part,) = bodies(log, TxnCommitted)[-1].parts
    assert part.footprint is not None
    assert part.footprint.rows_added == rows
