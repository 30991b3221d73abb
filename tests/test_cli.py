"""The command line: every command has help, answers have two forms, errors are one paragraph."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ledger.cli.lazy import Later
from ledger.cli.root import app
from ledger.machine.process import ExitCode
from tests.command_line import invoked

COMMANDS = {
    "stream list",
    "acl",
    "anomaly acknowledge",
    "anomaly list",
    "backup",
    "bisect",
    "cache read",
    "cache status",
    "cache verify",
    "cache wait",
    "clean",
    "config show",
    "conflict explain",
    "conflict list",
    "conflict whatif",
    "consumers forget",
    "consumers list",
    "diff",
    "import delta",
    "import iceberg",
    "ingest run",
    "ingest status",
    "init",
    "log pin",
    "log size",
    "log tail",
    "log trim",
    "log unpin",
    "log verify",
    "namespace create",
    "namespace drop",
    "namespace list",
    "recover",
    "restore",
    "serve iceberg",
    "serve cache",
    "serve feeder",
    "serve flusher",
    "serve ingest",
    "serve notifier",
    "serve follower",
    "serve publisher",
    "serve sequencer",
    "status",
    "sql",
    "table adopt",
    "table changes",
    "table files",
    "table flush",
    "table forget",
    "table history",
    "table keys drop",
    "table keys list",
    "table list",
    "table optimize",
    "table partitions",
    "table publish",
    "table release",
    "table show",
    "table undrop",
    "table vacuum",
    "table verify",
    "token list",
    "token new",
    "token revoke",
    "txn abort",
    "txn list",
    "txn show",
    "ui",
    "up",
    "watermark explain",
}
NAME = "lakeledger"
# As modules do that Cython made: what is raised while they load is lost there.
CTRL_C_IS_LOST = """
import os, signal
from contextlib import suppress
with suppress(KeyboardInterrupt):
    os.kill(os.getpid(), signal.SIGINT)
"""


def commands(found: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of every command that does something."""
    below = getattr(found, "commands", None)
    if below is None:
        yield path
        return
    for name, each in below.items():
        yield from commands(each.load() if isinstance(each, Later) else each, *path, name)


