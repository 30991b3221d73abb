"""App versions: how far each application came in a table (Delta's SetTransaction)."""

from collections.abc import Iterator, Mapping
from typing import Final

from ledger.core.events.events import TxnCommitted
from ledger.log.file_list import chunks_of
from projections.rows.applied import Applied
from projections.rows.keys import APP, text_key, value
from projections.rows.projection import Rows
from projections.store.port import RowChange


def committed(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the row of every application whose progress a commit records."""
    control = applied.control
    for part in body.parts:
        for chunk in chunks_of(part, applied.ended.get(control.txn)):
            for app, version in chunk.apps:
                yield text_key(APP, part.table, app), value([version, control.position])


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: committed}
