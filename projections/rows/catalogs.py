"""Catalogs: the identity of the ledger, and the catalogs that belong to it."""

from collections.abc import Mapping
from typing import Final

from ledger.core.events.events import CatalogCreated, LedgerCreated
from projections.rows.applied import Applied
from projections.rows.keys import CATALOG, GENESIS, Fields, value
from projections.rows.packing import pack
from projections.rows.projection import Rows
from projections.store.port import RowChange


class GenesisFields(Fields):
    """The identity of the ledger."""

    ledger: str = ""
    name: str = ""
    domain: int = 0


def ledger_created(_applied: Applied, body: LedgerCreated) -> list[RowChange]:
    """Return the row with the id, name and domain of the ledger."""
    identity = GenesisFields(ledger=body.ledger, name=body.name, domain=body.domain)
    return [(GENESIS, identity.value())]


def catalog_created(applied: Applied, body: CatalogCreated) -> list[RowChange]:
    """Return the row of a catalog, which holds the position of its creation."""
    return [(pack(CATALOG, body.catalog), value(applied.control.position))]


ROWS: Final[Mapping[type, Rows]] = {LedgerCreated: ledger_created, CatalogCreated: catalog_created}
