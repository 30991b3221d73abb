"""Where a client finds a ledger: as told, else as the environment says, else what is up here."""

import json
import os
import stat
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.config.address import LOCK, Address, home_folder
from ledger.config.search import find_address
from ledger.errors import SettingsError
from ledger.machine.folder import alone_in


def up(home: Path, ledger: str, bootstrap: str = "127.0.0.1:9092") -> Address:
    folder = home / ledger
    folder.mkdir(parents=True)
    address = Address(bootstrap, ledger, folder / "store")
    address.write(folder)
    return address


def test_an_address_is_read_as_it_was_written_with_a_store_or_without(tmp_path: Path) -> None:
    first = Address("127.0.0.1:9092", "lake", tmp_path / "store")
    second = Address("127.0.0.1:9093", "lake")
    third = Address("127.0.0.1:9093", "lake", None, "http://127.0.0.1:8181")

    read = [written_and_read(tmp_path, each) for each in (first, second, third)]

    assert read == [first, second, third]
    assert [path.name for path in tmp_path.iterdir()] == ["address.json"]


def written_and_read(folder: Path, address: Address) -> Address | None:
    address.write(folder)
    return Address.read(folder)


def test_a_ledger_that_is_down_has_no_address(tmp_path: Path) -> None:
    up(tmp_path, "lake")
    Address.remove(tmp_path / "lake")
    Address.remove(tmp_path / "lake")

    assert Address.read(tmp_path / "lake") is None


@pytest.mark.parametrize("name", [5, 0, b"lake", ["lake"]])
@pytest.mark.parametrize("bootstrap", [None, "127.0.0.1:9092"])
def test_odd_name(bootstrap: str | None, name: Any) -> None:
    """A name that is no text is told as such: it would be looked for, and not be found."""
    with pytest.raises(TypeError, match="the name of a ledger must be a text, such as 'lake', got"):
        Ledger.connect(bootstrap, name)


def test_only_its_owner_may_read_an_address(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Address("127.0.0.1:9092", "lake").write(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "address.json").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"bootstrap": 5, "ledger": []}, "bootstrap must be a text, got 5"),
        ({"bootstrap": "h:1", "ledger": []}, r"ledger must be a text, got \[\]"),
        ({"bootstrap": "h:1", "ledger": None}, "ledger must be a text, got null"),
        ({"bootstrap": "h:1", "ledger": "lake", "store": 7}, "store must be a text or null, got 7"),
        ({"bootstrap": "h:1", "ledger": "lake", "reads_url": {"a": 1}}, "reads_url must be a text"),
        ({"bootstrap": "h:x", "ledger": "lake"}, "bootstrap must be host:port, .* got 'h:x'"),
        ({"bootstrap": "h:1", "ledger": ["x" * 10_000]}, r"got .{80}\)"),
        ([1], "it must be an object, got a list"),
    ],
)
def test_a_field_of_another_type_is_named(tmp_path: Path, fields: object, said: str) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "address.json").write_text(json.dumps(fields))
    with pytest.raises(
        SettingsError, match=rf"address\.json is not the address of a ledger .*{said}"
    ):
        find_address(environ={"LAKELEDGER_HOME": str(tmp_path)})


def test_bytes_that_are_no_text_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "address.json").write_bytes(b"\x80\x1b[31m" * 1000)
    with pytest.raises(SettingsError) as told:
        Address.read(tmp_path)
    assert len(str(told.value)) < 500
    assert "\x1b" not in str(told.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bootstrap": "127.0.0.1:1"}'])
def test_a_file_that_does_not_say_where_a_ledger_is_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "address.json").write_text(text)

    with pytest.raises(SettingsError, match=r"address\.json .* remove it"):
        Address.read(tmp_path)


