"""Txns that SQL opens and ends, by BEGIN, COMMIT and ROLLBACK: a session needs no Python for them.

The statements of the session join such a txn from BEGIN on, whichever thread they run in. `BEGIN
ATOMIC` runs a script in one.
"""

from collections.abc import Mapping
from typing import Final

from spark_sink.catalog.read.metadata_tables import Columns, Rows
from spark_sink.catalog.session.open_statements import (
    BEGUN,
    CatalogState,
    StatementsTxn,
    unsupported,
)

Arguments = Mapping[str, str | None]

OPENED: Final[Columns] = (("txn", "bigint"),)
COMMITTED: Final[Columns] = (
    ("txn", "bigint"),
    ("position", "bigint"),
    ("num_affected_rows", "bigint"),
)


def begin(state: CatalogState, joined: StatementsTxn | None, given: Arguments) -> Rows:
    """Open a txn for the statements that follow in a session."""
    if joined is not None:
        raise unsupported(
            f"BEGIN must stand outside of a transaction, got txn {joined.txn.id}: end it first, by "
            "COMMIT or ROLLBACK, or by the end of its block in Python"
        )
    found = state.begin(state.ledger.begin(level=given.get("level")), is_shared=True, end=BEGUN)
    return [[found.txn.id]]


def key_of(state: CatalogState, opened: Rows) -> str:
    """Return how the session names the txn that `begin` opened."""
    return f"{state.name}/{opened[0][0]}{BEGUN}"


def commit(state: CatalogState, joined: StatementsTxn | None, _: Arguments) -> Rows:
    """Commit the txn that BEGIN opened; it is over, also if an earlier commit wins."""
    found = begun(joined, "COMMIT")
    try:
        receipt = found.txn.commit()
    finally:
        state.leave(found.key)
    return [[receipt.txn or found.txn.id, receipt.position, receipt.num_affected_rows]]


def rollback(state: CatalogState, joined: StatementsTxn | None, _: Arguments) -> Rows:
    """End the txn that BEGIN opened without effect."""
    found = begun(joined, "ROLLBACK")
    state.leave(found.key)
    found.abort("ROLLBACK")
    return [[found.txn.id]]


def begun(joined: StatementsTxn | None, word: str) -> StatementsTxn:
    """Return the txn that a word ends; raises Refusal for one that is not its own to end."""
    if joined is None:
        raise unsupported(f"{word} must follow BEGIN, and no transaction is open in this session")
    if not joined.key.endswith(BEGUN):
        raise unsupported(
            f"{word} must end a transaction that BEGIN opened, and a block of Python opened txn "
            f"{joined.txn.id}: it ends with its block"
        )
    return joined
