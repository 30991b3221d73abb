"""The row store on disk keeps the contract, and its files outlive what can happen to them."""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from projections.errors import (
    StoreClosedError,
    StoreDamagedError,
    StoreLockedError,
    StoreMissingError,
    StoreUnavailableError,
    StoreVersionError,
)
from projections.store.generations import Generations
from projections.store.port import KEYS_END, RowChange, RowReader
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.projections.contract import MANY_KEYS, StoreContract, put
from tests.projections.digests import digest
from tests.projections.writing import History, batch, number_of, writing_process

Tear = Callable[[bytes], bytes]

A_BATCH: list[RowChange] = [(b"a", b"1"), (b"b", b"2")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[RocksStore]:
    with RocksStore.open(root) as store:
        yield store


@pytest.fixture
def reader(store: RocksStore, root: Path) -> Iterator[RocksReader]:
    """Return a reader that lags behind the store until it is refreshed."""
    assert store.get(b"a") is None
    with RocksReader.open(root) as reader:
        yield reader


class TestRocksStore(StoreContract):
    """The contract, on disk."""


def all_rows(rows: RowReader) -> list[tuple[bytes, bytes]]:
    return list(rows.scan(b"", KEYS_END))


def tables(root: Path) -> list[Path]:
    return list(Generations(root).disk_state().generation.glob("*.sst"))


def test_rows_are_there_after_closing_and_opening_again(root: Path) -> None:
    with RocksStore.open(root) as store:
        store.write(A_BATCH)
        written = digest(store)
    with RocksStore.open(root) as store:
        assert digest(store) == written


def test_a_second_writer_is_refused(store: RocksStore, root: Path) -> None:
    assert store.get(b"a") is None
    with pytest.raises(StoreLockedError, match=f"written by process {os.getpid()} on "):
        RocksStore.open(root)
    with pytest.raises(StoreLockedError, match="one writer"):
        RocksStore.rebuild(root)


def test_open_scan_does_not_keep_the_lock(root: Path) -> None:
    with RocksStore.open(root) as store:
        store.write(put(MANY_KEYS))
        scan = store.scan(b"m", b"n")
        assert len(list(islice(scan, 3))) == 3
    with RocksStore.open(root) as store:
        assert store.get(MANY_KEYS[0]) == MANY_KEYS[0]
    with pytest.raises(StoreClosedError, match="under this scan"):
        list(scan)


@pytest.mark.parametrize("opened", [RocksStore.open, RocksReader.open])
def test_rows_of_another_format_are_not_read(root: Path, opened: Callable[..., RowReader]) -> None:
    RocksStore.open(root, version=6).close()
    with pytest.raises(StoreVersionError) as caught:
        opened(root, version=7)
    assert (caught.value.found, caught.value.wanted) == (6, 7)


def test_failed_open_gives_up_the_lock(root: Path) -> None:
    RocksStore.open(root, version=6).close()
    with pytest.raises(StoreVersionError):
        RocksStore.open(root, version=7)
    with RocksStore.rebuild(root, version=7) as store:
        store.publish()
    RocksStore.open(root, version=7).close()


def test_readers_keep_the_old_rows_until_the_new_store_is_published(root: Path) -> None:
    with RocksStore.open(root) as store:
        store.write(A_BATCH)
    with RocksReader.open(root) as reader, RocksStore.rebuild(root) as store:
        store.write([(b"c", b"3")])
        reader.refresh()
        assert reader.get(b"a") == b"1"

        store.publish()
        reader.refresh()
        assert all_rows(reader) == all_rows(store)
        assert len(list(root.glob("*-*"))) == 1


def test_an_abandoned_rebuild_leaves_nothing_of_its_own(root: Path) -> None:
    with RocksStore.open(root) as store:
        store.write(A_BATCH)
    with RocksStore.rebuild(root) as store:
        store.write([(b"c", b"3")])
    with RocksStore.open(root) as store:
        assert (store.get(b"a"), store.get(b"c")) == (b"1", None)
        assert len(list(root.glob("*-*"))) == 1


def test_a_reader_whose_store_was_rebuilt_in_another_format_says_so_and_ends(root: Path) -> None:
    RocksStore.open(root, version=6).close()
    with RocksReader.open(root, version=6) as reader, RocksStore.rebuild(root, version=7) as store:
        store.publish()
        with pytest.raises(StoreVersionError):
            reader.refresh()
        with pytest.raises(StoreClosedError):
            reader.get(b"a")


def test_a_checkpoint_is_a_store_of_its_moment(store: RocksStore, tmp_path: Path) -> None:
    store.write(A_BATCH)
    taken = digest(store)
    store.checkpoint(tmp_path / "copy")
    store.write([(b"a", None)])
    with RocksStore.open(tmp_path / "copy") as copy:
        assert digest(copy) == taken != digest(store)


def test_a_later_checkpoint_replaces_the_earlier_one(store: RocksStore, tmp_path: Path) -> None:
    store.checkpoint(tmp_path / "copy")
    store.write(A_BATCH)
    store.checkpoint(tmp_path / "copy")
    with RocksReader.open(tmp_path / "copy") as copy:
        assert digest(copy) == digest(store)


def damage_block(root: Path) -> None:
    path = tables(root)[0]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("opened", [RocksStore.open, RocksReader.open])
@pytest.mark.parametrize(
    "read",
    [
        lambda rows: list(rows.scan(b"m", b"n")),
        lambda rows: list(rows.scan(b"m", b"n", reverse=True)),
        lambda rows: [rows.get(key) for key in MANY_KEYS],
    ],
)
def test_a_damaged_block_is_an_error_where_it_is_read(
    root: Path, opened: Callable[[Path], RowReader], read: Callable[[RowReader], object]
) -> None:
    with RocksStore.open(root) as store:
        store.write([(key, os.urandom(100)) for key in MANY_KEYS])
    damage_block(root)
    with opened(root) as rows, pytest.raises(StoreDamagedError, match="checksum"):
        read(rows)


@pytest.mark.parametrize("opened", [RocksStore.open, RocksReader.open])
@pytest.mark.parametrize(
    "damage",
    [
        lambda root: tables(root)[0].unlink(),
        lambda root: (tables(root)[0].parent / "CURRENT").unlink(),
        lambda root: next(root.glob("*/MANIFEST-*")).unlink(),
        lambda root: shutil.rmtree(tables(root)[0].parent),
        lambda root: (root / "PUBLISHED").write_bytes(b"\xff"),
        lambda root: (tables(root)[0].parent / "CURRENT").write_bytes(b"\xff"),
        lambda root: (tables(root)[0].parent / "CURRENT").write_bytes(bytes(16)),
    ],
)
def test_a_published_store_whose_files_are_lost_is_damaged_not_empty(
    root: Path, opened: Callable[[Path], RowReader], damage: Callable[[Path], None]
) -> None:
    with RocksStore.open(root) as store:
        store.write(A_BATCH)
    damage(root)
    with pytest.raises(StoreDamagedError, match="rebuild"):
        opened(root)
    with RocksStore.rebuild(root) as store:
        store.publish()
    with opened(root) as rows:
        assert rows.get(b"a") is None


@pytest.mark.parametrize("part", ["", "PUBLISHED"])
def test_a_reader_of_nothing_says_what_creates_a_store(root: Path, part: str) -> None:
    with pytest.raises(StoreMissingError, match="Start the process that writes it"):
        RocksReader.open(root / part)
    assert not root.exists()


def test_root_is_no_directory(root: Path) -> None:
    root.write_text("a file")
    with pytest.raises(StoreUnavailableError, match="Not a directory"):
        RocksStore.open(root / "store")


@pytest.mark.parametrize("file", ["PUBLISHED", "CURRENT"])
def test_an_unreadable_file_is_named_in_the_words_of_the_system(root: Path, file: str) -> None:
    RocksStore.open(root).close()
    (path,) = root.rglob(file)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreUnavailableError, match=f"Is a directory: .*{file}'"):
        RocksReader.open(root)


