"""Housekeep: the events nobody asked for, one at a time and in bounded batches.

The caller brings the evidence: which sessions fell silent for a whole lease and which txns are past
their deadline, judged with clocks this module does not have. What is due is checked against the
state again, so stale evidence does no harm.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ledger.core.commands import EndCause
from ledger.core.decide.txns import end_of, forgotten, left_in
from ledger.core.events.events import AbortedForgotten, CatalogCreated, LedgerCreated, TxnsExpired
from ledger.core.events.parts import ForgottenPart, TxnEnd
from ledger.core.evolve.tables import is_listed
from ledger.core.limits import ENDED_PARTS_PER_EVENT, ENDS_PER_EVENT_MAX, FORGOTTEN_PER_EVENT
from ledger.core.state.domain import DomainState


class Lapsed(NamedTuple):
    """Sessions silent for a lease and txns past their deadline, as the caller judged them."""

    sessions: Sequence[int] = ()
    txns: Sequence[int] = ()


def genesis(
    state: DomainState, created: LedgerCreated, catalog: str
) -> LedgerCreated | CatalogCreated | None:
    """Return what a new ledger still lacks, or None."""
    if state.genesis is None:
        return created
    if not state.catalogs:
        return CatalogCreated(catalog)
    return None


def housekeep(state: DomainState, lapsed: Lapsed) -> TxnsExpired | AbortedForgotten | None:
    """Return the next thing to tidy, or None when nothing is due."""
    return expire(state, lapsed) or forget(state)


def expire(state: DomainState, lapsed: Lapsed) -> TxnsExpired | None:
    """End silent sessions with their txns, and overdue txns; replicated ones by deadline only."""
    ends: dict[int, TxnEnd] = {}
    sessions: list[int] = []
    for number in sorted(set(lapsed.sessions)):
        session = state.sessions.by_number.get(number)
        if session is None or not session.is_open:
            continue
        # One by one: a session may own a hundred times as many txns as end at once.
        due = (t for t in session.txns if state.txns.open[t].type != "replicated")
        if not all_ended(state, ends, due, "lease"):
            break
        # Only its owner may commit a replicated txn, so the owner stays as long as one is open.
        if all(txn in ends for txn in session.txns):
            sessions.append(number)
    overdue = {txn for txn in lapsed.txns if txn in state.txns.open and txn not in ends}
    all_ended(state, ends, sorted(overdue), "deadline")
    if not ends and not sessions:
        return None
    return TxnsExpired(sessions, [ends[txn] for txn in sorted(ends)])


def all_ended(
    state: DomainState, ends: dict[int, TxnEnd], txns: Iterable[int], cause: EndCause
) -> bool:
    """Add the ends of txns while the batch fits one record; tell whether all of them did."""
    parts = sum(len(end.parts) for end in ends.values())
    for txn in txns:
        if len(ends) >= ENDS_PER_EVENT_MAX or parts >= ENDED_PARTS_PER_EVENT:
            return False
        ends[txn] = end_of(state, txn, cause)
        parts += len(ends[txn].parts)
    return True


def forget(state: DomainState) -> AbortedForgotten | None:
    """Forget aborted txns that left no data, and what they left in `listed` tables.

    Files of a listed table that no commit named cannot be reached, so nothing waits for them. Those
    of a `directories` table wait for ForgetAborted.
    """
    parts: list[ForgottenPart] = []
    empty: list[int] = []
    for txn in state.txns.forgettable:
        tables = left_in(state, txn)
        if not tables:
            empty.append(txn)
        parts.extend(ForgottenPart(txn, table) for table in tables if is_listed(state, table))
        if len(parts) + len(empty) >= FORGOTTEN_PER_EVENT:
            break
    return forgotten(state, empty, parts) if parts or empty else None
