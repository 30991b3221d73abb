"""What is lost on the way is sent again, and never executed twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from ledger.client import Ledger
from ledger.config.settings import ClientSettings
from ledger.core.limits import COMMAND_BYTES_MAX
from ledger.errors import (
    FencedError,
    LimitExceededError,
    LogError,
    LogUnavailableError,
    OutcomeUnknownError,
)
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.log.wire.file_list import AddFile
from ledger.session.receipt import TableVersion
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction
from tests.sdk.conftest import IMPATIENT

HASTY = ClientSettings(timeout_s=0.5, attempt_s=0.1, close_s=0.05)
ALWAYS = 10**9


def events(memory: InMemoryLedger, kind: str) -> int:
    return sum(row.type == kind for row in memory.reads.history(0, ALWAYS))


def test_lost_command(ledger: Ledger, memory: InMemoryLedger, log: LossyLog) -> None:
    """A command that never arrived is sent again with the same writer."""
    ledger.create_table("flights")
    log.lost[Topic.COMMANDS] = 2

    txn = ledger.begin()

    assert txn.id == 1
    assert (events(memory, "TxnOpened"), events(memory, "CommandRepeated")) == (1, 0)


def test_a_command_not_taken_is_sent_again(ledger: Ledger, log: LossyLog) -> None:
    ledger.create_table("flights")
    log.refused[Topic.COMMANDS] = 2
    before = log.writers[Topic.COMMANDS]

    assert ledger.begin().id == 1
    assert log.writers[Topic.COMMANDS] == before + 2


def test_lost_acknowledgement(ledger: Ledger, memory: InMemoryLedger, log: LossyLog) -> None:
    """A command that arrived without anyone being told is answered, and the next one is sent."""
    ledger.create_table("flights")
    log.unacknowledged[Topic.COMMANDS] = 1

    txns = [ledger.begin(), ledger.begin()]

    assert [txn.id for txn in txns] == [1, 2]
    assert events(memory, "TxnOpened") == 2


def test_doubled_command(ledger: Ledger, memory: InMemoryLedger, log: LossyLog) -> None:
    """A command that arrived twice is executed once, and both answers are one to the caller."""
    ledger.create_table("flights")
    log.doubled[Topic.COMMANDS] = ALWAYS

    txns = [ledger.begin() for _ in range(3)]
    log.heal()
    txns.append(ledger.begin())

    assert [txn.id for txn in txns] == [1, 2, 3, 4]
    assert (events(memory, "TxnOpened"), events(memory, "CommandRepeated")) == (4, 3)


def test_lost_answer(ledger: Ledger, memory: InMemoryLedger, log: LossyLog) -> None:
    """A leader whose answer was lost ends, and the next one answers the same command."""
    ledger.create_table("flights")
    log.lost[Topic.EVENTS] = 1
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ledger.begin)
        ended = memory.leader.wait_end()
        memory.take_over(crash=True)
        txn = asked.result()

    assert isinstance(ended, FencedError)
    assert (txn.id, events(memory, "TxnOpened")) == (1, 1)


@pytest.mark.parametrize("crash", [True, False])
def test_sequencer_replaced(ledger: Ledger, memory: InMemoryLedger, *, crash: bool) -> None:
    """Txns go on while one sequencer after the other ends, and none commits twice."""
    flights = ledger.create_table("flights")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lambda: [commit_one(ledger, flights.table) for _ in range(60)])
        for _ in range(3):
            memory.reads.wait(memory.reads.position() + 15, 20_000)
            memory.take_over(crash=crash)
        versions = done.result()

    assert versions == [TableVersion(number, number) for number in range(1, 61)]


def commit_one(ledger: Ledger, table: int) -> TableVersion:
    with ledger.transaction() as txn:
        txn.write_id(table)
    assert txn.receipt is not None
    return txn.receipt.tables[table]


def test_an_unanswered_commit_tells_when_repeated(ledger: Ledger, memory: InMemoryLedger) -> None:
    hasty = memory.connect(settings=HASTY)
    txn = hasty.begin()
    memory.leader.crash()

    with pytest.raises(OutcomeUnknownError, match=r"ask ledger\.outcome\(") as raised:
        txn.commit()

    assert txn.status == "unknown"
    memory.leader = memory.standby("successor").start()
    ledger.begin()
    assert hasty.outcome(raised.value.session, raised.value.n).answer == "CommandTooLate"
    assert not txn.commit().repeated


def test_a_session_without_an_answer_has_no_outcome_to_ask_for(memory: InMemoryLedger) -> None:
    hasty = memory.connect(settings=HASTY)
    memory.leader.crash()

    with pytest.raises(
        OutcomeUnknownError, match=r"OpenSession .* repeat the call: .* expires by itself"
    ) as raised:
        hasty.begin()

    assert "ledger.outcome" not in str(raised.value)
    memory.leader = memory.standby("successor").start()
    memory.connect(settings=IMPATIENT).begin()
    assert hasty.begin().id == 2


def test_unknown_outcome_leaves_a_block(memory: InMemoryLedger) -> None:
    hasty = memory.connect(settings=HASTY)
    hasty.create_table("flights")
    with pytest.raises(OutcomeUnknownError), hasty.transaction() as txn:
        memory.leader.crash()

    assert txn.status == "unknown"
    memory.leader = memory.standby("successor").start()
    memory.connect(settings=IMPATIENT).begin()
    assert txn.commit().txn == txn.id


def test_an_error_in_a_block_is_raised_though_no_abort_answers(memory: InMemoryLedger) -> None:
    hasty = memory.connect(settings=HASTY)
    with pytest.raises(ValueError, match="no rows") as raised:
        abort_alone(memory, hasty)

    assert ["could not be aborted" in note for note in raised.value.__notes__] == [True]


def abort_alone(memory: InMemoryLedger, ledger: Ledger) -> None:
    """Raise in a block after the sequencer was lost."""
    with ledger.transaction():
        memory.leader.crash()
        raise ValueError("no rows")


def test_a_late_answer_is_what_the_repeat_returns(memory: InMemoryLedger, log: LossyLog) -> None:
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    flights = cut_off.create_table("flights")
    txn = cut_off.begin()
    txn.write_id(flights)
    view.away[Topic.EVENTS] = ALWAYS
    with pytest.raises(OutcomeUnknownError) as raised:
        txn.commit()
    view.heal()

    receipt = txn.commit()

    outcome = cut_off.outcome(raised.value.session, raised.value.n)
    assert (receipt.repeated, receipt.tables) == (True, {flights.table: TableVersion(1, 1)})
    assert (outcome.answer, outcome.position) == ("TxnCommitted", receipt.position)
    assert txn.receipt == receipt


def test_a_broker_that_is_away_for_reading_is_waited_for(ledger: Ledger, log: LossyLog) -> None:
    view = LossyLog(log)
    with Ledger.connect(log=view) as other:
        view.away[Topic.EVENTS] = 2

        assert other.begin().id == 1
    assert ledger.begin().id == 2


def test_a_command_that_fits_no_record_is_not_sent_at_all(ledger: Ledger) -> None:
    ledger.create_table("flights", [("day", "int")], partition_columns=["day"])
    txn = ledger.begin()
    txn.wrote("flights", "update", f"day={'9' * COMMAND_BYTES_MAX}")

    with pytest.raises(LimitExceededError, match="Nothing was sent") as raised:
        txn.commit()

    txn.wrote("flights", "update", "day=1")
    assert (txn.status, txn.abort().txn) == ("open", txn.id)
    assert not raised.value.retry_unchanged


@pytest.mark.parametrize(
    ("fault", "topic", "said"),
    [("refused", Topic.COMMANDS, "not acknowledged"), ("away", Topic.EVENTS, "broker is away")],
)
def test_why_the_outcome_is_unknown(
    memory: InMemoryLedger, log: LossyLog, fault: str, topic: Topic, said: str
) -> None:
    """What was wrong with the broker is told with the unknown outcome, and is its cause."""
    view = LossyLog(log)
    cut_off = memory.connect(settings=HASTY, log=view)
    txn = cut_off.begin()
    getattr(view, fault)[topic] = ALWAYS

    with pytest.raises(OutcomeUnknownError, match=said) as raised:
        txn.commit()

    assert isinstance(raised.value.__cause__, LogUnavailableError)


def damage(ledger: Ledger, log: LossyLog) -> None:
    assert ledger.id
    log.writer(Topic.EVENTS).append(b"", b"\0\0\0\0\1 no event")


@pytest.mark.parametrize(
    ("end", "said"),
    [(lambda ledger, _: ledger.close(), "this ledger was closed"), (damage, "log is damaged")],
    ids=["closed", "damaged"],
)
def test_tail_ends_before_the_answer(
    memory: InMemoryLedger, log: LossyLog, end: Callable[[Ledger, LossyLog], None], said: str
) -> None:
    hasty = memory.connect(settings=ClientSettings(close_s=0.05))
    hasty.create_table("flights")
    txn = hasty.begin()
    memory.leader.crash()
    sent = log.topics[Topic.COMMANDS].end() + 1
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(txn.commit)
        log.wait_for(Topic.COMMANDS, sent)
        end(hasty, log)
        error = asked.exception()

    assert isinstance(error, OutcomeUnknownError)
    assert isinstance(error.__cause__, LogError)
    assert said in str(error)
    assert txn.status == "unknown"
    with pytest.raises(ValueError, match=r"commit\(\) was already called"):
        txn.wrote("flights", "insert")


class Step(NamedTuple):
    """A step after which a process is lost, and the event that answers it."""

    take: Callable[[Ledger, Transaction], object]
    answer: str


STEPS = {
    "begin": Step(lambda ledger, _: ledger.begin(), "TxnOpened"),
    "allocate": Step(lambda _, txn: txn.write_id("flights"), "WriteIdsAllocated"),
    "create": Step(lambda ledger, _: ledger.create_table("routes"), "TableCreated"),
    "create in a txn": Step(lambda _, txn: txn.create_table("routes"), "TableCreated"),
    "rename": Step(lambda ledger, _: ledger.rename_table("flights", "routes"), "TableRenamed"),
    "drop": Step(lambda _, txn: txn.drop_table("flights"), "TableDropped"),
    "commit": Step(lambda _, txn: txn.commit(), "TxnCommitted"),
    "abort": Step(lambda _, txn: txn.abort("lost"), "TxnAborted"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_process_lost(memory: InMemoryLedger, log: LossyLog, step: Step) -> None:
    """Whatever a process asked before it was lost, another one learns the outcome."""
    view = LossyLog(log)
    lost = memory.connect(settings=HASTY, log=view)
    lost.create_table("flights")
    txn = lost.begin()
    before = events(memory, step.answer)
    view.away[Topic.EVENTS] = ALWAYS
    with pytest.raises(OutcomeUnknownError) as raised:
        step.take(lost, txn)

    outcome = memory.connect(settings=IMPATIENT).outcome(raised.value.session, raised.value.n)

    assert outcome.answer == step.answer
    assert events(memory, step.answer) == before + 1


def effects(memory: InMemoryLedger) -> list[int]:
    """Return the txns that were opened and ended, and how many write ids were given."""
    ids = [row.last_write_id for row in memory.reads.tables()]
    kinds = {"TxnOpened", "TxnCommitted", "TxnAborted"}
    rows = memory.reads.history(0, ALWAYS)
    # A batch that was done before ends as no txn at all.
    return ids + [row.txn for row in rows if row.type in kinds and row.txn]


@pytest.mark.parametrize(
    ("again", "is_done_once"),
    [
        (lambda ledger, _: ledger.append("flights", [AddFile("day1")]), False),
        (lambda ledger, _: ledger.append("flights", [AddFile("day1")], app=("job", 1)), True),
        (lambda ledger, _: ledger.begin(), False),
        (lambda _, txn: txn.write_id("flights"), True),
        (lambda _, txn: txn.commit(), True),
        (lambda _, txn: txn.abort(), True),
    ],
    ids=["append", "batch", "begin", "write id", "commit", "abort"],
)
def test_who_was_not_answered_is_told_to_call_again_only_where_that_does_nothing_twice(
    memory: InMemoryLedger,
    log: LossyLog,
    again: Callable[[Ledger, Transaction], object],
    *,
    is_done_once: bool,
) -> None:
    view = LossyLog(log)
    late = memory.connect(settings=HASTY, log=view)
    late.create_table("flights")
    txn = late.begin()
    view.away[Topic.EVENTS] = ALWAYS
    with pytest.raises(OutcomeUnknownError) as raised:
        again(late, txn)
    view.heal()
    memory.leader.wait_rounds(2)
    before = effects(memory)

    again(late, txn)

    is_same = effects(memory) == before
    assert (raised.value.retry_unchanged, is_same) == (is_done_once, is_done_once)
