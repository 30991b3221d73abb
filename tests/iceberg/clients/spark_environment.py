"""A Spark that Iceberg's runtime fits, in an environment of its own beside that of the project.

The runtime is built for Spark 4.1, and the project's own Spark is newer. `python -m
tests.iceberg.clients.spark_environment` makes the environment; tests that need it are skipped where
it is not there.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ledger.machine.kafka.ivy import Jar
from ledger.machine.kafka.jars import fetch, jars_folder
from ledger.machine.kafka.java import cache_folder

PROGRAM: Final = "tests.iceberg.clients.spark_environment"
PYSPARK: Final = "pyspark==4.1.3"
RUNTIME: Final = Jar(
    "iceberg",
    "org.apache.iceberg",
    "iceberg-spark-runtime-4.1_2.13",
    "1.12.0",
    "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
)


def folder() -> Path:
    """Return the folder of the virtual environment."""
    return cache_folder() / f"iceberg-{PYSPARK}"


def python() -> Path:
    """Return the program that runs there."""
    return folder() / "bin/python"


def jar() -> Path:
    """Return the jar of Iceberg's runtime."""
    return jars_folder() / RUNTIME.path


def is_there() -> bool:
    """Tell whether the environment was made to its end."""
    return (folder() / "made").exists() and jar().exists()


def need() -> None:
    """Skip the test where the environment is not there."""
    if not is_there():
        pytest.skip(f"no {folder()}; python -m {PROGRAM} makes it")


def make() -> None:
    """Make what is missing of the environment; raises JarsError and CalledProcessError."""
    fetch([RUNTIME])
    if not is_there():
        subprocess.run([sys.executable, "-m", "venv", str(folder())], check=True)
        pip = [str(python()), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, PYSPARK], check=True)
        (folder() / "made").touch()


if __name__ == "__main__":
    make()
