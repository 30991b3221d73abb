"""The publisher over a log: every table for itself, again and again with the same bytes."""

import os
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ledger.arrow.schema import TableSchema
from ledger.cli.answers import Output
from ledger.cli.tables.published import tell
from ledger.core.commands import TableDefinition, TableWrite
from ledger.files.data_files import write_rows
from ledger.files.file_writers import FileWriter
from ledger.files.storage import storage_at
from ledger.log.wire.file_list import AddFile, FileList, listed
from projections.delta.actions.log_state import INTERVAL
from projections.delta.log.log_folder import LogFolder, checkpoint_name, version_file
from projections.delta.publisher import DeltaPublisher
from projections.delta.table_log import write_table_log
from projections.delta.verify import LogFinding, LogReport, set_aside, verify_log
from tests.core.parts import footprint
from tests.projections.filing import commit
from tests.projections.published import published
from tests.projections.test_delta_log_writer import content
from tests.projections.test_delta_publication import BY_DAY, Lake


def run(lake: Lake) -> DeltaPublisher:
    publisher, stop = DeltaPublisher(lake.log), Signal()
    publisher.run(stop, stop.set)
    return publisher


def two_tables(folder: Path) -> Lake:
    """Return a domain with two published tables that one commit changed."""
    lake = Lake(BY_DAY._replace(location=str(folder / "a")))
    other = BY_DAY._replace(location=str(folder / "b"))
    second = lake.create_table(lake.session, "b", made=other)
    for table in (lake.table, second):
        commit(lake, lake.session, table, ["x"])
    return lake


def test_a_second_run_finds_every_version_written_at_the_same_position(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    first = run(lake)
    before = content(tmp_path / "a"), content(tmp_path / "b")
    second = run(lake)

    assert (first.written, second.written) == (4, 0)
    assert first.position == second.position == lake.head.position
    assert (content(tmp_path / "a"), content(tmp_path / "b")) == before


def test_versions_and_checkpoints_have_the_time_of_their_commit(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    lake.alter(published(BY_DAY._replace(location=str(tmp_path / "a")), **{INTERVAL: "1"}))
    folder = tmp_path / "a" / "_delta_log"
    for is_again in (False, True):
        if is_again:
            os.utime(folder / version_file(1))
        run(lake)
        for each in (each for each in lake.found if each.table == lake.table):
            names = [version_file(each.version)]
            names += [checkpoint_name(each.version)] if each.state is not None else []
            times = [(folder / name).stat().st_mtime_ns // 1_000_000 for name in names]
            assert times == [each.at] * len(names)


def test_foreign_file_stops_its_table_alone(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    folder = tmp_path / "a" / "_delta_log"
    folder.mkdir(parents=True)
    (folder / f"{1:020}.json").write_text("{}\n")
    found = run(lake)

    (stopped,) = found.stopped.values()
    assert (stopped.name, found.written) == ("t", 2)
    assert "00001.json" in stopped.reason
    assert len(content(tmp_path / "b")) == 2


@pytest.mark.parametrize("location", ["gs://bucket/t", "relative/t"])
def test_a_place_that_is_no_local_folder_stops_its_table_by_name(location: str) -> None:
    (stopped,) = run(Lake(BY_DAY._replace(location=location))).stopped.values()
    assert location in stopped.reason


def test_a_table_made_again_does_not_touch_the_log_of_a_dropped_one(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    run(lake)
    before = content(tmp_path / "a")
    lake.drop_table(lake.session, lake.table)
    lake.create_table(lake.session, "t", made=BY_DAY._replace(location=str(tmp_path / "a")))
    found = run(lake)

    assert [each.version for each in found.stopped.values()] == [0]
    assert content(tmp_path / "a") == before


def written(lake: Lake, made: TableDefinition, rows: Any) -> list[AddFile]:
    """Write rows into data files of the table, and commit them."""
    schema, storage = TableSchema.of(made), storage_at(made.location)
    files = list(write_rows(storage, schema, [rows], writer=FileWriter.of("lake")))
    part = TableWrite(
        lake.table, lake.head.position, (), listed(footprint("WRITE"), FileList(files))
    )
    lake.commit(lake.session, 0, part)
    return files


def test_two_other_readers_find_the_rows_at_each_version(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    deltalake, polars = pytest.importorskip("deltalake"), pytest.importorskip("polars")
    made = BY_DAY._replace(location=str(tmp_path))
    lake = Lake(made)
    rows = pa.table({"id": pa.array([1, 2, 3]), "day": pa.array([1, None, 7], pa.int32())})
    written(lake, made, rows)
    assert not run(lake).stopped

    expected = sorted(map(str, rows.to_pylist()))
    table = deltalake.DeltaTable(tmp_path)
    assert sorted(map(str, table.to_pyarrow_table().select(["id", "day"]).to_pylist())) == expected
    frame = polars.read_delta(str(tmp_path)).select("id", "day")
    assert sorted(map(str, frame.to_dicts())) == expected
    assert deltalake.DeltaTable(tmp_path, version=0).file_uris() == []


def test_a_version_that_is_missing_or_differs_is_found_and_no_other(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    run(lake)
    assert verify_log(lake.events, lake.table) == LogReport(2, (), "")

    folder = tmp_path / "a" / "_delta_log"
    (folder / f"{0:020}.json").unlink()
    (folder / f"{1:020}.json").write_text("{}\n")
    found = verify_log(lake.events, lake.table)
    kinds = [(finding.version, finding.finding) for finding in found.findings]
    assert kinds == [(0, "missing"), (1, "differs")]
    assert not found.is_clean
    assert verify_log(lake.events, lake.table + 1).is_clean


def test_what_is_missing_or_foreign_is_published_anew(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    run(lake)
    before = content(tmp_path / "a")
    folder = tmp_path / "a" / "_delta_log"
    (folder / version_file(0)).unlink()
    for name in (version_file(1), version_file(2), checkpoint_name(2)):
        (folder / name).write_text("{}\n")
    (folder / "_last_checkpoint").write_text('{"version":2,"size":1}')
    found = verify_log(lake.events, lake.table)
    kinds = [(finding.version, finding.finding) for finding in found.findings]
    assert kinds == [(0, "missing"), (1, "differs"), (2, "foreign")]

    kept = set_aside(found.findings, LogFolder(str(tmp_path / "a")))
    assert [Path(each).read_text() for each in kept[:3]] == ["{}\n"] * 3
    assert len(kept) == 4
    assert write_table_log(lake.events, lake.table).written == 2
    assert verify_log(lake.events, lake.table) == LogReport(2, (), "")
    assert {key: each for key, each in content(tmp_path / "a").items() if key in before} == before
    visible = [each for each in folder.iterdir() if each.name[0] != "."]
    assert len(visible) == len(before)


def test_a_version_of_a_faster_publisher_is_not_foreign(tmp_path: Path) -> None:
    lake = two_tables(tmp_path)
    events = list(lake.events)
    commit(lake, lake.session, lake.table, ["y"])
    run(lake)
    assert verify_log(events, lake.table) == LogReport(2, (), "")


@pytest.mark.parametrize("output", list(Output))
def test_told(capsys: pytest.CaptureFixture[str], output: Output) -> None:
    """The command names each version that is not right, and why the table stopped."""
    finding = LogFinding(1, "differs", "/lake/t/_delta_log/1.json")
    tell("t", LogReport(2, (finding,), "version 2: the layout"), output)

    said = capsys.readouterr().out
    assert "/lake/t/_delta_log/1.json" in said
    assert "differs" in said
    assert "version 2: the layout" in said
