"""The versions of published logs: by cases, and over generated histories."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given

from ledger.core.commands import (
    AlterTable,
    AppVersion,
    Column,
    Domain,
    Protocol,
    TableDefinition,
    TableWrite,
)
from ledger.core.conflicts.metadata_diff import MAPPING_MODE
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from projections.delta.actions.file_actions import FilePlaces
from projections.delta.published_log import DeltaVersion
from projections.fold.fold import Fold
from projections.queries import StoreReads
from tests.core.histories import Step
from tests.core.parts import footprint, table_of
from tests.driver import Driver, write
from tests.projections.filing import commit, files_of, filings, unreadable
from tests.projections.followed import PATIENT, Followed
from tests.projections.published import (
    action,
    actions,
    live_by_version,
    outcomes,
    played,
    published,
    stops,
    versions,
    write_log,
)

PLAIN = published(table_of(("id", "bigint"), ("day", "int")))
BY_DAY = published(table_of(("id", "bigint"), ("day", "int"), by=["day"]))
SESSION_USER = "ada"


class Lake(Driver):
    """A domain with one session and one table."""

    def __init__(self, made: TableDefinition = BY_DAY) -> None:
        super().__init__()
        self.session = self.open_session(SESSION_USER)
        self.table = self.create_table(self.session, "t", made=made)

    def alter(self, made: TableDefinition, operation: str = "") -> None:
        """Give the table another definition at once."""
        asked = self.asks(self.session)
        self.ask(AlterTable(*asked, 0, self.head.position, self.table, made, operation))

    def commit(self, *args: Any, **kwargs: Any) -> Any:
        """Commit as the driver, or files of the table."""
        return super().commit(*args, **kwargs)

    def files(self, adds: str = "", removes: str = "", **said: Any) -> None:
        commit(self, self.session, self.table, list(adds), list(removes), said=footprint(**said))

    @property
    def found(self) -> list[DeltaVersion]:
        return versions(self.events)


def test_a_log_begins_with_commitinfo_protocol_and_metadata_all_functions_of_the_events() -> None:
    lake = Lake()
    (first,) = lake.found

    assert [next(iter(each)) for each in actions(first)] == ["commitInfo", "protocol", "metaData"]
    info = action(first, "commitInfo")
    assert info is not None
    assert next(iter(info)) == "inCommitTimestamp"
    created = lake.events[-1].control
    assert info["inCommitTimestamp"] == created.at
    assert info["lakeledger"]["position"] == created.position
    assert action(first, "protocol") == {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "inCommitTimestamp", "invariants", "lakeledger"],
    }
    metadata = action(first, "metaData")
    assert metadata is not None
    assert metadata["partitionColumns"] == ["day"]
    assert metadata["configuration"] == {"delta.enableInCommitTimestamps": "true"}
    assert '"lakeledger.columnId":2' in metadata["schemaString"]
    assert first.state is None


def test_a_remove_has_what_its_add_said() -> None:
    lake = Lake()
    lake.files("ab")
    lake.files(removes="a")
    lake.files(apps=[AppVersion("etl", 7)], domains=[Domain("d", "{}", removed=False)])
    second, third, fourth = lake.found[1:]

    assert action(third, "remove") == {
        "path": "a",
        "deletionTimestamp": third.at,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {"day": "1"},
        "size": 10,
        "stats": '{"numRecords":1}',
    }
    assert [each["add"]["path"] for each in actions(second) if "add" in each] == ["a", "b"]
    assert action(third, "metaData") is None
    assert action(fourth, "txn") == {"appId": "etl", "version": 7, "lastUpdated": fourth.at}
    protocol = action(fourth, "protocol")
    assert protocol is not None
    assert "domainMetadata" in protocol["writerFeatures"]


def renamed(made: TableDefinition, metadata: str = "") -> TableDefinition:
    first = made.columns[0]._replace(name="number", metadata=metadata)
    return made._replace(columns=[first, *made.columns[1:]])


MAPPED = published(
    renamed(BY_DAY, metadata='{"delta.columnMapping.physicalName":"id"}'), **{MAPPING_MODE: "name"}
)


def test_with_column_mapping_a_renamed_column_keeps_its_name_in_the_files() -> None:
    lake = Lake()
    lake.files("a")
    lake.alter(MAPPED, "RENAME COLUMN")
    last = lake.found[-1]
    metadata, protocol = action(last, "metaData"), action(last, "protocol")

    assert metadata is not None
    assert protocol is not None
    assert '"delta.columnMapping.physicalName":"id"' in metadata["schemaString"]
    assert protocol["minReaderVersion"] == 2
    assert stops(lake.events) == []


def changed(**fields: Any) -> TableDefinition:
    return BY_DAY._replace(**fields)


def typed(kind: str) -> TableDefinition:
    day = Column("day", kind, nullable=True, id=2)
    return PLAIN._replace(columns=[PLAIN.columns[0], day])


DROPPED = PLAIN._replace(columns=PLAIN.columns[:1])
TAKEN_AGAIN = PLAIN._replace(
    columns=[PLAIN.columns[0], Column("day", "string", nullable=True, id=3)]
)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (BY_DAY, renamed(BY_DAY), "version 2 changed columns"),
        (BY_DAY, BY_DAY._replace(partition_columns=[]), "version 2 changed columns"),
        (PLAIN, TAKEN_AGAIN, "version 2 changed columns"),
        (PLAIN, typed("string"), "version 2 changed columns"),
        (PLAIN, typed("interval day"), "interval day"),
        (PLAIN, DROPPED, ""),
        (PLAIN, typed("bigint"), ""),
        (BY_DAY, MAPPED, ""),
    ],
)
def test_a_change_that_hides_older_values_stops_the_table_by_name(
    before: TableDefinition, after: TableDefinition, reason: str
) -> None:
    lake = Lake(published(before))
    adds = list("ab")
    partition = ("1",) * len(before.partition_columns)
    lake_files(lake, adds, partition)
    lake.alter(after)

    found = stops(lake.events)
    assert [each.version for each in found] == ([2] if reason else [])
    assert all(reason in each.reason for each in found)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (PLAIN._replace(layout="directories"), "directories"),
        (PLAIN._replace(location=""), "no location"),
        (typed("interval day"), "interval day"),
    ],
)
def test_table_that_no_log_can_have(made: TableDefinition, reason: str) -> None:
    lake = Lake(made)
    lake.alter(made._replace(properties=[*made.properties, *table_of(x="1").properties]))

    (found,) = stops(lake.events)
    assert (found.version, lake.found) == (0, [])
    assert reason in found.reason


def lake_files(lake: Lake, adds: list[str], partition: tuple[str, ...]) -> None:
    files = files_of(adds)
    files = files._replace(adds=[add._replace(partition=partition) for add in files.adds])
    part = TableWrite(lake.table, lake.head.position, (), listed(footprint("WRITE"), files))
    lake.commit(lake.session, 0, part)


def test_a_type_that_became_wider_is_noted_for_readers_who_need_the_feature_from_then_on() -> None:
    lake = Lake(PLAIN)
    lake.alter(typed("bigint"))
    metadata, protocol = action(lake.found[-1], "metaData"), action(lake.found[-1], "protocol")

    assert metadata is not None
    assert protocol is not None
    assert (
        '"delta.typeChanges":[{"fromType":"integer","toType":"long"}]' in metadata["schemaString"]
    )
    assert protocol["readerFeatures"] == ["typeWidening"]


def test_partition_columns_may_change_in_the_commit_that_removes_the_older_files() -> None:
    lake = Lake()
    lake.files("a")
    txn = lake.open_txn(lake.session)
    made = published(PLAIN)
    asked = lake.asks(lake.session)
    lake.ask(AlterTable(*asked, txn, lake.head.position, lake.table, made, "REPLACE TABLE"))
    files = FileList([AddFile("z", (), 5, 5)], [RemoveFile("a", ("1",))])
    part = TableWrite(lake.table, lake.head.position, (), listed(footprint("WRITE"), files))
    lake.commit(lake.session, txn, part)

    assert stops(lake.events) == []
    last = lake.found[-1]
    removed, added = action(last, "remove"), action(last, "add")
    assert removed is not None
    assert added is not None
    assert (removed["partitionValues"], added["partitionValues"]) == ({"day": "1"}, {})


@pytest.mark.parametrize("said", ["coarse", "damaged", "unknown"])
def test_commit_that_no_log_can_say(said: str) -> None:
    lake = Lake()
    match said:
        case "coarse":
            lake.commit(lake.session, 0, write(lake.table, partition='["1"]'))
        case "damaged":
            unreadable(lake, lake.session, lake.table)
        case _:
            lake.files("a", protocol=Protocol(3, 7, ["thinkingColumns"]))
    lake.files("b")

    (found,) = stops(lake.events)
    assert (found.version, len(lake.found)) == (1, 1)
    assert found.name == "t"


def test_a_log_that_is_switched_on_late_begins_with_the_whole_state() -> None:
    lake = Lake(table_of(("id", "bigint"), ("day", "int"), by=["day"]))
    lake.files("abc", apps=[AppVersion("etl", 7)])
    lake.files(removes="b")
    lake.alter(BY_DAY)
    lake.files("d")
    first, second = lake.found

    assert (first.version, second.version, second.state) == (3, 4, None)
    assert first.state is not None
    names = [next(iter(each)) for each in first.state.actions()]
    assert names == ["protocol", "metaData", "txn", "add", "add"]
    metadata = action(first, "metaData")
    assert metadata is not None
    assert metadata["configuration"]["delta.inCommitTimestampEnablementVersion"] == "3"


def test_the_version_that_ends_a_publication_lets_other_writers_in() -> None:
    lake = Lake()
    lake.alter(BY_DAY._replace(properties=[]))
    lake.files("a")
    protocol = action(lake.found[-1], "protocol")

    assert [each.version for each in lake.found] == [0, 1]
    assert protocol is not None
    assert "lakeledger" not in protocol["writerFeatures"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("day=1/a b.parquet", "day=1/a%20b.parquet"),
        ("day=a%20b/x", "day=a%2520b/x"),
        ("s3://bucket/t/x", "s3://bucket/t/x"),
    ],
)
def test_a_path_is_plain_text_in_the_ledger_and_a_uri_in_the_log(path: str, said: str) -> None:
    assert FilePlaces().path(path) == said
    elsewhere = FilePlaces.of("/a lake/t", "/log", are_uris=False).placed({"path": said})
    assert elsewhere["path"] == (said if ":" in said else f"/a%20lake/t/{said}")


@given(filings())
@PATIENT
def test_an_import_of_a_published_log_finds_the_same_files(history: list[Step]) -> None:
    writers = played(history)
    followed = Followed()
    followed.go_on_with(writers.log)
    followed.fold = Fold.load(followed.store, writers.log)
    followed.fold.feed(writers.records)
    reads = StoreReads(followed.store)
    logs = defaultdict(list)
    for version in versions(writers.events):
        logs[version.table].append(version)
    for table, found in logs.items():
        runs = runs_of(found)
        for run in runs:
            with TemporaryDirectory() as folder:
                write_log(Path(folder), run)
                live = live_by_version(Path(folder))
            assert list(live) == [each.version for each in run]
            for each in run:
                if is_there(reads, each):
                    rows = reads.files(table, position=each.position)
                    expected = sorted((row.path, row.vector) for row in rows)
                    assert live[each.version] == expected


def is_there(reads: StoreReads, version: DeltaVersion) -> bool:
    """Return whether the table was not dropped by the commit itself."""
    row = reads.table(version.table)
    return row is not None and (not row.dropped or row.dropped > version.position)


def runs_of(found: list[DeltaVersion]) -> list[list[DeltaVersion]]:
    """Return the versions of a log from one beginning to the next."""
    runs: list[list[DeltaVersion]] = []
    for each in found:
        if each.begins:
            runs.append([])
        runs[-1].append(each)
    return runs


@given(filings())
@PATIENT
def test_versions_are_dense_and_a_second_fold_gives_the_same_bytes(history: list[Step]) -> None:
    writers = played(history)
    found = outcomes(writers.events)

    assert found == outcomes(writers.events)
    logs = defaultdict(list)
    for each in found:
        if isinstance(each, DeltaVersion):
            logs[each.table].append(each)
    for log in logs.values():
        for run in runs_of(log):
            numbers = [each.version for each in run]
            assert numbers == list(range(numbers[0], numbers[0] + len(run)))
            times = [each.at for each in run]
            assert times == sorted(set(times))