@pytest.mark.parametrize("file", ["WRITER", "PUBLISHED.draft"])
def test_a_full_disk_is_named_and_locks_nothing(root: Path, file: str) -> None:
    RocksStore.open(root).close()
    (root / file).unlink(missing_ok=True)
    (root / file).symlink_to("/dev/full")
    with pytest.raises(StoreUnavailableError), RocksStore.rebuild(root) as store:
        store.publish()
    (root / file).unlink(missing_ok=True)
    RocksStore.open(root).close()


def test_generation_is_a_file(root: Path) -> None:
    root.mkdir()
    (root / "PUBLISHED").write_text("PUBLISHED")
    with pytest.raises(StoreDamagedError, match="PUBLISHED/CURRENT is missing"):
        RocksReader.open(root)


def test_a_reader_whose_store_was_removed_says_so(root: Path) -> None:
    RocksStore.open(root).close()
    with RocksReader.open(root) as reader:
        shutil.rmtree(root)
        for _ in range(2):
            with pytest.raises(StoreMissingError):
                reader.refresh()
            with pytest.raises(StoreClosedError):
                reader.get(b"a")
        with RocksStore.open(root) as store:
            store.write(A_BATCH)
        reader.refresh()
        assert reader.get(b"a") == b"1"


def test_a_reader_notices_that_its_store_was_replaced(root: Path) -> None:
    with RocksStore.open(root) as store:
        store.write([(b"a", b"1")])
    with RocksReader.open(root) as reader:
        shutil.rmtree(root)
        with RocksStore.open(root) as store:
            store.write([(b"a", b"2")])
        reader.refresh()
        assert reader.get(b"a") == b"2"


