"""The room of a ledger's disks, its last backup and its oldest open txn, as they are told."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from ledger.cli.answers import Output
from ledger.cli.log.backup import note_backup
from ledger.cli.machine.status import seen_in_rows, seen_on_host
from ledger.config.address import Address
from ledger.machine.room import HostPlaces
from ledger.reads.amounts import age_text
from projections.fold.log_reads import open_reads
from tests.web.served import samples
from tests.web.test_health import followed, played

DAY_S = 86_400


def address(folder: Path) -> Address:
    return Address("127.0.0.1:9", "lake", folder / "store")


def test_each_place_of_a_ledger_has_its_room_also_before_its_folder_exists(tmp_path: Path) -> None:
    (tmp_path / "broker").mkdir()
    places = HostPlaces(tmp_path / "store", f"file://{tmp_path}/lake/tables")
    found = {disk.what: disk for disk in places.disks()}

    assert list(found) == ["rows", "broker", "warehouse"]
    assert found["warehouse"].path == f"{tmp_path}/lake/tables"
    assert all(0 < disk.free <= disk.size for disk in found.values())


def test_a_warehouse_in_a_cloud_has_no_room_of_this_host() -> None:
    assert HostPlaces(None, "s3://bucket/lake").disks() == []


def test_status_tells_the_last_backup_that_was_taken_on_its_host(tmp_path: Path) -> None:
    here = address(tmp_path)
    before = seen_on_host(here, Output.TABLE)["last_backup"]
    note_backup(here, "/backups/lake", 107)
    note_backup(here, "/backups/lake", 108)
    told = seen_on_host(here, Output.JSON)["last_backup"]

    assert before == "none was taken on this host: lakeledger backup PATH"
    assert (told["path"], told["position"], told["age_s"]) == ("/backups/lake", 108, 0)
    assert seen_on_host(here, Output.TABLE)["last_backup"].endswith(
        "/backups/lake, up to position 108"
    )


def test_a_damaged_note_of_a_backup_tells_of_none(tmp_path: Path) -> None:
    (tmp_path / "store.backup.json").write_text('{"path": 1', encoding="utf-8")

    assert HostPlaces(tmp_path / "store").last_backup() is None


def test_status_tells_the_oldest_open_txn_with_its_age_session_and_user() -> None:
    with closing(open_reads(played().log)) as reads:
        told = seen_in_rows(reads, None, Output.JSON)["oldest_txn"]
        words = seen_in_rows(reads, None, Output.TABLE)["oldest_txn"]

    assert (told["txn"], told["owner"].partition("@")[0], told["age_s"] > 0) == (4, "ada", True)
    assert re.fullmatch(rf"txn 4 of {told['owner']}, session {told['session']}, open for .+", words)


def test_metrics_tell_the_room_the_backup_and_the_oldest_open_txn(tmp_path: Path) -> None:
    places = HostPlaces(tmp_path / "store")
    places.note_backup("/backups/lake", 3)
    with followed(played(), places) as served:
        found = samples(served)

    assert 0 < found["lakeledger_disk_free_bytes rows"] <= found["lakeledger_disk_bytes rows"]
    assert 0 <= found["lakeledger_backup_age_seconds"] < DAY_S
    assert found["lakeledger_oldest_open_txn_seconds"] > 0


def test_without_a_backup_its_age_is_absent_for_the_alert() -> None:
    with followed(played()) as served:
        assert "lakeledger_backup_age_seconds" not in samples(served)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (50 * 3600, "2 days")],
)
def test_an_age_is_told_in_a_unit_that_fits(seconds: float, said: str) -> None:
    assert age_text(seconds) == said
