"""Protocols: the protocol that readers and writers of a table need, and its domain metadata.

The last action of each counts; a removed domain has no row.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from ledger.core.events.events import TxnCommitted
from ledger.core.state.staged_progress import whole_domains
from ledger.log.file_list import chunks_of
from projections.rows.applied import Applied
from projections.rows.keys import DOMAIN, PROTOCOL, number_key, text_key, value
from projections.rows.projection import Rows
from projections.store.port import RowChange


def committed(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the rows of the protocols and domains that a commit sets or removes."""
    for part in body.parts:
        footprint = part.footprint
        if footprint is None:
            continue
        if footprint.protocol is not None:
            yield number_key(PROTOCOL, part.table), value(footprint.protocol)
        chunks = chunks_of(part, applied.ended.get(applied.control.txn))
        for domain in whole_domains(chain.from_iterable(each.domains for each in chunks)):
            said = None if domain.removed else value(domain.configuration)
            yield text_key(DOMAIN, part.table, domain.name), said


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: committed}
