"""Commands that make tokens, and commands that show them to a server."""

import json
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from ledger.config.private import FILE
from ledger.config.settings import WebSettings
from ledger.config.tokens import PREFIX, known_as, read_tokens
from ledger.machine.certificates import CA, CERTIFICATE, KEY, make_certificates
from ledger.machine.process import ExitCode
from ledger.reads.remote.web_login import WebLogin
from projections.store.memory import MemoryStore
from tests.command_line import Done, done_apart, done_in
from tests.projections.followed import Followed
from tests.web.served import Served, rows_in, serving

YEAR: Final = "365"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Return a locked server, whose tokens are made by a command."""
    done = made(tmp_path, "etl", "--out", "token")
    assert done.returncode == ExitCode.DONE, done.stderr
    make_certificates(tmp_path)
    domain = Followed(MemoryStore())
    domain.open_session()
    domain.follow()
    doors = WebSettings(tmp_path / "tokens", tmp_path / CERTIFICATE, tmp_path / KEY)
    login = WebLogin(tmp_path / "token", tmp_path / CA)
    with serving(rows_in(domain), doors=doors, login=login) as served:
        yield served


def made(folder: Path, name: str, *more: str) -> Done:
    return done_in(folder, "token", "new", name, "--file", "tokens", *more)


def rights(file: Path) -> int:
    """Return the mode of a file, without its kind."""
    return stat.S_IMODE(file.stat().st_mode)


def test_a_token_is_printed_once_and_alone(tmp_path: Path) -> None:
    done = made(tmp_path, "etl", "--days", YEAR)
    token = done.stdout.removesuffix("\n")
    assert token.startswith(PREFIX)
    assert len(token) > len(PREFIX) + 40
    assert token not in done.stderr
    file = tmp_path / "tokens"
    assert rights(file) == FILE
    assert token not in file.read_text()
    known = known_as(read_tokens(file), token)
    assert known is not None
    assert known.name == "etl"
    assert known.expires_ms is not None
    assert known_as(read_tokens(file), token[:-1]) is None


def test_with_a_file_of_its_own_a_token_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("former")
    (tmp_path / "token").chmod(0o644)
    done = made(tmp_path, "etl", "--out", "token")
    token = (tmp_path / "token").read_text().strip()
    assert done.stdout == ""
    assert known_as(read_tokens(tmp_path / "tokens"), token) is not None
    assert rights(tmp_path / "token") == FILE


def test_tokens_are_listed_by_name(tmp_path: Path) -> None:
    made(tmp_path, "etl")
    made(tmp_path, "report", "--days", YEAR)
    assert made(tmp_path, "etl").returncode == ExitCode.USAGE
    assert made(tmp_path, "no name").returncode == ExitCode.USAGE
    file = ("--file", "tokens")
    for expected in (ExitCode.DONE, ExitCode.NOT_FOUND):
        done = done_in(tmp_path, "token", "revoke", "etl", *file)
        assert done.returncode == expected
    listed = json.loads(done_in(tmp_path, "token", "list", *file, "-o", "json").stdout)
    assert [(each["name"], each["expired"]) for each in listed] == [("report", False)]


def test_a_token_may_only_read_unless_it_is_made_to_write(tmp_path: Path) -> None:
    made(tmp_path, "reader")
    made(tmp_path, "writer", "--write", "--days", YEAR)
    listed = json.loads(done_in(tmp_path, "token", "list", "--file", "tokens", "-o", "json").stdout)
    assert {each["name"]: each["write"] for each in listed} == {"reader": False, "writer": True}
    file = tmp_path / "tokens"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert [len(line.split()) for line in lines] == [3, 4]
    file.write_text(file.read_text().replace(" write\n", " rewrite\n"))
    done = done_in(tmp_path, "token", "list", "--file", "tokens")
    assert done.returncode == ExitCode.USAGE
    assert "line 3" in done.stderr


def test_a_command_is_let_in_with_the_files_of_its_options(served: Served, tmp_path: Path) -> None:
    environ = {
        "LAKELEDGER_BOOTSTRAP": "127.0.0.1:1",
        "LAKELEDGER_LEDGER": "demo",
        "LAKELEDGER_READS_URL": served.url,
        "LAKELEDGER_HOME": str(tmp_path),
    }
    options = ("--token-file", "token", "--ca-file", CA)
    done = done_apart(tmp_path, *options, "txn", "list", **environ)
    assert done.returncode == ExitCode.DONE, done.stderr
    environ |= {"LAKELEDGER_CA_FILE": str(tmp_path / CA)}
    done = done_apart(tmp_path, "txn", "list", **environ)
    assert "ReadsRefusedError" in done.stderr
    assert "requires a token" in done.stderr
    environ |= {"LAKELEDGER_TOKEN_FILE": str(tmp_path / "token")}
    done = done_apart(tmp_path, "config", "show", **environ)
    assert str(tmp_path / "token") in done.stdout
    secret = (tmp_path / "token").read_text().strip()
    assert secret not in done.stdout + done.stderr


def test_reads_find_it(served: Served, tmp_path: Path) -> None:
    """A token that is replaced on both sides is taken without a restart of either."""
    before = served.reads.position()
    done_in(tmp_path, "token", "revoke", "etl", "--file", "tokens")
    done = made(tmp_path, "etl", "--out", "token")
    assert done.returncode == ExitCode.DONE
    with closing(served.reads) as reads:
        assert reads.position() == before
