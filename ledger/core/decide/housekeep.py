"""Housekeep: events that answer no command, one at a time and in bounded batches.

The caller has the clocks, and passes the sessions that were silent for a whole lease and the txns
past their deadline. Both are checked against the state again, so a stale list does no harm.
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
    """Sessions silent for a lease and txns past their deadline, by the caller's clocks."""

    sessions: Sequence[int] = ()
    txns: Sequence[int] = ()


def genesis(
    state: DomainState, created: LedgerCreated, catalog: str
) -> LedgerCreated | CatalogCreated | None:
    """Return the next event that a new ledger lacks, or None."""
    if state.genesis is None:
        return created
    if not state.catalogs:
        return CatalogCreated(catalog)
    return None


def housekeep(state: DomainState, lapsed: Lapsed) -> TxnsExpired | AbortedForgotten | None:
    """Return the next housekeeping event, or None if nothing is due."""
    return expire(state, lapsed) or forget(state)


def expire(state: DomainState, lapsed: Lapsed) -> TxnsExpired | None:
    """End silent sessions with their txns, and overdue txns; replicated ones by deadline only."""
    ends: dict[int, TxnEnd] = {}
    sessions: list[int] = []
    for number in sorted(set(lapsed.sessions)):
        session = state.sessions.by_number.get(number)
        if session is None or not session.is_open:
            continue
        # Lazily: a session may own a hundred times as many txns as one event can end.
        due = (t for t in session.txns if state.txns.open[t].type != "replicated")
        if not all_ended(state, ends, due, "lease"):
            break
        # Only its session may commit a replicated txn, so the session stays while one is open.
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
    """Add the ends of txns to a batch for one record; return whether all of them fitted."""
    parts = sum(len(end.parts) for end in ends.values())
    for txn in txns:
        if len(ends) >= ENDS_PER_EVENT_MAX or parts >= ENDED_PARTS_PER_EVENT:
            return False
        ends[txn] = end_of(state, txn, cause)
        parts += len(ends[txn].parts)
    return True


def forget(state: DomainState) -> AbortedForgotten | None:
    """Forget aborted txns that left no data, and the data they left in `listed` tables.

    Readers cannot reach a file of a listed table that no commit named, so its txn can be forgotten
    at once. Data in a `directories` table is kept until ForgetAborted.
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
