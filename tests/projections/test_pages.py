"""The files of a table page by page: each page goes on behind the last file of the one before."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from ledger.reads.port import FileRow, Reads
from projections.queries import StoreReads
from tests.core.histories import Step
from tests.core.parts import table_of
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.filing import commit, filed, filings, texts
from tests.projections.followed import PATIENT, Followed, rows_of
from tests.web.served import serving

BY_HOUR = table_of(("hour", "string"), by=["hour"])
SIZE = 2


def page_by_page(reads: Reads, table: int, position: int, most: int) -> Iterator[FileRow]:
    """Yield what pages hold of a position, of which there are files for so many rows at most."""
    path = vector = ""
    for _ in range(most + 1):
        page = reads.files(table, position=position, limit=SIZE, path=path, vector=vector)
        assert len(page) <= SIZE
        yield from page
        if not page:
            return
        path, vector = page[-1].path, page[-1].vector


def differing(reads: Reads, driver: Driver) -> list[tuple[int, int]]:
    """Return tables and positions of which the pages are not what is listed at once."""
    tables = {
        row.table: row.dropped or driver.head.position + 1
        for row in reads.tables(include_dropped=True)
    }
    listed = {
        (table, position): list(reads.files(table, position=position))
        for table, end in tables.items()
        for position in range(1, end, 5)
    }
    return [
        (table, position)
        for (table, position), rows in listed.items()
        if list(page_by_page(reads, table, position, len(rows))) != rows
    ]


@PATIENT
@given(history=filings())
def test_pages_are_the_listing(history: list[Step]) -> None:
    driver = filed(history)

    assert differing(StoreReads(rows_of(driver)), driver) == []
    assert differing(StateReads(driver.log), driver) == []


def test_pages_over_http() -> None:
    """So they are over HTTP, where files came and went, and of one there are two vectors."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_HOUR)
    for adds, removes in (("abcd", ""), ("e", "bd"), (["f", "a#1", "é&?"], "c"), ("b", "a")):
        commit(domain, session, table, list(adds), list(removes))
    store = rows_of(domain)
    with serving(lambda: StoreReads(store.reader())) as served:
        assert differing(served.reads, domain) == []
        assert texts(served.reads.files(table, limit=9, path="a")) == ["a#1", "b", "e", "f", "é&?"]
        assert texts(served.reads.files(table, limit=2, path="a", vector="1")) == ["b", "e"]


@pytest.mark.parametrize("path", ["\udce9", "zz", "\U0010ffff"])
def test_nothing_is_behind_what_no_file_is_called_or_can_be(domain: Followed, path: str) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "t", made=BY_HOUR)
    commit(domain, session, table, ["a", "b"])

    assert list(domain.reads.files(table, limit=9, path=path)) == []
