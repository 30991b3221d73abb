"""Taking a backup: what it holds, what a second run adds, and which logs it refuses."""

import json
from pathlib import Path
from threading import Event as Signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.backup.container import open_container
from ledger.backup.contents import parts
from ledger.backup.errors import BackupDamagedError, BackupError, BackupForeignError
from ledger.backup.place import FolderPlace
from ledger.backup.taking import take
from ledger.errors import IncompatibleError, LogDamagedError
from ledger.log.port import Topic
from tests.backup.benches import (
    HISTORIES,
    TOPICS,
    Crash,
    CrashingPlace,
    Step,
    backed_up,
    content,
    folder,
    grow,
    manifest_of,
)
from tests.driver import Driver
from tests.lost_end import REWRITES, Rewrite, domain, lose_end

STEPS_MAX = 60


def copied(path: Path) -> list[tuple[bytes, bytes]]:
    place = FolderPlace(path)
    return [
        (record.key, record.value)
        for part in parts(place, manifest_of(path))
        for record in part.records
    ]


def names(path: Path) -> set[str]:
    """Return the names of all files, also of those that begin with a dot, but for the lock."""
    return {each.name for each in path.iterdir()} - {".lock"}


@settings(deadline=None, max_examples=40)
@given(st.lists(HISTORIES, min_size=1, max_size=4), st.integers(100, 3_000))
def test_whatever_happens_in_between(histories: list[list[Step]], file_bytes: int) -> None:
    """After each run a backup holds exactly the records of the log, in files that it names."""
    with folder() as path:
        driver = Driver()
        for steps in histories:
            grow(driver, steps)
            before = len(copied(path)) if (path / "backup.json").exists() else 0
            taken = backed_up(driver.log, path, file_bytes)
            assert copied(path) == content(driver.log)
            assert taken.manifest == manifest_of(path)
            assert taken.manifest.reached.head == driver.head
            assert taken.new_records == len(driver.records) - before
            assert names(path) == {"backup.json", *(file.name for file in taken.manifest.files)}


@settings(deadline=None, max_examples=40)
@given(
    st.lists(HISTORIES, min_size=1, max_size=4),
    st.integers(100, 3_000),
    st.lists(st.integers(0, STEPS_MAX), min_size=1, max_size=6),
)
def test_killed_at_any_point(
    histories: list[list[Step]], file_bytes: int, kills: list[int]
) -> None:
    with folder() as path:
        driver = Driver()
        for number, kill in enumerate(kills):
            grow(driver, histories[number % len(histories)])
            try:
                place = CrashingPlace(path, kill)
                take(driver.log, place, TOPICS, stop=Signal(), file_bytes=file_bytes)
            except Crash:
                pass
            held = copied(path) if (path / "backup.json").exists() and has_files(path) else []
            assert held == content(driver.log)[: len(held)]
        taken = backed_up(driver.log, path, file_bytes)
        assert copied(path) == content(driver.log)
        assert names(path) == {"backup.json", *(file.name for file in taken.manifest.files)}


def has_files(path: Path) -> bool:
    """Tell whether a manifest names any file."""
    return bool(json.loads((path / "backup.json").read_text())["files"])


def test_a_run_that_finds_nothing_new_writes_nothing(tmp_path: Path) -> None:
    driver = domain()
    backed_up(driver.log, tmp_path)
    before = {each: each.stat().st_mtime_ns for each in tmp_path.iterdir() if each.suffix}
    assert backed_up(driver.log, tmp_path).new_records == 0
    assert before == {each: each.stat().st_mtime_ns for each in tmp_path.iterdir() if each.suffix}


def test_many_small_runs_make_few_files(tmp_path: Path) -> None:
    driver = domain()
    for _ in range(20):
        driver.open_session("bob")
        backed_up(driver.log, tmp_path, 1_000_000)
    assert len(manifest_of(tmp_path).files) == 1
    assert copied(tmp_path) == content(driver.log)


