"""What fits no record is refused where it is said, or ends the txn that was to send it."""

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.errors import (
    ConstraintViolatedError,
    DuplicateKeyError,
    RefusedError,
    UnknownColumnError,
)
from ledger.log.lossy import LossyLog
from ledger.testing import InMemoryLedger
from ledger.transaction.transaction import Transaction


def in_a_block(ledger: Ledger, work: Callable[[Transaction], object]) -> None:
    with ledger.transaction() as txn:
        work(txn)


NO_TEXT: Any = 5
NO_NUMBER: Any = "1"
UNFIT: list[tuple[Callable[[Transaction], object], type[Exception]]] = [
    (lambda txn: txn.set_protocol("flights", 2**63, 7), OverflowError),
    (lambda txn: txn.set_protocol("flights", NO_NUMBER, 7), TypeError),
    (lambda txn: txn.set_protocol("flights", 3, 7, "appendOnly"), TypeError),
    (lambda txn: txn.set_domain("flights", "delta", NO_TEXT), TypeError),
    (lambda txn: txn.wrote("flights", "update", NO_TEXT), TypeError),
    (lambda txn: txn.wrote("flights", "insert", "\ud800"), ValueError),
]


@pytest.mark.parametrize("block", [in_a_block, Ledger.run])
@pytest.mark.parametrize(("work", "error"), UNFIT)
def test_unfit_commit_is_aborted(
    ledger: Ledger,
    memory: InMemoryLedger,
    block: Callable[[Ledger, Callable[[Transaction], object]], object],
    work: Callable[[Transaction], object],
    error: type[Exception],
) -> None:
    """A txn whose commit fits no record is aborted: nothing was sent that it could wait for."""
    ledger.create_table("flights")

    with pytest.raises(error):
        block(ledger, work)

    assert memory.reads.open_txns(10) == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("\ud800"), "ValueError"),
        (RefusedError("no", reason="\ud800"), r"RefusedError: \ud800"),
        (RefusedError("got Pauline", reason="LimitExceeded"), "RefusedError: LimitExceeded"),
        (UnknownColumnError("got Pauline", column="Pauline"), "UnknownColumnError"),
        (
            ConstraintViolatedError(table="t", constraint="c", condition="a", row={"a": "Pauline"}),
            "ConstraintViolatedError: constraint c of table t",
        ),
        (DuplicateKeyError(table="t", row={"a": "Pauline"}), "DuplicateKeyError: key of table t"),
    ],
)
def test_a_txn_records_the_type_and_the_rule_of_an_error_and_no_message(
    ledger: Ledger, memory: InMemoryLedger, error: Exception, reason: str
) -> None:
    with pytest.raises(type(error)), ledger.transaction() as txn:
        raise error
    row = memory.reads.txn(txn.id)
    assert row is not None
    assert row.reason == reason


@pytest.mark.parametrize("name", [5, None, b"MERGE"])
def test_operation_is_a_text(ledger: Ledger, name: Any) -> None:
    ledger.create_table("flights")
    with ledger.transaction() as txn:
        with pytest.raises(TypeError, match="an operation must be a text, got"):
            txn.operation("flights", name)
        if name is not None:
            with pytest.raises(TypeError, match="an operation must be a text, got"):
                txn.add_files("flights", ["a"], operation=name)

    assert ledger.read("flights").paths == []


