"""Reads over HTTP say what reads of a state in memory say, type by type, after any history."""

from hypothesis import given, settings

from ledger.reads import Reads
from ledger.state_reads import StateReads
from projections.queries import StoreReads
from tests.core.histories import Step, played, random_steps
from tests.driver import Driver
from tests.projections.filing import filed, filings
from tests.projections.followed import PATIENT, rows_of
from tests.projections.test_reads_agree import answers
from tests.web.served import OpenReads, serving


def kept(driver: Driver) -> OpenReads:
    """Return a way to read a driver's rows, each time with a reader of its own."""
    store = rows_of(driver)
    return lambda: StoreReads(store.reader())


def agree(driver: Driver, open_reads: OpenReads) -> None:
    """Hold a server to what the state says."""
    with serving(open_reads) as served:
        assert answers(served.reads, driver) == answers(StateReads(driver.log), driver)


@settings(PATIENT, max_examples=5)
@given(history=filings())
def test_same_answers_about_files(history: list[Step]) -> None:
    """Files, versions, conflicts and anomalies travel without loss."""
    driver = filed(history)
    agree(driver, kept(driver))


def test_same_answers_of_a_long_history() -> None:
    """So does what was cleaned, dropped, expired and forgotten."""
    driver = played(random_steps(1, 120)).driver
    agree(driver, kept(driver))


def test_any_reads_are_served() -> None:
    """The server knows `Reads` and no store: those of a state are served alike."""
    driver = played(random_steps(7, 60)).driver

    def reads_of_state() -> Reads:
        return StateReads(driver.log)

    agree(driver, reads_of_state)
