"""Batches of a stream as txns: the statements on a batch, and its offsets, in one commit.

    from spark_sink import attach, foreach_batch

    attach(spark)
    stream = source.writeStream.foreachBatch(foreach_batch("db.clicks"))
    stream.option("checkpointLocation", "checkpoint").start()

The commit records the number of the batch as the progress of the query, also if the batch wrote
nothing. A batch that Spark gives again is not written again. The same batch has the same number and
the same offsets.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Final

from pyspark.sql import DataFrame

from ledger.sdk.streams import StreamNote
from ledger.session.receipt import Receipt
from ledger.transaction.transaction import Transaction
from spark_sink.catalog.session.attaching import CATALOG, lake_of
from spark_sink.catalog.session.shared_txns import DEADLINE_S, joining_txn
from spark_sink.streams.queries import running_query
from spark_sink.streams.recorded import batches_of, home_of

Write = Callable[[DataFrame, int], object]

DONE: Final = "the batch was done before"
ATTEMPTS: Final = 10


def foreach_batch(
    write: str | Write,
    *,
    application: str = "",
    catalog: str = CATALOG,
    from_batch: int = 0,
    attempts: int = ATTEMPTS,
    deadline_s: float = DEADLINE_S,
) -> "BatchWriter":
    """Return a function for `DataStreamWriter.foreachBatch` that applies each batch once.

    `write` is the name of a table that gets the rows, or a function of the batch and its number.
    All that the function writes to tables of the `catalog`, in SQL or by DataFrames of the batch's
    session, is one txn: any number of tables, all or none, with the number of the batch and the
    offsets of its sources. The function may run again if an earlier commit wins; `attempts` and
    `deadline_s` bound that as in `Ledger.run`. The rows of the batch are computed once, and kept by
    Spark's executors meanwhile.

    The batches count as progress of the query, which Spark knows by its checkpoint. A batch that
    was applied before is left out, with a logged warning; `receipt` is then the first receipt. A
    batch that writes nothing is recorded in the tables of the batches before, or else in the table
    `system.streams`. An `application` chosen by hand names the query of its first batch, and no
    other query may use it. A query whose batches below `from_batch` went elsewhere continues there.

    The function raises ValueError for a query without a checkpoint, for batches of another query,
    and for a batch number that was applied with other offsets or does not follow the last one that
    the ledger knows; SettingsError if no ledger is attached; and else as `Ledger.run`.
    """
    return BatchWriter(
        write,
        application=application,
        catalog=catalog,
        from_batch=from_batch,
        attempts=attempts,
        deadline_s=deadline_s,
    )


class BatchWriter:
    """Writes the batches of streams; see `foreach_batch`.

    Attributes:
        receipt: the receipt of the last batch, None before.
    """

    def __init__(
        self,
        write: str | Write,
        *,
        application: str,
        catalog: str,
        from_batch: int,
        attempts: int,
        deadline_s: float,
    ) -> None:
        if not isinstance(write, str) and not callable(write):
            raise TypeError(f"write must be the name of a table or a function, got {write!r}")
        self.receipt: Receipt | None = None
        self._write = write
        self._application = application
        self._catalog = catalog
        self._from_batch = from_batch
        self._attempts = attempts
        self._deadline_s = deadline_s

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Apply a batch, unless it was applied before."""
        spark = frame.sparkSession
        query = running_query(spark, batch)
        lake = lake_of(spark, self._catalog)
        app = self._application or query.id
        note = StreamNote(query.id, query.name, batch, query.sources)
        found: list[Receipt] = []
        rows = cache(partial(self._rows, frame))

        def once(txn: Transaction) -> None:
            lake.ledger.wait(txn.token)
            before = batches_of(lake.ledger, txn.token, app, self._from_batch)
            done = before.receipt_of(note)
            if done is not None:
                found.append(done)
                txn.abort(DONE)
                return
            given = rows()
            with joining_txn(spark, lake.state, txn):
                self._apply(given, batch)
            tables: Sequence[int] = []
            if isinstance(self._write, str):
                tables = [txn.statement(self._write, "insert").number]
            elif not txn.has_written:
                tables = before.tables or [home_of(lake.ledger)]
            txn.app(app, batch, tables=tables, info=note.info)

        lake.ledger.run(once, self._attempts, self._deadline_s, on_commit=found.append)
        receipt = found[-1] if found else None
        if receipt is not None and receipt.skipped and not receipt.tables:
            # Another driver has applied the batch in the meantime.
            before = batches_of(lake.ledger, receipt.token, app, self._from_batch)
            receipt = before.receipt_of(note)
        self.receipt = receipt

    def _rows(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a batch, kept for a function: a MERGE reads its source twice."""
        return frame if isinstance(self._write, str) else frame.localCheckpoint()

    def _apply(self, frame: DataFrame, batch: int) -> None:
        if isinstance(self._write, str):
            frame.writeTo(in_catalog(self._catalog, self._write)).append()
        else:
            self._write(frame, batch)


def in_catalog(catalog: str, table: str) -> str:
    """Return the name of a table as Spark parses it."""
    return ".".join(f"`{part}`" for part in (catalog, *table.replace("`", "``").split(".")))
