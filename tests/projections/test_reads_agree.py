"""Reads from rows and reads from a state in memory give the same answers after any history."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given

from ledger.core.commands import ForgetAborted, Layout
from ledger.core.conflicts.footprints import path_hash
from ledger.core.decide.txns import forget_aborted
from ledger.core.refusals import Refused
from ledger.errors import RefusedError, UnknownTableError
from ledger.reads.metadata import Bounds, Read
from ledger.reads.port import FileChange, Reads
from projections.queries import StoreReads
from tests.core.histories import Step, played, random_steps, steps
from tests.core.parts import above, equals
from tests.driver import CATALOG, NEVER, Driver
from tests.oracle.reads import StateReads
from tests.projections.filing import filed, filings
from tests.projections.followed import PATIENT, rows_of
from tests.web.served import serving

PATHS = ("a", "b", "c", "day=1/d", "x")
CONDITIONS = (equals("day", "1", "int"), above("day", "1"), '["is_null",["col","day"]]')


def plain(answer: Any) -> Any:
    return tuple(map(plain, answer)) if isinstance(answer, list | tuple) else answer


def answers(reads: Reads, driver: Driver) -> dict[str, Any]:
    """Return everything that can be asked after a driver's history, with tuples as `plain`."""
    return {question: plain(answer) for question, answer in exact_answers(reads, driver).items()}


def exact_answers(reads: Reads, driver: Driver) -> dict[str, Any]:
    """Return everything that can be asked after a driver's history."""
    state = driver.state
    tables = [each for each in range(1, state.tables.next_table) if reads.table(each) is not None]
    positions = range(1, driver.head.position + 1)
    names = ("a", "b", "c", "d", "e", "x")
    return {
        "identity": reads.identity(),
        "position": reads.wait(driver.head.position, 0),
        "txns": [reads.txn(txn) for txn in range(state.txns.next_txn + 1)],
        "open": reads.open_txns(99),
        "aborted": reads.aborted_txns(99),
        "counts": reads.counts(),
        "tables": [reads.table(table) for table in tables],
        "listed": reads.tables(),
        "namespaces": [reads.namespaces(), *map(reads.namespaces, positions)],
        "every": reads.tables(include_dropped=True),
        "named": [reads.table_named(CATALOG, name) for name in names],
        "mappings": [reads.mappings(table) for table in tables],
        "write ids": [reads.valid_write_ids(table, reads.valid_txns()) for table in tables],
        "watermark": reads.watermark(),
        "sessions": [reads.session(session) for session in positions],
        "outcomes": [reads.outcome(s, n) for s in state.sessions.by_number for n in range(90)],
        "nonces": [reads.session_of(nonce) for nonce in state.sessions.by_nonce],
        "history": reads.history(0, driver.head.position),
        "conflicts": reads.conflicts(0, 99),
        "lost": [reads.conflict(txn) for txn in range(state.txns.next_txn + 1)],
        "anomalies": reads.anomalies(None, 999),
        "blocks": [reads.blocks(), *map(reads.blocks, tables)],
        "metadata": [reads.metadata([Read(table, None)])[0].value for table in tables],
        "newest versions": [
            reads.newest_versions(at) for at in (None, *range(driver.head.position))
        ],
        "of tables": [of_table(reads, driver, table) for table in tables],
    }


