"""The commands, as far as they need no Kafka: a backup is checked, and what is wrong is named."""

import json
from pathlib import Path

import pytest

from ledger.machine.process import ExitCode
from tests.backup.benches import backed_up, manifest_of
from tests.command_line import done_in
from tests.lost_end import domain


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    backed_up(domain().log, tmp_path / "backup", 200)
    return tmp_path / "backup"


def test_a_dry_run_reads_a_whole_backup_and_leaves_nothing(backup: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = done_in(
        tmp_path, "restore", "--dry-run", str(backup), "-o", "json", LAKELEDGER_HOME=str(home)
    )
    assert done.returncode == ExitCode.DONE, done.stderr
    found, manifest = json.loads(done.stdout), manifest_of(backup)
    assert (found["position"], found["files"]) == (
        manifest.reached.head.position,
        len(manifest.files),
    )
    assert (found["written"], found["restored"], home.exists()) == (0, False, False)


def test_a_damaged_file_is_named_with_its_exit_code(backup: Path, tmp_path: Path) -> None:
    name = manifest_of(backup).files[1].name
    (backup / name).write_bytes(b"")
    done = done_in(tmp_path, "restore", "--dry-run", str(backup), LAKELEDGER_HOME=str(tmp_path))
    assert done.returncode == ExitCode.UNHEALTHY
    assert f"damaged at {name}: it has 0 bytes" in done.stderr


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("nowhere", ExitCode.FAILED, "there is no backup in {folder}/nowhere: "),
        ("", ExitCode.USAGE, "PATH must be a folder or s3://bucket/prefix, got ''"),
        ("gs://bucket/lake", ExitCode.USAGE, "got 'gs://bucket/lake'"),
        ("file:/lake", ExitCode.USAGE, "got 'file:/lake'"),
        ("~nobody-here/backup", ExitCode.USAGE, "~nobody-here/backup leads nowhere"),
    ],
)
def test_no_backup(path: str, code: ExitCode, said: str, tmp_path: Path) -> None:
    """A path without a backup, and what is no path, end in words."""
    done = done_in(tmp_path, "restore", "--dry-run", path, LAKELEDGER_HOME=str(tmp_path))
    assert done.returncode == code
    assert said.format(folder=tmp_path) in done.stderr
