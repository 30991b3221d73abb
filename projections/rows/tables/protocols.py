"""Protocols: what readers and writers of a table need, its domain metadata and app versions.

The last action of each counts; a removed domain has no row. An app version is how far an
application came in a table (Delta's SetTransaction).
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from ledger.core.events.events import TxnCommitted
from ledger.core.state.staged_progress import whole_domains
from ledger.log.wire.file_list import chunks_of
from projections.rows.applied import Applied
from projections.rows.keys import APP, DOMAIN, PROTOCOL, number_key, text_key, value
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
        for domain in whole_domains(chain.from_iterable(chunk.domains for chunk in chunks)):
            said = None if domain.removed else value(domain.configuration)
            yield text_key(DOMAIN, part.table, domain.name), said


def progress(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the row of every application whose progress a commit records."""
    control = applied.control
    for part in body.parts:
        for chunk in chunks_of(part, applied.ended.get(control.txn)):
            for app, version in chunk.apps:
                yield text_key(APP, part.table, app), value([version, control.position])


def recorded(applied: Applied, body: TxnCommitted) -> Iterator[RowChange]:
    """Return the rows of all that a commit records beside files."""
    yield from committed(applied, body)
    yield from progress(applied, body)


ROWS: Final[Mapping[type, Rows]] = {TxnCommitted: recorded}