@pytest.mark.parametrize(
    ("bootstrap", "ledger", "is_in_the_way"),
    [
        (None, None, True),
        (None, "sea", True),
        (None, "lake", False),
        ("127.0.0.1:9092", None, False),
        ("127.0.0.1:9092", "sea", False),
    ],
)
def test_a_damaged_address_stands_only_in_the_way_of_who_may_have_meant_it(
    tmp_path: Path, bootstrap: str | None, ledger: str | None, *, is_in_the_way: bool
) -> None:
    up(tmp_path, "lake")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/address.json").write_text("{")
    damaged = pytest.raises(SettingsError, match=r"torn/address\.json")

    with damaged if is_in_the_way else nullcontext():
        find_address(bootstrap, ledger, {"LAKELEDGER_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"LAKELEDGER_HOME": "/data/ledgers"}, Path("/data/ledgers")),
        ({"XDG_DATA_HOME": "/data"}, Path("/data/lakeledger")),
        ({}, Path("~/.local/share/lakeledger").expanduser()),
    ],
)
def test_the_home_of_ledgers_is_chosen_or_the_users(environ: dict[str, str], folder: Path) -> None:
    assert home_folder(environ) == folder


def test_who_says_nothing_gets_the_only_ledger_that_is_up_on_this_machine(tmp_path: Path) -> None:
    address = up(tmp_path, "lake")

    assert find_address(environ={"LAKELEDGER_HOME": str(tmp_path)}) == address


@pytest.mark.parametrize(("ledger", "environ"), [("sea", {}), (None, {"LAKELEDGER_LEDGER": "sea"})])
def test_one_of_several(tmp_path: Path, ledger: str | None, environ: dict[str, str]) -> None:
    """Of several ledgers one is found by its name, given or from the environment."""
    up(tmp_path, "lake")
    sea = up(tmp_path, "sea")

    assert find_address(None, ledger, {"LAKELEDGER_HOME": str(tmp_path), **environ}) == sea


def test_with_several_ledgers_up_and_none_named_all_are_named(tmp_path: Path) -> None:
    up(tmp_path, "lake")
    up(tmp_path, "sea")

    with pytest.raises(SettingsError, match=r"lake, sea\. Choose one with ledger="):
        find_address(environ={"LAKELEDGER_HOME": str(tmp_path)})


@pytest.mark.parametrize("ledger", [None, "sea"])
def test_with_no_ledger_up_one_is_told_how_to_start_it(tmp_path: Path, ledger: str | None) -> None:
    with pytest.raises(SettingsError, match=r"lakeledger up.*LAKELEDGER_BOOTSTRAP") as raised:
        find_address(ledger=ledger, environ={"LAKELEDGER_HOME": str(tmp_path)})

    assert (f"ledger {ledger}" in str(raised.value)) == (ledger is not None)


def test_who_names_one_that_is_not_up_is_told_which_ones_are(tmp_path: Path) -> None:
    up(tmp_path, "lake")
    up(tmp_path, "sea")

    with pytest.raises(SettingsError, match=r"no ledger see is up .* one that is: lake, sea\."):
        find_address(ledger="see", environ={"LAKELEDGER_HOME": str(tmp_path)})


@pytest.mark.parametrize("ledger", [None, "lake"])
def test_a_ledger_that_was_killed_is_not_taken_for_up(tmp_path: Path, ledger: str | None) -> None:
    up(tmp_path, "lake")
    (tmp_path / "lake" / LOCK).touch()

    with pytest.raises(SettingsError, match=r"ledger lake is not up any more.*Start it again"):
        find_address(ledger=ledger, environ={"LAKELEDGER_HOME": str(tmp_path)})


def test_a_killed_ledger_is_not_in_the_way_of_one_that_is_up(tmp_path: Path) -> None:
    lake = up(tmp_path, "lake")
    up(tmp_path, "sea")
    (tmp_path / "sea" / LOCK).touch()
    with alone_in(tmp_path / "lake"):
        assert find_address(environ={"LAKELEDGER_HOME": str(tmp_path)}) == lake


@pytest.mark.parametrize(
    ("bootstrap", "environ", "found"),
    [
        ("kafka:9092", {}, Address("kafka:9092", "lake")),
        (None, {"LAKELEDGER_BOOTSTRAP": "kafka:9092"}, Address("kafka:9092", "lake")),
        ("kafka:1", {"LAKELEDGER_BOOTSTRAP": "kafka:9092"}, Address("kafka:1", "lake")),
        (
            "kafka:9092",
            {"LAKELEDGER_LEDGER": "sea", "LAKELEDGER_STORE": "/rows"},
            Address("kafka:9092", "sea", Path("/rows")),
        ),
        (
            "kafka:1",
            {"LAKELEDGER_READS_URL": "http://host:8181", "LAKELEDGER_STORE": "/rows"},
            Address("kafka:1", "lake", None, "http://host:8181"),
        ),
    ],
)
def test_a_broker_that_is_named_is_the_one_used_whatever_is_up_here(
    tmp_path: Path, bootstrap: str | None, environ: dict[str, str], found: Address
) -> None:
    up(tmp_path, "lake", "127.0.0.1:9092")

    assert find_address(bootstrap, environ={"LAKELEDGER_HOME": str(tmp_path), **environ}) == found


def test_a_broker_of_this_machine_that_is_named_has_its_store_with_it(tmp_path: Path) -> None:
    address = up(tmp_path, "lake")

    found = find_address(address.bootstrap, environ={"LAKELEDGER_HOME": str(tmp_path)})

    assert found == address
