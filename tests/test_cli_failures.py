"""Failures of the command line: told once, in a sentence or as JSON, wherever they come from."""

import json
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ledger.cli.failures import Stopped, fields_of, wants_json
from ledger.cli.lazy import Later
from ledger.cli.root import app
from ledger.config.config import load
from ledger.core.events.parts import Evidence
from ledger.errors import ConcurrentAppendException, LogUnavailableError, SettingsError
from ledger.machine.process import ExitCode
from tests.command_line import done_apart
from tests.test_cli import COMMANDS

NO_KAFKA = "127.0.0.1:9"


@pytest.mark.parametrize(
    ("arguments", "is_wanted"),
    [
        (["status", "--output", "json"], True),
        (["status", "--output=json"], True),
        (["status", "-o", "json"], True),
        (["status", "-ojson"], True),
        (["status", "--output", "table"], False),
        (["txn", "show", "--", "--output", "json"], False),
        (["txn", "show", "json"], False),
        (["--output"], False),
        ([], False),
    ],
)
def test_json_is_asked_for_as_commands_take_it(arguments: list[str], *, is_wanted: bool) -> None:
    assert wants_json(arguments) == is_wanted


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_writes_json(path: str) -> None:
    """Every command takes `--output`, those that only run too: their failures are for programs."""
    found = typer.main.get_command(app)
    named = {name for each in params_of(found, path) for name in each.opts}
    assert {"--output", "-o"} <= named


def params_of(root: Any, path: str) -> list[Any]:
    for name in path.split():
        found = root.commands[name]
        root = found.load() if isinstance(found, Later) else found
    return list(root.params)


FAILURES = [
    ("table list -o json", "LedgerDownError", ExitCode.USAGE),
    ("table show t --output json", "LedgerDownError", ExitCode.USAGE),
    ("txn show seven --output json", "BadParameter", ExitCode.USAGE),
    ("txn show 1 --output json --nothing", "NoSuchOption", ExitCode.USAGE),
    ("nothing --output json", "UsageError", ExitCode.USAGE),
    ("txn abort 7 --output json", "LedgerDownError", ExitCode.USAGE),
    ("anomaly acknowledge --output json", "LedgerDownError", ExitCode.USAGE),
    ("clean --output json", "UsageError", ExitCode.USAGE),
    ("clean --txn 7 --output json", "UsageError", ExitCode.USAGE),
    ("conflict explain --output json", "UsageError", ExitCode.USAGE),
    ("log tail --no-follow --output json", "UsageError", ExitCode.USAGE),
    ("log tail --after 1 --last 1 --output json", "UsageError", ExitCode.USAGE),
    ("up --http here --output json", "SettingsError", ExitCode.USAGE),
    (f"up --bootstrap {NO_KAFKA} --output json", "LogUnavailableError", ExitCode.FAILED),
    (f"init --bootstrap {NO_KAFKA} --output json", "LogUnavailableError", ExitCode.FAILED),
    ("init --output json", "SettingsError", ExitCode.USAGE),
    ("serve sequencer --output json", "SettingsError", ExitCode.USAGE),
    ("serve follower --output json", "SettingsError", ExitCode.USAGE),
    ("serve cache --output json", "SettingsError", ExitCode.USAGE),
    ("import delta nowhere --table t --output json", "BadParameter", ExitCode.USAGE),
    ("import delta file:///a%2 --table t --output json", "BadParameter", ExitCode.USAGE),
    ("import iceberg nowhere --output json", "MissingParameter", ExitCode.USAGE),
    ("import iceberg nowhere --table t --output json", "LedgerDownError", ExitCode.USAGE),
    ("config show --set x=1 --output json", "SettingsError", ExitCode.USAGE),
]


@pytest.mark.parametrize(
    ("line", "name", "code"), FAILURES, ids=[failure[0] for failure in FAILURES]
)
def test_failure_as_json(tmp_path: Path, line: str, name: str, code: ExitCode) -> None:
    """A failure is one JSON object on stderr, with what happened, what to do and the exit code."""
    done = done_apart(tmp_path, *line.split(), LAKELEDGER_HOME=str(tmp_path))
    told = json.loads(done.stderr)

    assert (done.returncode, done.stdout) == (code, "")
    assert told.keys() == {"name", "message", "hint", "exit_code"}
    assert all(told.values())
    assert told["exit_code"] == code
    assert told["name"] == name


