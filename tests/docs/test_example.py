"""The example of Spark SQL that does all of a user's work: how long it is, and that it holds."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from ledger.machine.kafka.java import find_java
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from tests.docs.pages import ROOT, all_blocks

PAGE: Final = "docs/spark-sql.md"
HEADING: Final = "All of it in fourteen lines"
LINES_MAX: Final = 14
STREAM: Final = "spark.readStream"
SET_UP: Final = 3
LOOK_S: Final = 0.05
ARRIVE: Final = """
spark.range({first}, {end}, 1, {files}).selectExpr(
    "CAST(id AS INT) AS id", "1 AS price", "DATE'2026-02-01' AS day"
).write.mode("append").json("incoming")
"""
READY: Final = "ready"
ERRORS: Final = "errors.log"
SHOWN: Final = """
print(then.count(), now.count())
print(changes.where("_change_type = 'insert'").count())
found = spark.sql("SELECT id FROM orders WHERE id >= 1000 ORDER BY id").collect()
print([row.id for row in found] == list(range(1000, 1500)))
spark.stop()
"""


def example() -> Sequence[str]:
    blocks = [each for each in all_blocks("python") if each.page == PAGE]
    (block,) = [each for each in blocks if each.heading == HEADING and STREAM in each.text]
    return [line for line in block.text.splitlines() if line.strip()]


def test_set_up_tables_a_transaction_two_snapshots_a_stream_and_its_changes_are_few_lines() -> None:
    lines = example()
    assert len(lines) <= LINES_MAX
    text = "\n".join(lines)
    words = ("PARTITIONED BY", "UPDATE", "DELETE", "MERGE", "VERSION AS OF", STREAM, "changes")
    assert [word for word in words if word not in text] == []


def test_seven_tasks_in_python_are_eight_lines() -> None:
    blocks = [block for block in all_blocks("python") if block.page == "docs/tables.md"]
    block = next(block for block in blocks if block.heading == "Seven tasks in eight lines")
    lines = [line for line in block.text.splitlines() if line.strip()]
    done = [line for line in lines if not line.startswith(("from ", "import "))]
    verbs = ("create_table", "append", "scan", "run", "version=", "changes", "vacuum")

    assert len(done) <= 8
    assert [verb for verb in verbs if verb not in block.text] == []


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path / "home")) as up:
        yield up


def start(folder: Path, home: Path, program: str) -> "subprocess.Popen[str]":
    """Start a program in a process of its own."""
    environ = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "LAKELEDGER_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with (folder / ERRORS).open("a") as errors:
        return subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_it_survives_a_kill(up: Running, tmp_path: Path) -> None:
    assert up.address.store is not None
    home, lines = up.address.store.parent.parent, example()
    at = next(number for number, line in enumerate(lines) if STREAM in line)
    set_up, work, rest = lines[:SET_UP], lines[SET_UP:at], lines[at:]
    arrive = ARRIVE.format(first=1000, end=1400, files=40)
    first = "\n".join([*set_up, *work, arrive, f"print('{READY}', flush=True)", *rest[:2]])
    with start(tmp_path, home, first) as process:
        assert process.stdout is not None
        said = list[str]()
        for line in process.stdout:
            said.append(line)
            if line.strip() == READY:
                break
        # The stream has begun its first batch.
        while not (tmp_path / "offsets" / "offsets" / "0").exists() and process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
        process.kill()
    assert [line.strip() for line in said[-1:]] == [READY], (tmp_path / ERRORS).read_text()
    later = ARRIVE.format(first=1400, end=1500, files=2)
    again = "\n".join([*set_up, later, work[-1], *rest, SHOWN])
    with start(tmp_path, home, again) as process:
        shown = process.communicate(timeout=300)[0].splitlines()
    assert shown[-3:] == ["1000 900", "500", "True"], (tmp_path / ERRORS).read_text()
