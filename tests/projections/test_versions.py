"""Versions: what each says of its commit, and what there is no version of."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.commands import AppVersion, Protocol, TableWrite
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.errors import ReaderBehindError
from ledger.log.wire.file_list import AddFile, FileList, listed
from projections.queries import StoreReads
from tests.core.parts import footprint, table_of
from tests.driver import write
from tests.projections.filing import commit, files_of, stage, unreadable, writing
from tests.projections.followed import Followed

Play = Callable[[Followed, int, int], object]
FLIGHTS = 1
WIDER = table_of(("day", "int"), ("delay", "int"), by=["day"])


def flights_after(domain: Followed, play: Play) -> StoreReads:
    session = domain.open_session()
    play(domain, session, domain.create_table(session, "flights"))
    return domain.reads


def said(row: object, wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in wanted}


def in_a_txn(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    chunks = stage(domain, session, txn, table, files_of(["a", "b"]))
    domain.commit(session, txn, writing(domain, table, ["c"], chunks=chunks))


def renamed(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.rename_table(session, table, "planes", txn=txn)
    domain.commit(session, txn)


def altered_twice(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.alter_table(session, table, WIDER, "ADD COLUMNS", txn=txn)
    domain.alter_table(session, table, WIDER, "SET TBLPROPERTIES", txn=txn)
    domain.commit(session, txn)


def created_in_a_txn(domain: Followed, session: int, _table: int) -> None:
    txn = domain.open_txn(session)
    table = domain.create_table(session, "planes", txn=txn)
    domain.commit(
        session, txn, writing(domain, table, ["a"], said=footprint("CREATE TABLE AS SELECT"))
    )


COMMITTED = {"txn": 1, "write_id": 1, "user": "ada", "level": "WriteSerializable"}


@pytest.mark.parametrize(
    ("play", "table", "version", "expected"),
    [
        (
            lambda *_: None,
            FLIGHTS,
            0,
            {"position": 5, "txn": 0, "operation": "CREATE TABLE", "write_id": 0},
        ),
        (
            lambda d, s, t: commit(d, s, t, ["a", "b"]),
            FLIGHTS,
            1,
            {**COMMITTED, "position": 6, "operation": "WRITE", "adds": 2, "blind": True},
        ),
        (
            lambda d, s, t: commit(d, s, t, [], ["a"], said=footprint("DELETE", reads_whole=True)),
            FLIGHTS,
            1,
            {**COMMITTED, "operation": "DELETE", "removes": 1, "blind": False, "read_at": 5},
        ),
        (in_a_txn, FLIGHTS, 1, {**COMMITTED, "position": 8, "adds": 3, "metadata_events": 0}),
        (unreadable, FLIGHTS, 1, {**COMMITTED, "operation": "WRITE", "adds": 0, "removes": 0}),
        (
            lambda d, s, t: d.alter_table(s, t, WIDER, "ADD COLUMNS"),
            FLIGHTS,
            1,
            {
                "txn": 1,
                "write_id": 1,
                "operation": "ADD COLUMNS",
                "metadata_events": 1,
                "level": "",
            },
        ),
        (lambda d, s, t: d.alter_table(s, t, WIDER, ""), FLIGHTS, 1, {"operation": "ALTER TABLE"}),
        (renamed, FLIGHTS, 1, {"operation": "RENAME TABLE", "write_id": 1, "metadata_events": 1}),
        (altered_twice, FLIGHTS, 1, {"operation": "SET TBLPROPERTIES", "metadata_events": 2}),
        (
            created_in_a_txn,
            2,
            0,
            {"operation": "CREATE TABLE AS SELECT", "write_id": 1, "adds": 1, "position": 8},
        ),
        (
            lambda d, s, t: d.commit(s, 0, write(t)),
            FLIGHTS,
            1,
            {"operation": "insert", "level": "", "adds": 0, "blind": True},
        ),
    ],
)
def test_a_version_says_where_when_and_by_whom_it_was_made_and_what_it_did(
    domain: Followed, play: Play, table: int, version: int, expected: dict[str, Any]
) -> None:
    reads = flights_after(domain, play)

    row = reads.version_row(table, version=version)
    assert said(row, expected) == expected
    assert reads.versions(table, 1) == [row]


def test_a_file_that_a_table_was_created_with_is_of_version_0(domain: Followed) -> None:
    session = domain.open_session()
    txn = domain.open_txn(session)
    table = domain.create_table(session, "planes", txn=txn)
    made = listed(footprint(), FileList([AddFile("a", ("1",), 0, 7)], []))
    domain.commit(session, txn, TableWrite(table, domain.head.position, (), made))

    (file,) = domain.reads.files(table)
    assert (file.path, file.version, file.size) == ("a", 0, 0)


@pytest.mark.parametrize(("table", "version"), [(1, 1), (1, -1), (2, 0), (0, 0), (-3, 0)])
def test_a_version_that_is_not_there_is_none(domain: Followed, table: int, version: int) -> None:
    assert flights_after(domain, lambda *_: None).version_row(table, version=version) is None


def test_a_version_of_the_future_is_not_known(domain: Followed) -> None:
    with pytest.raises(ReaderBehindError):
        flights_after(domain, lambda *_: None).version_row(FLIGHTS, position=6)


def test_a_txn_whose_progress_was_made_before_is_aborted_and_says_so(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["a"], said=footprint(apps=[AppVersion("loader", 3)]))
    txn = domain.open_txn(session)
    domain.commit(
        session, txn, writing(domain, table, ["a"], said=footprint(apps=[AppVersion("loader", 3)]))
    )
    reads = domain.reads

    row, (brief,) = reads.txn(txn), reads.history(domain.head.position - 1, 1)
    assert row is not None
    assert (row.status, row.reason, row.evidence) == ("aborted", "already_applied", None)
    assert (brief.outcome, list(brief.ended)) == ("already_applied", [txn])
    assert reads.conflict(txn) is None


THREE_SEVEN = Protocol(3, 7, ["deletionVectors"])


def test_the_protocol_is_that_of_its_last_action(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["a"])
    before = domain.reads.protocol(table)
    commit(domain, session, table, ["b"], said=footprint(protocol=THREE_SEVEN))
    commit(domain, session, table, ["c"])

    assert before is None
    assert domain.reads.protocol(table) == THREE_SEVEN
    assert domain.reads.protocol(7) is None


def test_a_version_has_the_sums_of_the_files_that_are_live_with_it(domain: Followed) -> None:
    """Files without a count of rows leave the rows unknown, until the last of them goes."""
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["a", "b"])
    uncounted = listed(footprint(), FileList([AddFile("c", size=5)]))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), uncounted))
    commit(domain, session, table, [], ["a", "c"])
    domain.alter_table(session, table, table_of(("day", "int")), "ADD COLUMNS")
    versions = [
        (row.live_files, row.live_size, row.live_rows)
        for row in reversed(domain.reads.versions(table, 9))
    ]

    assert versions == [(0, 0, 0), (2, 20, 2), (3, 25, None), (1, 10, 1), (1, 10, 1)]
    (newest,) = domain.reads.newest_versions()
    assert newest == domain.reads.version_row(table)
    (before,) = domain.reads.newest_versions(newest.position - 2)
    assert before.version == newest.version - 2


def test_newest_versions_leave_out_tables_that_are_not_there(domain: Followed) -> None:
    session = domain.open_session()
    first = domain.create_table(session, "first")
    gone = domain.create_table(session, "gone")
    domain.drop_table(session, gone)
    domain.create_table(session, "waiting", txn=domain.open_txn(session))
    dropped = domain.reads.table(gone)
    assert dropped is not None

    assert [row.table for row in domain.reads.newest_versions()] == [first]
    assert [row.table for row in domain.reads.newest_versions(dropped.dropped - 1)] == [first, gone]
    assert domain.reads.newest_versions(dropped.created - 2) == []


def test_a_commit_names_the_tables_that_it_only_read(domain: Followed) -> None:
    session = domain.open_session()
    source, target = (domain.create_table(session, name) for name in ("source", "target"))
    for _ in range(3):
        txn = domain.open_txn(session)
        read = TableWrite(source, 0, [], footprint("", reads=[TRUE_PREDICATE]))
        domain.commit(session, txn, read, write(target))
    found = domain.reads.table_reads(source, 2)

    assert [(row.txn, row.wrote) for row in found] == [(txn, (target,)), (txn - 1, (target,))]
    assert [row.txn for row in domain.reads.table_reads(source, 9, below=found[1].position)] == [
        txn - 2
    ]
    row = domain.reads.txn(txn)
    assert row is not None
    assert row.reads == (source,)
    assert domain.reads.table_reads(target, 9) == []