def test_role_that_fails_as_json(tmp_path: Path) -> None:
    """What ends a role while it runs is told as every failure."""
    (tmp_path / "store").write_text("no folder")
    done = done_apart(
        tmp_path,
        *("serve", "follower", "--store", "store", "--no-http", "--output", "json"),
        LAKELEDGER_BOOTSTRAP="kafka:none",
    )
    told = json.loads(done.stderr.splitlines()[-1])

    assert (told["name"], told["exit_code"]) == ("SettingsError", done.returncode)


def lost() -> ConcurrentAppendException:
    fields: dict[str, Any] = {**dict.fromkeys(Evidence._fields), "remedy": "read again"}
    evidence = Evidence(**fields)
    return ConcurrentAppendException("it lost", reason="x", evidence=evidence)


@pytest.mark.parametrize(
    ("error", "name", "hint"),
    [
        (
            SettingsError("none is up (in /a.b). Start one. Or not"),
            "SettingsError",
            "Start one. Or not",
        ),
        (LogUnavailableError("it is away; wait"), "LogUnavailableError", "wait"),
        (LogUnavailableError("away"), "LogUnavailableError", "see `lakeledger status` for"),
        (ZeroDivisionError(), "ZeroDivisionError", "see `lakeledger status` for"),
        (Stopped("no txn 7; see txn list", ExitCode.NOT_FOUND), "NotFoundError", "see txn list"),
        (lost(), "ConcurrentAppendException", "read again"),
    ],
)
def test_what_to_do_is_what_the_evidence_says(error: Exception, name: str, hint: str) -> None:
    found = fields_of(error)
    assert found["name"] == name
    assert found["hint"].startswith(hint)


def test_debug_as_json(tmp_path: Path) -> None:
    """With `--debug` the traceback is a field, so that it is still one object."""
    home = str(tmp_path)
    done = done_apart(tmp_path, "--debug", "table", "list", "-ojson", LAKELEDGER_HOME=home)
    assert "Traceback" in json.loads(done.stderr)["traceback"]


def test_without_a_terminal_the_command_says_what_to_give(tmp_path: Path) -> None:
    done = done_apart(tmp_path, "clean", "--txn", "7")
    assert done.returncode == ExitCode.USAGE
    assert "there is no terminal: is the data of txns [7] gone?" in done.stderr
    assert "give --yes to confirm in advance" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["config", "show"], ["--help"], ["config", "show", "-ojson"]]
)
def test_a_command_whose_reader_is_gone_ends_well(tmp_path: Path, arguments: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, "-m", "ledger", *arguments],
        env={"PATH": os.environ["PATH"], "LAKELEDGER_HOME": str(tmp_path)},
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (ExitCode.DONE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is full")
def test_answer_to_a_full_disk(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ledger", "config", "show"],
            env={"PATH": os.environ["PATH"], "LAKELEDGER_HOME": str(tmp_path)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == ExitCode.FAILED
    assert done.stderr.startswith(b"OSError: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_letter_that_the_terminal_has_not_is_escaped(tmp_path: Path, encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ledger", "config", "show"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONIOENCODING": encoding,
            "LAKELEDGER_STORE": "/été/\u8868",
            "LAKELEDGER_HOME": str(tmp_path),
        },
        capture_output=True,
        check=False,
    )
    wanted = "/été/\u8868".encode(encoding, errors="backslashreplace")
    assert (done.returncode, done.stderr) == (ExitCode.DONE, b"")
    assert b" " + wanted + b"\n" in done.stdout


def test_a_file_with_a_byte_order_mark_is_read_as_without(tmp_path: Path) -> None:
    (tmp_path / "lakeledger.toml").write_text('client_config = "client.properties"\n', "utf-8-sig")
    (tmp_path / "client.properties").write_text("security.protocol=SSL\n", "utf-8-sig")
    (tmp_path / "client.properties").chmod(0o600)
    with chdir(tmp_path):
        settings = load().settings
        assert settings.client() == {"security.protocol": "SSL"}
