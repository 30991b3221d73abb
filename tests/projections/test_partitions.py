"""Partitions: the files of a condition, found by partition, and the sums of each partition."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given

from ledger.core.commands import TableWrite
from ledger.core.events.events import TxnCommitted
from ledger.core.predicates.predicates import compile_predicate
from ledger.core.state.traits import traits_of
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from ledger.reads.port import FileRow, PartitionRow, Reads
from ledger.snapshot.reading import may_concern
from ledger.snapshot.table_snapshot import TableSnapshot
from projections.fold.fold import Fold
from projections.queries import StoreReads
from projections.rows.tables.partitions import value_keys
from projections.store.memory import MemoryStore
from tests.conditions import tree_of
from tests.core.histories import Step
from tests.core.parts import above, equals, footprint, table_of
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.digests import digest
from tests.projections.filing import filed, filings, texts
from tests.projections.followed import PATIENT, Followed, rows_of
from tests.projections.test_files import CountingStore
from tests.web.served import serving

BY_DAY = table_of(("day", "int"), ("city", "string"), by=["day"])
DAY_1 = equals("day", "1", "int")
CONDITIONS = (
    DAY_1,
    above("day", "1"),
    '["is_null",["col","day"]]',
    '["not",["is_null",["col","day"]]]',
    '["or",["=",["col","day"],["lit","2","int"]],["=",["col","delay"],["lit","2","int"]]]',
    '["and",["=",["col","day"],["lit","2","int"]],["=",["col","delay"],["lit","2","int"]]]',
    '["lit","false","boolean"]',
    '["unknown","rand() < 1"]',
)


def written(
    domain: Driver,
    session: int,
    table: int,
    adds: Sequence[AddFile] = (),
    removes: Sequence[RemoveFile] = (),
) -> int:
    # Decisions refuse values of other columns only where the footprint names them.
    said = listed(footprint(), FileList(adds, removes))._replace(adds=[])
    part = TableWrite(table, domain.head.position, (), said)
    event = domain.commit(session, 0, part)
    assert isinstance(event.body, TxnCommitted)
    return event.control.position


def add(path: str, *values: str | None, rows: int | None = 5, size: int = 10) -> AddFile:
    stats = "" if rows is None else f'{{"numRecords":{rows}}}'
    return AddFile(path, values, size, 7, stats=stats)


def filtered(reads: Reads, table: int, where: str, position: int) -> list[FileRow]:
    """Return the files that a condition may concern, out of all files."""
    row = reads.table(table)
    assert row is not None
    schema = traits_of(row.definition).schema
    scan = compile_predicate(where, schema, derive=True)
    found = reads.files(table, position=position)
    return [each for each in found if scan.always or may_concern(scan, each, row, len(schema))]


def moments(driver: Driver, reads: Reads) -> Iterator[tuple[int, int]]:
    for row in reads.tables(include_dropped=True):
        end = row.dropped or driver.head.position + 1
        yield from ((row.table, position) for position in {*range(1, end, 7), end - 1})


def in_pages(reads: Reads, table: int, where: str, position: int) -> list[FileRow]:
    """Return the files of a condition, requested in pages of three."""
    found: list[FileRow] = []
    path = vector = ""
    while True:
        page = reads.files(table, where=where, position=position, limit=3, path=path, vector=vector)
        found += page
        if len(page) < 3:
            return found
        path, vector = page[-1].path, page[-1].vector


@PATIENT
@given(history=filings())
def test_the_files_of_a_condition_are_those_that_it_may_concern(history: list[Step]) -> None:
    driver = filed(history)
    reads = StoreReads(rows_of(driver))
    for table, position in moments(driver, reads):
        for where in CONDITIONS:
            expected = filtered(reads, table, where, position)
            assert list(reads.files(table, where=where, position=position)) == expected
            assert in_pages(reads, table, where, position) == expected


@PATIENT
@given(history=filings())
def test_partitions_hold_the_files(history: list[Step]) -> None:
    driver = filed(history)
    reads = StoreReads(rows_of(driver))
    for table, position in moments(driver, reads):
        found = reads.partitions(table, position=position)
        files = reads.files(table, position=position)
        assert sum(each.files for each in found) == len(files)
        assert sum(each.size for each in found) == sum(file.size for file in files)
        values = {(file.partition) for file in files}
        assert {each.partition for each in found} == values
        assert all(each.files for each in found)
        assert [each.number for each in found] == sorted({each.number for each in found})


def play(domain: Driver) -> int:
    """Make a table with files in three partitions; return the position before the last commit."""
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_DAY)
    adds = [add("b", "1"), add("a", "2", rows=None), add("c", "2"), add("d", "01"), add("e", None)]
    before = written(domain, session, table, adds)
    written(domain, session, table, [add("f", "1", rows=7, size=30)], [RemoveFile("a")])
    return before


def row(number: int, value: str | None, files: int, size: int, rows: int | None) -> PartitionRow:
    return PartitionRow(1, number, (value,), 0, files, size, rows)


def test_a_partition_has_the_sums_of_its_live_files_now_and_at_an_earlier_position() -> None:
    domain = Driver()
    before = play(domain)
    store = rows_of(domain)
    now = [row(1, "1", 2, 40, 12), row(2, "2", 1, 10, 5), row(3, "01", 1, 10, 5)]
    then = [row(1, "1", 1, 10, 5), row(2, "2", 2, 20, None), row(3, "01", 1, 10, 5)]
    null = row(4, None, 1, 10, 5)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(domain.log), served.reads):
            assert list(reads.partitions(1)) == [*now, null]
            assert list(reads.partitions(1, version=1)) == [*then, null]
            assert list(reads.partitions(1, position=before)) == [*then, null]
            assert list(reads.partitions(1, where=DAY_1)) == [now[0], now[2]]
            assert list(reads.partitions(1, limit=2, after=1)) == now[1:]
            assert texts(reads.files(1, where=DAY_1)) == ["b", "d", "f"]
            assert texts(reads.files(1, where=DAY_1, position=before)) == ["b", "d"]


def test_a_condition_too_long_for_the_head_of_a_request_is_answered() -> None:
    domain = Driver()
    play(domain)
    items = ",".join(f'["lit","{number}","int"]' for number in range(1, 2_000))
    where = f'["in",["col","day"],[{items}]]'
    store = rows_of(domain)
    with serving(lambda: StoreReads(store.reader())) as served:
        assert texts(served.reads.files(1, where=where)) == ["b", "c", "d", "f"]
        assert [partition.number for partition in served.reads.partitions(1, where=where)] == [
            1,
            2,
            3,
        ]


@pytest.mark.parametrize("where", ["day = 1", "[", '"text"', "5", '["=",' + " " * 70_000 + "1]"])
def test_a_text_in_another_form_is_refused_wherever_the_rows_are(where: str) -> None:
    domain = Driver()
    play(domain)
    store = rows_of(domain)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(domain.log), served.reads):
            with pytest.raises(ValueError, match="where must be a condition"):
                reads.files(1, where=where)
            with pytest.raises(ValueError, match="where must be a condition"):
                reads.partitions(1, where=where)


def test_a_removal_finds_its_file_whatever_partition_it_names(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_DAY)
    marked = add("a", "2")._replace(vector="1")
    written(domain, session, table, [add("a", "1"), marked])
    place = written(domain, session, table, [], [RemoveFile("a", ("7",), vector="1")])
    reads = domain.reads

    assert texts(reads.files(table)) == ["a"]
    assert [file.partition for file in reads.files(table)] == [("1",)]
    assert [file.partition for file in reads.files(table, position=place - 1)] == [("1",), ("2",)]
    assert reads.released_files(table, 9) == []
    written(domain, session, table, [], [RemoveFile("a", ("2",))])
    assert texts(domain.reads.released_files(table, 9)) == ["a"]
    assert domain.reads.anomalies(None, 9) == []


def test_sizes_that_a_writer_reports_may_be_anything(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_DAY)
    most = 2**63 - 1
    written(domain, session, table, [add(each, "1", size=most) for each in "abc"])
    assert domain.reads.partitions(table)[0].size == 3 * most
    written(domain, session, table, [], [RemoveFile(each) for each in "ab"])
    assert domain.reads.partitions(table)[0].size == most


@pytest.mark.parametrize("count", [5, 200])
def test_a_read_costs_its_partitions_and_the_files_that_match(count: int) -> None:
    store = CountingStore()
    domain = Followed(store)
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_DAY)
    files = [add(f"{day}/{number}", str(day)) for day in range(4) for number in range(count)]
    before = written(domain, session, table, [add("x", "1"), add("y", "2"), *files])
    removes = [RemoveFile(file.path) for file in files if file.partition != ("1",)]
    written(domain, session, table, [], [*removes, RemoveFile("x")])
    reads = domain.reads
    one = 4 + count + 12

    assert store.cost(lambda: reads.files(table, where=DAY_1)) <= one
    assert store.cost(lambda: reads.files(table, where=DAY_1, position=before)) <= one + 3
    assert store.cost(lambda: reads.partitions(table)) <= 4 + 12


def test_pages_are_in_the_order_of_paths(domain: Followed) -> None:
    session = domain.open_session()
    many, each_one = (domain.create_table(session, name, made=BY_DAY) for name in "ab")
    paths = [f"{number:04}" for number in range(0, 3_000, 7)]
    written(domain, session, many, [add(path, str(int(path) % 3)) for path in paths])
    written(domain, session, each_one, [add(path, path) for path in paths])
    reads = domain.reads

    for table in (many, each_one):
        assert [file.path for file in reads.files(table)] == paths
        assert [file.path for file in reads.files(table, limit=9, path="1000")] == [
            path for path in paths if path > "1000"
        ][:9]
        assert [
            page.path for page in in_pages(reads, table, above("day", "1"), domain.head.position)
        ] == [path for path in paths if int(path) % 3 > 1 or (table == each_one and int(path) > 1)]


def test_rows_of_partitions_do_not_depend_on_where_a_batch_ends() -> None:
    driver = Driver()
    play(driver)
    one_by_one = Followed(MemoryStore())
    fold = Fold.load(one_by_one.store, driver.log)
    for record in driver.records:
        fold.feed([record])
    assert digest(one_by_one.store) == digest(rows_of(driver))


TYPED = table_of(
    ("i", "int"), ("s", "string"), ("d", "decimal(6,2)"), ("f", "double"), ("b", "boolean"),
    ("day", "date"), ("at", "timestamp"), ("v", "varchar(9)"),
    by=["i", "s", "d", "f", "b", "day", "at", "v"],
)  # fmt: skip
SPELLED: Sequence[tuple[str | None, ...]] = [
    ("1", "a", "1.00", "1.0", "true", "2024-01-01", "2024-01-01 00:00:00", "a"),
    ("01", "A", "1", "1", "TRUE", "2024-1-1", "2024-01-01T00:00:00Z", "A"),
    ("+1", "", "1.0", "1e0", "1", "2024", "2024-01-01 01:00:00+01:00", ""),
    (None, None, None, None, None, None, None, None),
    ("x", "\u00e9", "x", "NaN", "x", "x", "x", "x"),
    ("2", "b", "2.50", "-0.0", "false", "2024-02-01", "2024-06-01 00:00:00", "b"),
    ("3", "c", "2.5", "0.0", "f", "2024-02-02", "2023-12-31 23:00:00", "c"),
]
ASKED = (
    "i = 1", "i = 1L", "i = 1.0D", "i = CAST(1 AS decimal(4,1))", "i IN (2, 3, NULL)", "i <=> NULL",
    "s = 'a'", "s = 'é'", "s = ''", "s IS NULL", "d = 1", "d = 2.5", "d IN (1.00, 7)", "f = 1",
    "f = 0", "b", "NOT b", "b = true", "day = DATE'2024-01-01'", "at = TIMESTAMP'2024-01-01'",
    "at = TIMESTAMP'2024-01-01T00:00:00Z'", "v = 'a'", "i = 1 AND s = 'A'", "i = 1 OR s = 'b'",
    "i = 9", "i = 1 AND i = 2", "CAST(s AS int) = 1", "s = '\ud800'",
)  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris"])
@pytest.mark.parametrize("asked", ASKED, ids=ascii)
def test_partitions_are_found_by_a_value_however_it_is_spelled(asked: str, zone: str) -> None:
    domain = Driver()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=TYPED)
    files = [add(str(number), *values) for number, values in enumerate(SPELLED)]
    odd = [add("less", "1"), add("more", *SPELLED[0], "1")]
    place = written(domain, session, table, [*files, *odd])
    reads = StoreReads(rows_of(domain))
    row = reads.table(table)
    assert row is not None
    where = TableSnapshot(reads, row, place, zone).condition(tree_of(asked)).to_wire()

    found = reads.files(table, where=where)
    assert list(found) == filtered(reads, table, where, place)
    assert {"less", "more"} <= {each.path for each in found}


KEYS = [
    ["7758eb227e5bb12d", "bcb93613a4bf1cf8", "0e081c4c3e1f3068", "25c7e27d122deff9"],
    ["be013d4897f5dd0e", "833bcabb2220fb1d", "4e05bc83871b2a05", "dadf6cfc2f393ff5"],
]


def test_keys_of_values() -> None:
    """The bytes by which a value is found stay what they are: stores are full of them."""
    schema = (("i", "int"), ("s", "string"), ("d", "decimal(6,2)"), ("at", "timestamp"))
    values = ("7", "a", "2.50", "2024-01-01 00:00:00")
    other = (None, "", "x", "x")
    found = [[key.hex() for key in value_keys(each, schema)] for each in (values, other)]
    assert found == KEYS
    assert list(value_keys(("1",), schema)) == [bytes(8)]


def test_where_a_condition_names_a_value_the_other_partitions_cost_nothing() -> None:
    store = CountingStore()
    domain = Followed(store)
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_DAY)
    written(domain, session, table, [add(str(day), str(day)) for day in range(300)])
    reads = domain.reads

    assert store.cost(lambda: reads.files(table, where=DAY_1)) <= 20
    assert store.cost(lambda: reads.files(table, where=above("day", "298"))) >= 300
