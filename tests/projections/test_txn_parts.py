"""Parts of txns of many tables: the same in whatever rows they stand, and none that cost more."""

from collections.abc import Callable, Iterable

import pytest

from ledger.core.commands import Footprint, StageWrites
from ledger.reads.port import TxnPart
from projections.rows.keys import TXN_PART
from projections.rows.txns.txn_parts import TOUCHES_MAX
from projections.store.memory import MemoryStore
from projections.store.port import RowChange, prefix_end
from tests.core.parts import after, footprint
from tests.driver import write
from tests.projections.digests import digest
from tests.projections.followed import Followed, rows_of

FEW = 100
MANY = 1_000
LAST = 20
RATIO_MAX = 1.5
WIDE = TOUCHES_MAX + 6

End = Callable[[Followed, int, int, list[int]], object]


class Weighed(MemoryStore):
    """Rows whose bytes are counted as they are written."""

    written = 0

    def write(self, changes: Iterable[RowChange]) -> None:
        rows = list(changes)
        self.written += sum(len(key) + len(value or b"") for key, value in rows)
        super().write(rows)


def stage(domain: Followed, session: int, txn: int, table: int) -> None:
    said = footprint(files=b"x")
    domain.ask(StageWrites(*domain.asks(session), txn, table, 1, said))


def allocate(domain: Followed, session: int, txn: int, table: int) -> None:
    """Take a write id in a table."""
    domain.allocate(session, [txn], [table])


def bytes_of_last(touch: Callable[[Followed, int, int, int], None], count: int) -> int:
    """Return the bytes of rows that the last few of so many tables of a txn cost, one by one."""
    domain = Followed(store := Weighed())
    session = domain.open_session()
    tables = [domain.create_table(session, f"t{number}") for number in range(count)]
    txn = domain.open_txn(session)
    for number, table in enumerate(tables, start=LAST - count):
        if number == 0:
            store.written = 0
        touch(domain, session, txn, table)
        domain.follow()
    return store.written


@pytest.mark.parametrize("touch", [allocate, stage])
def test_tables_one_by_one(touch: Callable[[Followed, int, int, int], None]) -> None:
    """What a txn does in one more table is written, not again what it did in all before."""
    assert bytes_of_last(touch, MANY) <= RATIO_MAX * bytes_of_last(touch, FEW)


def wide(*, is_followed: bool) -> tuple[Followed, int, int, list[int]]:
    """Return a domain with an open txn of many tables, some touched in several ways."""
    domain = Followed()
    session = domain.open_session()
    tables = [domain.create_table(session, f"t{number}") for number in range(WIDE)]
    txn = domain.open_txn(session)
    for table in tables[::-1]:
        domain.allocate(session, [txn], [table])
        if is_followed:
            domain.follow()
    domain.rename_table(session, tables[0], "a", txn=txn)
    domain.rename_table(session, tables[0], "b", txn=txn)
    stage(domain, session, txn, tables[1])
    domain.follow()
    return domain, session, txn, tables


@pytest.mark.parametrize("is_followed", [True, False])
def test_open_txn(is_followed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """An open txn shows all its tables, however many, whichever batches they came in."""
    domain, _, txn, tables = wide(is_followed=is_followed)
    row = domain.reads.txn(txn)
    renamed, staged, *others = tables

    assert row is not None
    assert row.parts == (
        TxnPart(renamed, 1, 2, None, 0, wrote=False),
        TxnPart(staged, 1, 0, None, 0, wrote=True),
        *(TxnPart(table, 1, 0, None, 0, wrote=False) for table in others),
    )
    assert digest(rows_of(domain)) == digest(domain.store)


def commit(domain: Followed, session: int, txn: int, tables: list[int]) -> None:
    chunks = {table: after(staged, footprint()) for table, staged in staged_by(domain, txn)}
    parts = [write(table)._replace(footprint=chunks.get(table)) for table in tables]
    domain.commit(session, txn, *parts)


def staged_by(domain: Followed, txn: int) -> Iterable[tuple[int, list[Footprint]]]:
    return domain.state.txns.open[txn].staged.items()


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (commit, "committed"),
        (lambda d, s, t, tables: d.abort(s, t, tables), "aborted"),
        (lambda d, _s, t, _: d.tidy(txns=[t]), "aborted"),
        (lambda d, s, _t, _: d.close_session(s), "aborted"),
    ],
    ids=["committed", "aborted", "expired", "closed"],
)
def test_once_it_has_ended_its_row_has_them_all(end: End, status: str) -> None:
    domain, session, txn, tables = wide(is_followed=True)
    end(domain, session, txn, tables)
    row = domain.reads.txn(txn)

    assert row is not None
    assert (row.status, [part.table for part in row.parts]) == (status, tables)
    assert not list(domain.rows.scan(TXN_PART, prefix_end(TXN_PART)))
