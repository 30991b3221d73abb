"""Reads over HTTP say what reads of a state in memory say, type by type, after any history."""

from typing import Any

from hypothesis import given, settings

from ledger.reads.port import Reads
from projections.queries import StoreReads
from tests.core.histories import Step, played, random_steps
from tests.driver import Driver
from tests.oracle.reads import StateReads
from tests.projections.filing import filed, filings
from tests.projections.followed import PATIENT, rows_of
from tests.projections.test_reads_agree import answers, exact_answers
from tests.web.served import OpenReads, serving


def kept(driver: Driver) -> OpenReads:
    """Return a way to read a driver's rows, each time with a reader of its own."""
    store = rows_of(driver)
    return lambda: StoreReads(store.reader())


def agree(driver: Driver, open_reads: OpenReads) -> None:
    """Hold a server to what the state says."""
    with serving(open_reads) as served:
        assert answers(served.reads, driver) == answers(StateReads(driver.log), driver)


def equal(driver: Driver) -> None:
    """Hold what comes over HTTP to be equal to what is read on the host, and as good for sets."""
    open_reads = kept(driver)
    with serving(open_reads) as served:
        assert exact_answers(served.reads, driver) == exact_answers(open_reads(), driver)
        assert in_sets(served.reads, driver) == in_sets(StateReads(driver.log), driver)


def in_sets(reads: Reads, driver: Driver) -> list[set[Any]]:
    tables = range(1, driver.state.tables.next_table)
    txns = {reads.txn(txn) for txn in range(driver.state.txns.next_txn)}
    return [txns, set(reads.history(0, 99)), *(set(reads.released_files(t, 99)) for t in tables)]


@settings(PATIENT, max_examples=5)
@given(history=filings())
def test_same_answers_about_files(history: list[Step]) -> None:
    driver = filed(history)
    agree(driver, kept(driver))
    equal(driver)


def test_same_answers_of_a_long_history() -> None:
    driver = played(random_steps(1, 120)).driver
    agree(driver, kept(driver))
    equal(driver)


def test_any_reads_are_served() -> None:
    """The server knows `Reads` and no store: those of a state are served alike."""
    driver = played(random_steps(7, 60)).driver

    def reads_of_state() -> Reads:
        return StateReads(driver.log)

    agree(driver, reads_of_state)
