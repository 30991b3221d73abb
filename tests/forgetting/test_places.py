"""The report names every place that it cannot search, with the reason, and goes on."""

from pathlib import Path
from typing import Any, Final

import pytest

from ledger.backup.errors import BackupError
from ledger.backup.manifest import NAME as MANIFEST
from ledger.cli.failures import Stopped
from ledger.cli.log.forget import agreed
from ledger.cli.log.known_here import check_backups, folders_here
from ledger.client import Ledger
from ledger.clock import time_text
from ledger.config.address import Address
from ledger.core.acceptance import LogHead
from ledger.errors import SettingsError
from ledger.expressions.parse import parse
from ledger.forgetting.forgetting import look
from ledger.forgetting.held_places import NOT_SEARCHED, ROWS, HeldPlace, Surroundings
from ledger.forgetting.held_rows import HeldRows
from ledger.forgetting.traces import DAY_MS, traces
from ledger.log.consumers import Consumer, register
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic, records_between
from ledger.log.trim_notes import TrimNote, write_trim_note
from ledger.log.trimmed import TrimMark, write_trim_mark
from ledger.machine.folder import folders_aside
from ledger.session.tail import read_genesis
from projections.fold.registering import name_of
from tests.backup.benches import backed_up
from tests.driver import Driver
from tests.forgetting.every_byte import decoded_event

NAME: Final = "people"
COLUMNS: Final = [("id", "bigint"), ("name", "string")]
PERSON: Final = {"id": 987654321, "name": "planted Pauline"}
WHERE: Final = "id = 987654321"
ALWAYS: Final = 10**6


