"""What a read of metadata costs: as many rows, however often tables were changed before."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from projections.cache.entries import rows_as_entries
from projections.cache.entries.ids import ReaderIds
from projections.cache.entries.rows import RowEntries
from projections.cache.fold import VERSIONS_MAX
from projections.cache.ports import EntryRead
from projections.reads import lookups
from projections.store.port import Row, RowReader
from tests.driver import CATALOG
from tests.projections.cached import made
from tests.projections.followed import Followed

# The short history is already longer than what an entry keeps of one.
SHORT = VERSIONS_MAX + 36
LONG = 5_000
# How it came to be, what it is, its write ids.
ROWS_OF_A_TABLE = 3


class Counted(RowReader):
    """Rows of which every one is counted that the store has to give out, looked at or not."""

    def __init__(self, rows: RowReader) -> None:
        self.given = 0
        self._rows = rows

    def get(self, key: bytes) -> bytes | None:
        self.given += 1
        return self._rows.get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Return rows in order."""
        found = list(self._rows.scan(start, end, limit=limit, reverse=reverse))
        self.given += len(found)
        return iter(found)

    def refresh(self) -> None:
        self._rows.refresh()

    def close(self) -> None:
        """Do nothing: the rows serve other reads too."""


@cache
def changed(kind: str, times: int) -> tuple[Followed, EntryRead]:
    """Return a domain with a table that was changed so often, and a read with its newest list."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "t0", made=made("v0"))
    name = "t0"
    for n in range(times):
        if kind == "altered":
            domain.alter_table(session, table, made(f"v{n}"), "ALTER")
        else:
            name = f"t{n + 1}"
            domain.rename_table(session, table, name)
    ids = ReaderIds.of(rows_as_entries.ids_of(domain.rows, table).listed())
    return domain, EntryRead((CATALOG, name), ids, table)


def by_name(rows: RowReader, wanted: EntryRead) -> object:
    return rows_as_entries.store_answer(rows, wanted._replace(table=None)).name


def by_id(rows: RowReader, wanted: EntryRead) -> object:
    return rows_as_entries.store_answer(rows, wanted._replace(name=None)).objects


def first_entry(rows: RowReader, wanted: EntryRead) -> object:
    return rows_as_entries.load(rows, wanted.table or 0)


def through_a_cache(rows: RowReader, wanted: EntryRead) -> object:
    """Return what a cache tells twice of the table of a name, first without and then with it."""
    entries, nameless = RowEntries(rows), wanted._replace(table=None)
    return [entries.read_many([nameless])[0].value for _ in range(2)][1]


@pytest.mark.parametrize("kind", ["altered", "renamed"])
@pytest.mark.parametrize("read", [by_name, by_id, first_entry, through_a_cache])
def test_a_read_does_not_pay_for_history(
    kind: str, read: Callable[[RowReader, EntryRead], object]
) -> None:
    given: list[int] = []
    for times in (SHORT, LONG):
        domain, wanted = changed(kind, times)
        rows = Counted(domain.rows)
        assert read(rows, wanted)
        given.append(rows.given)

    assert given[0] == given[1]


@pytest.mark.parametrize("times", [1, 50])
def test_a_list_does_not_pay_for_tables_that_are_gone(times: int) -> None:
    domain = Followed()
    session = domain.open_session()
    kept = domain.create_table(session, "kept")
    for _ in range(times):
        domain.drop_table(session, domain.create_table(session, "gone"))
    rows = Counted(domain.rows)

    assert [row.table for row in lookups.tables(rows)] == [kept]
    assert rows.given == ROWS_OF_A_TABLE + 1
    assert len(list(lookups.every_table(rows))) == 1 + times


@pytest.mark.parametrize("times", [SHORT, LONG])
def test_the_name_costs_an_old_list_no_alter(times: int) -> None:
    domain, wanted = changed("altered", times)
    rows = Counted(domain.rows)
    assert wanted.table is not None

    assert rows_as_entries.visible_name(rows, wanted.table, ReaderIds(0, ())) == wanted.name
    assert rows.given == 1