def test_a_file_ends_with_the_record_that_brings_it_to_the_bound(tmp_path: Path) -> None:
    driver = domain()
    grow(driver, [Driver.open_session] * 40)
    files = backed_up(driver.log, tmp_path, 500).manifest.files
    longest = max(len(each.key) + len(each.value) for each in driver.records)
    assert len(files) > 3
    assert all(file.content < 500 + longest for file in files)
    for file in files:
        opened = open_container((tmp_path / file.name).read_bytes())
        assert opened.first_position == file.first_position
        assert file.name.startswith(f"events-{opened.first_position:020}-")
        assert [record.position for record in opened.records][-1] == file.last_position


def test_only_the_owner_reads(tmp_path: Path) -> None:
    """A backup holds what the ledger holds, so others may not read it."""
    path = tmp_path / "backups" / "lake"
    backed_up(domain().log, path)
    assert path.stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in path.iterdir())


def test_a_run_that_is_stopped_leaves_a_whole_backup_of_what_it_had_read(tmp_path: Path) -> None:
    driver = domain()
    backed_up(driver.log, tmp_path)
    driver.open_session("bob")
    stop = Signal()
    stop.set()
    taken = take(driver.log, FolderPlace(tmp_path), TOPICS, stop=stop)
    assert not taken.is_whole
    assert backed_up(driver.log, tmp_path).new_records == 1


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda each: each.__name__)
def test_log_lost_its_end(rewrite: Rewrite, tmp_path: Path) -> None:
    """The backup of a log that lost its end stays as it is: it may be the last copy."""
    driver = domain()
    backed_up(driver.log, tmp_path)
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    lose_end(driver, rewrite)
    with pytest.raises(BackupForeignError, match=r"the last copy .* lakeledger recover --backup"):
        backed_up(driver.log, tmp_path)
    assert before == {each: each.read_bytes() for each in tmp_path.iterdir()}


def test_log_lost_what_did_not_count(tmp_path: Path) -> None:
    """Records that do not count are compared too: they are in the backup."""
    driver = domain()
    end = len(driver.records)
    driver.append(driver.records[0].value)
    backed_up(driver.log, tmp_path)
    driver.log.cut(Topic.EVENTS, end)
    driver.open_session("bob")
    driver.open_session("bob")
    with pytest.raises(BackupForeignError):
        backed_up(driver.log, tmp_path)


def test_a_backup_of_another_ledger_is_named_with_both_ids(tmp_path: Path) -> None:
    backed_up(domain().log, tmp_path)
    with pytest.raises(BackupForeignError, match=r"id 5f3a9c1e, .* with id beef"):
        backed_up(Driver(ledger="beef").log, tmp_path)


def test_a_folder_with_other_files_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").write_text("42")
    with pytest.raises(BackupError, match=r"holds thesis\.odt and no backup\.json"):
        backed_up(domain().log, tmp_path)
    assert names(tmp_path) == {"thesis.odt"}


def test_a_second_run_names_a_file_that_is_gone(tmp_path: Path) -> None:
    driver = domain()
    file = backed_up(driver.log, tmp_path).manifest.files[0]
    (tmp_path / file.name).unlink()
    with pytest.raises(BackupDamagedError, match=f"{file.name}: the file is missing"):
        backed_up(driver.log, tmp_path)


def test_a_damaged_log_is_backed_up_to_its_damage_and_the_damage_is_told(tmp_path: Path) -> None:
    driver = domain()
    sound = content(driver.log)
    driver.append(b"oops")
    with pytest.raises(LogDamagedError, match=f"at position {len(sound) + 1}"):
        backed_up(driver.log, tmp_path)
    assert copied(tmp_path) == sound


def test_a_backup_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    driver = domain()
    backed_up(driver.log, tmp_path)
    file = tmp_path / "backup.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 2}))
    with pytest.raises(IncompatibleError, match="format 2"):
        backed_up(driver.log, tmp_path)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"\xff", b"{", b"[]", b"null"])
def test_a_manifest_with_any_other_content_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "backup.json").write_bytes(data)
    with pytest.raises(BackupDamagedError, match="it is not a manifest"):
        backed_up(domain().log, tmp_path)


def test_of_two_runs_into_one_folder_the_second_is_refused(tmp_path: Path) -> None:
    driver = domain()
    with FolderPlace(tmp_path).alone(), pytest.raises(BackupError, match="another"):
        backed_up(driver.log, tmp_path)
