"""Decide what is forgotten: aborted ids whose data is gone, whole txns or single write ids."""

from collections.abc import Iterable, Sequence

from ledger.core.commands import ForgetAborted
from ledger.core.decide_txns import IDS_PER_COMMAND_MAX, check_count
from ledger.core.events.events import AbortedForgotten
from ledger.core.events.parts import ForgottenPart
from ledger.core.refusals import Reason, Refused
from ledger.core.state import DomainState


def forget_aborted(state: DomainState, command: ForgetAborted) -> AbortedForgotten:
    """Forget aborted ids whose data is gone, whole txns or single write ids of a table."""
    if bool(command.txns) == bool(command.write_ids):
        raise Refused(Reason.COMMAND_INVALID, "name either txns or write ids of a table")
    check_count(state, command.txns or command.write_ids, "ids")
    parts = (
        parts_of_txns(state, command.txns)
        if command.txns
        else parts_of_write_ids(state, command.table, command.write_ids)
    )
    return forgotten(state, command.txns, parts)


def parts_of_txns(state: DomainState, txns: Iterable[int]) -> list[ForgottenPart]:
    """Return every table these aborted txns left data in."""
    for txn in txns:
        if txn not in state.txns.aborted:
            raise not_aborted(state, txn)
    ordered = sorted(set(txns))
    count = sum(len(state.txns.aborted[txn].wrote) for txn in ordered)
    if len(ordered) > 1 and count > IDS_PER_COMMAND_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"these txns left data in {count} tables together, {IDS_PER_COMMAND_MAX} fit one "
            "answer; name fewer at a time",
        )
    return [ForgottenPart(t, table) for t in ordered for table in left_in(state, t)]


def left_in(state: DomainState, txn: int) -> list[int]:
    """Return the tables that may still hold data of an aborted txn, ascending."""
    return sorted(state.txns.aborted[txn].wrote)


def parts_of_write_ids(
    state: DomainState, table: int, write_ids: Iterable[int]
) -> list[ForgottenPart]:
    """Return the aborted txns behind these write ids of a table."""
    by_id = state.txns.writers.get(table, {})
    parts: list[ForgottenPart] = []
    for write_id in sorted(set(write_ids)):
        if write_id < 1 or write_id not in by_id:
            raise Refused(
                Reason.TXN_NOT_ABORTED,
                f"write id {write_id} of table {table} is not that of an aborted txn with data",
                table,
            )
        parts.append(ForgottenPart(by_id[write_id], table))
    return parts


def not_aborted(state: DomainState, txn: int) -> Refused:
    """Return the refusal to forget a txn that is not a remembered aborted one."""
    status, _ = state.txns.status(txn)
    known = "was forgotten before" if status == "aborted" else f"is {status}"
    return Refused(
        Reason.TXN_NOT_ABORTED,
        f"txn {txn} {known}; only aborted txns that are not forgotten yet can be",
        txn,
    )


def forgotten(
    state: DomainState, asked: Iterable[int], parts: Sequence[ForgottenPart]
) -> AbortedForgotten:
    """Return the event, with every txn of which nothing is left after `parts`."""
    left = {txn: set(state.txns.aborted[txn].wrote) for txn in {part.txn for part in parts}}
    for txn, table in parts:
        left[txn].discard(table)
    gone = {txn for txn, tables in left.items() if not tables} | set(asked)
    return AbortedForgotten(sorted(gone), parts)
