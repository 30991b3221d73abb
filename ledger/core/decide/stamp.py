"""Stamp: the control fields of the next event a leader writes.

Position, epoch and last command come from the head of the log with all records in flight, session
and number from the command. The codec adds the chain and encodes the bytes.
"""

from ledger.core.acceptance import NO_CHAIN, LogHead
from ledger.core.commands import Command, OpenSession
from ledger.core.events.events import (
    Body,
    CommandRefused,
    CommandRepeated,
    CommandsMoved,
    Control,
    TableAltered,
    TxnAborted,
    TxnCommitted,
    TxnOpened,
)
from ledger.core.state.domain import DomainState


def answer_control(
    state: DomainState, head: LogHead, command: Command, body: Body, at: int
) -> Control:
    """Return the control fields of the answer to the next command.

    An OpenSession has no session yet: its answer is found by its nonce.
    """
    session, n = (0, 0) if isinstance(command, OpenSession) else (command.session, command.n)
    txn = txn_of(state, command, body)
    return Control(NO_CHAIN, head.epoch, head.position + 1, head.last_cmd + 1, session, n, at, txn)


def internal_control(head: LogHead, body: Body, at: int, *, last_cmd: int | None = None) -> Control:
    """Return the control fields of an event without a command; CommandsMoved sets `last_cmd`."""
    moved = isinstance(body, CommandsMoved)
    assert moved == (last_cmd is not None), "only CommandsMoved sets the last command"
    cmd = head.last_cmd if last_cmd is None else last_cmd
    return Control(NO_CHAIN, head.epoch, head.position + 1, cmd, 0, 0, at, 0)


def filling_control(state: DomainState, head: LogHead, body: Body, at: int) -> Control:
    """Return the control fields of an event that fills the gap of the last cut."""
    session = state.cuts[-1].position
    opens = isinstance(body, TxnOpened | TxnCommitted)
    txn = state.txns.next_txn if opens else 0
    position = head.position + 1
    return Control(NO_CHAIN, head.epoch, position, head.last_cmd, session, 0, at, txn)


def txn_of(state: DomainState, command: Command, body: Body) -> int:
    """Return the txn of an answer: the first one that it opens, else the one of the command."""
    match body:
        case TxnOpened():
            return state.txns.next_txn
        case TxnCommitted(one_shot=True) | TableAltered(one_shot=True):
            return state.txns.next_txn
        case TxnAborted(one_shot=True) | CommandRefused() | CommandRepeated():
            return 0
        case _:
            return getattr(command, "txn", 0)


def advance(head: LogHead, control: Control) -> None:
    """Move the tentative head past an event just framed."""
    head.position = control.position
    head.before, head.chain = head.chain, control.chain
    head.last_cmd = control.cmd
