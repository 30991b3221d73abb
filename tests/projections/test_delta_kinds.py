"""Every kind of commit, and the actions that it has in a published log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.core.commands import (
    AppVersion,
    Column,
    Domain,
    Protocol,
    RenameTable,
    TableDefinition,
    TableWrite,
)
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from projections.delta.actions.file_actions import FilePlaces
from projections.delta.actions.metadata_action import FOLDER
from projections.delta.log.log_folder import LogFolder
from tests.core.parts import footprint
from tests.projections.filing import commit
from tests.projections.published import action, actions, published, stops
from tests.projections.test_delta_log_writer import content, write_until_cut
from tests.projections.test_delta_publication import BY_DAY, PLAIN, Lake, typed

BESIDE = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 1, 40, 2)
HERE = BY_DAY._replace(location="/t")
ELSEWHERE = published(HERE, **{FOLDER: "/log"})


def part(lake: Lake, files: FileList, **said: Any) -> None:
    made = TableWrite(lake.table, lake.head.position, (), listed(footprint(**said), files))
    lake.commit(lake.session, 0, made)


def file(path: str, **more: Any) -> AddFile:
    return AddFile(path, ("1",), 10, 5, stats='{"numRecords":3}', **more)


def overwrite(lake: Lake) -> None:
    part(lake, FileList([file("z")], [RemoveFile("a", ("1",))]))


def vectors(lake: Lake) -> None:
    """Put a deletion vector before the rows of a file."""
    added = file("a", vector=BESIDE.id, deletion_vector=BESIDE)
    part(lake, FileList([added], [RemoveFile("a", ("1",))]))


def numbered_rows(lake: Lake) -> None:
    part(lake, FileList([file("n", base_row_id=7, row_version=2, tags={"k": "v"})]))


KINDS: list[tuple[Callable[[Lake], None], list[str]]] = [
    (lambda lake: lake.files("b"), ["add"]),
    (lambda lake: lake.files(removes="a"), ["remove"]),
    (overwrite, ["remove", "add"]),
    (vectors, ["protocol", "remove", "add"]),
    (numbered_rows, ["add"]),
    (lambda lake: lake.files(apps=[AppVersion("etl", 7)]), ["txn"]),
    (
        lambda lake: lake.files(domains=[Domain("d", "{}", removed=False)]),
        ["protocol", "domainMetadata"],
    ),
    (lambda lake: lake.files(protocol=Protocol(1, 7, ["changeDataFeed"])), ["protocol"]),
    (lambda lake: lake.files(), []),
    (lambda lake: lake.alter(published(HERE, owner="ada")), ["metaData"]),
    (lambda lake: lake.alter(ELSEWHERE), ["protocol", "metaData"]),
    (lambda lake: lake.alter(HERE._replace(properties=[])), ["protocol", "metaData"]),
]


@pytest.mark.parametrize(("change", "expected"), KINDS)
def test_kind(change: Callable[[Lake], None], expected: list[str]) -> None:
    """A commit has commitInfo and what it changed, and nothing else."""
    lake = Lake(HERE)
    lake.files("a")
    change(lake)
    (last,) = lake.found[2:]
    assert [next(iter(each)) for each in actions(last)] == ["commitInfo", *expected]
    assert stops(lake.events) == []


def test_what_the_ledger_has_of_row_ids_and_tags_is_published_and_repeated_by_the_remove() -> None:
    lake = Lake()
    numbered_rows(lake)
    lake.files(removes="n")
    added, removed = (action(lake.found[at], name) for at, name in ((1, "add"), (2, "remove")))
    assert added is not None
    assert removed is not None
    kept = {"baseRowId": 7, "defaultRowCommitVersion": 2, "tags": {"k": "v"}}
    assert {key: added[key] for key in kept} == kept
    assert {key: removed[key] for key in kept} == kept


def test_a_log_in_another_folder_names_a_vector_beside_the_data_by_its_absolute_path() -> None:
    here, there = (
        Lake(BY_DAY._replace(location="/my t")),
        Lake(ELSEWHERE._replace(location="/my t")),
    )
    for lake in (here, there):
        lake.files("a")
        vectors(lake)
    near, far = (action(lake.found[2], "add") for lake in (here, there))
    assert near is not None
    assert far is not None
    assert near["path"] == "a"
    assert near["deletionVector"]["pathOrInlineDv"] == BESIDE.place
    assert far["path"] == "/my%20t/a"
    place = far["deletionVector"].pop("pathOrInlineDv")
    assert place.startswith("file:///my%20t/ab/deletion_vector_")
    assert far["deletionVector"]["storageType"] == "p"
    removed = action(there.found[2], "remove")
    assert removed is not None
    assert removed["path"] == "/my%20t/a"


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a b/t", "/a%20b/t/x"),
        ("file:///a b/t", "/a%20b/t/x"),
        ("file:///a%20b/t", "/a%20b/t/x"),
        ("s3://bucket/t", "s3://bucket/t/x"),
    ],
)
def test_a_log_elsewhere_has_uris_that_java_takes(location: str, path: str) -> None:
    assert FilePlaces.of(location, "/log", are_uris=False).placed({"path": "x"})["path"] == path


def test_a_table_that_gets_another_folder_begins_a_log_there_with_its_live_files() -> None:
    lake = Lake(HERE)
    lake.files("ab")
    lake.alter(ELSEWHERE)
    lake.files("c", "a")
    before, moved, after = lake.found[1:]
    assert [each.folder for each in (before, moved, after)] == ["/t", "/log", "/log"]
    assert moved.begins
    assert moved.state is not None
    paths = [each["add"]["path"] for each in moved.state.actions() if "add" in each]
    assert paths == ["/t/a", "/t/b"]
    removed, added = action(after, "remove"), action(after, "add")
    assert removed is not None
    assert added is not None
    assert (removed["path"], added["path"]) == ("/t/a", "/t/c")


def test_two_tables_in_one_commit() -> None:
    lake = Lake()
    other = lake.create_table(lake.session, "u", made=BY_DAY._replace(location="/u"))
    parts = [
        TableWrite(table, lake.head.position, (), listed(footprint(), FileList([file("x")])))
        for table in (lake.table, other)
    ]
    lake.commit(lake.session, 0, *parts)
    first, second = lake.found[-2:]
    assert (first.name, second.name, first.position) == ("t", "u", second.position)
    infos = [action(each, "commitInfo") for each in (first, second)]
    assert [info and info["lakeledger"]["position"] for info in infos] == [first.position] * 2


def test_other_tables_make_no_version() -> None:
    lake = Lake()
    other = lake.create_table(lake.session, "u", made=PLAIN._replace(properties=[]))
    commit(lake, lake.session, other, ["x"])
    lake.ask(RenameTable(*lake.asks(lake.session), 0, lake.head.position, lake.table, "renamed"))
    lake.files("a")
    assert [(each.name, each.version) for each in lake.found] == [("t", 0), ("renamed", 1)]


def test_the_log_of_a_dropped_table_stays(tmp_path: Path) -> None:
    lake = Lake(BY_DAY._replace(location=str(tmp_path / "a")))
    lake.files("a")
    write_logs(lake, tmp_path)
    before = content(tmp_path / "a")
    lake.drop_table(lake.session, lake.table)
    lake.create_table(lake.session, "t", made=BY_DAY._replace(location=str(tmp_path / "b")))
    write_logs(lake, tmp_path)
    assert content(tmp_path / "a") == before
    assert list(content(tmp_path / "b")) == [f"{0:020}.json"]


def write_logs(lake: Lake, folder: Path) -> None:
    for name in ("a", "b"):
        found = [each for each in lake.found if each.folder == str(folder / name)]
        write_until_cut(LogFolder(str(folder / name)), found)


def test_a_table_notes_every_widening_of_a_column_oldest_first() -> None:
    lake = Lake(typed("smallint"))
    for kind in ("int", "bigint"):
        lake.alter(typed(kind))
    metadata = action(lake.found[-1], "metaData")
    assert metadata is not None
    changes = (
        '"delta.typeChanges":[{"fromType":"short","toType":"integer"},'
        '{"fromType":"integer","toType":"long"}]'
    )
    assert changes in metadata["schemaString"]


def valued(**metadata: Any) -> TableDefinition:
    """Return a published table whose last column has metadata."""
    column = Column("c", "bigint", nullable=True, id=3, metadata=json.dumps(metadata))
    return HERE._replace(columns=[*HERE.columns, column])


VALUES: list[tuple[dict[str, Any], str]] = [
    ({"CURRENT_DEFAULT": "5"}, "allowColumnDefaults"),
    ({"delta.generationExpression": "id"}, "generatedColumns"),
    (
        {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.highWaterMark": 9},
        "identityColumns",
    ),
]


@pytest.mark.parametrize(("metadata", "feature"), VALUES)
def test_columns_that_compute_themselves_are_published_as_delta_has_them(
    metadata: dict[str, Any], feature: str
) -> None:
    lake = Lake(valued(**metadata))
    protocol, made = (action(lake.found[0], name) for name in ("protocol", "metaData"))
    assert protocol is not None
    assert made is not None
    assert feature in protocol["writerFeatures"]
    assert feature not in protocol.get("readerFeatures", [])
    field = json.loads(made["schemaString"])["fields"][-1]
    assert {key: field["metadata"][key] for key in metadata} == metadata


def test_files_that_lack_a_column_with_a_default_are_written_anew_before_a_log_begins() -> None:
    initial = {"CURRENT_DEFAULT": "5", "lakeledger.initialDefault": "5"}
    after = valued(**initial)
    before = after._replace(columns=list(after.columns)[:-1], properties=[])
    lake = Lake(before)
    lake.files("a")
    lake.alter(after._replace(properties=[]))
    lake.alter(after)
    (stopped,) = stops(lake.events)
    assert "write the table anew, as OPTIMIZE does" in str(stopped)
    lake.files("b", removes="a")
    lake.alter(after._replace(properties=[]))
    lake.alter(after)
    made = action(lake.found[-1], "metaData")
    assert made is not None
    assert "initialDefault" not in made["schemaString"]
