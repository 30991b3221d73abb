"""A published table of two columns, which the tests of clients change."""

from typing import Any, Final

import pyarrow as pa

from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.readers import Served

PUBLISHED: Final = {PUBLISH: "delta"}
PLAIN: Final = [("id", "bigint"), ("name", "string")]
TABLE: Final = "db.t"


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    kind = pa.schema([("id", pa.int64()), ("name", pa.string())])
    return pa.Table.from_pylist([{"id": n, "name": text} for n, text in pairs], schema=kind)


def of(*pairs: tuple[int, str | None]) -> list[str]:
    """Return rows as all readers show them."""
    return texts(rows(*pairs).to_pylist())


def plain(lake: Served, **more: Any) -> None:
    """Make a table with two rows by the SDK."""
    lake.ledger.create_table(TABLE, PLAIN, properties=PUBLISHED, **more)
    lake.ledger.append(TABLE, rows((1, "a"), (2, "b")))
