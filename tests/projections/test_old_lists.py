"""Write ids under lists of before: told right or refused, however much was cleaned since."""

from collections.abc import Iterator

import pytest
from hypothesis import given

from ledger.core.events.events import TableAltered, TxnCommitted, TxnOpened
from ledger.core.lists.valid_lists import ValidTxnList, ValidWriteIdList
from ledger.core.lists.visibility import held_txn_list, valid_txn_list, valid_write_ids
from ledger.errors import SnapshotTooOldError
from ledger.reads.port import Reads
from projections.queries import StoreReads
from projections.rows.keys import HISTORY, VERSION
from projections.store.memory import MemoryStore
from projections.store.port import Row
from tests.core.histories import Step, played, random_steps, steps
from tests.driver import Driver, write
from tests.oracle.reads import StateReads
from tests.projections.followed import PATIENT, Followed, rows_of
from tests.web.served import serving


def readers(driver: Driver) -> tuple[Reads, Reads]:
    return StoreReads(rows_of(driver)), StateReads(driver.log)


def told(reads: Reads, table: int, txns: ValidTxnList) -> ValidWriteIdList | None:
    try:
        return reads.valid_write_ids(table, txns)
    except SnapshotTooOldError:
        return None


def held(driver: Driver) -> dict[int, ValidTxnList]:
    return {
        txn: held_txn_list(control, body, txn)
        for control, body in driver.events
        if isinstance(body, TxnOpened) and body.inline
        for txn in range(control.txn, control.txn + body.size)
    }


def committed(driver: Driver) -> Iterator[tuple[int, int, int]]:
    for control, body in driver.events:
        if isinstance(body, TxnCommitted):
            yield from ((part.table, part.write_id, control.txn) for part in body.parts)
        if isinstance(body, TableAltered) and body.one_shot:
            yield body.table, body.write_id, control.txn


def check_lists(driver: Driver) -> int:
    """Check that lists are refused iff they would show what they hide; return how many are.

    They are those of every position and of every txn, and for every txn one without exceptions.
    """
    rows, state = readers(driver)
    of_txns, next_txn = held(driver), driver.state.txns.next_txn
    of_positions = (rows.valid_txns(each) for each in range(driver.head.position + 1))
    plain = (ValidTxnList(hwm, (), (), None) for hwm in range(next_txn))
    lists = dict.fromkeys([*of_txns.values(), *of_positions, *plain])
    live = {of_txns[txn] for txn in driver.state.txns.open if txn in of_txns}
    writers = [each for each in committed(driver) if each[1]]
    refused = 0
    for table in rows.tables(include_dropped=True):
        name, mappings = f"{table.catalog}.{table.name}", rows.mappings(table.table)
        for txns in lists:
            unchecked = valid_write_ids(name, txns, mappings, table.last_write_id)
            is_right = all(
                unchecked.is_valid(write_id) == txns.is_valid(txn)
                for number, write_id, txn in writers
                if number == table.table
            )
            found = [told(reads, table.table, txns) for reads in (rows, state)]
            assert found == [unchecked if is_right else None] * 2, (table.table, txns)
            assert is_right or txns not in live
            refused += not is_right
    return refused


@PATIENT
@given(history=steps(min_size=30))
def test_a_list_is_refused_only_where_the_answer_would_be_wrong(history: list[Step]) -> None:
    check_lists(played(history).driver)


@pytest.mark.parametrize("seed", range(3))
def test_right_or_refused_after_a_long_history(seed: int) -> None:
    """The same, where much was cleaned."""
    assert check_lists(played(random_steps(seed, 400)).driver)


def cleaned(table_of_writer: str) -> tuple[Followed, int, ValidTxnList]:
    """Return a domain whose table `a` is asked for, and a list that hides a cleaned writer."""
    domain = Followed()
    session = domain.open_session()
    tables = {name: domain.create_table(session, name) for name in "ab"}
    writer = domain.open_txn(session)
    domain.allocate(session, [writer], [tables[table_of_writer]])
    reader = domain.open_txn(session, "read_only")
    txns = valid_txn_list(domain.state, reader)
    domain.commit(session, writer, write(tables[table_of_writer]))
    domain.commit(session, reader)
    return domain, tables["a"], txns


@pytest.mark.parametrize(("written", "is_refused"), [("a", True), ("b", False)])
def test_a_list_of_an_ended_reader_shows_nothing_open(written: str, *, is_refused: bool) -> None:
    domain, table, txns = cleaned(written)
    rows, state = readers(domain)

    with serving(lambda: domain.reads) as served:
        for reads in (rows, state, served.reads):
            assert (told(reads, table, txns) is None) == is_refused
    assert domain.state.txns.watermark > txns.hwm


def test_says_what_to_do() -> None:
    domain, table, txns = cleaned("a")

    with pytest.raises(SnapshotTooOldError, match="hold a txn while you use it") as error:
        domain.reads.valid_write_ids(table, txns)
    assert error.value.retry_anew


class Counted(MemoryStore):
    """Rows that count how many of versions and of events were read."""

    read = 0

    def get(self, key: bytes) -> bytes | None:
        self.read += key[:1] in (VERSION, HISTORY)
        return super().get(key)

    def scan(
        self, start: bytes, end: bytes, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        for row in super().scan(start, end, limit=limit, reverse=reverse):
            self.read += row[0][:1] in (VERSION, HISTORY)
            yield row


@pytest.mark.parametrize("is_held", [True, False])
def test_costs_no_more_for_a_long_history(*, is_held: bool) -> None:
    store = Counted()
    domain = Followed(store)
    session = domain.open_session()
    table = domain.create_table(session, "a")
    reader = domain.open_txn(session, "read_only")
    txns = valid_txn_list(domain.state, reader)
    if not is_held:
        domain.commit(session, reader)
    for _ in range(500):
        domain.commit(session, 0, write(table))
    reads = domain.reads
    store.read = 0

    assert (told(reads, table, txns) is not None) == is_held
    assert store.read <= (0 if is_held else 12)
