"""Sealed rows: their form, and the folder of keys that opens them."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ledger.errors import RowsErasedError, RowsKeyError, SettingsError
from ledger.keys.folder import KeyFolder, KeyName
from ledger.keys.sealed_rows import ROOM, SealedRows, head_in, opened, sealed
from tests.command_line import ROOT

NOW = 1_780_000_000_000
MONTH = "2026-05"


@pytest.fixture
def keys(tmp_path: Path) -> KeyFolder:
    return KeyFolder(tmp_path / "keys", "ledger")


def test_a_block_is_opened_with_its_key_table_and_path(keys: KeyFolder) -> None:
    block = sealed(keys, 7, "rows:a", b"the rows", NOW)
    assert block[:4] == b"LLE1"
    assert len(block) == len(b"the rows") + ROOM
    assert b"rows" not in bytes(block)
    assert head_in("rows:a", block).name == KeyName(7, MONTH, 1)
    assert opened("rows:a", block) == b"the rows"
    assert opened("rows:a", b"\xff\xff\xff\xff in clear") == b"\xff\xff\xff\xff in clear"


def test_two_blocks_of_the_same_rows_differ(keys: KeyFolder) -> None:
    assert sealed(keys, 7, "rows:a", b"x", NOW) != sealed(keys, 7, "rows:a", b"x", NOW)


@pytest.mark.parametrize(
    ("path", "table", "why"), [("rows:b", 7, "another path"), ("rows:a", 8, "of table 7, not of 8")]
)
def test_a_block_cannot_be_moved(keys: KeyFolder, path: str, table: int, why: str) -> None:
    block = SealedRows(bytes(sealed(keys, 7, "rows:a", b"the rows", NOW)), keys, table)
    with pytest.raises(RowsKeyError, match=why):
        opened(path, block)


@pytest.mark.parametrize("at", [5, 13, 20, 30, 40, 60], ids=str)
def test_no_byte_of_a_block_can_be_changed(keys: KeyFolder, at: int) -> None:
    block = bytearray(sealed(keys, 7, "rows:a", b"the rows", NOW))
    block[at] ^= 1
    with pytest.raises(RowsKeyError):
        opened("rows:a", SealedRows(bytes(block), keys, 7))


def test_a_block_that_is_cut_short_is_named(keys: KeyFolder) -> None:
    with pytest.raises(RowsKeyError, match="cut short"):
        opened("rows:a", SealedRows(b"LLE1", keys, 7))


def test_without_a_folder_of_keys_the_error_names_table_and_month(keys: KeyFolder) -> None:
    block = bytes(sealed(keys, 7, "rows:a", b"the rows", NOW))
    with pytest.raises(RowsKeyError, match=r"table 7 .* key 2026-05-1, and no folder") as error:
        opened("rows:a", block)
    assert (error.value.table, error.value.month) == (7, MONTH)


def test_a_folder_with_another_key_or_none_is_named(keys: KeyFolder, tmp_path: Path) -> None:
    block = sealed(keys, 7, "rows:a", b"the rows", NOW)
    other = KeyFolder(tmp_path / "other", "ledger")
    with pytest.raises(RowsKeyError, match="which is not in"):
        opened("rows:a", SealedRows(bytes(block), other, 7))
    other.newest(7, MONTH)
    with pytest.raises(RowsKeyError, match="which is another one in"):
        opened("rows:a", SealedRows(bytes(block), other, 7))


def test_writers_that_race_get_one_key(keys: KeyFolder) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: keys.newest(7, MONTH), range(32)))
    assert len(found) == 1
    assert list(keys.names(7).values()) == ["key"]


def test_keys_are_for_their_owner_only(keys: KeyFolder) -> None:
    keys.newest(7, MONTH)
    files = [*keys.path.rglob("*")]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_file()} == {0o600}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files if file.is_dir()} == {0o700}


def test_a_retired_key_opens_and_the_next_one_seals(keys: KeyFolder) -> None:
    block = sealed(keys, 7, "rows:a", b"the rows", NOW)
    keys.retire(KeyName(7, MONTH, 1))
    assert opened("rows:a", block) == b"the rows"
    assert head_in("b", sealed(keys, 7, "rows:b", b"", NOW)).name == KeyName(7, MONTH, 2)


def test_a_dropped_key_is_erased_and_never_made_again(keys: KeyFolder) -> None:
    block = sealed(keys, 7, "rows:a", b"the rows", NOW)
    name, key = keys.newest(7, MONTH)
    keys.drop(name)
    with pytest.raises(RowsErasedError, match="key 2026-05-1 was dropped"):
        opened("rows:a", block)
    assert keys.newest(7, MONTH)[0].number == 2
    assert not any(key in file.read_bytes() for file in keys.path.rglob("*") if file.is_file())


def killed_drop(keys: KeyFolder, name: KeyName) -> Path:
    """Leave what a drop leaves that is killed behind its tombstone; return the folder."""
    folder = keys.path / "ledger" / str(name.table)
    (folder / f"{name.text}.dropped").touch()
    return folder


@pytest.mark.parametrize("status", ["key", "retired"])
def test_a_tombstone_erases_from_its_first_moment(keys: KeyFolder, status: str) -> None:
    block = sealed(keys, 7, "rows:a", b"the rows", NOW)
    name = keys.newest(7, MONTH)[0]
    if status == "retired":
        keys.retire(name)
    killed_drop(keys, name)
    with pytest.raises(RowsErasedError):
        opened("rows:a", block)
    assert keys.newest(7, MONTH)[0].number == 2


@pytest.mark.parametrize("change", ["drop", "retire", "make"])
def test_a_drop_that_was_killed_is_ended_by_the_next_change(keys: KeyFolder, change: str) -> None:
    name = keys.newest(7, MONTH)[0]
    folder = killed_drop(keys, name)
    assert keys.names(7) == {name: "retired"}
    if change == "drop":
        keys.drop(name)
    elif change == "retire":
        keys.retire(name)
    else:
        keys.newest(7, "2026-06")
    assert keys.names(7)[name] == "dropped"
    left = {file.name for file in folder.iterdir() if file.name.startswith(name.text)}
    assert left == {"2026-05-1.dropped"}


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("no folder")
    with pytest.raises(SettingsError, match="LAKELEDGER_KEYS"):
        KeyFolder(tmp_path / "keys", "ledger").newest(7, MONTH)


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "cryptography.py").write_text("raise ModuleNotFoundError(name='cryptography')")
    program = (
        "from pathlib import Path\n"
        "from ledger.keys.folder import KeyFolder\n"
        "from ledger.keys.sealed_rows import sealed\n"
        f"sealed(KeyFolder(Path({str(tmp_path)!r}), 'l'), 1, 'rows:a', b'x', 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "SettingsError" in done.stderr
    assert "pip install 'lakeledger[secure]'" in done.stderr
