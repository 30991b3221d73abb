"""App versions: how far each application came in a table (Delta's SetTransaction)."""

from collections.abc import Iterator, Mapping
from typing import Final

from ledger.core.events import TxnCommitted
from projections.applied import Applied
from projections.projection import Rows
from projections.rows import APP, text_key, value
from projections.store.port import RowChange


def committed(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the row of every application whose progress a commit records."""
    for part in body.parts:
        for app, version in part.footprint.apps if part.footprint is not None else ():
            yield text_key(APP, part.table, app), value([version, applied.control.position])


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: committed}
