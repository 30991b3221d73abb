"""Spark as a client: a process in the environment of `spark_environment`, asked line by line."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.iceberg.clients import spark_environment

ROOT: Final = Path(__file__).parents[3]
# Programs of the tests are found, and Python has times without a zone in UTC.
OWN: Final = {"PYTHONPATH": str(ROOT), "TZ": "UTC"}


class SparkFailedError(Exception):
    """A statement failed; the text is Spark's."""


class SparkClient:
    """A session of Spark; its catalog is `lake`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def sql(self, statement: str) -> list[str]:
        """Return the rows of a statement as `canonical` texts; raises SparkFailedError."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()
        answer = self.told()
        if "error" in answer:
            raise SparkFailedError(answer["error"])
        found: list[str] = answer["rows"]
        return found

    def told(self) -> Any:
        """Return the next answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "Spark ended; what it said stands in the test's standard error"
        return json.loads(line)


@contextmanager
def spark_client(uri: str, warehouse: str = "main") -> Iterator[SparkClient]:
    """Run a session until the end of the block; the environment must be there."""
    program = "tests.iceberg.clients.spark_session"
    process = subprocess.Popen(
        [*command(program), uri, str(spark_environment.jar()), warehouse],
        cwd=ROOT,
        env={**os.environ, **OWN},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        client = SparkClient(process)
        assert client.told() == "ready"
        yield client
    finally:
        process.communicate()


def command(program: str) -> list[str]:
    """Return how a program of the tests is started there."""
    return [str(spark_environment.python()), "-m", program]
