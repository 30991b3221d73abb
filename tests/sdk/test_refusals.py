"""Every refusal of the log is raised as an exception that says what to do."""

import pickle

import pytest

from ledger import errors
from ledger.core.events.events import (
    CommandRefused,
    CommandRepeated,
    Control,
    Event,
    SessionOpened,
    TxnAborted,
    TxnCommitted,
)
from ledger.core.events.parts import Evidence, Side
from ledger.core.refusals import Reason
from ledger.errors import (
    ConflictError,
    LedgerError,
    OutcomeUnknownError,
    RefusedError,
    TxnNotOpenError,
    UnknownTableError,
)
from ledger.session.refusals import CONFLICTS, ROWS, body_as

CONTROL = Control(b"", 1, 44, 9, 4, 2, 0, 7)
EVIDENCE = Evidence(
    rule="coarse_write_write",
    exception="ConcurrentDeleteDelete",
    table=3,
    unit="partition day=1",
    operation="delete",
    read_at=40,
    winner=Side(5, 43, "update", "ada@lake etl"),
    remedy="read the unit again and retry in a new txn",
)


def refused(reason: str) -> CommandRefused:
    return CommandRefused(b"", reason, "why it was", 3)


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_its_exception_and_says_what_to_do(reason: Reason) -> None:
    row = ROWS[reason]

    with pytest.raises(row.error) as raised:
        body_as(TxnCommitted, Event(CONTROL, refused(reason)))

    assert str(raised.value) == f"why it was. {row.advice}"
    assert row.error is not RefusedError


def test_a_refusal_names_its_reason_what_it_is_about_and_where_it_stands_in_the_log() -> None:
    with pytest.raises(UnknownTableError) as raised:
        body_as(TxnCommitted, Event(CONTROL, refused("UnknownTable")))

    found = raised.value
    assert (found.reason, found.subject, found.position) == ("UnknownTable", 3, 44)


def test_forgotten_is_unknown() -> None:
    """A command too old to be remembered is no refusal: its first copy may have been executed."""
    with pytest.raises(OutcomeUnknownError) as raised:
        body_as(TxnCommitted, Event(CONTROL, refused("CommandForgotten")))

    assert (raised.value.session, raised.value.n) == (4, 2)


def test_a_reason_that_this_version_does_not_know_is_a_refusal_all_the_same() -> None:
    with pytest.raises(RefusedError, match="why it was") as raised:
        body_as(TxnCommitted, Event(CONTROL, refused("QuotaSpent")))

    assert raised.value.reason == "QuotaSpent"


def test_every_conflict_has_its_class() -> None:
    named = {kind.__name__.removesuffix("Exception"): kind for kind in CONFLICTS.values()}

    assert named == dict(CONFLICTS)
    assert set(named.values()) == set(ConflictError.__subclasses__())


@pytest.mark.parametrize("exception", [*CONFLICTS, "RowConflict"])
def test_a_lost_commit_is_raised_with_its_evidence(exception: str) -> None:
    evidence = EVIDENCE._replace(exception=exception)
    lost = TxnAborted("conflict", one_shot=False, parts=(), evidence=evidence)

    with pytest.raises(CONFLICTS.get(exception, ConflictError), match="retry in a new") as raised:
        body_as(TxnCommitted, Event(CONTROL, lost))

    assert raised.value.evidence is evidence
    assert (raised.value.reason, raised.value.subject) == (exception, 7)


def test_a_lost_commit_can_be_explained_as_soon_as_it_is_raised() -> None:
    lost = TxnAborted("conflict", one_shot=False, parts=(), evidence=EVIDENCE)

    with pytest.raises(ConflictError) as raised:
        body_as(TxnCommitted, Event(CONTROL, lost))

    assert raised.value.explain().startswith("ConcurrentDeleteDelete: txn 7 lost\n")


def test_abort_where_a_commit_was_hoped_for() -> None:
    ended = TxnAborted("deadline", one_shot=False, parts=(), evidence=None)

    with pytest.raises(TxnNotOpenError, match="txn 7 was aborted: deadline"):
        body_as(TxnCommitted, Event(CONTROL, ended))


@pytest.mark.parametrize(
    ("outcome", "error"), [("TxnAborted", TxnNotOpenError), ("UnknownTable", UnknownTableError)]
)
def test_a_repeat_is_raised_as_its_first_answer(outcome: str, error: type[LedgerError]) -> None:
    with pytest.raises(error, match="answered before, at position 41"):
        body_as(TxnCommitted, Event(CONTROL, CommandRepeated(b"", 41, outcome, 7, 1, ())))


def test_answer_of_another_kind() -> None:
    with pytest.raises(AssertionError, match="TxnCommitted"):
        body_as(TxnCommitted, Event(CONTROL, SessionOpened(b"", "", "", "", 0)))


@pytest.mark.parametrize(
    "error",
    [
        RefusedError("no", reason="TxnNotOpen", subject=7, position=44),
        ConflictError("lost", reason="ConcurrentAppend", subject=7, evidence=EVIDENCE),
        OutcomeUnknownError("silence", session=4, n=2),
        errors.LogDamagedError(44, "a bit"),
        errors.OffsetGoneError("gone", wanted=1, earliest=2),
        errors.ReaderBehindError(1, 2, 3),
        errors.SettingsError("unset"),
    ],
)
def test_errors_survive_pickling_with_message_and_fields(error: LedgerError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - what this test made itself

    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))
