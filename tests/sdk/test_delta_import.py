"""Imports of Delta tables: what a version becomes, where an import ends, and how it goes on."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.commands import AppVersion, Column, Domain, Protocol
from ledger.core.conflicts.footprints import IMPORT_APPS, packed
from ledger.delta.importer import import_delta
from ledger.delta.report import Disagreement
from ledger.errors import ConflictError, DeltaLogError, TableExistsError
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, unpack
from ledger.testing import InMemoryLedger
from tests.sdk.delta_logs import (
    FIELDS,
    TABLE_ID,
    Action,
    add,
    begin,
    commits,
    info,
    metadata,
    remove,
    schema,
    staged,
    write_log,
    write_version,
)

NAME = "flights"
APP = f"{IMPORT_APPS}{TABLE_ID}@0"
FEATURES = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}
OLDER: dict[str, Any] = {"readVersion": 1}
HUGE = [f'{{"numRecords":{rows}}}' for rows in (2**70, 2**41)]
VECTOR = {"storageType": "u", "pathOrInlineDv": "xy", "offset": 1}


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([info(), add("a")], {"operation": "WRITE", "not_blind": False, "data_change": True}),
        ([info(blind=False), add("a")], {"not_blind": True, "read_files": b""}),
        ([add("a")], {"operation": "Manual Update", "not_blind": True}),
        ([{"commitInfo": {"operation": 3, "isBlindAppend": "true"}}, add("a")],
         {"operation": "Manual Update", "not_blind": True}),
        ([info("X" * 300)], {"operation": "X" * 100}),
        ([info(), {"cdc": {"path": "c"}}], {"not_blind": True}),
        ([info("DELETE", blind=False), remove("a"), remove("b")],
         {"removes": packed("ab"), "read_files": packed("ab"), "removes_in": []}),
        ([info(), remove("a")], {"removes": packed("a"), "read_files": b"", "not_blind": False}),
        ([info("OPTIMIZE", blind=False), add("a", dataChange=False),
          remove("b", dataChange=False, partitionValues={})],
         {"data_change": False, "removes_in": ["[]"]}),
        ([info(), {"txn": {"appId": "etl", "version": 4}}],
         {"apps": [AppVersion("etl", 4), AppVersion(APP, 1)], "read_apps": []}),
        ([{"domainMetadata": {"domain": "b", "configuration": "{}"}},
          {"domainMetadata": {"domain": "a", "removed": True}}],
         {"domains": [Domain("a", "", removed=True), Domain("b", "{}", removed=False)]}),
        ([{"protocol": FEATURES}], {"protocol": Protocol(3, 7, ["v2Checkpoint"])}),
        ([{"unknown": {}}, add("a")], {"adds": ["[]"], "protocol": None}),
    ],
)  # fmt: skip
def test_every_kind_of_action_becomes_what_a_decision_asks_of_it(
    memory: InMemoryLedger,
    ledger: Ledger,
    tmp_path: Path,
    actions: Sequence[Action],
    expected: dict[str, Any],
) -> None:
    import_delta(ledger, write_log(tmp_path, begin(), actions), NAME)

    footprint = commits(memory)[-1][1]
    assert {name: getattr(footprint, name) for name in expected} == expected


def test_files(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """Files keep path, partition in the table's order, size, time, statistics and vector."""
    values = {"partitionValues": {"id": "7", "day": ""}}
    write_log(
        tmp_path,
        begin(partitioned=("day", "id")),
        [
            add("day=%20x/a", stats='{"numRecords":1}', deletionVector=VECTOR, **values),
            remove("b", dataChange=False),
            remove("c", deletionVector=VECTOR, **values),
        ],
    )

    import_delta(ledger, tmp_path, NAME)

    add_file = AddFile("day=%20x/a", (None, "7"), 10, 5, True, '{"numRecords":1}', "uxy@1")  # noqa: FBT003
    assert unpack(commits(memory)[-1][1].files) == FileList(
        [add_file],
        [RemoveFile("b", None, data_change=False), RemoveFile("c", (None, "7"), vector="uxy@1")],
    )


def test_the_table_is_that_of_delta_in_all_parts(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(partitioned=["day"], delta_appendOnly="false"))

    found = import_delta(ledger, tmp_path, NAME)

    row = ledger.table(NAME)
    assert found[:6] == (row.table, NAME, APP, 0, 0, ledger.token.position)
    assert (row.definition.kind, row.definition.layout) == ("managed", "listed")
    assert row.definition.location == str(tmp_path.resolve())
    assert [column.type for column in row.definition.columns] == ["date", "bigint"]
    assert list(row.definition.partition_columns) == ["day"]
    assert [tuple(each) for each in row.definition.properties] == [("delta.appendOnly", "false")]


