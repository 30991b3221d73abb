"""Backfills of row tracking: they record files again that are live, which is no anomaly."""

from collections.abc import Iterable

import pytest

from ledger.core.commands import TableWrite
from ledger.log.wire.file_list import FileList, listed
from ledger.reads.port import AnomalyRow
from tests.core.parts import after, footprint
from tests.oracle.reads import StateReads
from tests.projections.filing import commit, files_of, stage, texts, unchanged
from tests.projections.followed import Followed
from tests.projections.test_files import FLIGHTS, Play, flights_after

BACKFILL = "ROW TRACKING BACKFILL"


def backfill(
    domain: Followed, session: int, table: int, files: FileList, chunks: Iterable[FileList] = ()
) -> None:
    """Record files again, those of some chunks before the others, in a commit of their own."""
    txn = domain.open_txn(session)
    staged = stage(domain, session, txn, table, *chunks)
    whole = after(staged, listed(footprint(BACKFILL), files))
    domain.commit(session, txn, TableWrite(table, domain.head.position, (), whole))


def backfill_live(domain: Followed, session: int, table: int) -> None:
    """Record files again that are live, and one that is not."""
    commit(domain, session, table, ["a", "b#1"])
    backfill(domain, session, table, unchanged(files_of(["a", "b#1", "c"])))


def backfill_in_chunks(domain: Followed, session: int, table: int) -> None:
    commit(domain, session, table, ["a", "b"])
    chunks = [unchanged(files_of([each])) for each in "ab"]
    backfill(domain, session, table, chunks[1], chunks[:1])


@pytest.mark.parametrize(
    ("play", "live"), [(backfill_live, ["a", "b#1"]), (backfill_in_chunks, ["a", "b"])]
)
def test_backfill(domain: Followed, play: Play, live: list[str]) -> None:
    """A backfill records what is live, which is no anomaly, and nothing else: that is gone."""
    reads = flights_after(domain, play)

    assert texts(reads.files(FLIGHTS)) == live
    assert {file.version for file in reads.files(FLIGHTS)} == {2}
    assert reads.anomalies(None, 9) == StateReads(domain.log).anomalies(None, 9) == []


def backfill_changing(domain: Followed, session: int, table: int) -> None:
    """Call something a backfill that changes data, in one of two chunks."""
    commit(domain, session, table, ["a", "b"])
    backfill(domain, session, table, unchanged(files_of(["b"])), [files_of(["a"])])


def rearrange_live(domain: Followed, session: int, table: int) -> None:
    """Add a file that is live by what changes no data and is no backfill."""
    commit(domain, session, table, ["a"])
    said = listed(footprint("OPTIMIZE"), unchanged(files_of(["a"])))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))


@pytest.mark.parametrize(
    ("play", "anomalies"), [(backfill_changing, [(9, "a"), (9, "b")]), (rearrange_live, [(7, "a")])]
)
def test_no_backfill(domain: Followed, play: Play, anomalies: list[tuple[int, str]]) -> None:
    """What changes data, or is called otherwise, may not add what is live."""
    reads = flights_after(domain, play)
    rows = [AnomalyRow(position, FLIGHTS, "added_live", path, "") for position, path in anomalies]

    assert reads.anomalies(None, 9) == StateReads(domain.log).anomalies(None, 9) == rows
