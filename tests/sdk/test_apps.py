"""Applications that say how far they came: a batch that is sent again is applied once."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger import errors
from ledger.client import Ledger
from ledger.core.events.events import CommandRepeated, Control, TxnAborted
from ledger.errors import OutcomeUnknownError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.session.receipt import Receipt, Token, receipt_of
from ledger.session.session import CommandAnswer
from ledger.testing import InMemoryLedger
from tests.sdk.flights import TABLE, create_flights, of_day
from tests.sdk.test_retries import HASTY

APP = "stream"
CONTROL = Control(b"", 1, 44, 9, 4, 2, 0, 7)


@pytest.fixture
def table(ledger: Ledger) -> int:
    return create_flights(ledger).table


def in_txn(ledger: Ledger, version: int) -> Receipt:
    with ledger.transaction() as txn:
        txn.app(APP, version)
        txn.add_files(TABLE, [of_day(1, f"batch{version}")])
    assert txn.receipt is not None
    return txn.receipt


def at_once(ledger: Ledger, version: int) -> Receipt:
    return ledger.append(TABLE, [of_day(1, f"batch{version}")], app=(APP, version))


@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.parametrize("second", [in_txn, at_once])
@pytest.mark.parametrize("first", [in_txn, at_once])
def test_a_batch_that_was_applied_is_skipped(
    ledger: Ledger,
    table: int,
    first: Callable[[Ledger, int], Receipt],
    second: Callable[[Ledger, int], Receipt],
    version: int,
) -> None:
    applied = first(ledger, 3)

    again = second(ledger, version)

    assert (again.skipped, again.token, again.txn) == (True, applied.token, 0)
    assert not applied.skipped
    assert "(skipped)" in repr(again)
    assert (table, {}) == (next(iter(applied.tables)), again.tables)
    assert len(ledger.read(TABLE)) == 3


def test_next_batch(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """A later version is applied, and is how far the application came."""
    at_once(ledger, 3)

    receipt = in_txn(ledger, 4)

    found = memory.reads.app(table, APP)
    assert found is not None
    assert (4, receipt.position) == (found.version, found.position)


def test_a_txn_whose_work_was_done_before_is_aborted(ledger: Ledger, table: int) -> None:
    at_once(ledger, 3)
    txn = ledger.begin()
    txn.app(APP, 3)
    txn.wrote(table, "insert")
    txn.add_files("flights", [of_day(1, "batch3")])

    first, again = txn.commit(), txn.commit()

    assert ("aborted", first.token) == (txn.status, again.token)
    assert (again.skipped, first.repeated, again.repeated) == (True, False, True)


def test_table_of_a_skipped_txn(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """A table that a skipped txn created never was: its name means what somebody else gives it."""
    ledger.append(table, [of_day(3)], (APP, 1))
    with ledger.transaction() as txn:
        txn.create_table("summary")
        txn.add_files(table, [of_day(4)])
        txn.app(APP, 1)
    memory.connect().create_table("summary")

    ledger.append("summary", ["s1"])

    assert txn.status == "aborted"
    assert ledger.read("summary").paths == ["s1"]


def test_two_tables(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """Progress is recorded in every table written, in whatever way, and in those named besides."""
    other, named = ledger.create_table("other").table, ledger.create_table("named").table
    read = ledger.create_table("only_read").table
    with ledger.transaction() as txn:
        txn.read("only_read")
        txn.add_files(table, [of_day(1, "batch")])
        txn.write_id("other")
        txn.app(APP, 1, tables=["named"])

    found = [memory.reads.app(each, APP) for each in (table, other, named)]
    assert [each.version for each in found if each is not None] == [1, 1, 1]
    assert memory.reads.app(read, APP) is None


def test_a_batch_that_some_tables_have_is_refused(ledger: Ledger, table: int) -> None:
    ledger.create_table("other")
    at_once(ledger, 1)

    txn = ledger.begin()
    txn.app(APP, 1)
    txn.add_files(table, [of_day(1, "batch")])
    txn.add_files("other", ["batch"])

    with pytest.raises(errors.AppVersionsDisagreeError, match="either all new or all recorded"):
        txn.commit()

    assert txn.status == "open"


def test_progress_that_no_table_would_record_is_an_error(ledger: Ledger) -> None:
    with (
        pytest.raises(ValueError, match="progress of stream, but writes no table"),
        ledger.transaction() as txn,
    ):
        txn.app(APP, 1)

    assert txn.status == "aborted"


NO_APPS: list[tuple[Any, type[Exception], str]] = [
    (("job", "3"), TypeError, "the version of application 'job' must be a whole number, got '3'"),
    (("job", True), TypeError, "the version of application 'job' must be a whole number, got True"),
    (("job", 2**63), ValueError, f"application 'job' must fit 64 bits, got {2**63}"),
    ((5, 3), TypeError, "the name of an application must be a text, got 5"),
    (("\ud800", 3), ValueError, "half of a letter"),
]


@pytest.mark.parametrize(("app", "error", "said"), NO_APPS)
def test_what_no_record_takes_as_progress_is_refused_where_it_is_said_and_the_txn_goes_on(
    ledger: Ledger, table: int, app: Any, error: type[Exception], said: str
) -> None:
    before = ledger.token
    with pytest.raises(error, match=said):
        ledger.append(table, [of_day(3)], app)
    assert before == ledger.token

    with ledger.transaction() as txn:
        txn.add_files(table, [of_day(3)])
        with pytest.raises(error, match=said):
            txn.app(*app, tables=[table])

    assert len(ledger.read(table)) == 3


def test_concurrent_batches(ledger: Ledger, memory: InMemoryLedger, table: int) -> None:
    """Two txns of one application: the second is not to be done again without looking."""
    assert table
    txn = ledger.begin()
    txn.app(APP, 2)
    txn.add_files(TABLE, [of_day(1, "batch2")])
    at_once(memory.connect(), 1)

    with pytest.raises(errors.ConcurrentTransactionException) as raised:
        txn.commit()

    assert raised.value.as_dict()["unit"] == {"kind": "app", "name": APP}
    assert not raised.value.retry_anew


def test_lost_answer_of_an_append(memory: InMemoryLedger, log: LossyLog) -> None:
    """An append whose answer was lost can be done again: it is skipped if it had arrived."""
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    create_flights(cut_off)
    view.away[Topic.EVENTS] = 10**9
    with pytest.raises(OutcomeUnknownError):
        at_once(cut_off, 3)
    view.heal()

    assert at_once(cut_off, 3).skipped
    assert len(cut_off.read(TABLE)) == 3


def test_lost_answer_of_a_skipped_txn(memory: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    create_flights(cut_off)
    first = at_once(cut_off, 3)
    txn = cut_off.begin()
    txn.app(APP, 3)
    txn.add_files(TABLE, [of_day(1, "batch3")])
    view.away[Topic.EVENTS] = 10**9
    with pytest.raises(OutcomeUnknownError):
        txn.commit()
    with pytest.raises(ValueError, match=r"commit\(\) was already called"):
        txn.add_files(TABLE, [of_day(1, "more")])
    view.heal()

    receipt = txn.commit()

    assert (True, True, first.token) == (receipt.skipped, receipt.repeated, receipt.token)


@pytest.mark.parametrize(
    "body",
    [
        TxnAborted("already_applied", one_shot=False, parts=(), evidence=None, first=41),
        CommandRepeated(b"", 44, "already_applied", 41, 0, ()),
    ],
)
def test_receipt_of_a_skip(body: TxnAborted | CommandRepeated) -> None:
    """The first answer and its repeat are one receipt: it names the position of the first batch."""
    receipt = receipt_of(CommandAnswer(CONTROL, body, is_repeat=False), Token("5f3a9c1e", 0, 0))

    assert (receipt.txn, receipt.position, receipt.skipped) == (0, 41, True)
    assert Token("5f3a9c1e", 0, 41) == receipt.token


def test_progress_that_is_recorded_alone_is_in_no_other_table(
    ledger: Ledger, memory: InMemoryLedger, table: int
) -> None:
    home = ledger.create_table("home", [("id", "INT")]).table
    with ledger.transaction() as txn:
        txn.app(APP, 3, tables=[home], info={"at": 1}, alone=True)
        txn.add_files(TABLE, [of_day(1, "batch3")])

    found = memory.reads.app(home, APP)
    assert found is not None
    assert found.version == 3
    assert memory.reads.app(table, APP) is None
    assert [each.info for each in ledger.progress(APP)] == [{"at": 1}]


def test_progress_loses_to_any_since_it_was_looked_up(ledger: Ledger, table: int) -> None:
    """The txn opens after the other batch, and its base is the position of the look-up."""
    looked = at_once(ledger, 3).position
    at_once(ledger, 4)

    with pytest.raises(errors.ConcurrentTransactionException), ledger.transaction() as txn:
        txn.app(APP, 5, tables=[table], read_at=looked, alone=True)


def test_progress_alone_needs_a_table(ledger: Ledger) -> None:
    with ledger.begin() as txn:
        with pytest.raises(ValueError, match="needs a table"):
            txn.app(APP, 5, alone=True)
        txn.abort()
