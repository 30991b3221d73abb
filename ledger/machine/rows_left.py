"""Rows of a ledger whose topics are gone: a sign that the ledger existed."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from ledger.errors import LedgerError
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log
from ledger.sdk.view import open_store


def check_rows_left(log: Log, ledger: str, stores: Iterable[Path]) -> None:
    """Raise EventsLostError if a folder holds rows of a ledger that has no events.

    Raises LogUnavailableError if the broker does not answer.
    """
    rows = [found for store in stores if (found := rows_of(store, ledger)) is not None]
    if rows:
        check_not_lost(log, rows=rows)


def rows_of(store: Path, ledger: str) -> str | None:
    """Return a text about the rows of a ledger in a folder, None if absent.

    Unreadable rows are passed over: the role that needs them reports them.
    """
    if not store.is_dir():
        return None
    try:
        with closing(open_store(store)) as reads:
            found, position = reads.identity(), reads.position()
    except LedgerError:
        return None
    if found.name != ledger:
        return None
    return f"its rows in {store} go up to position {position} of ledger {found.ledger}"
