"""LakeLedger by Spark SQL, with BEGIN and COMMIT of its parser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from spark_sink import attach
from spark_sink.session import ledger_session
from tests.consistency.history import Result
from tests.consistency.operations import Operation, ReadAt
from tests.consistency.subjects import ledger_sdk
from tests.consistency.subjects.port import Job, Session
from tests.consistency.subjects.spark_text import SparkSqlSession

LACKS: Final = frozenset({"tokens"})
UNTRIED: Final = frozenset({"Feed"})
STALE_READS: Final = True
# Error classes of the catalog; the same are named by Python's classes where a block ends.
REFUSALS: Final = re.compile(r"\[LEDGER_CONFLICT|\b(SnapshotTooOldError|TxnNotOpenError)\b")


def version() -> str:
    import pyspark  # noqa: PLC0415 - loads Spark

    return f"{ledger_sdk.version()} in Spark {pyspark.__version__}"


def create(job: Job) -> None:
    ledger_sdk.create(job)


@contextmanager
def shared(job: Job) -> Iterator[Any]:
    """Yield the application that the threads of a process share."""
    spark = ledger_session("consistency")
    spark.sparkContext.setLogLevel("OFF")
    with ledger_sdk.connect(job) as ledger:
        attach(spark, ledger)
        yield spark


@contextmanager
def session(job: Job) -> Iterator[Session]:
    yield LedgerSparkSession(job["shared"].newSession(), place, REFUSALS, "BEGIN")


class LedgerSparkSession(SparkSqlSession):
    """A session that knows where its transactions stand in the log, as COMMIT tells it."""

    def do(self, operation: Operation) -> Result:
        if not isinstance(operation, ReadAt):
            return super().do(operation)
        table = place(operation.table)
        older = f"SELECT max(version) FROM {table}.history WHERE position <= {operation.place}"
        [[version]] = self._run(older)
        return super().do(replace(operation, place=version))

    def alone(self, operation: Operation) -> Result:
        self.place = 0
        return super().alone(operation)

    def commit(self) -> None:
        [[_, self.place, _]] = self._run("COMMIT")


def place(table: str) -> str:
    return f"ledger.lake.{table}"
