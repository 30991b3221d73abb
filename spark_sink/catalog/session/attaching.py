"""Attaches a ledger to a Spark session as a catalog of SQL.

from spark_sink import attach

attach(spark)
spark.sql("SELECT * FROM ledger.db.sales")
"""

import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from threading import Lock
from typing import Any, Final, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession

from ledger.client import Ledger
from ledger.errors import SettingsError
from ledger.machine.kafka.java import find_java
from ledger.transaction.transaction import Transaction
from spark_sink.catalog.compiled import CATALOG_CLASS
from spark_sink.catalog.questions import CATALOGS
from spark_sink.catalog.session.callbacks import guard_callbacks
from spark_sink.catalog.session.open_statements import CatalogState, Refusal
from spark_sink.catalog.session.shared_txns import DEADLINE_S, joining, joining_txn
from spark_sink.catalog.session.starting import prepare_environment, started

CATALOG: Final = "ledger"
PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CONNECTED: Final[dict[str, Ledger]] = {}
"""The clients that `attach` connected by itself, by the names of their catalogs."""
CONNECTING: Final = Lock()

Result = TypeVar("Result")


def attach(
    spark: SparkSession | None = None, ledger: Ledger | None = None, name: str = CATALOG
) -> "Lake":
    """Make a ledger a catalog of a Spark session, under a name.

    Without a `spark` it is the session of this process, or a new one on this machine. Without a
    `ledger` the one of this host is connected, once for each name. All sessions of the Spark
    application have the catalog then, also those by `newSession`; after `spark.stop()` a new one
    needs `attach` again. Raises SettingsError if the catalog does not fit the installed PySpark, or
    the session has no driver in this process.
    """
    if not PLAIN_NAME.fullmatch(name):
        raise ValueError(f"the name of a catalog must be letters, digits and _, got {name!r}")
    spark = spark or own_session()
    context = context_of(spark)
    gateway: Any = context._gateway  # noqa: SLF001 - PySpark has no public way to the JVM
    guard_callbacks(context)
    # Py4J shows each refusal with its trace, though Spark raises it.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    state = CATALOGS.attach(name, ledger or own_ledger(context, name))
    gateway.jvm.lakeledger.PythonCall.setBackend(CATALOGS)
    name_class(spark, gateway.jvm, f"spark.sql.catalog.{name}")
    extend(spark, gateway.jvm)
    return Lake(spark, state)


def own_ledger(context: SparkContext, name: str) -> Ledger:
    """Return a client of the ledger of this host: that of the catalog, if it is such a client."""
    with CONNECTING:
        found = CONNECTED.get(name)
        if found is None or found._channel.is_closed:  # noqa: SLF001 - a client has no public word
            found = CONNECTED[name] = Ledger.connect(application=str(context.appName))
        return found


def own_session() -> SparkSession:
    """Return the session of this process, or a new one, which gets the Java that is installed."""
    found = SparkSession.getActiveSession()
    if found is None:
        prepare_environment(find_java())
        found = started(SparkSession.builder)
    return found


def name_class(spark: SparkSession, jvm: Any, setting: str) -> None:
    """Set the class of a catalog for a session, and for the new sessions of its application."""
    spark.conf.set(setting, CATALOG_CLASS)
    first = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
    if first.isDefined():
        first.get().sharedState().conf().set(setting, CATALOG_CLASS)


def extend(spark: SparkSession, jvm: Any) -> None:
    """Let a session, and the new sessions of its application, know the words of the ledger."""
    extensions = jvm.lakeledger.LedgerExtensions
    first = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
    if first.isDefined():
        extensions.install(first.get())
    own = getattr(spark, "_jsparkSession", None)
    if own is None:
        client: Any = spark.client
        served = jvm.org.apache.spark.sql.connect.service.SparkConnectService
        holder = served.getOrCreateIsolatedSession(
            client._user_id or "",  # noqa: SLF001 - a client has no public word for it
            client._session_id,  # noqa: SLF001 - as above
            jvm.scala.Option.apply(None),
        )
        own = holder.session()
    extensions.install(own)


def context_of(spark: SparkSession) -> SparkContext:
    """Return the context of this process; raises SettingsError if the driver is elsewhere."""
    context: SparkContext | None = SparkContext._active_spark_context  # noqa: SLF001 - as above
    if context is None:
        raise SettingsError(
            f"the driver of {spark} is in another process, and no Python of this process can "
            "answer for it there: attach the ledger in the process of the driver"
        )
    return context


class Lake:
    """A ledger as a catalog of a session.

    Attributes:
        spark: the session.
        ledger: the client of the ledger.
        state: what the catalog keeps between questions of Spark.
    """

    def __init__(self, spark: SparkSession, state: CatalogState) -> None:
        self.spark = spark
        self.ledger = state.ledger
        self.state = state

    def transaction(
        self, *, level: str | None = None, deadline_s: float | None = None
    ) -> AbstractContextManager[Transaction]:
        """Make the statements of a `with` block one txn over any number of tables.

        They see their own writes; others see all of them after the block, or nothing. It holds for
        statements of this thread, and of Spark's `InheritableThread`. `level` and `deadline_s` are
        as for `Ledger.begin`. Raises one of the six conflict errors of Delta if an earlier commit
        wins, and ValueError within another such block.
        """
        make = partial(self.ledger.begin, level=level, deadline_s=deadline_s)
        return joining(self.spark, self.state, make)

    def snapshot(self) -> AbstractContextManager[Transaction]:
        """Let all queries of a `with` block see one position; a statement that writes fails."""
        return joining(self.spark, self.state, partial(self.ledger.begin, "read_only"))

    def run(
        self,
        work: Callable[[SparkSession], Result],
        *,
        attempts: int = 10,
        deadline_s: float = DEADLINE_S,
        level: str | None = None,
    ) -> Result:
        """Do the statements of a function as one txn, again while an earlier commit wins.

        The function gets the session, and its last result is returned. The rest is as for
        `Ledger.run`.
        """

        def once(txn: Transaction) -> Result:
            with joining_txn(self.spark, self.state, txn):
                return work(self.spark)

        return self.ledger.run(once, attempts, deadline_s, level)

    def __repr__(self) -> str:
        return f"<Lake {self.state.name} of {self.ledger!r}>"


def lake_of(spark: SparkSession, name: str = CATALOG) -> Lake:
    """Return the catalog of a session; raises SettingsError if no ledger was attached as such."""
    try:
        return Lake(spark, CATALOGS.state(name))
    except Refusal as refusal:
        raise SettingsError(str(refusal)) from None


def transaction(
    spark: SparkSession,
    name: str = CATALOG,
    *,
    level: str | None = None,
    deadline_s: float | None = None,
) -> AbstractContextManager[Transaction]:
    """Make the statements of a `with` block one txn; see `Lake.transaction`."""
    return lake_of(spark, name).transaction(level=level, deadline_s=deadline_s)


def snapshot(spark: SparkSession, name: str = CATALOG) -> AbstractContextManager[Transaction]:
    """Let all queries of a `with` block see one position; see `Lake.snapshot`."""
    return lake_of(spark, name).snapshot()


def run_in_txn(
    spark: SparkSession,
    work: Callable[[SparkSession], Result],
    name: str = CATALOG,
    *,
    attempts: int = 10,
    deadline_s: float = DEADLINE_S,
    level: str | None = None,
) -> Result:
    """Do the statements of a function as one txn, again while it loses; see `Lake.run`."""
    lake = lake_of(spark, name)
    return lake.run(work, attempts=attempts, deadline_s=deadline_s, level=level)
