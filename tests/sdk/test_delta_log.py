"""Delta logs: which versions there are, what a checkpoint holds, and every damage by its name."""

import json
from collections.abc import Callable, Generator
from pathlib import Path, PosixPath
from typing import Any

import pytest

from ledger.core.commands import Domain, Protocol
from ledger.delta.actions import DeltaAdd, DeltaCommit, DeltaRemove, Provenance
from ledger.delta.log import DeltaLog
from ledger.errors import DeltaLogError, SettingsError
from tests.sdk.delta_logs import (
    PROTOCOL,
    Action,
    add,
    begin,
    info,
    metadata,
    remove,
    schema,
    write_checkpoint,
    write_file,
    write_log,
    write_version,
)

STATE: list[Action] = [PROTOCOL, metadata(), add("a"), add("b")]
FEATURES = {"minReaderVersion": 3, "minWriterVersion": 7}


def read(table: Path) -> list[DeltaCommit]:
    return list(DeltaLog.open(table).versions())


def second(table: Path, *actions: Action | str) -> DeltaCommit:
    return read(write_log(table, begin(), actions))[1]


def test_versions(tmp_path: Path) -> None:
    """Versions come in order, each with its own actions, after any that is named."""
    log = DeltaLog.open(write_log(tmp_path, begin(), [add("a")], [remove("a"), add("b")]))

    assert (log.first, log.last) == (0, 2)
    assert [list(version.adds) for version in log.versions()] == [[], [("a", "")], [("b", "")]]
    assert [version.version for version in log.versions(after=1)] == [2]
    assert list(log.versions(after=2)) == []


