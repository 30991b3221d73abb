"""Taking images: what is shared, what stays, what is refused, and kills at any step."""

import json
from pathlib import Path
from threading import Event as Signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.backup.errors import BackupError, ImageForeignError
from ledger.backup.images.manifest import ROWS, image_names, read_image
from ledger.backup.images.reading import newest_image, rows_of, verified
from ledger.backup.images.rows_file import CutRule, cut_rows, open_rows_file
from ledger.backup.images.taking import take_image
from ledger.backup.place import FolderPlace
from projections.images.stored import stored_section
from projections.rows.keys import CHECKPOINT
from projections.store.port import KEYS_END
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.backup.benches import NEVER, Crash, CrashingPlace, backed_up, commit, folder, grow
from tests.backup.images.benches import SMALL, Host, followed_at, imaged
from tests.driver import Driver

STEPS_MAX = 80


@pytest.fixture
def host(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    grow(made.driver, [commit] * 8)
    return made


def rows_in(root: Path) -> list[tuple[bytes, bytes]]:
    with RocksReader.open(root) as rows:
        return [row for row in rows.scan(b"", KEYS_END) if row[0] != CHECKPOINT]


def test_an_image_holds_the_rows_of_its_position(host: Host) -> None:
    image = host.back_up()
    section = image.sections[ROWS]
    rows = [row for page in rows_of(host.place, image) for row in page]
    assert rows == rows_in(host.root)
    assert (section.position, section.chain) == (host.driver.head.position, host.driver.head.chain)
    assert (section.rows, len(section.files) > 1) == (len(rows), True)
    assert image.checkpoint == section.checkpoint.position == section.position
    assert verified(host.place, image) == {ROWS: len(rows)}
    assert read_image(host.place, image.file) == image


def test_any_reader_of_avro_opens_the_files(host: Host) -> None:
    file = host.back_up().sections[ROWS].files[0]
    rows = open_rows_file((host.folder / "backup" / file.name).read_bytes())
    assert len(rows) == file.rows
    assert sum(len(key) + len(value) for key, value in rows) == file.content


def test_two_hosts_take_the_same_bytes(host: Host, tmp_path: Path) -> None:
    first = host.back_up()
    other = FolderPlace(tmp_path / "other")
    backed_up(host.log, tmp_path / "other")
    followed_at(host.log, tmp_path / "rows")
    second = imaged(other, tmp_path / "rows").image
    assert second is not None
    assert second.sections[ROWS].files == first.sections[ROWS].files
    assert second.digest == first.digest
    for name in first.named():
        assert other.read(name) == host.place.read(name)


def test_the_next_image_shares_what_did_not_change(host: Host) -> None:
    grow(host.driver, [commit] * 60)
    first = host.back_up()
    grow(host.driver, [commit])
    followed_at(host.log, host.root)
    backed_up(host.log, host.folder / "backup")
    taken = imaged(host.place, host.root)
    assert taken.shared > 2 * taken.written > 0
    assert taken.image is not None
    assert len(first.named() & taken.image.named()) == taken.shared
    again = imaged(host.place, host.root)
    assert (again.image, again.written) == (taken.image, 0)


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_the_newest_images_are_kept(host: Host, kept: int) -> None:
    images = []
    for _ in range(5):
        grow(host.driver, [commit])
        followed_at(host.log, host.root)
        backed_up(host.log, host.folder / "backup")
        taken = imaged(host.place, host.root, kept=kept)
        images.append(taken.image)
    newest = [each for each in images[-kept:] if each is not None]
    assert image_names(host.place) == [each.file for each in reversed(newest)]
    named = {each.file for each in newest}.union(*(each.named() for each in newest))
    assert {name for name in host.names() if not name.startswith(("events-", "backup"))} == named


def test_rows_behind_the_newest_image_are_not_taken(host: Host, tmp_path: Path) -> None:
    followed_at(host.log, tmp_path / "late")
    grow(host.driver, [commit])
    image = host.back_up()
    taken = imaged(host.place, tmp_path / "late")
    assert (taken.image, taken.written) == (image, 0)


def test_rows_beyond_the_events_wait_for_them(host: Host) -> None:
    host.back_up()
    grow(host.driver, [commit])
    followed_at(host.log, host.root)
    with pytest.raises(ImageForeignError, match="Take its events first"):
        imaged(host.place, host.root)
    assert host.image().position < host.driver.head.position


def test_rows_of_another_ledger_are_refused(host: Host, tmp_path: Path) -> None:
    host.back_up()
    other = Host(tmp_path / "other", ledger="ledger-2")
    grow(other.driver, [commit] * 8)
    followed_at(other.log, other.root)
    before = host.names()
    with pytest.raises(ImageForeignError, match="another ledger"):
        imaged(host.place, other.root)
    assert host.names() == before


def test_rows_of_another_history_are_refused(host: Host, tmp_path: Path) -> None:
    """The log lost its end after the backup, and others wrote on: the chain differs."""
    backed_up(host.log, tmp_path / "backup")
    other = Driver(ledger="ledger-1")
    grow(other, [Driver.fence, *[commit] * 3])
    followed_at(other.log, tmp_path / "rows")
    with pytest.raises(ImageForeignError, match="with chain"):
        imaged(host.place, tmp_path / "rows")
    assert newest_image(host.place) is None


def test_rows_of_another_topic_are_refused(host: Host) -> None:
    host.back_up()
    with RocksStore.open(host.root) as rows:
        stored = rows.get(b"!log")
        assert stored is not None
        rows.write([(b"!log", stored.replace(b"events-0", b"events-7"))])
    with pytest.raises(ImageForeignError, match="events-7"):
        imaged(host.place, host.root)


def test_rows_without_a_checkpoint_are_not_taken(host: Host) -> None:
    with RocksStore.open(host.root):
        pass
    with stored_section(host.root, ROWS) as found:
        assert found is None


def test_without_a_backup_there_is_no_image(host: Host) -> None:
    followed_at(host.log, host.root)
    with pytest.raises(BackupError, match="there is no backup"):
        imaged(host.place, host.root)


def test_a_stop_leaves_the_former_image(host: Host) -> None:
    former = host.back_up()
    grow(host.driver, [commit])
    followed_at(host.log, host.root)
    backed_up(host.log, host.folder / "backup")
    stopped = Signal()
    stopped.set()
    taken = imaged(host.place, host.root, stop=stopped)
    assert (taken.image, taken.is_whole) == (former, False)
    assert host.image() == former


def test_an_unreadable_manifest_keeps_all_files_of_rows(host: Host) -> None:
    first = host.back_up()
    later = first.file.replace("-0", "-9", 1)
    for text in ("no manifest", json.dumps({"format": 99})):
        (host.folder / "backup" / later).write_text(text)
        left = first.named()
        for _ in range(3):
            grow(host.driver, [commit])
            host.back_up_on()
        assert left <= host.names()
    (host.folder / "backup" / later).unlink()
    imaged(host.place, host.root)
    newest = [read_image(host.place, name) for name in image_names(host.place)]
    rows = {name for name in host.names() if name.startswith("rows-")}
    assert rows == set[str]().union(*(each.named() for each in newest))


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.binary(max_size=9)), max_size=90))
def test_cut_rows_are_all_rows(rows: list[tuple[bytes, bytes]]) -> None:
    ordered = sorted(dict(rows).items())
    pages = list(cut_rows(ordered, CutRule(1, 5, 20)))
    assert [row for page in pages for row in page] == ordered
    assert all(pages)


@pytest.mark.parametrize("kill", range(0, STEPS_MAX, 3))
def test_a_kill_at_any_step_leaves_the_former_image_whole(kill: int) -> None:
    with folder() as path:
        host = Host(path)
        grow(host.driver, [commit] * 4)
        host.back_up()
        grow(host.driver, [commit] * 2)
        former = host.back_up()
        grow(host.driver, [commit] * 4)
        followed_at(host.log, host.root)
        backed_up(host.log, path / "backup")
        place = CrashingPlace(path / "backup", kill)
        with stored_section(host.root, ROWS) as stored:
            assert stored is not None
            try:
                take_image(place, [stored], stop=NEVER, rule=SMALL)
            except Crash:
                assert host.image().position in {former.position, host.driver.head.position}
        verified(host.place, host.image())
        taken = imaged(host.place, host.root).image
        assert taken is not None
        verified(host.place, taken)
        assert image_names(host.place) == [taken.file, former.file]
        named = {taken.file, former.file} | taken.named() | former.named()
        assert {name for name in host.names() if name[0] in "ir."} == named
