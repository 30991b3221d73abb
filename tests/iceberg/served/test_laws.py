"""Served tables are a function of the events, in each server and in any order."""

from collections import Counter
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from ledger.iceberg.manifests import (
    ADDED,
    DELETED,
    ManifestEntry,
    inherited,
    read_manifest,
    read_manifest_list,
)
from ledger.reads.port import Reads
from ledger.testing import InMemoryLedger
from projections.iceberg.served.paths import place_key
from projections.iceberg.served.table import ServedTable
from projections.iceberg.served.tables import ServedTables
from tests.iceberg.served.histories import RandomTable

STEPS = 90
MANY = 180
"""More steps than a first load looks back on."""


def stored(folder: Path) -> dict[str, bytes]:
    """Return the files of metadata by name."""
    return {each.name: each.read_bytes() for each in (folder / "metadata").iterdir()}


def serving(memory: InMemoryLedger) -> ServedTables:
    """Return new served tables, which know nothing yet."""
    return ServedTables(lambda: memory.reads, memory.reads.identity().ledger)


@pytest.mark.parametrize("form", ["2", "3"])
@pytest.mark.parametrize("seed", range(3))
def test_all_servers_write_the_same_bytes(seed: int, form: str, tmp_path: Path) -> None:
    """A server that saw each version, and a new one, name the same files and write them alike."""
    folder = tmp_path / "t"
    with InMemoryLedger() as memory:
        table = RandomTable(memory.connect(), folder, seed, form=form)
        tables = serving(memory)
        for step in range(MANY):
            table.play()
            if table.random.random() < 0.5 or step == MANY - 1:
                kept = tables.table(table.row)
                before = kept.metadata()
                location = kept.metadata_location
        known = stored(folder)
        rmtree(folder / "metadata")
        fresh = serving(memory).table(table.row)

        assert before == fresh.metadata()
        assert location == fresh.metadata_location
        assert kept.etag() == fresh.etag()
        assert len(before["snapshots"]) == 64
        assert table.row.version > 64 + 16
        again = stored(folder)
        assert again == {name: known[name] for name in again}


@pytest.mark.parametrize("seed", range(3))
def test_a_position_shows_what_it_showed(seed: int, tmp_path: Path) -> None:
    """A table as of a position is as it was loaded then, by any server in any order."""
    with InMemoryLedger() as memory:
        table = RandomTable(memory.connect(), tmp_path / "t", seed, form="2")
        tables, then = serving(memory), {}
        for _ in range(STEPS // 2):
            table.play()
            served = tables.table(table.row)
            then[served.position] = served.etag(), served.metadata()
        fresh = serving(memory)
        positions = table.random.sample(sorted(then), 12)
        found = {each: fresh.table(table.row, each) for each in positions}

        assert {each: then[each] for each in positions} == {
            each: (served.etag(), served.metadata()) for each, served in found.items()
        }


@pytest.mark.parametrize("form", ["2", "3"])
@pytest.mark.parametrize("seed", range(3))
def test_snapshots_list_what_their_versions_changed(seed: int, form: str, tmp_path: Path) -> None:
    """The entries that a snapshot adds and deletes are the changes of its version, and all live."""
    with InMemoryLedger() as memory:
        table = RandomTable(memory.connect(), tmp_path / "t", seed, form=form)
        for _ in range(STEPS):
            table.play()
        served = serving(memory).table(table.row)
        for snapshot in served.metadata()["snapshots"]:
            check_snapshot(memory.reads, served, snapshot)


def check_snapshot(reads: Reads, served: ServedTable, snapshot: dict[str, Any]) -> None:
    """Compare one snapshot with its version."""
    version = int(snapshot["summary"]["lakeledger.version"])
    lines = read_manifest_list(local(snapshot["manifest-list"]).read_bytes())
    entries = [
        (line, each)
        for line in lines
        for each in inherited(read_manifest(local(line.path).read_bytes()).entries, line)
    ]
    own = snapshot["snapshot-id"]
    changes = reads.file_changes(served.row.table, version, version, 9_999)
    gone = {each.file.path for each in changes if not each.added}
    come = {each.file.path for each in changes if each.added}
    stay = {each.file.path for each in changes if each.added and each.file.vector} & gone
    root = served.location

    def paths(status: int, *, is_data: bool) -> Counter[str]:
        return Counter(
            name_of(each, root)
            for line, each in entries
            if line.added_snapshot_id == own and each.snapshot_id == own
            if each.status == status and (each.content == 0) is is_data
        )

    assert Counter(come - stay) == paths(ADDED, is_data=True)
    assert Counter(gone - stay) == paths(DELETED, is_data=True)
    marked = {each.file.path for each in changes if each.added and each.file.vector}
    unmarked = {each.file.path for each in changes if not each.added and each.file.vector}
    assert Counter(marked) == paths(ADDED, is_data=False)
    assert Counter(unmarked) == paths(DELETED, is_data=False)
    live = reads.files(served.row.table, version=version)
    assert Counter(each.path for each in live) == Counter(
        name_of(each, root) for _, each in entries if each.is_live and not each.content
    )
    assert Counter(each.path for each in live if each.vector) == Counter(
        name_of(each, root) for _, each in entries if each.is_live and each.content
    )
    assert all(line.sequence_number <= snapshot["sequence-number"] for line in lines)
    assert all(local(each.path).exists() for _, each in entries if each.is_live)
    assert len(served.files_at(version)) == len(live)
    assert {
        place_key(each.path) for _, each in entries if each.is_live and not each.content
    } == set(served.files_at(version))


def local(path: str) -> Path:
    """Return the path of a file on this disk."""
    return Path(path.removeprefix("file://"))


def name_of(entry: ManifestEntry, root: str) -> str:
    """Return the path in the log of the data file that an entry is about."""
    path = entry.path if not entry.content else entry.referenced_data_file
    assert path is not None
    return path.removeprefix(f"{root}/")