@pytest.mark.parametrize(
    ("action", "field", "expected"),
    [
        (
            {"protocol": {**FEATURES, "readerFeatures": ["v2Checkpoint"]}},
            "protocol",
            Protocol(3, 7, ["v2Checkpoint"]),
        ),
        (
            {
                "protocol": {
                    **FEATURES,
                    "readerFeatures": ["deletionVectors"],
                    "writerFeatures": ["rowTracking", "appendOnly", "deletionVectors"],
                }
            },
            "protocol",
            Protocol(3, 7, ["appendOnly", "deletionVectors", "rowTracking"]),
        ),
        ({"txn": {"appId": "etl", "version": 4, "lastUpdated": 1}}, "apps", {"etl": 4}),
        ({"txn": {"appId": "etl", "version": -1}}, "apps", {"etl": -1}),
        (
            {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
            "domains",
            {"d": Domain("d", "{}", removed=False)},
        ),
        (
            {"domainMetadata": {"domain": "d", "configuration": "", "removed": True}},
            "domains",
            {"d": Domain("d", "", removed=True)},
        ),
        ({"cdc": {"path": "c", "partitionValues": {}, "size": 1}}, "has_change_files", True),
        (info(readVersion=0, isolationLevel="serializable"), "provenance",
         Provenance("WRITE", 0, "serializable", is_blind=True)),
        ({"commitInfo": {"operation": 7, "readVersion": "0", "isolationLevel": "Strict",
                         "isBlindAppend": "true"}}, "provenance", Provenance()),
        ({"commitInfo": {"operation": None, "readVersion": True}}, "provenance", Provenance()),
        ({"somethingNew": {"a": 1}}, "provenance", Provenance()),
        ({**info(), "somethingNew": [1]}, "provenance", Provenance("WRITE", is_blind=True)),
    ],
)  # fmt: skip
def test_action(tmp_path: Path, action: Action, field: str, expected: Any) -> None:
    """Every kind of action is read, unknown ones are ignored, odd provenance counts as none."""
    assert getattr(second(tmp_path, action), field) == expected


@pytest.mark.parametrize(
    ("vector", "expected"),
    [
        ({"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 3}, "uab@1"),
        ({"storageType": "p", "pathOrInlineDv": "s3://x", "offset": 0}, "ps3://x@0"),
        ({"storageType": "i", "pathOrInlineDv": "wi5b"}, "iwi5b"),
        (None, ""),
    ],
)
def test_vector(tmp_path: Path, vector: Any, expected: str) -> None:
    """A deletion vector is known by its unique id, and is a part of the file."""
    found = second(tmp_path, add("a", deletionVector=vector), remove("b", deletionVector=vector))

    assert list(found.adds) == [("a", expected)]
    assert list(found.removes) == [("b", expected)]


V1 = "00000000000000000001.json"


@pytest.mark.parametrize(
    ("damage", "file", "what"),
    [
        (lambda log: write_version(log, 3, [add("c")]), "3.json", "version 2 before it is missing"),
        (lambda log: write_file(log, "1.json", "{}"), "1.json", "version 1 has another file"),
        (lambda log: write_file(log, "2.json", "{}"), "2.json", "has 20 digits"),
        (lambda log: write_version(log, 0, [add("a")]), "0.json", "one is missing"),
    ],
    ids=["gap", "two files", "digits", "no table"],
)
def test_damaged_files(tmp_path: Path, damage: Callable[[Path], Any], file: str, what: str) -> None:
    """A log whose files contradict each other is refused, with the file and what is wrong."""
    write_log(tmp_path, begin(), [info(), add("a")])
    damage(tmp_path)

    with pytest.raises(DeltaLogError, match=what) as raised:
        read(tmp_path)

    assert raised.value.file.endswith(file)


@pytest.mark.parametrize(
    ("actions", "what"),
    [
        (["{no json"], "line 1: it is no JSON"),
        ([add("a"), "\x00\x01"], "line 2: it is no JSON"),
        ([json.dumps(add("a"))[:-9]], "line 1: it is no JSON"),
        (["[]"], "action 1: a line of the log is a JSON object"),
        (['{"add":[]}'], "add is no JSON object"),
        ([{**add("a"), **remove("b")}], "add and remove stand in one line"),
        ([add("a"), add("a", partitionValues={"day": "1"})], "action 2: file a is added twice"),
        ([remove("a"), add("a")], "file a is added and removed at once"),
        ([add("")], 'add has "" as path'),
        ([{"remove": {"path": 7}}], "remove has 7 as path"),
        ([add("a", size="ten")], 'add has "ten" as size'),
        ([add("a", size=1.5)], "add has 1.5 as size"),
        ([add("a", size=2**63)], "add has 9223372036854775808 as size"),
        ([add("a", size=True)], "add has true as size"),
        ([add("a", partitionValues=None)], "add has null as partitionValues"),
        ([add("a", partitionValues={"day": [1]})], "where a map of texts belongs"),
        ([add("a", dataChange="true")], "where a true or false belongs"),
        ([add("a", stats={"numRecords": 1})], "where a text belongs"),
        ([add("a", deletionVector="u")], 'add has "u" as deletionVector'),
        ([add("a", deletionVector={"storageType": "x"})], 'has "x" as storageType'),
        ([{"txn": {"appId": "a", "version": "v1"}}], 'txn has "v1" as version'),
        ([{"txn": {"appId": "a", "version": 2**70}}], "where a whole number belongs"),
        ([{"txn": {"appId": "\ud800", "version": 1}}], "where a text belongs"),
        ([add("\ud800")], "where a text belongs"),
        ([add("a", partitionValues={"\ud800": "1"})], "where a map of texts belongs"),
        ([add("a", partitionValues={"day": "1\0"})], "where a text without zero bytes belongs"),
        ([remove("a", partitionValues={"day": "1\0"})], "where a text without zero bytes belongs"),
        ([add("a", stats="\0")], "where a text without zero bytes belongs"),
        (
            [add("a", deletionVector={"storageType": "u", "pathOrInlineDv": "\0"})],
            r"deletionVector has .* as pathOrInlineDv, where a text without zero bytes belongs",
        ),
        ([{"txn": {"version": 1}}], "txn has null as appId"),
        ([PROTOCOL, {"protocol": FEATURES}], "there are two protocol actions that differ"),
        ([metadata(), metadata(a="1")], "there are two metaData actions that differ"),
        (
            [{"domainMetadata": {"domain": "d", "configuration": text}} for text in "12"],
            "domain d is written twice",
        ),
        (
            [metadata(schema(("sum_x", "long"), ("b", "long"), ("SUM_X", "long")))],
            "columns sum_x and SUM_X differ in case only",
        ),
        ([metadata(partitioned=["day", "DAY"])], "partition columns day and DAY differ in case"),
        ([metadata(partitioned=["dya"])], "partitioned by dya, and schemaString has no such"),
    ],
)
def test_damaged_actions(tmp_path: Path, actions: list[Action | str], what: str) -> None:
    """An action that no writer writes is refused, with its place in the file."""
    with pytest.raises(DeltaLogError, match=what) as raised:
        second(tmp_path, *actions)

    assert raised.value.file.endswith(V1)


@pytest.mark.parametrize(
    ("actions", "field", "expected"),
    [
        ([info(readVersion=1)], "provenance", Provenance("WRITE", is_blind=True)),
        ([{"commitInfo": ["odd"]}, {"cdc": "odd"}], "provenance", Provenance()),
        ([{"cdc": {}}], "has_change_files", True),
        (
            [add("a"), add("a")],
            "adds",
            {("a", ""): DeltaAdd("a", {}, 10, 5, data_change=True, stats="", vector="")},
        ),
        (
            [remove("a")] * 2,
            "removes",
            {("a", ""): DeltaRemove("a", None, data_change=True, vector="")},
        ),
        (
            [add("a", size="7", modificationTime=-1, partitionValues={"p": 1, "q": True})],
            "adds",
            {
                ("a", ""): DeltaAdd(
                    "a", {"p": "1", "q": "true"}, 7, 0, data_change=True, stats="", vector=""
                )
            },
        ),
        (
            [add("a", size=-1)],
            "adds",
            {("a", ""): DeltaAdd("a", {}, 0, 5, data_change=True, stats="", vector="")},
        ),
        ([PROTOCOL, PROTOCOL], "protocol", Protocol(1, 2, [])),
        (
            [{"domainMetadata": {"domain": "d"}}] * 2,
            "domains",
            {"d": Domain("d", "", removed=False)},
        ),
        ([{"txn": {"appId": "etl", "version": "4"}}], "apps", {"etl": 4}),
    ],
)
def test_taken_as_readers_do(
    tmp_path: Path, actions: list[Action], field: str, expected: Any
) -> None:
    """What every reader takes is taken: the same said twice, and fields that are not needed."""
    assert getattr(second(tmp_path, *actions), field) == expected


@pytest.mark.parametrize("name", ["_delta_log", "_delta_log/x.crc"])
def test_no_log(tmp_path: Path, name: str) -> None:
    """A folder without a log, or with one that holds nothing, is no table."""
    (tmp_path / name).mkdir(parents=True)

    with pytest.raises(DeltaLogError, match="neither versions nor checkpoints"):
        DeltaLog.open(tmp_path)
    with pytest.raises(SettingsError, match="is no Delta table: there is no folder _delta_log"):
        DeltaLog.open(tmp_path / name)


def test_what_is_neither_a_version_nor_a_checkpoint_is_left_alone(tmp_path: Path) -> None:
    write_log(tmp_path, begin())
    for name in ("00000000000000000000.crc", "0.1.compacted.json", "00000000000000000007.json.tmp"):
        write_file(tmp_path, name, "?")

    assert len(read(tmp_path)) == 1


class Growing(PosixPath):
    """A folder in which another version, with a checkpoint, appears once it has been listed."""

    def iterdir(self) -> Generator["Growing", None, None]:
        found = list(super().iterdir())
        write_version(Path(self.parent), len(found), [add("c")])
        write_checkpoint(Path(self.parent), f"{len(found):020}.checkpoint.parquet", STATE)
        write_file(Path(self.parent), "_last_checkpoint", json.dumps({"version": len(found)}))
        yield from found


def test_written_meanwhile(tmp_path: Path) -> None:
    """A log that grows while it is opened is as it was before, whatever its hint says by then."""
    write_log(tmp_path, begin(), [add("a")])

    assert DeltaLog.open(Growing(tmp_path)).last == 1
    assert DeltaLog.open(tmp_path).last == 2


def test_schema_needed(tmp_path: Path) -> None:
    """A table without columns is one too: its schema may be empty."""
    write_log(tmp_path, [PROTOCOL, metadata(schema())])

    assert read(tmp_path)[0].metadata is not None
