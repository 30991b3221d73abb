"""Several statements as one txn of the ledger, and several queries at one position.

A property of the thread says which txn its statements join. It belongs to the thread in the JVM:
answers come in any thread of Python. A Connect session has no such property, and says it by a
setting of the session.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ledger.errors import SettingsError
from ledger.transaction.transaction import Transaction
from spark_sink.catalog.questions import CATALOGS, error_text
from spark_sink.catalog.session.open_statements import BEGUN, CatalogState, StatementsTxn

TXN: Final = "lakeledger.txn"
SETTING: Final = f"spark.{TXN}"
DEADLINE_S: Final = 300.0
"""How long further attempts may begin. Statements of Spark take seconds, and some take minutes."""


@contextmanager
def joining(
    spark: SparkSession, state: CatalogState, make: Callable[[], Transaction]
) -> Iterator[Transaction]:
    """Make the statements of a block one txn; it commits at the end, or aborts on an error.

    Raises ValueError within another such block, and the error of the ledger itself in the place of
    the error that Spark makes of it.
    """
    check_attached(state)
    check_free(spark)
    with make() as txn:
        with joining_txn(spark, state, txn):
            yield txn
        if txn.status == "open":
            txn.commit()


@contextmanager
def joining_txn(spark: SparkSession, state: CatalogState, txn: Transaction) -> Iterator[None]:
    """Let the statements of a block join a txn that the block does not end."""
    check_attached(state)
    check_free(spark)
    found = state.begin(txn, is_shared=True)
    try:
        say(spark, found.key)
        with own_errors(found):
            yield
    finally:
        say(spark, "")
        state.leave(found.key)


@contextmanager
def own_errors(txn: StatementsTxn) -> Iterator[None]:
    """Raise the error of the ledger in the place of the one that Spark made of it."""
    try:
        yield
    except PySparkException as error:
        own = txn.error
        if own is not None and error_text(own) in str(error):
            raise own from error
        raise


def check_attached(state: CatalogState) -> None:
    """Raise SettingsError if statements go to another ledger now, which knows no txn of this."""
    if CATALOGS.find(state.name) is not state:
        raise SettingsError(
            f"another ledger was attached as catalog {state.name} since: use what that attach "
            "returned, or give one of them another name"
        )


def check_free(spark: SparkSession) -> None:
    """Raise ValueError if the statements of this thread join a txn already."""
    if not joined(spark):
        return
    if str(spark.conf.get(SETTING, "") or "").endswith(BEGUN):
        raise ValueError("BEGIN opened a transaction in this session: COMMIT or ROLLBACK it first")
    if context_of_thread(spark) is not None:
        raise ValueError("this thread is in a transaction or a snapshot already: end it first")
    raise ValueError(
        "this session is in a transaction or a snapshot already, and a session of Spark Connect "
        "has one block at a time, for all of its threads: end it first, or use another session"
    )


def say(spark: SparkSession, key: str) -> None:
    """Say which txn the statements of this thread join, "" for none."""
    context = context_of_thread(spark)
    if context is not None:
        context.setLocalProperty(TXN, key or None)  # type: ignore[arg-type]
    elif key:
        spark.conf.set(SETTING, key)
    else:
        spark.conf.unset(SETTING)


def joined(spark: SparkSession) -> str:
    """Return which txn the statements of this thread join, "" for none."""
    context = context_of_thread(spark)
    own = "" if context is None else str(context.getLocalProperty(TXN) or "")
    return own or str(spark.conf.get(SETTING, "") or "")


def context_of_thread(spark: SparkSession) -> SparkContext | None:
    """Return the context of a session, None for a Connect session, which has none."""
    with suppress(Exception):
        found: Any = spark.sparkContext
        return found if isinstance(found, SparkContext) else None
    return None
