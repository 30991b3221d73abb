"""Catalogs: who the ledger is, and which catalogs belong to it."""

from collections.abc import Iterator
from typing import Final

from ledger.core.events import CatalogCreated, LedgerCreated
from projections.applied import Applied
from projections.keys import pack
from projections.rows import CATALOG, GENESIS, Fields, value
from projections.store.port import RowChange

EVENTS: Final = (LedgerCreated, CatalogCreated)


class GenesisFields(Fields):
    """Who the ledger is."""

    ledger: str = ""
    name: str = ""
    domain: int = 0


def rows(applied: Applied) -> Iterator[RowChange]:
    """Return the row of the ledger or catalog that was created."""
    control, body = applied.event
    match body:
        case LedgerCreated():
            identity = GenesisFields(ledger=body.ledger, name=body.name, domain=body.domain)
            yield GENESIS, identity.value()
        case CatalogCreated():
            yield pack(CATALOG, body.catalog), value(control.position)
        case _:
            pass