ODD: Any = {"none": None, "half": 5.5, "text": "5", "other": object()}
NO_PLACE = "a position must be a token or a whole number, got"
NO_LIST = r"tables must be a list, such as \['flights'\]"
NO_TABLE = "a table must be a name, an id or a TableRow, got None"
NO_CHANGE = "a change must be a TableDefinition, or a function that returns one, got None"
ODD_CALLS: list[tuple[Callable[[Ledger], object], type[Exception], str]] = [
    (lambda ledger: ledger.begin(tables="flights"), TypeError, NO_LIST),
    (lambda ledger: ledger.begin(tables=ODD["none"]), TypeError, "tables must be a list"),
    (lambda ledger: ledger.begin(tables=[ODD["none"]]), TypeError, NO_TABLE),
    (lambda ledger: ledger.run(print, tables="flights"), TypeError, NO_LIST),
    (
        lambda ledger: ledger.begin(level=ODD["half"]),
        TypeError,
        "an isolation level must be a text, got",
    ),
    (lambda ledger: ledger.allocate([ledger.begin()], "flights"), TypeError, NO_LIST),
    (lambda ledger: ledger.begin().write_ids("flights"), TypeError, NO_LIST),
    (lambda ledger: ledger.begin().abort(wrote="flights"), TypeError, NO_LIST),
    (lambda ledger: ledger.begin().app("job", 3, tables="flights"), TypeError, NO_LIST),
    (
        lambda ledger: ledger.begin(tables=ledger.create_table("routes")),  # type: ignore[arg-type]
        TypeError,
        r"tables must be a list, such as \[<Table main.routes",
    ),
    (
        lambda ledger: ledger.begin().add_files("flights", ["a"], data_change=ODD["none"]),
        TypeError,
        "data_change must be True or False, got None",
    ),
    (
        lambda ledger: ledger.forget_aborted([1], table="flights"),
        ValueError,
        "name either txns, which are forgotten in all tables",
    ),
    (
        lambda ledger: ledger.forget_aborted(ODD["text"]),
        TypeError,
        r"txns must be a list, such as \['5'\]",
    ),
    (lambda ledger: ledger.forget_aborted([ODD["half"]]), TypeError, "txn is 5.5, which is no"),
    (lambda ledger: ledger.wait(0, math.inf), ValueError, "timeout_s must be 0 to .*, got inf"),
    (lambda ledger: ledger.wait(0, math.nan), ValueError, "timeout_s must be 0 to .*, got nan"),
    (lambda ledger: ledger.wait(0, -1), ValueError, "timeout_s must be 0 to .*, got -1"),
    (lambda ledger: ledger.wait(0, ODD["text"]), TypeError, "a number of seconds, got '5'"),
    (lambda ledger: ledger.wait(ODD["half"]), TypeError, f"{NO_PLACE} 5.5"),
    (lambda ledger: ledger.wait(ODD["none"]), TypeError, f"{NO_PLACE} None"),
    (lambda ledger: ledger.wait(-1), ValueError, "position is -1; it is a number from 0 to"),
    (lambda ledger: ledger.wait(2**63), ValueError, "position is 9223372036854775808; it is a"),
    (lambda ledger: ledger.outcome(-1, 1), ValueError, "session is -1; it is a number from 0"),
    (lambda ledger: ledger.outcome(1, ODD["half"]), TypeError, "n is 5.5, which is no whole"),
    (lambda ledger: ledger.read("flights", position=ODD["text"]), TypeError, f"{NO_PLACE} '5'"),
    (lambda ledger: ledger.begin().read("flights", position=ODD["half"]), TypeError, NO_PLACE),
    (
        lambda ledger: ledger.begin().read("flights", version=ODD["text"]),
        TypeError,
        "version is '5', which is no whole number",
    ),
    (lambda ledger: ledger.create_table(ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.begin().create_table(ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.rename_table("flights", ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.begin().rename_table("flights", ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.table(ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.begin().write_id(ODD["none"]), TypeError, NO_TABLE),
    (lambda ledger: ledger.alter_table("flights", lambda _: ODD["none"]), TypeError, NO_CHANGE),
    (
        lambda ledger: ledger.begin().alter_table("flights", lambda _: ODD["none"]),
        TypeError,
        NO_CHANGE,
    ),
    (
        lambda ledger: ledger.alter_table("flights", ODD["other"]),
        TypeError,
        "a function that returns one, got <object",
    ),
    (
        lambda ledger: ledger.append("flights", ["a"], app=ODD["text"] + "6"),
        TypeError,
        "the version of application '5' must be a whole number, got '6'",
    ),
]


@pytest.mark.parametrize(("call", "error", "said"), ODD_CALLS)
def test_what_cannot_be_meant_is_told_where_it_is_said(
    ledger: Ledger, call: Callable[[Ledger], object], error: type[Exception], said: str
) -> None:
    ledger.create_table("flights")

    with pytest.raises(error, match=said):
        call(ledger)


@pytest.mark.parametrize("timeout_s", [math.inf, math.nan, -1.0, 1e9, "5", None])
def test_odd_timeout(log: LossyLog, memory: InMemoryLedger, timeout_s: Any) -> None:
    """Nobody connects with a timeout that cannot be waited for."""
    assert memory.log is log
    with pytest.raises(
        (TypeError, ValueError), match=r"timeout_s must be (0 to .*|a number of seconds), got"
    ):
        Ledger.connect(log=log, timeout_s=timeout_s)


@pytest.mark.parametrize("given", [{"application": 5}, {"catalog": 5}])
def test_odd_names(log: LossyLog, memory: InMemoryLedger, given: dict[str, Any]) -> None:
    """Nobody connects under a name that is no text, and nothing is left of the attempt."""
    assert memory.log is log
    before = set(threading.enumerate())

    with pytest.raises(TypeError, match=r"(application|a catalog) must be a text, got"):
        Ledger.connect(log=log, reads=memory.reads, **given)

    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    "declare",
    [
        lambda txn: txn.add_files("flights", ["a"]),
        lambda txn: txn.wrote("flights", "insert"),
        lambda txn: txn.app("job", 3, tables=["flights"]),
        lambda txn: txn.read("flights"),
    ],
)
@pytest.mark.parametrize("end", [Transaction.abort, Transaction.commit])
def test_what_a_txn_would_do_after_its_end_is_refused_not_dropped_with_the_block(
    ledger: Ledger, end: Callable[[Transaction], object], declare: Callable[[Transaction], object]
) -> None:
    ledger.create_table("flights")

    with ledger.transaction() as txn:
        end(txn)
        with pytest.raises(ValueError, match="this txn has ended"):
            declare(txn)


def test_properties_that_are_no_mapping_are_shown_what_one_is(ledger: Ledger) -> None:
    pairs: Any = [("a", "b")]

    with pytest.raises(
        TypeError, match=r"properties must be a mapping, such as {'owner': 'ada'}, got"
    ):
        ledger.create_table("odd", properties=pairs)
