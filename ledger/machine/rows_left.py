"""Rows that are left: what the rows of this machine tell of a ledger whose topics are gone."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from ledger.errors import LedgerError
from ledger.log.beginning import check_not_lost
from ledger.log.port import Log
from ledger.sdk.view import open_store


def check_rows_left(log: Log, ledger: str, stores: Iterable[Path]) -> None:
    """Raise EventsLostError if rows in one of these folders are a ledger's that has no events.

    Raises LogUnavailableError if the broker does not answer.
    """
    rows = [told for store in stores if (told := rows_of(store, ledger)) is not None]
    if rows:
        check_not_lost(log, rows=rows)


def rows_of(store: Path, ledger: str) -> str | None:
    """Return what rows in a folder tell of the ledger of a name, None if there are none of it.

    Rows that cannot be read tell nothing: whoever needs them will say so.
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