@pytest.fixture(autouse=True)
def people(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_table(NAME, COLUMNS, location=tmp_path / NAME)
    ledger.append(NAME, [PERSON, {"id": 7, "name": "another one"}])


def held(ledger: Ledger) -> HeldRows:
    return look(ledger.reads(), ledger.table(NAME), parse(WHERE))


def reported(ledger: Ledger, log: LossyLog, **known: Any) -> list[HeldPlace]:
    around = Surroundings(log, ledger.name, **known)
    return list(traces(ledger.reads(), ledger.table(NAME), held(ledger), around))


def not_searched(places: list[HeldPlace]) -> dict[str, str]:
    return {each.place: each.where for each in places if each.holds == NOT_SEARCHED}


@pytest.mark.parametrize("kind", ["absent", "empty", "begun", "foreign", "damaged", "s3"])
def test_a_backup_that_cannot_be_searched_is_named(
    ledger: Ledger, log: LossyLog, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "backup"
    path = "s3://" if kind == "s3" else str(place)
    if kind in {"empty", "damaged"}:
        place.mkdir()
    if kind == "damaged":
        (place / MANIFEST).write_text("{}")
    if kind == "foreign":
        backed_up(Driver(ledger="another").log, place)
    if kind == "begun":
        backed_up(log, place)
        (manifest,) = place.glob(MANIFEST)
        manifest.unlink()
    found = reported(ledger, log, backups=[path])
    assert not_searched(found) == {"backup": path}
    with pytest.raises((BackupError, SettingsError)):
        check_backups([path], ledger.id)


def test_a_backup_of_this_ledger_is_searched_and_taken(
    ledger: Ledger, log: LossyLog, tmp_path: Path
) -> None:
    backed_up(log, tmp_path / "backup")
    check_backups([str(tmp_path / "backup")], ledger.id)
    found = reported(ledger, log, backups=[str(tmp_path / "backup")])
    assert not_searched(found) == {}
    assert "archive" in {each.place for each in found}


@pytest.mark.parametrize(
    ("topic", "places"),
    [
        # No thread of the ledger in memory reads this one meanwhile: it would end with the error.
        (Topic.CHECKPOINTS, {"topic checkpoints"}),
        (Topic.CONSUMERS, {"topic consumers", "rows of other processes"}),
        (Topic.CATALOGS, {"topic catalogs", "backup"}),
    ],
)
def test_a_topic_that_cannot_be_read_ends_no_report(
    ledger: Ledger, log: LossyLog, topic: Topic, places: set[str]
) -> None:
    register(log, 0, Consumer("follower", "far", "host", 1, 1))
    log.writer(Topic.CATALOGS).append(b"0/other", b"{}")
    log.writer(Topic.CHECKPOINTS).append(b"part", b"part")
    before = held(ledger)
    log.away[topic] = ALWAYS
    around = Surroundings(log, ledger.name)
    found = list(traces(ledger.reads(), ledger.table(NAME), before, around))
    log.away[topic] = 0
    named = not_searched(found)
    assert named.keys() - {"rows of the follower"} == places
    assert ("rows of the follower" in named) is (topic is not Topic.CONSUMERS)
    assert "topic events" in {each.place for each in found}


def test_trimmed_records_are_named_if_the_archive_that_has_them_is_not_there(
    ledger: Ledger, log: LossyLog, tmp_path: Path
) -> None:
    created = read_genesis(log, 1.0)
    topic = log.topic_id(Topic.EVENTS)
    archive = tmp_path / "backup"
    end = ledger.reads().position()
    mark = TrimMark(
        topic, end + 1, log.ends(Topic.EVENTS)[1], LogHead(), created, str(archive), 0, 0
    )
    write_trim_mark(log, 0, mark)
    found = reported(ledger, log)
    assert str(archive) in not_searched(found)["trimmed records"]
    segments = tmp_path / "topics" / f"{ledger.name}.events-0"
    segments.mkdir(parents=True)
    for first, is_there in ((0, True), (mark.offset, False)):
        (segment := segments / f"{first:020}.log").touch()
        said = not_searched(reported(ledger, log, topics=segments.parent))
        assert ("trimmed records" in said) is is_there
        segment.unlink()
    backed_up(log, archive)
    known = {"backups": [str(archive)], "topics": segments.parent}
    for first, is_there in ((0, True), (mark.offset, False)):
        (segment := segments / f"{first:020}.log").touch()
        found = reported(ledger, log, **known)
        assert ("trimmed records" in {each.place for each in found}) is is_there
        assert "trimmed records" not in not_searched(found)
        segment.unlink()


@pytest.mark.parametrize(
    ("set_here", "note", "says", "waits"),
    [
        (None, None, "a trim: lakeledger log trim --below", False),
        (2.0, None, "a trim by log.keep_days, which is 2: after", False),
        (2.0, TrimNote(1, 9.0), "a trim by log.keep_days, which is 2: after", False),
        (None, TrimNote(1, 9.0, 1, "the pin audit"), "a trim by log.keep_days, which is 9", True),
    ],
)
def test_the_report_knows_when_the_policy_takes_events(
    ledger: Ledger,
    log: LossyLog,
    set_here: float | None,
    note: TrimNote | None,
    says: str,
    *,
    waits: bool,
) -> None:
    if note is not None:
        write_trim_note(log, note)
    found = reported(ledger, log, keep_days=set_here)
    (until,) = (each.until for each in found if each.place == "topic events")
    assert until.startswith(says)
    assert until.endswith("waits: the pin audit") is waits
    days = set_here or (None if note is None else note.keep_days)
    if days is not None:
        position = ledger.history(NAME)[0].position
        events = records_between(log, Topic.EVENTS, *log.ends(Topic.EVENTS))
        at = {decoded_event(each.value)[0]: each.timestamp for each in events}[position]
        assert f"after {time_text(at + round(days * DAY_MS))}, or lakeledger log trim" in until


def test_folders_that_were_set_aside_are_named(
    ledger: Ledger, log: LossyLog, tmp_path: Path
) -> None:
    folder = tmp_path / "lake"
    for name in ("broker", "broker.aside-1", "store", "store.aside-2", "spark.aside-3"):
        (folder / name).mkdir(parents=True)
    found = reported(ledger, log, asides=folders_aside(folder))
    where = [each.where for each in found if each.place == "folder set aside"]
    assert where == [
        str(folder / f"{name}") for name in ("broker.aside-1", "spark.aside-3", "store.aside-2")
    ]


def test_a_dropped_table_is_left_to_the_vacuum(
    ledger: Ledger, log: LossyLog, tmp_path: Path
) -> None:
    table = ledger.table(NAME).table
    ledger.drop_table(NAME)
    row = ledger.reads().table(table)
    assert row is not None
    found = look(ledger.reads(), row, parse(WHERE))
    places = list(traces(ledger.reads(), row, found, Surroundings(log, ledger.name)))
    (until,) = (each.until for each in places if each.place == "data file")
    vacuum = f"lakeledger table vacuum {table} --older-than 0"
    assert until == f"{vacuum} deletes it"
    with pytest.raises(Stopped, match=vacuum):
        agreed(row, found, yes=True)
    assert ledger.vacuum(table, older_than_h=0).files
    assert look(ledger.reads(), row, parse(WHERE)).files == []
    assert not list((tmp_path / NAME).rglob("*.parquet"))


def test_a_file_of_a_dropped_table_waits_for_the_txn_that_reads_it(
    ledger: Ledger, log: LossyLog
) -> None:
    table = ledger.table(NAME).table
    txn = ledger.begin()
    assert txn.scan(NAME).count() == 2
    ledger.drop_table(NAME)
    row = ledger.reads().table(table)
    assert row is not None
    found = look(ledger.reads(), row, parse(WHERE))
    places = list(traces(ledger.reads(), row, found, Surroundings(log, ledger.name)))
    (until,) = (each.until for each in places if each.place == "data file")
    assert until.startswith(f"open txn {txn.id} ")
    txn.abort()


def test_a_block_of_a_dropped_table_leaves_readers_after_an_undrop(
    ledger: Ledger, log: LossyLog, tmp_path: Path
) -> None:
    made = {"lakeledger.inline": "on"}
    ledger.create_table("small", COLUMNS, location=tmp_path / "small", properties=made)
    ledger.append("small", [PERSON])
    table = ledger.table("small").table
    ledger.drop_table("small")
    row = ledger.reads().table(table)
    assert row is not None
    found = look(ledger.reads(), row, parse(WHERE))
    places = list(traces(ledger.reads(), row, found, Surroundings(log, ledger.name)))
    (block,) = (each for each in places if each.place == "rows in the log")
    assert (block.holds, f"table undrop {table}" in block.until) == (ROWS, True)


def test_every_process_of_this_host_is_known_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    address = Address("localhost:1", "lake", folder / "store")
    found = {(each.role, each.name): each.folder for each in folders_here(address)}
    notifier = folder / "notifier"
    assert found == {
        ("follower", name_of(folder / "store")): folder / "store",
        ("feeder", name_of(folder / "spark")): folder / "spark" / "rows",
        **{
            ("notifier", f"{kind}-{name_of(notifier / kind)}"): notifier / kind
            for kind in ("webhook", "topic", "openlineage")
        },
    }


def test_rows_beside_checkpoints_of_spark_are_those_of_a_feeder(tmp_path: Path) -> None:
    feeder = tmp_path / "fed"
    (feeder / "checkpoints").mkdir(parents=True)
    first = next(folders_here(Address("localhost:1", "lake", feeder / "rows")))
    assert (first.role, first.name, first.folder) == ("feeder", name_of(feeder), feeder / "rows")
