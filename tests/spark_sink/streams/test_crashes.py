"""Crashes at every point of a batch: no row is lost or doubled, and no file stays behind."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame

from ledger.errors import LedgerError
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.testing import InMemoryLedger
from spark_sink import foreach_batch, transaction
from tests.spark_sink.streams.river import ROWS, River, upto

pytestmark = pytest.mark.spark


class Crashed(Exception):  # noqa: N818 - it is no error of the program
    """The end of a driver."""


class Attempts:
    """A sink whose second batch fails once: `fail` writes it, and does what goes wrong."""

    def __init__(self, fail: Callable[[DataFrame], None]) -> None:
        self._fail = fail
        self.has_failed = False

    def __call__(self, frame: DataFrame, batch: int) -> None:
        if batch == 1 and not self.has_failed:
            self.has_failed = True
            self._fail(frame)
        else:
            append(frame)


def append(frame: DataFrame) -> None:
    frame.writeTo("ledger.db.t").append()


def before_the_commit(frame: DataFrame) -> None:
    """End after the files are written, before the commit."""
    append(frame)
    raise Crashed("before the commit")


def in_a_task(frame: DataFrame) -> None:
    poison = "CASE WHEN id % 4 = 3 THEN raise_error('bad row') ELSE id END"
    append(frame.selectExpr(f"CAST({poison} AS BIGINT) AS id", "name", "odd"))


@pytest.mark.parametrize("fail", [before_the_commit, in_a_task])
def test_batch_that_fails(river: River, fail: Callable[[DataFrame], None]) -> None:
    """A batch that fails before its commit leaves nothing, and comes again at the next start."""
    river.table()
    river.arrive(3)
    sink = Attempts(fail)
    with pytest.raises(StreamingQueryException):
        river.flow(foreach_batch(sink))
    assert river.ids() == upto(1)
    assert river.orphans() == 0
    river.restart()
    river.flow(foreach_batch(sink))
    assert (river.ids(), river.operations()) == (upto(3), 3)
    assert (river.orphans(), river.swept()) == (0, 0)


def test_lost_answer_of_the_commit(river: River, log: LossyLog) -> None:
    """A commit whose answer is lost is asked for again: its files stay, and count once."""
    river.table()
    river.arrive(2)

    def write(frame: DataFrame, _batch: int) -> None:
        append(frame)
        log.unacknowledged[Topic.COMMANDS] = 1

    with suppress(StreamingQueryException):
        river.flow(foreach_batch(write))
    log.unacknowledged.clear()
    river.restart()
    river.flow(foreach_batch("db.t"))
    assert (river.ids(), river.operations()) == (upto(2), 2)
    assert (river.orphans(), river.swept()) == (0, 0)


def test_end_before_sparks_commit(river: River) -> None:
    river.table()
    river.arrive(2)
    river.flow(foreach_batch("db.t"))
    files = river.stored()
    river.forget(0, 1)
    river.restart()
    sink = foreach_batch("db.t")
    river.flow(sink)
    assert sink.receipt is not None
    assert sink.receipt.skipped
    assert (river.ids(), river.stored()) == (upto(2), files)


def test_a_checkpoint_of_another_ledger_is_refused(river: River) -> None:
    river.table()
    river.arrive(2)
    river.flow(foreach_batch("db.t"))
    river.arrive()
    with InMemoryLedger() as other:
        river.memory = other
        river.attach()
        river.table()
        with pytest.raises(StreamingQueryException, match="from_batch=2"):
            river.flow(foreach_batch("db.t"))
        assert (river.ids(), river.orphans()) == ([], 0)
        river.flow(foreach_batch("db.t", from_batch=2))
        assert river.ids() == upto(3)[2 * ROWS :]


def test_checkpoint_is_older(river: River, tmp_path: Path) -> None:
    """A number that comes again with other offsets is another batch: it is refused by name."""
    river.table()
    river.arrive(3)
    river.flow(foreach_batch("db.t"))
    files = river.stored()
    river.forget(0, 1, 2)
    for number in (1, 2):
        for name in (f"offsets/{number}", f"offsets/.{number}.crc"):
            (tmp_path / "checkpoint" / name).unlink()
    river.restart()
    with pytest.raises(StreamingQueryException, match="was applied with the offsets"):
        river.flow(foreach_batch("db.t"))
    assert (river.ids(), river.stored()) == (upto(3), files)


@pytest.mark.parametrize("point", ["statement", "task", "answer"])
def test_batch_job(river: River, log: LossyLog, point: str) -> None:
    """A job over two tables that fails leaves neither; one whose answer is lost leaves both."""
    river.table()
    river.table("db.u")
    spark = river.spark
    good = "INSERT INTO ledger.{} SELECT id, 'x', CAST(id % 2 AS INT) FROM range(4)"
    bad = "INSERT INTO ledger.db.u SELECT id, IF(id = 3, raise_error('x'), 'x'), 1 FROM range(4)"
    with suppress(PySparkException, LedgerError, Crashed), transaction(spark):
        spark.sql(good.format("db.t"))
        spark.sql(bad if point == "task" else good.format("db.u"))
        if point == "statement":
            raise Crashed(point)
        log.unacknowledged[Topic.COMMANDS] = 1
    log.unacknowledged.clear()
    river.restart()
    wanted = [0, 1, 2, 3] if point == "answer" else []
    assert (river.ids(), river.ids("db.u")) == (wanted, wanted)
    assert (river.orphans(), river.orphans("db.u")) == (0, 0)
