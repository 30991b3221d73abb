"""The txns of statements.

Spark begins a txn for a statement that writes, and ends it: commit and close, or abort and close.
After a commit that failed it calls close, abort and close again, so abort must never raise. A
statement within `transaction` joins that txn, and does not end it.
"""

from typing import Final

from spark_sink.catalog.session.open_statements import ENDED, CatalogState, Question

FAILED: Final = "the statement of Spark failed"


def begin(state: CatalogState, asked: Question) -> str:
    """Open a txn, or join one."""
    if key := state.joined(asked):
        state.find(asked)
        return key
    return state.begin(state.ledger.begin()).key


def commit(state: CatalogState, asked: Question) -> None:
    """Commit the txn of a statement."""
    found = state.find(asked)
    if found is not None and not found.is_shared:
        found.txn.commit()


def abort(state: CatalogState, asked: Question) -> None:
    """End the txn of a statement that failed."""
    found = state.of_key(str(asked["txn"]))
    state.note_last(str(asked.get("session") or ""), None)
    if found is not None and not found.is_shared:
        found.abort(FAILED)


def close(state: CatalogState, asked: Question) -> None:
    """Forget the txn of a statement.

    While its outcome is unknown it is kept for the abort that follows.
    """
    key = str(asked["txn"])
    found = state.of_key(key)
    if found is None or found.is_shared:
        return
    if found.txn.status == "open":
        found.abort(FAILED)
    if found.txn.status in ENDED:
        state.leave(key)
