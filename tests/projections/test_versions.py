"""Versions: the history of a table, found by number, position and time; what else commits leave."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.core.commands import (
    AppVersion,
    Protocol,
    TableDefinition,
    TableWrite,
)
from ledger.errors import ReaderBehindError
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.reads.port import TxnPart
from projections.queries import StoreReads
from tests.core.parts import footprint, table_of
from tests.driver import definition, write
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
        (
            lambda d, s, t: d.alter_table(s, t, WIDER, ""),
            FLIGHTS,
            1,
            {"operation": "ALTER TABLE"},
        ),
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


def read_only_part(domain: Followed, session: int, table: int) -> None:
    other = domain.create_table(session, "planes")
    read = TableWrite(table, domain.head.position, (), footprint("", reads_whole=True))
    domain.commit(session, 0, writing(domain, other, ["a"]), read)


def lost(domain: Followed, session: int, table: int) -> None:
    stale = writing(domain, table, ["a"], said=footprint("UPDATE", reads_whole=True))
    commit(domain, session, table, [], ["b"])
    domain.commit(session, 0, stale)


def external(domain: Followed, session: int, _table: int) -> None:
    table = domain.create_table(session, "planes", kind="external")
    domain.alter_table(session, table, definition("listed", "external"), "SET TBLPROPERTIES")


@pytest.mark.parametrize(
    ("play", "newest"),
    [
        (read_only_part, {1: 0, 2: 1}),
        (lost, {1: 1}),
        (external, {1: 0, 2: 0}),
        (lambda d, s, t: d.rename_table(s, t, "planes"), {1: 0}),
        (lambda d, s, _t: d.create_table(s, "planes", txn=d.open_txn(s)), {1: 0, 2: None}),
    ],
)
def test_no_version(domain: Followed, play: Play, newest: dict[int, int | None]) -> None:
    """What only read, lost, waits or changed a name at once makes no version."""
    reads = flights_after(domain, play)

    rows = {table: reads.version_row(table) for table in newest}
    assert {table: row and row.version for table, row in rows.items()} == newest


def test_the_history_of_a_table_begins_with_its_newest_version(domain: Followed) -> None:
    session = domain.open_session()
    table, other = (domain.create_table(session, name) for name in ("flights", "planes"))
    for number in range(4):
        commit(domain, session, table, [str(number)])
        commit(domain, session, other, [str(number)])
    reads = domain.reads

    assert [row.version for row in reads.versions(table, 9)] == [4, 3, 2, 1, 0]
    assert [row.version for row in reads.versions(table, 2)] == [4, 3]
    assert [row.version for row in reads.versions(table, 2, below=3)] == [2, 1]
    assert [row.version for row in reads.versions(table, 9, below=99)] == [4, 3, 2, 1, 0]
    assert reads.versions(table, 9, below=0) == reads.versions(table, 9, below=-3) == []
    assert {row.table for row in reads.versions(table, 9)} == {table}
    assert [row.version for row in reads.versions(other, 9)] == [4, 3, 2, 1, 0]


def test_a_place_between_two_versions_belongs_to_the_earlier(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    for number in range(9):
        commit(domain, session, table, [str(number)])
        domain.open_txn(session)
    reads = domain.reads
    rows = reads.versions(table, 99)[::-1]

    assert [row.position for row in rows] == [5, *range(6, 24, 2)]
    for row in rows:
        assert reads.version_row(table, position=row.position) == row
        assert reads.version_row(table, at=row.at) == row
        assert reads.version_row(table, at=row.at + 6) == row
    assert reads.version_row(table, position=7) == rows[1]
    assert reads.version_row(table, position=4) is None
    assert reads.version_row(table, at=rows[0].at - 1) is None
    assert reads.version_row(table) == reads.version_row(table, at=2**60) == rows[-1]


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


def alter_and_abort(domain: Followed, session: int, table: int) -> None:
    txn = domain.open_txn(session)
    domain.alter_table(session, table, WIDER, "ADD COLUMNS", txn=txn)
    domain.abort(session, txn)


def alter_and_drop(domain: Followed, session: int, table: int) -> None:
    domain.alter_table(session, table, WIDER, "ADD COLUMNS")
    domain.drop_table(session, table)


BEFORE = definition()


@pytest.mark.parametrize(
    ("play", "by_position"),
    [
        (lambda *_: None, [None, BEFORE]),
        (lambda d, s, t: d.alter_table(s, t, WIDER, "ADD COLUMNS"), [None, BEFORE, WIDER]),
        (altered_twice, [None, BEFORE, BEFORE, BEFORE, BEFORE, WIDER]),
        (alter_and_abort, [None, BEFORE, BEFORE, BEFORE, BEFORE]),
        (alter_and_drop, [None, BEFORE, WIDER, WIDER]),
        (renamed, [None, BEFORE, BEFORE, BEFORE, BEFORE]),
    ],
)
def test_what_a_table_was_stays_known_by_position(
    domain: Followed, play: Play, by_position: list[TableDefinition | None]
) -> None:
    reads = flights_after(domain, play)
    found = [reads.definition(FLIGHTS, position) for position in range(4, domain.head.position + 1)]

    assert found == [each and plain(each) for each in by_position]
    assert reads.definition(FLIGHTS) == found[-1]
    row = reads.table(FLIGHTS)
    assert row is not None
    assert row.definition == found[-1]


def plain(made: TableDefinition) -> TableDefinition:
    """Return a definition as it is read back, with lists in it."""
    return made._replace(
        columns=list(made.columns),
        partition_columns=list(made.partition_columns),
        properties=list(made.properties),
    )


def test_an_open_txn_shows_what_it_staged_among_what_it_touched(domain: Followed) -> None:
    session = domain.open_session()
    table, other = (domain.create_table(session, name) for name in ("flights", "planes"))
    txn = domain.open_txn(session)
    stage(domain, session, txn, table, files_of(["a"]))
    domain.alter_table(session, other, WIDER, "ADD COLUMNS", txn=txn)
    row = domain.reads.txn(txn)

    assert row is not None
    assert row.parts == (
        TxnPart(table, 0, 0, None, 0, wrote=True),
        TxnPart(other, 1, 1, None, 0, wrote=False),
    )


def test_the_alter_of_a_managed_table_is_a_committed_txn(domain: Followed) -> None:
    reads = flights_after(domain, lambda d, s, t: d.alter_table(s, t, WIDER, "ADD COLUMNS"))
    txn, table = reads.txn(1), reads.table(FLIGHTS)

    assert txn is not None
    assert table is not None
    assert (txn.status, txn.opened, txn.ended, txn.user) == ("committed", 6, 6, "ada")
    assert txn.parts == (TxnPart(FLIGHTS, 1, 1, 1, 0, wrote=False),)
    assert (table.version, table.last_write_id, table.operation) == (1, 1, "alter")
    assert reads.valid_write_ids(FLIGHTS, reads.valid_txns()).text().startswith("lake.flights:1:")
