"""What the start of a Spark session does to the process it is in."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Signal
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from ledger.errors import LogDamagedError, LogUnavailableError
from ledger.machine.process import FINAL, exit_code
from projections.fold.fold import Fold
from projections.store.memory import MemoryStore
from spark_sink.catalog.session.starting import started
from spark_sink.feeder import Feeder
from spark_sink.session import needing_jvm
from tests.lost_end import domain


class Taking:
    """Starts nothing, but takes Ctrl-C as PySpark does."""

    def getOrCreate(self) -> None:  # noqa: N802 - Spark's name
        signal.signal(signal.SIGINT, cancel)


def cancel(*_: object) -> None:
    """Do as PySpark would at Ctrl-C."""


def stop(*_: object) -> None:
    """Do as a role would at Ctrl-C."""


@pytest.fixture
def left_as_it_was() -> Iterator[None]:
    """Put back what is called at Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("left_as_it_was")
@pytest.mark.parametrize(
    ("taken", "after"),
    [(stop, stop), (signal.SIG_IGN, signal.SIG_IGN), (signal.default_int_handler, cancel)],
    ids=["by a role", "by nobody who wants it", "by nobody"],
)
def test_ctrl_c_stays_with_the_program_that_has_taken_it(taken: Any, after: Any) -> None:
    signal.signal(signal.SIGINT, taken)
    started(cast("SparkSession.Builder", Taking()))
    assert signal.getsignal(signal.SIGINT) == after


@dataclass
class Asked:
    """A session of which little is asked, and told by its JVM, if there is one."""

    has_jvm: bool

    @property
    def version(self) -> str:
        if not self.has_jvm:
            raise ConnectionRefusedError("[Errno 111] Connection refused")
        return "4.2.0"

    readStream = version  # noqa: N815 - Spark's name


DAMAGED = LogDamagedError(7, "torn")
ENDED, THERE = Asked(has_jvm=False), Asked(has_jvm=True)
GONE = RuntimeError("An error occurred while calling o57.isActive")


@pytest.mark.parametrize(
    ("spark", "error", "kind", "said"),
    [
        (ENDED, GONE, LogUnavailableError, "JVM has ended.*o57.isActive.*start this again"),
        (ENDED, ConnectionResetError("reset"), LogUnavailableError, r"\(reset\)"),
        (ENDED, DAMAGED, LogDamagedError, "torn"),
        (THERE, GONE, RuntimeError, "o57.isActive"),
    ],
    ids=["Py4J", "connection", "error of the fold", "JVM there"],
)
def test_jvm_has_ended(spark: Asked, error: Exception, kind: type[Exception], said: str) -> None:
    """What fails while no JVM answers is named for that, and else is what it is."""
    with pytest.raises(kind, match=said), needing_jvm(cast("SparkSession", spark)):
        raise error


def test_feeder_whose_jvm_has_ended(tmp_path: Path) -> None:
    """A feeder that finds no JVM ends by that error, as a role that may be started again."""
    spark, fold = cast("SparkSession", ENDED), Fold.load(MemoryStore(), domain().log)
    feeder = Feeder(spark, fold, bootstrap="", ledger="", checkpoints=tmp_path)
    with pytest.raises(LogUnavailableError, match="JVM has ended") as raised:
        feeder.run(Signal())
    assert exit_code(raised.value) not in FINAL
