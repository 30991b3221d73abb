"""How this process starts the JVM of a session: with which Java, and without losing Ctrl-C."""

import os
import re
import signal
import sys
from threading import current_thread, main_thread
from typing import Final

from pyspark.sql import SparkSession

from ledger.machine.kafka.java import Java

LOOPBACK: Final = "127.0.0.1"
# local-cluster has executors in processes of their own.
IN_ONE_PROCESS: Final = re.compile(r"local(\[.*\])?")


def prepare_environment(java: Java) -> None:
    """Point Spark's launcher at this Java, this Python and loopback."""
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)


def started(builder: SparkSession.Builder) -> SparkSession:
    """Return the session of a builder, and restore the handler of Ctrl-C that PySpark takes."""
    taken = signal.getsignal(signal.SIGINT)
    spark = builder.getOrCreate()
    is_ours = taken not in {None, signal.default_int_handler}
    if is_ours and current_thread() is main_thread():
        signal.signal(signal.SIGINT, taken)
    return spark
