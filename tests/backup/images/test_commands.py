"""The commands about images, as far as they need no Kafka."""

import json
from pathlib import Path

import pytest

from ledger.machine.process import ExitCode
from tests.backup.benches import commit, grow
from tests.backup.images.benches import Host
from tests.command_line import Done, done_in


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    grow(made.driver, [commit] * 8)
    made.back_up()
    grow(made.driver, [commit])
    made.back_up()
    return made


def verified(host: Host, *more: str) -> Done:
    path = str(host.folder / "backup")
    return done_in(host.folder, "backup", path, "--verify", *more, LAKELEDGER_HOME=path)


def test_verify_reads_events_and_images(host: Host) -> None:
    done = verified(host, "-o", "json")
    assert done.returncode == ExitCode.DONE, done.stderr
    found = json.loads(done.stdout)
    newest = host.image()
    assert found["position"] == found["images"][0] == newest.position
    assert found["image_checkpoints"][0] == newest.checkpoint
    assert (len(found["images"]), found["verified"]) == (2, True)


@pytest.mark.parametrize("kind", ["rows-", "image-", "events-"])
def test_verify_names_a_damaged_file(host: Host, kind: str) -> None:
    name = max(each for each in host.names() if each.startswith(kind))
    (host.folder / "backup" / name).write_bytes(b"")
    done = verified(host)
    assert done.returncode == ExitCode.UNHEALTHY
    assert f"damaged at {name}" in done.stderr


def test_verify_without_images(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.back_up()
    for name in host.names():
        if name.startswith(("rows-", "image-")):
            (tmp_path / "backup" / name).unlink()
    done = verified(host, "-o", "json")
    assert json.loads(done.stdout)["images"] == []


def test_verify_needs_a_backup(tmp_path: Path) -> None:
    done = done_in(tmp_path, "backup", "nowhere", "--verify", LAKELEDGER_HOME=str(tmp_path))
    assert done.returncode == ExitCode.FAILED
    assert f"there is no backup in {tmp_path / 'nowhere'}" in done.stderr
