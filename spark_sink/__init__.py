"""Spark as a client of the ledger: the feeder, and tables of the ledger as DataFrames.

Names are loaded at their first use: the command line imports this package without Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.errors import UnreadableTableError
    from spark_sink.frames import cached_table
    from spark_sink.host_tables import HostTables

__all__ = ["HostTables", "UnreadableTableError", "cached_table"]

_HOMES = {
    "HostTables": "spark_sink.host_tables",
    "UnreadableTableError": "ledger.errors.reading",
    "cached_table": "spark_sink.frames",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_HOMES[name]), name)
