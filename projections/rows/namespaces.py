"""Namespaces: one row for each change of one, under its catalog and name in small letters.

The rows are never deleted, so the namespaces of every position can be read.
"""

from collections.abc import Mapping
from typing import Final

from ledger.core.commands import Property
from ledger.core.events.events import NamespaceChanged
from ledger.core.state.tables import name_key
from projections.rows.applied import Applied
from projections.rows.keys import NAMESPACE, Fields
from projections.rows.packing import pack
from projections.rows.projection import Rows
from projections.store.port import RowChange


class NamespaceFields(Fields):
    """A namespace from a position on; `is_dropped`: it is there only while tables lie in it."""

    name: str = ""
    is_dropped: bool = False
    properties: tuple[Property, ...] = ()


def changed(applied: Applied, body: NamespaceChanged) -> list[RowChange]:
    """Return a row with all properties from here on."""
    key = pack(NAMESPACE, *name_key(body.catalog, body.name), applied.control.position)
    fields = NamespaceFields(
        name=body.name, is_dropped=body.act == "drop", properties=tuple(body.properties)
    )
    return [(key, fields.value())]


ROWS: Final[Mapping[type, Rows]] = {NamespaceChanged: changed}
