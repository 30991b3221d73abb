"""What the start of a Spark session does to the process it is in."""

import signal
from collections.abc import Iterator
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spark_sink.session import started


class Taking:
    """Starts nothing, but takes Ctrl-C as PySpark does."""

    def getOrCreate(self) -> None:  # noqa: N802 - Spark's name
        """Take Ctrl-C."""
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
def test_ctrl_c(taken: Any, after: Any) -> None:
    """Ctrl-C stays with whoever has taken it; in a program that has not it cancels Spark's jobs."""
    signal.signal(signal.SIGINT, taken)
    started(cast("SparkSession.Builder", Taking()))
    assert signal.getsignal(signal.SIGINT) == after
