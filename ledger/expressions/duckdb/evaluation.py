"""The DuckDB that judges conditions on rows: in memory, in this process, without extensions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Final

import duckdb

from ledger.core.predicates.sql_text import sql_of_node
from ledger.core.predicates.tree import Node
from ledger.errors import LedgerError

SETTINGS: Final = (
    # Spark fails where a number overflows; rewrites would compute without the overflow. Filters
    # that are pushed into tables of Arrow are judged by Arrow, to which NaN equals nothing. A long
    # IN list becomes a join, whose rows come in another order than the ones that are judged.
    (
        "SET GLOBAL disabled_optimizers = "
        "'expression_rewriter,filter_pushdown,in_clause,join_filter_pushdown'"
    ),
    "SET GLOBAL autoinstall_known_extensions = false",
    "SET GLOBAL autoload_known_extensions = false",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL preserve_insertion_order = true",
)
OWN_SETTING: Final = "SET TimeZone = 'UTC'"
"""The setting that each connection has for itself."""

CONNECTING: Final = Lock()
"""Held while a connection is made, and during a fork."""


@contextmanager
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to an empty DuckDB that evaluates `RowCondition` and `RowExpression` as Spark does.

    It reads no variables of Python: register each table of Arrow by name.
    """
    # A connection has tables of its own.
    with CONNECTING:
        made = database().cursor()
    with made as connection:
        connection.execute(OWN_SETTING)
        yield connection


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Return the database of this process: to make one takes longer than to read a small file."""
    made = duckdb.connect(config={"python_enable_replacements": "false"})
    for setting in SETTINGS:
        made.execute(setting)
    return made


def close_database() -> None:
    """Close the database; the next condition makes another one."""
    if database.cache_info().currsize:
        database().close()
        database.cache_clear()


# In a forked process the threads of the database are gone, with the locks that they held.
# No other thread makes a database until the fork is over.
os.register_at_fork(
    before=close_database, after_in_parent=CONNECTING.release, after_in_child=CONNECTING.release
)
os.register_at_fork(before=CONNECTING.acquire)


class RowValueError(LedgerError, ValueError):
    """A condition or a value fails for a row, as Spark fails in ANSI mode; `what` says how."""

    def __init__(self, sql: str, what: str) -> None:
        super().__init__(
            f"{sql} fails for a row: {what}. Exclude such rows first, for example with CASE WHEN"
        )
        self.sql, self.what = sql, what

    def __reduce__(self) -> tuple[type["RowValueError"], tuple[str, str]]:
        return RowValueError, (self.sql, self.what)


@contextmanager
def failures_named(where: Node) -> Iterator[None]:
    """Raise RowValueError if the evaluation of a condition fails for a row."""
    try:
        yield
    except duckdb.Error as problem:
        what = str(problem).splitlines()[0].partition("Error: ")
        raise RowValueError(sql_of_node(where), what[2] or what[0]) from problem
