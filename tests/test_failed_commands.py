"""A command that fails leaves nothing behind: no folder, no file, no mark of a secured ledger."""

from pathlib import Path

import pytest

from ledger.backup.errors import BackupDamagedError
from ledger.backup.manifest import read_manifest
from ledger.backup.place import FolderPlace
from ledger.machine.process import ExitCode
from ledger.machine.secured import Secured
from ledger.machine.up_settings import UpSettings
from tests.command_line import ROOT, done_apart, done_in

NOWHERE = "127.0.0.1:9"
DEEP = "[" * 200_000


ABSENT = "raise ModuleNotFoundError(name='cryptography')"


def files_in(folder: Path) -> set[str]:
    """Return all that a folder holds, but for the lock of a ledger's folder."""
    found = {each.relative_to(folder).as_posix() for each in folder.rglob("*")}
    return {each for each in found if each not in {"home", "home/lake", "home/lake/lock"}}


def test_a_ledger_that_could_not_be_made_secure_is_not_secured(tmp_path: Path) -> None:
    home, modules = tmp_path / "home", tmp_path / "modules"
    modules.mkdir()
    (modules / "cryptography.py").write_text(ABSENT)
    path = f"{modules}:{ROOT}"
    done = done_apart(tmp_path, "up", "--secure", LAKELEDGER_HOME=str(home), PYTHONPATH=path)
    assert (done.returncode, "lakeledger[secure]" in done.stderr) == (ExitCode.USAGE, True)
    assert not home.exists()
    settings = UpSettings(home=home)
    (settings.folder / "secure").mkdir(parents=True)
    assert settings.secured is None


def fail_to_begin(secured: Secured) -> None:
    with secured.beginning():
        secured.prepare()
        message = "the port is taken"
        raise OSError(message)


def test_a_first_start_that_fails_leaves_no_logins(tmp_path: Path) -> None:
    secured = Secured(tmp_path)
    with pytest.raises(OSError, match="port"):
        fail_to_begin(secured)
    assert files_in(tmp_path) == set()
    with secured.beginning():
        secured.prepare()
    before = files_in(tmp_path)
    with pytest.raises(OSError, match="port"):
        fail_to_begin(secured)
    assert files_in(tmp_path) == before != set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("up", "--http", "no port"),
        ("up", "--ledger", "no name"),
        ("up", "--secure", "--bootstrap", NOWHERE),
        ("init", "--bootstrap", "no port"),
        ("backup", "copy", "--bootstrap", "no port", "--ledger", "lake"),
        ("restore", "copy"),
        ("restore", "copy", "--dry-run"),
        ("recover", "--bootstrap", "no port"),
        ("token", "new", "one", "--file", "nowhere/tokens"),
        ("token", "new", "one", "--file", "tokens", "--days", "-1"),
    ],
    ids=" ".join,
)
def test_what_is_refused_leaves_nothing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = done_in(tmp_path, *arguments, LAKELEDGER_HOME=str(tmp_path / "home"))
    assert done.returncode, done.stdout
    assert files_in(tmp_path) == set()


def test_no_server_knows_a_token_that_was_lost(tmp_path: Path) -> None:
    out = ("--file", "tokens", "--out")
    done = done_in(tmp_path, "token", "new", "one", *out, "nowhere/token")
    assert done.returncode
    again = done_in(tmp_path, "token", "new", "one", *out, "token")
    assert (again.returncode, (tmp_path / "token").exists()) == (0, True), again.stderr


@pytest.mark.parametrize("text", [DEEP, '{"format": 1', "[1]"], ids=["deep", "cut", "list"])
def test_whatever_replaces_a_manifest_is_damaged(text: str, tmp_path: Path) -> None:
    (tmp_path / "backup.json").write_text(text)
    with pytest.raises(BackupDamagedError, match="not a manifest"):
        read_manifest(FolderPlace(tmp_path))
