"""Imports on a real broker: killed on the way and started again, followed, and by command line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import Any

import pytest

from ledger.machine.process import ExitCode
from ledger.reads.port import Reads
from projections.fold.follower import follow
from tests.sdk.delta_logs import (
    Action,
    add,
    begin,
    info,
    metadata,
    remove,
    write_log,
    write_version,
)
from tests.sdk.delta_tables import imported_state
from tests.sdk.test_kafka import Deployment, deployment

__all__ = ["deployment"]

pytestmark = pytest.mark.kafka

WAIT_S = 60.0
IMPORT = """
import sys
from pathlib import Path
from ledger import Ledger
from ledger.delta.importer import import_delta
with Ledger.connect() as ledger:
    import_delta(ledger, Path(sys.argv[1]), sys.argv[2],
                 progress=lambda done, _: print(done, flush=True))
"""

Environment = Mapping[str, str]


@contextmanager
def followed(deployment: Deployment, store: Path) -> Iterator[Environment]:
    """Keep rows of the ledger; give the environment in which a process finds all of it."""
    stop, log = Signal(), deployment.log()
    thread = Thread(target=follow, args=(log, store, stop))
    thread.start()
    try:
        yield {
            **os.environ,
            "LAKELEDGER_BOOTSTRAP": deployment.broker.bootstrap,
            "LAKELEDGER_LEDGER": deployment.name,
            "LAKELEDGER_STORE": str(store),
        }
    finally:
        stop.set()
        thread.join()
        log.close()


def killed_at(environment: Environment, table: Path, version: int) -> int:
    """Start an import, kill it once it has imported a version, and return how it ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", IMPORT, str(table), "killed"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        next(line for line in child.stdout if int(line) >= version)
        child.kill()
    return child.returncode


def imported(environment: Environment, *arguments: str) -> Any:
    command = [sys.executable, "-m", "ledger", "import", "delta", *arguments, "--output", "json"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert done.returncode == ExitCode.DONE, done.stderr
    return json.loads(done.stdout)


def wait_version(reads: Reads, name: str, version: int) -> None:
    """Wait until a table has a version."""
    ends_s = monotonic() + WAIT_S
    while (row := reads.table_named("main", name)) is None or row.version < version:
        assert monotonic() < ends_s, f"{name} has not reached version {version}: {row}"
        reads.wait(reads.position() + 1, round(WAIT_S * 1000))


def versions(count: int) -> list[Sequence[Action]]:
    """Return so many versions of every kind after the first."""
    kinds = [
        lambda n: [info(readVersion=n - 1), add(f"f{n}"), {"txn": {"appId": "a", "version": n}}],
        lambda n: [info("UPDATE", blind=False), remove(f"f{n - 1}"), add(f"f{n}")],
        lambda n: [info("SET TBLPROPERTIES"), metadata(n=str(n))],
    ]
    return [kinds[(number - 1) % len(kinds)](number) for number in range(1, count + 1)]


def history(reads: Reads, table: int) -> list[tuple[Any, ...]]:
    """Return what is told of every version, apart from when and by whom."""
    return [
        (row.version, row.operation, row.level, row.blind, row.adds, row.removes)
        for row in reads.versions(table, 1_000)
    ]


def test_a_killed_import_ends_as_if_undisturbed(deployment: Deployment, tmp_path: Path) -> None:
    table = str(write_log(tmp_path / "t", begin(), *versions(120)))
    with followed(deployment, tmp_path / "store") as environment:
        ends = [killed_at(environment, tmp_path / "t", version) for version in (10, 40, 41, 80)]
        killed = imported(environment, table, "--table", "killed")
        again = imported(environment, table, "--table", "killed")
        whole = imported(environment, table, "--table", "whole")

    reads = deployment.reads
    numbers = [each["table"] for each in (killed, whole)]
    assert ends == [-signal.SIGKILL] * 4
    assert (killed["version"], again["versions"], whole["versions"]) == (120, 0, 121)
    assert history(reads, numbers[0]) == history(reads, numbers[1])
    assert imported_state(reads, numbers[0], 120, 0) == imported_state(reads, numbers[1], 120, 0)
    assert list(reads.anomalies(None, 10)) == []


def test_the_command_follows_a_table_to_ctrl_c(deployment: Deployment, tmp_path: Path) -> None:
    table = write_log(tmp_path / "t", begin())
    command = ["import", "delta", str(table), "--table", "live", "--follow", "--output", "json"]
    with (
        followed(deployment, tmp_path / "store") as environment,
        subprocess.Popen(
            [sys.executable, "-m", "ledger", *command],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as child,
    ):
        wait_version(deployment.reads, "live", 0)
        write_version(table, 1, [info(), add("a")])
        wait_version(deployment.reads, "live", 1)
        child.send_signal(signal.SIGINT)
        answer = json.loads(child.communicate(timeout=WAIT_S)[0])

    assert child.returncode == ExitCode.DONE
    assert (answer["delta_version"], answer["versions"]) == (1, 2)


@pytest.mark.parametrize(
    ("damage", "code", "what"),
    [
        ("no json", ExitCode.FAILED, "DeltaLogError"),
        (json.dumps(metadata(table="other")), ExitCode.FAILED, "TableExistsError"),
    ],
)
def test_what_cannot_be_imported_is_one_paragraph_and_an_exit_code(
    deployment: Deployment, tmp_path: Path, damage: str, code: ExitCode, what: str
) -> None:
    with closing(deployment.connect()) as ledger:
        ledger.create_table("taken")
    table = write_log(tmp_path / "t", [*begin()[:2], damage])
    with followed(deployment, tmp_path / "store") as environment:
        done = subprocess.run(
            [sys.executable, "-m", "ledger", "import", "delta", str(table), "--table", "taken"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stdout) == (code, "")
    assert what in done.stderr
    assert "Traceback" not in done.stderr