def of_table(reads: Reads, driver: Driver, table: int) -> list[Any]:
    """Return everything that can be asked of one table, at some positions of a long history."""
    positions = range(driver.head.position, 0, -1 - driver.head.position // 50)
    versions = reads.versions(table, 99)
    times = [row.at + late for row in versions for late in (-1, 0, 1)]
    return [
        versions,
        reads.versions(table, 2, below=3),
        [reads.version_row(table, version=version) for version in range(len(versions) + 1)],
        [reads.version_row(table, position=position) for position in positions],
        [reads.version_row(table, at=at) for at in times],
        [reads.definition(table, position) for position in positions],
        [reads.definitions(table, position) for position in positions[::9]],
        [reads.definitions(table, after=position, limit=2) for position in positions[::9]],
        [files_or_error(reads, table, position=position) for position in positions],
        [files_or_error(reads, table, version=version) for version in range(len(versions) + 1)],
        [
            files_or_error(reads, table, position=position, where=where)
            for position in positions[::4]
            for where in CONDITIONS
        ],
        [partitions_or_error(reads, table, position=position) for position in positions[::2]],
        [partitions_or_error(reads, table, where=where) for where in ("", *CONDITIONS)],
        [partitions_or_error(reads, table, limit=2, after=after) for after in (0, 1, 2)],
        [reads.file_paths(table, path_hash(path)) for path in PATHS],
        changes_by_file(reads.file_changes(table, 0, 99, 999)),
        changes_by_file(reads.file_changes(table, 2, 4, 999)),
        changes_by_file(changes_by_pages(reads, table)),
        reads.table_reads(table, 99),
        reads.table_reads(table, 2, below=positions[-1] + 9),
        reads.apps(table),
        reads.app(table, "loader"),
        reads.progress(),
        reads.progress("loader"),
        reads.protocol(table),
        reads.domains(table),
        reads.anomalies(table, 9),
        reads.table_mark(table),
        reads.released_files(table, 99),
        [reads.released_files(table, 2, since=each, path="a") for each in positions[::9]],
        [write_ids_or_error(reads, table, position) for position in (None, *positions)],
        reads.aborted_write_ids(table, 99),
        reads.aborted_write_ids(table, 1),
    ]


def changes_by_file(found: Sequence[FileChange]) -> list[FileChange]:
    key = lambda each: (each.version, each.added, each.file.path, each.file.vector)  # noqa: E731
    return sorted((each._replace(place=0) for each in found), key=key)


def changes_by_pages(reads: Reads, table: int) -> list[FileChange]:
    """Return all changes of a table, as a program gets them that asks for two at a time."""
    found: list[FileChange] = []
    first, place = 0, 0
    while page := reads.file_changes(table, first, 99, 2, place=place):
        found += page
        first, place = page[-1].version, page[-1].place
    return found


def files_or_error(reads: Reads, table: int, **when: Any) -> Any:
    try:
        return reads.files(table, **when)
    except RefusedError as error:
        return str(error)


def partitions_or_error(reads: Reads, table: int, **when: Any) -> Any:
    try:
        return reads.partitions(table, **when)
    except RefusedError as error:
        return str(error)


def never_was(reads: Reads) -> list[Callable[[], object]]:
    """Return questions that can be about no table but one that is, or was."""
    return [
        lambda: reads.mappings(7),
        lambda: reads.valid_write_ids(7, reads.valid_txns()),
        lambda: reads.write_ids_at(7),
        lambda: reads.files(7),
        lambda: reads.partitions(7),
        lambda: reads.versions(7, 9),
        lambda: reads.apps(7),
        lambda: reads.domains(7),
        lambda: reads.table_mark(7),
        lambda: reads.released_files(7, 9),
        lambda: reads.file_changes(7, 0, 9, 9),
        lambda: reads.aborted_write_ids(7, 9),
    ]


def negative(reads: Reads) -> list[Callable[[], object]]:
    """Return questions about what is before everything."""
    return [
        lambda: reads.valid_txns(-1),
        lambda: reads.write_ids_at(1, -1),
        lambda: reads.definition(1, -1),
        lambda: reads.files(1, position=-7),
        lambda: reads.partitions(1, position=-7),
        lambda: reads.version_row(1, position=-1),
        lambda: reads.metadata([Read(-1, None)]),
        lambda: reads.metadata([Read("a", None, -1)]),
        lambda: reads.metadata([Read(1, None, own_txn=-5)]),
        lambda: reads.metadata([Read(1, None, own_txn=2**63)]),
        lambda: reads.metadata([], Bounds(token=-4)),
        lambda: reads.open_txns(-1),
        lambda: reads.history(0, -2),
        lambda: reads.conflicts(0, limit=-1),
        lambda: reads.versions(1, -1),
        lambda: reads.anomalies(None, -1),
        lambda: reads.released_files(1, -1),
        lambda: reads.file_changes(1, 0, 9, -1),
        lambda: reads.aborted_write_ids(1, limit=-1),
        lambda: reads.history(0, 2**63),
    ]


def write_ids_or_error(reads: Reads, table: int, position: int | None) -> Any:
    """Return the write ids valid at a position, or what is said instead."""
    try:
        return reads.write_ids_at(table, position)
    except RefusedError as error:
        return str(error)


def can_be_forgotten(driver: Driver, table: int, write_id: int) -> bool:
    """Tell whether the ledger takes it now that no data of a write id is left."""
    try:
        forget_aborted(driver.state, ForgetAborted(0, 0, NEVER, (), table, [write_id]))
    except Refused:
        return False
    return True


def check_aborted_ids(driver: Driver) -> int:
    """Check that all that is told of aborted ids can be forgotten, and back; return how many."""
    told = 0
    for reads in (StoreReads(rows_of(driver)), StateReads(driver.log)):
        for table in range(1, driver.state.tables.next_table):
            ids = [row.write_id for row in reads.aborted_write_ids(table, 999)]
            below = range(1, reads.table_mark(table).write_id)
            assert ids == [each for each in below if can_be_forgotten(driver, table, each)]
            told += len(ids)
    return told


Play = Callable[[Driver, int, int, Sequence[int]], object]


def forget_in(driver: Driver, session: int, table: int) -> None:
    """State that no data is left under the first write id of a table."""
    driver.ask(ForgetAborted(*driver.asks(session), (), table, [1]))


def forget_one(driver: Driver, session: int, txn: int, tables: Sequence[int]) -> None:
    driver.abort(session, txn)
    forget_in(driver, session, tables[0])


def forget_each(driver: Driver, session: int, txn: int, tables: Sequence[int]) -> None:
    """Clean all its tables, one by one; with the last one its mappings go."""
    forget_one(driver, session, txn, tables)
    forget_in(driver, session, tables[1])
    driver.tidy()


def wrote_one(driver: Driver, session: int, txn: int, tables: Sequence[int]) -> None:
    driver.abort(session, txn, tables[1:2])


def drop_one(driver: Driver, session: int, txn: int, tables: Sequence[int]) -> None:
    driver.abort(session, txn)
    driver.drop_table(session, tables[0])


def keep_house(driver: Driver, session: int, txn: int, _tables: Sequence[int]) -> None:
    """Let housekeeping forget what the txn left in the table whose files are listed."""
    driver.abort(session, txn)
    driver.tidy()


@pytest.mark.parametrize(
    ("play", "ids"),
    [
        (lambda driver, session, txn, _: driver.abort(session, txn), [1, 1, 1]),
        (forget_one, [0, 1, 1]),
        (forget_each, [0, 0, 0]),
        (wrote_one, [0, 1, 0]),
        (drop_one, [0, 1, 1]),
        (keep_house, [1, 1, 0]),
    ],
    ids=["abort", "forget_one", "forget_each", "wrote_one", "drop_one", "keep_house"],
)
def test_each_table_tells_what_aborts_may_have_left_there(play: Play, ids: list[int]) -> None:
    driver = Driver()
    session = driver.open_session()
    layouts: Sequence[Layout] = ("directories", "directories", "listed")
    named = zip("abc", layouts, strict=True)
    tables = [driver.create_table(session, name, layout=layout) for name, layout in named]
    txn = driver.open_txn(session)
    driver.allocate(session, [txn], tables)
    play(driver, session, txn, tables)

    rows, state = StoreReads(rows_of(driver)), StateReads(driver.log)
    found = [
        [len(reads.aborted_write_ids(table, 9)) for table in tables] for reads in (rows, state)
    ]
    assert found == [ids, ids]
    assert check_aborted_ids(driver) == 2 * sum(ids)


@pytest.mark.parametrize("asked", range(19))
def test_what_is_numbered_or_limited_below_0_cannot_be_meant(asked: int) -> None:
    driver = Driver()
    driver.create_table(driver.open_session(), "a")
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            with pytest.raises(ValueError, match=r" is '?-?\d+'?; it is a number from 0"):
                negative(reads)[asked]()


@pytest.mark.parametrize("asked", range(11))
def test_an_unknown_table_is_an_error_wherever_it_is_read(asked: int) -> None:
    driver = Driver()
    driver.create_table(driver.open_session(), "a")
    store = rows_of(driver)
    with serving(lambda: StoreReads(store.reader())) as served:
        for reads in (StoreReads(store), StateReads(driver.log), served.reads):
            with pytest.raises(UnknownTableError, match="there is no table 7 up to position"):
                never_was(reads)[asked]()


@pytest.mark.parametrize("number", [-1, 0, 2, 2**63])
def test_a_number_that_nothing_has_leads_nowhere(number: int) -> None:
    driver = Driver()
    session = driver.open_session()
    driver.open_txn(session)

    for reads in (StoreReads(rows_of(driver)), StateReads(driver.log)):
        found: list[object] = [reads.txn(number), reads.conflict(number), reads.session(number)]
        found += [reads.outcome(number, 1), reads.outcome(session, number)]
        assert [*found, reads.version_row(number, version=0)] == [None] * 6


@PATIENT
@given(history=steps(min_size=30))
def test_rows_say_what_the_events_and_the_state_say(history: list[Step]) -> None:
    driver = played(history).driver

    rows, state = StoreReads(rows_of(driver)), StateReads(driver.log)
    assert answers(rows, driver) == answers(state, driver)
    check_aborted_ids(driver)


@PATIENT
@given(history=filings())
def test_same_answers_about_files(history: list[Step]) -> None:
    driver = filed(history)

    rows, state = StoreReads(rows_of(driver)), StateReads(driver.log)
    assert answers(rows, driver) == answers(state, driver)
    check_aborted_ids(driver)


@pytest.mark.parametrize("seed", range(3))
def test_same_answers_of_a_long_history(seed: int) -> None:
    driver = played(random_steps(seed, 500)).driver

    rows, state = StoreReads(rows_of(driver)), StateReads(driver.log)
    assert answers(rows, driver) == answers(state, driver)
    check_aborted_ids(driver)