def test_altered(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """A metaData action alters the table in the same commit, and later files follow it."""
    wider = schema(*FIELDS, ("tail", "string"))
    write_log(
        tmp_path,
        begin(),
        [info("ADD COLUMNS", readVersion=0), metadata(wider, partitioned=["tail"])],
        [info(readVersion=1), add("a", partitionValues={"tail": "N1"})],
    )

    found = import_delta(ledger, tmp_path, NAME)

    row, reads = ledger.table(NAME), ledger.reads()
    assert row.definition.columns[-1] == Column("tail", "string", nullable=True, id=3)
    rows = reads.versions(found.table, 9)
    assert [each.operation for each in rows] == ["WRITE", "ADD COLUMNS", "CREATE TABLE"]
    assert [each.metadata_events for each in rows] == [0, 1, 1]
    assert commits(memory)[-1][1].adds == ['["N1"]']


def test_rows(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """Where rows are tracked they are numbered by what the statistics count."""
    write_log(
        tmp_path,
        begin(delta_enableRowTracking="true"),
        [info(), add("a", stats='{"numRecords":3}'), add("b", stats='{"numRecords":4}')],
        [info(), add("c", stats="{"), *(add(each, stats=each) for each in HUGE)],
        [info(), add("d", stats='{"numRecords":1}')],
    )

    import_delta(ledger, tmp_path, NAME)

    assert [footprint.rows_added for _, footprint in commits(memory)] == [0, 7, 0, 1]


def test_staged(memory: InMemoryLedger, ledger: Ledger, tmp_path: Path) -> None:
    """Files that fit no single record are staged in the same txn."""
    paths = [f"part-{number:05}" for number in range(12_000)]
    write_log(tmp_path, begin(), [info(), *map(add, paths)], [info(blind=False), remove(paths[0])])

    found = import_delta(ledger, tmp_path, NAME)

    files = ledger.reads().files(found.table)
    assert [file.path for file in files] == paths[1:]
    assert [len(unpack(chunk.files).adds) for chunk in staged(memory)] == [10_000, 2_000]
    assert commits(memory)[1][1].staged == 2


@pytest.mark.parametrize(
    ("winner", "loser", "disagreed"),
    [
        ([info(), add("a")], [info(**OLDER), add("b")], ()),
        ([info(), add("a")], [info("DELETE", blind=False, **OLDER), remove("x")], ()),
        ([info("UPDATE", blind=False), remove("x"), add("a")], [info(**OLDER), add("b")], ()),
        (
            [info("DELETE", blind=False), remove("x")],
            [info("DELETE", blind=False, **OLDER), remove("x", partitionValues={})],
            (Disagreement(3, "ConcurrentDeleteRead"),),
        ),
        (
            [info("UPDATE", blind=False), remove("x"), add("a")],
            [info("UPDATE", blind=False, **OLDER), remove("y"), add("b")],
            (Disagreement(3, "ConcurrentAppend"),),
        ),
        (
            [info("ADD COLUMNS"), metadata(schema(*FIELDS, ("c", "long")))],
            [info("ADD COLUMNS", **OLDER), metadata(schema(*FIELDS, ("d", "long")))],
            (Disagreement(3, "MetadataChanged"),),
        ),
    ],
)
def test_a_version_made_from_an_older_one_is_decided_from_there(
    ledger: Ledger,
    tmp_path: Path,
    winner: list[Action],
    loser: list[Action],
    disagreed: tuple[Disagreement, ...],
) -> None:
    write_log(tmp_path, begin(), [info(), add("x"), add("y")], winner, loser)

    found = import_delta(ledger, tmp_path, NAME)

    assert (found.version, found.rebased, found.disagreed) == (3, 1, disagreed)


MOVED = [add("b", dataChange=False), remove("a", dataChange=False)]


@pytest.mark.parametrize(
    ("actions", "level"),
    [
        ([info("OPTIMIZE", blind=False), *MOVED], "SnapshotIsolation"),
        ([info("OPTIMIZE", blind=False), *MOVED, {"txn": {"appId": "etl", "version": 1}}],
         "Serializable"),
        ([info("OPTIMIZE", blind=False), add("b"), remove("a")], "Serializable"),
    ],
    ids=["files moved", "progress of its own", "data changed"],
)  # fmt: skip
def test_level(ledger: Ledger, tmp_path: Path, actions: list[Action], level: str) -> None:
    """A version that only rearranges is told apart, though the import records its own progress."""
    serializable = begin(delta_isolationLevel="Serializable")
    write_log(tmp_path, serializable, [info(), add("a")], actions)

    found = import_delta(ledger, tmp_path, NAME)

    assert ledger.reads().versions(found.table, 1)[0].level == level


def test_an_optimize_stands_beside_files_added_since(ledger: Ledger, tmp_path: Path) -> None:
    serializable = begin(delta_isolationLevel="Serializable")
    optimize = [info("OPTIMIZE", blind=False, **OLDER), *MOVED]
    write_log(tmp_path, serializable, [info(), add("a")], [info(), add("c")], optimize)

    found = import_delta(ledger, tmp_path, NAME)

    assert (found.version, found.rebased, found.disagreed) == (3, 1, ())


def test_repeated_and_backward_progress_is_left_out(ledger: Ledger, tmp_path: Path) -> None:
    versions = [[info(), {"txn": {"appId": "etl", "version": number}}] for number in (5, 5, 4, 6)]

    found = import_delta(ledger, write_log(tmp_path, begin(), *versions), NAME)

    apps = [(app.app, app.version) for app in ledger.reads().apps(found.table)]
    assert apps == [("etl", 6), (APP, 4)]
    assert (found.versions, found.apps_left_out) == (5, 2)


@pytest.mark.parametrize("app", ["0@7", "0@", "0"])
def test_an_application_is_not_taken_for_import(ledger: Ledger, tmp_path: Path, app: str) -> None:
    progress = {"txn": {"appId": IMPORT_APPS + app, "version": 99}}
    write_log(tmp_path, begin(), [info(), progress, add("a")])
    first = import_delta(ledger, tmp_path, NAME)

    assert import_delta(ledger, tmp_path, NAME) == first._replace(versions=0)


def test_an_import_takes_what_is_new_since_the_last_one(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [info(), add("a")])
    import_delta(ledger, tmp_path, NAME)
    write_log(tmp_path, [info(), add("b")], [info(readVersion=1), add("c")], first=2)

    found = import_delta(ledger, tmp_path, NAME)

    assert (found.versions, found.version, found.rebased, found.disagreed) == (2, 3, 1, ())


def test_an_import_goes_on_once_damage_is_repaired(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [info(), add("a")], ["no json"], [info(), add("c")])
    with pytest.raises(DeltaLogError, match="00000000000000000002"):
        import_delta(ledger, tmp_path, NAME)
    reached = ledger.table(NAME).version
    write_version(tmp_path, 2, [info(), add("b")])

    found = import_delta(ledger, tmp_path, NAME)

    assert (reached, found.versions, found.version) == (1, 2, 3)


@pytest.mark.parametrize(
    ("actions", "what"),
    [
        ([metadata("{")], "schemaString is no schema"),
        ([metadata(schema(("\ud800", "long")))], "schemaString .* surrogates not allowed"),
    ],
)
def test_no_sense(ledger: Ledger, tmp_path: Path, actions: list[Action], what: str) -> None:
    """A version that makes no sense for its table is refused by its number, and leaves no txn."""
    write_log(tmp_path, begin(partitioned=["day"]), actions)

    with pytest.raises(DeltaLogError, match=f"{1:020}.json: {what}"):
        import_delta(ledger, tmp_path, NAME)

    assert ledger.table(NAME).version == 0
    assert list(ledger.reads().open_txns(9)) == []


def test_a_log_that_went_back_is_another_history(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [info(), add("a")])
    import_delta(ledger, tmp_path, NAME)
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()

    with pytest.raises(DeltaLogError, match="ends with version 0, and 1 was imported"):
        import_delta(ledger, tmp_path, NAME)


def test_a_copy_that_went_on_has_files_of_its_own(ledger: Ledger, tmp_path: Path) -> None:
    there, copy = tmp_path / "there", tmp_path / "copy"
    import_delta(ledger, write_log(there, begin()), NAME)
    write_log(copy, begin(), [info(), add("a")])

    with pytest.raises(TableExistsError, match=f"imported from {there}.*another name"):
        import_delta(ledger, copy, NAME)
    assert ledger.table(NAME).version == 0


def test_a_table_that_is_no_such_import_is_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    ledger.create_table("own")
    write_log(tmp_path / "a", begin())
    write_log(tmp_path / "b", begin(table="another"))
    import_delta(ledger, tmp_path / "a", NAME)
    position = ledger.reads().position()

    with pytest.raises(TableExistsError, match="table own is no import"):
        import_delta(ledger, tmp_path / "a", "own")
    with pytest.raises(TableExistsError, match="Choose another name"):
        import_delta(ledger, tmp_path / "b", NAME)
    assert ledger.reads().position() == position


def test_after_a_write_of_another_nothing_is_imported(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin())
    import_delta(ledger, tmp_path, NAME)
    ledger.append(NAME, ["own"])
    unchanged = import_delta(ledger, tmp_path, NAME)
    write_version(tmp_path, 1, [info(), add("a")])

    with pytest.raises(ConflictError, match="another program has written to it"):
        import_delta(ledger, tmp_path, NAME)

    assert unchanged.versions == 0
    assert ledger.table(NAME).version == 1


def test_an_import_that_is_told_to_stop_ends_soon(ledger: Ledger, tmp_path: Path) -> None:
    stop = Signal()
    told: list[tuple[int, int]] = []

    def progress(done: int, newest: int) -> None:
        told.append((done, newest))
        stop.set()

    write_log(tmp_path, begin(), [info(), add("a")])
    found = import_delta(ledger, tmp_path, NAME, stop=stop, progress=progress)

    assert (found.version, told) == (0, [(0, 1)])


def test_with_follow_versions_are_imported_as_they_appear(ledger: Ledger, tmp_path: Path) -> None:
    stop = Signal()
    write_log(tmp_path, begin())

    def progress(done: int, _newest: int) -> None:
        if done < 3:
            write_version(tmp_path, done + 1, [info(readVersion=done), add(f"f{done}")])
        else:
            stop.set()

    found = import_delta(
        ledger, tmp_path, NAME, follow=True, stop=stop, poll_s=0.01, progress=progress
    )

    assert (found.version, found.versions) == (3, 4)
