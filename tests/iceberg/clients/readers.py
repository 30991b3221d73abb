"""All readers of one table: the SDK, the published Delta log, and the clients of the catalog.

Each returns the rows as `canonical` texts, of the newest version or as of a position.
"""

from collections.abc import Callable, Container, Mapping
from typing import Any, Final, NamedTuple

from pyiceberg.catalog import Catalog, load_catalog

from ledger.client import Ledger
from ledger.properties.column_mapping import is_published
from projections.delta.table_state import folder_of
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.duckdb_client import attached
from tests.tables.delta_readers import by_deltalake, by_duckdb

VERSIONS_MAX: Final = 100_000


class Served(NamedTuple):
    """A ledger and the address of its catalog; `publish` brings the Delta logs up to date."""

    ledger: Ledger
    uri: str
    publish: Callable[[], object] = lambda: None


def pyiceberg_catalog(uri: str, warehouse: str = "main", **more: str) -> Catalog:
    """Connect; `more` are further settings of the client."""
    return load_catalog("lake", type="rest", uri=uri, warehouse=warehouse, **more)


def by_pyiceberg(uri: str, table: str, warehouse: str = "main", **more: str) -> list[str]:
    """Return the rows as pyiceberg reads them."""
    found = pyiceberg_catalog(uri, warehouse, **more).load_table(table)
    return texts(found.scan().to_arrow().to_pylist())


def by_planning_server(uri: str, table: str, warehouse: str = "main") -> list[str]:
    """Return the rows as pyiceberg reads them by the files that the server plans."""
    return by_pyiceberg(uri, table, warehouse, **{"scan-planning-mode": "server"})


def by_iceberg_in_duckdb(uri: str, table: str, warehouse: str = "main") -> list[str]:
    """Return the rows as DuckDB's extension reads them."""
    with attached(uri, warehouse) as connection:
        return duckdb_rows(connection, f"SELECT * FROM lake.{table}")


def duckdb_rows(connection: Any, query: str) -> list[str]:
    """Return the rows of a query of DuckDB."""
    return texts(connection.execute(query).to_arrow_table().to_pylist())


PLANNED: Final = "pyiceberg, planned by the server"
# pyiceberg 0.12 takes no plan with NULL as value of a partition.
NULL_PARTS: Final = frozenset({PLANNED})
ICEBERG: Final[Mapping[str, Callable[[str, str, str], list[str]]]] = {
    "pyiceberg": by_pyiceberg,
    PLANNED: by_planning_server,
    "DuckDB": by_iceberg_in_duckdb,
}
DELTA: Final = {"deltalake": by_deltalake, "DuckDB's Delta": by_duckdb}


def agreed(
    lake: Served,
    table: str,
    more: Mapping[str, Callable[[], list[str]]] | None = None,
    *,
    position: int | None = None,
    without: Container[str] = (),
) -> list[str]:
    """Return the rows of a table, once all readers have shown the same ones.

    `more` are further readers by name, and those in `without` are left out. With a `position` the
    catalog is pinned to it.
    """
    row = lake.ledger.table(table)
    found = lake.ledger.scan(table, position=position)
    wanted = texts(found.to_arrow().to_pylist())
    warehouse = "main" if position is None else f"main@{position}"
    seen = {
        name: read(lake.uri, table, warehouse)
        for name, read in ICEBERG.items()
        if name not in without
    }
    seen |= {name: read() for name, read in (more or {}).items()}
    if is_published(row.definition):
        lake.publish()
        folder, version = folder_of(row.definition), version_at(lake.ledger, table, position)
        seen |= {
            name: texts(read(folder, version).to_pylist())
            for name, read in DELTA.items()
            if name not in without
        }
    differing = {name: rows for name, rows in seen.items() if rows != wanted}
    assert differing == {}, f"{table}: the SDK has {wanted}"
    return wanted


def version_at(ledger: Ledger, table: str, position: int | None) -> int:
    """Return the newest version of a table, or the newest as of a position."""
    known = ledger.history(table, VERSIONS_MAX if position is not None else 1)
    return next(each.version for each in known if position is None or each.position <= position)
