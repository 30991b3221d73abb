"""Spark as a client of the ledger: its tables in SQL and as DataFrames, and the feeder.

    from spark_sink import attach

    lake = attach(spark)
    spark.sql("SELECT * FROM ledger.db.sales")

Names are loaded at their first use: the command line imports this package without Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.errors import UnreadableTableError
    from spark_sink.catalog.session.attaching import Lake, attach, snapshot, transaction
    from spark_sink.catalog.session.attaching import run_in_txn as run
    from spark_sink.frames import cached_table
    from spark_sink.host_tables import HostTables
    from spark_sink.streams.batches import foreach_batch

__all__ = [
    "HostTables",
    "Lake",
    "UnreadableTableError",
    "attach",
    "cached_table",
    "foreach_batch",
    "run",
    "snapshot",
    "transaction",
]

_CATALOG = "spark_sink.catalog.session.attaching"
_HOMES = {
    "HostTables": ("spark_sink.host_tables", "HostTables"),
    "Lake": (_CATALOG, "Lake"),
    "UnreadableTableError": ("ledger.errors.reading", "UnreadableTableError"),
    "attach": (_CATALOG, "attach"),
    "cached_table": ("spark_sink.frames", "cached_table"),
    "foreach_batch": ("spark_sink.streams.batches", "foreach_batch"),
    "run": (_CATALOG, "run_in_txn"),
    "snapshot": (_CATALOG, "snapshot"),
    "transaction": (_CATALOG, "transaction"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, inner = _HOMES[name]
    return getattr(import_module(module), inner)