def test_reader_leaves_nothing_behind(store: RocksStore, root: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with RocksReader.open(root, scratch=scratch) as reader:
        assert len(list(scratch.iterdir())) == 1
        store.write(A_BATCH)
        reader.refresh()
    assert list(scratch.iterdir()) == []


def test_after_a_kill_the_store_holds_whole_batches(root: Path) -> None:
    history = History()
    assert [killed_after(root, count, history) for count in (3, 60, 120)] == ["whole"] * 3


@pytest.mark.parametrize(
    "tear",
    [
        lambda log: log[:-1],
        lambda log: log[: len(log) // 2],
        lambda log: log[: len(log) // 2] + bytes(len(log) // 2),
        lambda log: log[: len(log) // 2] + b"?" + log[len(log) // 2 + 1 :],
    ],
)
def test_torn_log(store: RocksStore, root: Path, tmp_path: Path, tear: Tear) -> None:
    """Whatever a power cut does to the end of a write-ahead log, whole batches are left."""
    for number in range(1, 51):
        store.write(batch(number))
    image = tmp_path / "image"
    shutil.copytree(root, image)
    (log,) = image.glob("*/*.log")
    log.write_bytes(tear(log.read_bytes()))

    with RocksStore.open(image) as left:
        assert 0 < number_of(left) < 50
        assert all_rows(left) == History().rows_after(number_of(left))


def killed_after(root: Path, count: int, history: History) -> str:
    """Kill a writing process once it reported `count` batches, and judge what it left."""
    with writing_process(root, last=10**6) as process:
        assert process.stdout
        *_, reported = map(int, islice(process.stdout, count))
        process.kill()
    with RocksStore.open(root) as store:
        number = number_of(store)
        is_whole = all_rows(store) == history.rows_after(number)
    return "whole" if is_whole and number >= reported else f"torn at {number}, reported {reported}"
