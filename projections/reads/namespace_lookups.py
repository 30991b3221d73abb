"""Lookups of namespaces, as of any position."""

from collections.abc import Iterator

from ledger.reads.namespaces import NamespaceRow
from projections.rows.keys import NAMESPACE, last_number, reader_of
from projections.rows.namespaces import NamespaceFields
from projections.rows.packing import INT_BYTES
from projections.store.port import RowReader, prefix_end

read_fields = reader_of(NamespaceFields)


def namespaces(rows: RowReader, position: int) -> Iterator[NamespaceRow]:
    """Return the namespaces that were created and not dropped by a position, by their names."""
    last: dict[bytes, tuple[int, NamespaceFields]] = {}
    for key, data in rows.scan(NAMESPACE, prefix_end(NAMESPACE)):
        changed = last_number(key)
        if changed <= position:
            last[key[:-INT_BYTES]] = changed, read_fields(data)
    for key, (changed, fields) in last.items():
        if not fields.is_dropped:
            catalog = key[len(NAMESPACE) :].partition(b"\0")[0].decode()
            yield NamespaceRow(catalog, fields.name, fields.properties, changed)