def lakeledger(home: Path, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own, on a machine where no ledger is up."""
    return subprocess.run(
        [sys.executable, "-m", "ledger", *arguments],
        env={"LAKELEDGER_HOME": str(home), "COLUMNS": "200", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_packages_that_are_installed_add_their_commands_to_one_root() -> None:
    found = {" ".join(path) for path in commands(typer.main.get_command(app))}
    assert found == COMMANDS


def test_a_report_of_a_fault_can_say_of_which_version() -> None:
    result = invoked("--version")
    assert (result.exit_code, result.stdout) == (ExitCode.DONE, f"lakeledger {version(NAME)}\n")


@pytest.mark.parametrize("level", ["SnapshotIsolation", "snapshot", "Write-Serializable", "none"])
def test_every_level_has_the_name_it_has_elsewhere(tmp_path: Path, level: str) -> None:
    result = invoked("conflict", "whatif", "--level", level, LAKELEDGER_HOME=str(tmp_path))
    told = "no ledger is up" if level != "none" else "one of SnapshotIsolation, WriteSerializable"
    assert told in str(result.exception)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_says_what_it_does_and_names_its_options(command: str) -> None:
    result = invoked(*command.split(), "--help")
    assert result.exit_code == ExitCode.DONE
    assert "Usage:" in result.output
    assert "--help" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["up", "--no-such-option"],
        ["up", "--port", "99999"],
        ["up", "--port", "-1"],
        ["txn", "show", "seven"],
        ["txn", "list", "--output", "xml"],
        ["serve", "sequencer", "--lease-s", "0"],
        ["txn", "list", "--limit", "100001"],
        ["table", "history", "db.t", "--limit", "100001"],
        ["conflict", "list", "--limit", "100001"],
        ["watermark", "explain", "--table", "db.t", "--limit", "100001"],
        ["log", "tail", "--after", "-1"],
        *(
            ["table", "keys", "drop", "db.t", option, month, "--yes"]
            for option in ("--month", "--before")
            for month in ("2026-9", "2026/09", "2026-13", "2026-00", "september", "2026-09-01", "")
        ),
        ["table", "keys", "drop", "db.t", "--month", "2026-09", "--grace", "39.9"],
        ["table", "keys", "drop", "db.t", "--month", "2026-09", "--grace", "nan"],
        ["conflict", "whatif", "--level", "snapshot", "--since", "-4"],
        ["clean", "--txn", "7", "--table", "db.t", "--write-id", "1"],
        ["clean", "--txn", "7", "--table", "db.t"],
        ["clean", "--txn", "7", "--write-id", "1"],
        ["clean", "--table", "db.t"],
        ["clean", "--write-id", "1"],
        ["clean"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_before_asking(arguments: list[str]) -> None:
    assert invoked(*arguments).exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    "command",
    [
        "txn show N",
        "txn abort N --yes",
        "conflict explain N",
        "conflict explain --position N",
        "conflict list --after N",
        "conflict whatif --level snapshot --since N",
        "clean --txn N --yes",
        "clean --table db.t --write-id N --yes",
        "table files db.t --version N",
        "table files db.t --position N",
        "table partitions db.t --version N",
        "table history db.t --below N",
        "watermark explain --table db.t --since N",
        "cache read db.t --table-id N",
        "cache read db.t --position N",
        "cache read db.t --token N",
        "cache read db.t --token 5f3a9c1e:0:N",
        "cache read db.t --max-wait-ms N",
        "cache read db.t --max-lag-ms N",
        "cache wait N",
        "cache wait 1 --timeout-ms N",
        "cache verify --tables N",
        "log tail --after N",
        "init --bootstrap 127.0.0.1:1 --replication N",
    ],
)
@pytest.mark.parametrize("number", [str(2**63), "9" * 5_000], ids=["one more", "many digits"])
def test_numbers_beyond_64_bits(tmp_path: Path, command: str, number: str) -> None:
    """A number that no id, position or time can be is refused before a ledger is looked for."""
    result = invoked(*command.replace("N", number).split(), LAKELEDGER_HOME=str(tmp_path))

    assert result.exit_code == ExitCode.USAGE
    assert "Invalid value" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["table", "list"],
        ["log", "verify"],
        ["txn", "list"],
        ["conflict", "whatif", "--level", "serializable"],
    ],
    ids=" ".join,
)
def test_without_a_ledger_one_paragraph_says_why(tmp_path: Path, arguments: list[str]) -> None:
    done = lakeledger(tmp_path, *arguments)
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == ""
    assert done.stderr.startswith("LedgerDownError: no ledger is up on this machine")
    assert "Start one with `lakeledger up`" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_should_say_where_a_ledger_is_and_does_not_is_named(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/address.json").write_text("[]")
    done = lakeledger(tmp_path, "status")
    assert done.returncode == ExitCode.USAGE
    assert "lake/address.json is not the address of a ledger" in done.stderr


def test_debug(tmp_path: Path) -> None:
    """With `--debug` an error shows where it comes from, and ends with the code it has without."""
    done = lakeledger(tmp_path, "--debug", "txn", "list")
    assert done.returncode == ExitCode.USAGE
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--ledger", "../../x", "got '../../x'"),
        ("--ledger", "", "got ''"),
        ("--home", "", "must not be empty; write . for the working directory"),
        ("--lease-s", "1e300", "sequencer.lease_s is 1e+300 (flag); give a number from 0.5 to 31"),
        ("--lease-s", "inf", "sequencer.lease_s is inf (flag); give a number from 0.5 to 31536000"),
        ("--http", "here", "must be host:port, such as 127.0.0.1:8181, got 'here'"),
        (
            "--http",
            "127.0.0.1:99999",
            "must be host:port, such as 127.0.0.1:8181, got '127.0.0.1:99999'",
        ),
    ],
)
def test_up_checks_first(tmp_path: Path, option: str, value: str, said: str) -> None:
    """What cannot be is refused before a folder is made or a process started."""
    home = tmp_path / "a/b/home"
    done = lakeledger(home, "up", option, value)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_home_in_which_no_folder_can_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.touch()
    done = lakeledger(home, "up")
    assert done.returncode == ExitCode.USAGE
    assert done.stderr.startswith(f"SettingsError: the folder {home / 'lake'} cannot be used")


@pytest.mark.parametrize(
    ("bootstrap", "code", "said"),
    [
        ("127.0.0.1:9", ExitCode.FAILED, "LogUnavailableError"),
        ("kafka:none", ExitCode.USAGE, "SettingsError: bootstrap must be host:port"),
    ],
)
def test_up_at_the_kafka_that_is_set(
    tmp_path: Path, bootstrap: str, code: ExitCode, said: str
) -> None:
    done = lakeledger(tmp_path, "up", LAKELEDGER_BOOTSTRAP=bootstrap)
    assert done.returncode == code
    assert said in done.stderr
    assert not (tmp_path / "lake/broker").exists()


@pytest.mark.parametrize("name", ["LAKELEDGER_FOLLOWER__HTTP", "LAKELEDGER_CACHE__HTTP"])
def test_up_answers_where_it_is_set(tmp_path: Path, name: str) -> None:
    elsewhere = {name: "here", "LAKELEDGER_BOOTSTRAP": "127.0.0.1:9"}
    done = lakeledger(tmp_path, "up", "--caches", "1", **elsewhere)
    assert done.returncode == ExitCode.USAGE
    assert "must be host:port, such as 127.0.0.1:8181, got 'here'" in done.stderr


def test_where_one_cache_is_to_answer_no_two_can(tmp_path: Path) -> None:
    elsewhere = {"LAKELEDGER_CACHE__HTTP": "127.0.0.1:0", "LAKELEDGER_BOOTSTRAP": "127.0.0.1:9"}
    done = lakeledger(tmp_path, "up", "--caches", "2", **elsewhere)
    assert done.returncode == ExitCode.USAGE
    assert (
        "cache.http is 127.0.0.1:0, the address of a single cache, but there are 2" in done.stderr
    )


@pytest.mark.parametrize(
    ("store", "is_told"), [("elsewhere", True), ("home/lake/store", False), (None, False)]
)
def test_up_keeps_rows_elsewhere(tmp_path: Path, store: str | None, *, is_told: bool) -> None:
    said = {"LAKELEDGER_STORE": str(tmp_path / store)} if store else {}
    done = lakeledger(tmp_path / "home", "up", "--http", "here", **said)
    assert done.returncode == ExitCode.USAGE
    warning = f"warning: store is {tmp_path}/{store} (environment), so SDK and commands read"
    assert (warning in done.stderr) == is_told


@pytest.mark.parametrize("interrupted", ["raise KeyboardInterrupt", CTRL_C_IS_LOST])
@pytest.mark.parametrize("loading", ["typer", "pyroaring"])
def test_interrupted_while_it_loads(tmp_path: Path, loading: str, interrupted: str) -> None:
    """Ctrl-C before a command has begun, in its own modules or those of its commands, ends it."""
    (tmp_path / f"{loading}.py").write_text(interrupted)
    done = lakeledger(tmp_path, "status", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, "", "")
