"""Where a Delta log is read from: checkpoints of every form, holes, and what dead writers leave."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.core.commands import Protocol
from ledger.delta.actions import DeltaCommit
from ledger.delta.log import DeltaLog
from ledger.errors import DeltaLogError, IncompatibleError
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
)

V1 = "00000000000000000001.json"
SIDECAR = "00000000000000000002.checkpoint.0000000001.0000000001.part.parquet"
STATE: list[Action] = [PROTOCOL, metadata(), add("a"), add("b")]
NEWER: Action = {"protocol": {"minReaderVersion": 4, "minWriterVersion": 8}}
HEAD: list[Action] = [{"checkpointMetadata": {"version": 2}}, {"sidecar": {"path": SIDECAR}}]


def read(table: Path) -> list[DeltaCommit]:
    return list(DeltaLog.open(table).versions())


def classic(table: Path) -> None:
    write_checkpoint(table, "00000000000000000002.checkpoint.parquet", STATE)


def parts(table: Path) -> None:
    name = "00000000000000000002.checkpoint.000000000{}.0000000002.parquet"
    write_checkpoint(table, name.format(1), STATE[:3])
    write_checkpoint(table, name.format(2), STATE[3:])


def with_sidecar(table: Path) -> None:
    head: list[Action] = [*HEAD, *STATE[:2]]
    name = "00000000000000000002.checkpoint.5f7c2c1e-0000-4000-8000-00000000000a.json"
    write_file(table, name, "\n".join(json.dumps(each) for each in head))
    write_checkpoint(table, f"_sidecars/{SIDECAR}", [*STATE[2:], {"remove": {"path": "gone"}}])


def parquet_with_sidecar(table: Path) -> None:
    head: list[Action] = [*HEAD, *STATE[:2]]
    name = "00000000000000000002.checkpoint.5f7c2c1e-0000-4000-8000-00000000000a.parquet"
    write_checkpoint(table, name, head)
    write_checkpoint(table, f"_sidecars/{SIDECAR}", STATE[2:])


@pytest.mark.parametrize("first", [2, 3])
@pytest.mark.parametrize("checkpoint", [classic, parts, with_sidecar, parquet_with_sidecar])
def test_checkpoint(tmp_path: Path, checkpoint: Callable[[Path], None], first: int) -> None:
    """Where early versions are gone, the state at a checkpoint of any form comes first."""
    checkpoint(tmp_path)
    rest = [[info("DELETE", blind=False), remove("x")], [add("c")]][first - 2 :]
    log = DeltaLog.open(write_log(tmp_path, *rest, first=first))

    state, *following = log.versions()

    assert (state.version, state.is_checkpoint, state.protocol) == (2, True, Protocol(1, 2, []))
    assert (list(state.adds), list(state.removes)) == ([("a", ""), ("b", "")], [])
    assert all(each.data_change for each in state.adds.values())
    assert state.provenance.operation == ("DELETE" if first == 2 else "")
    assert [each.version for each in following] == [3]


def test_a_log_may_be_one_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    classic(tmp_path)

    assert [each.version for each in read(tmp_path)] == [2]


def unlinked(write: Callable[[Path], None], pattern: str) -> Callable[[Path], None]:
    def write_less(table: Path) -> None:
        write(table)
        next(table.rglob(pattern)).unlink()

    return write_less


def replaced(write: Callable[[Path], None], pattern: str, text: str) -> Callable[[Path], None]:
    """Return what writes a checkpoint, with other content in a file of it."""

    def write_other(table: Path) -> None:
        write(table)
        next(table.rglob(pattern)).write_text(text, encoding="utf-8")

    return write_other


@pytest.mark.parametrize(
    ("checkpoint", "what"),
    [
        (lambda _: None, "versions before 3 are gone, and no checkpoint takes their place"),
        (unlinked(parts, "*01.0000000002.parquet"), "has 2 parts, 1 of them are here"),
        (unlinked(with_sidecar, SIDECAR), f"its sidecar {SIDECAR} is missing"),
        (replaced(classic, "*.parquet", "no parquet"), "it is no Parquet file"),
        (replaced(with_sidecar, SIDECAR, "no parquet"), "it is no Parquet file"),
        (replaced(with_sidecar, "*checkpoint.*.json", "no json"), "line 1: it is no JSON"),
        (
            replaced(with_sidecar, "*checkpoint.*.json", '{"checkpointMetadata":{"version":7}}'),
            "it is a checkpoint of version 7, not of 2",
        ),
        (
            replaced(with_sidecar, "*checkpoint.*.json", '{"sidecar":{"path":"../x.parquet"}}'),
            "lies elsewhere",
        ),
        (replaced(with_sidecar, "*checkpoint.*.json", '{"sidecar":{}}'), "where a text belongs"),
        (replaced(with_sidecar, "*checkpoint.*.json", json.dumps(PROTOCOL)), "one is missing"),
    ],
)
def test_checkpoint_damage(tmp_path: Path, checkpoint: Callable[[Path], None], what: str) -> None:
    """A checkpoint that is needed and is not whole is refused."""
    write_log(tmp_path, [add("c")], first=3)
    checkpoint(tmp_path)

    with pytest.raises(DeltaLogError, match=what):
        read(tmp_path)


@pytest.mark.parametrize(
    "hint", ["", '{"version":1,"siz', "9", '{"version":"1"}', '{"version":-3}', '{"version":9}']
)
def test_no_version_depends_on_the_hint_whatever_stands_in_it(tmp_path: Path, hint: str) -> None:
    path = write_file(write_log(tmp_path, begin(), [add("a")]), "_last_checkpoint", hint)

    log = DeltaLog.open(tmp_path)

    assert [version.version for version in log.versions()] == [0, 1]
    told = {str(path): "it names a checkpoint of version 9, the newest version is 1"}
    assert log.passed_over == (told if ":9" in hint else {})


def test_a_log_with_a_hole_begins_with_the_first_checkpoint_above_it(tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [add("a")], [add("b")], [add("c")], [add("d")])
    classic(tmp_path)
    (tmp_path / "_delta_log" / V1).unlink()

    log = DeltaLog.open(tmp_path)

    assert [version.version for version in log.versions()] == [2, 3, 4]
    assert list(log.passed_over.values()) == ["version 1 after it is missing"]


@pytest.mark.parametrize(
    "damage", ["no json", "", '{"add":{}}', json.dumps(metadata("{")), json.dumps(NEWER)]
)
def test_a_damaged_version_below_a_checkpoint_is_not_needed(tmp_path: Path, damage: str) -> None:
    write_log(tmp_path, begin(), [damage], [add("b")], [add("c")])
    classic(tmp_path)

    log = DeltaLog.open(tmp_path)

    assert [(version.version, version.is_checkpoint) for version in log.versions()] == [
        (2, True),
        (3, False),
    ]
    assert [name.endswith(V1) for name in log.passed_over] == [True]
    with pytest.raises((DeltaLogError, IncompatibleError), match=V1):
        list(log.versions(after=0))


def test_a_broken_checkpoint_is_passed_over_for_a_newer_one(tmp_path: Path) -> None:
    write_log(tmp_path, [add("c")], [add("d")], [add("e")], first=3)
    replaced(classic, "*.parquet", "no parquet")(tmp_path)
    write_checkpoint(tmp_path, f"{4:020}.checkpoint.parquet", [*STATE, add("c"), add("d")])

    log = DeltaLog.open(tmp_path)

    assert [version.version for version in log.versions()] == [4, 5]
    assert ["it is no Parquet file" in each for each in log.passed_over.values()] == [True]


def test_a_checkpoint_without_a_byte_is_not_there(tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [add("a")])
    write_file(tmp_path, f"{9:020}.checkpoint.parquet", "")

    assert [each.version for each in read(tmp_path)] == [0, 1]


def test_a_checkpoint_is_the_newest_version_where_the_others_are_gone(tmp_path: Path) -> None:
    write_log(tmp_path, begin())
    classic(tmp_path)

    assert [(each.version, each.is_checkpoint) for each in read(tmp_path)] == [(2, True)]


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_version_did_nothing(tmp_path: Path, text: str) -> None:
    write_log(tmp_path, begin(), [add("a")], [add("b")])
    write_file(tmp_path, V1, text)
    newest = write_file(tmp_path, f"{3:020}.json", text)

    log = DeltaLog.open(tmp_path)

    assert [list(version.adds) for version in log.versions()] == [[], [], [("b", "")]]
    assert log.passed_over == {str(newest.parent / V1): "it is empty", str(newest): "it is empty"}


def test_a_sidecar_may_be_named_with_its_folder_as_a_uri_too(tmp_path: Path) -> None:
    with_sidecar(tmp_path)
    named = (tmp_path / "_delta_log/_sidecars" / SIDECAR).as_uri()
    replaced(
        lambda _: None,
        "*checkpoint.*.json",
        "\n".join(json.dumps(each) for each in [HEAD[0], {"sidecar": {"path": named}}, *STATE[:2]]),
    )(tmp_path)

    assert [list(each.adds) for each in read(tmp_path)] == [[("a", ""), ("b", "")]]


def test_where_every_version_is_there_no_checkpoint_is_read_whole_or_not(tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [add("a")], [add("b")], [add("c")])
    unlinked(parts, "*01.0000000002.parquet")(tmp_path)

    assert [each.version for each in read(tmp_path)] == [0, 1, 2, 3]


def test_who_read_up_to_a_version_and_finds_the_next_one_gone_is_told_so(tmp_path: Path) -> None:
    classic(tmp_path)

    with pytest.raises(DeltaLogError, match="version 1, which comes next, is gone"):
        list(DeltaLog.open(tmp_path).versions(after=0))


def test_without_pyarrow_a_log_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    classic(tmp_path)
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\nfrom ledger.delta.log import DeltaLog\n"
        "list(DeltaLog.open(Path(sys.argv[1])).versions())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert "SettingsError" in done.stderr
    assert "pip install 'lakeledger[delta]'" in done.stderr


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ([metadata(schema(("a", "long"), ("A", "long")))], "columns a and A differ in case only"),
        ([metadata(partitioned=["x"])], "partitioned by x"),
    ],
)
def test_checkpoint_that_makes_no_sense(tmp_path: Path, changed: list[Action], what: str) -> None:
    """What a checkpoint says of its table is refused by the file of the checkpoint."""
    path = write_checkpoint(tmp_path, f"{2:020}.checkpoint.parquet", [PROTOCOL, *changed])

    with pytest.raises(DeltaLogError, match=what) as raised:
        read(tmp_path)

    assert raised.value.file == str(path)


def test_a_file_in_a_checkpoint_is_live_whatever_it_says_of_data(tmp_path: Path) -> None:
    said = add("a")
    del said["add"]["dataChange"]
    write_checkpoint(tmp_path, f"{2:020}.checkpoint.parquet", [PROTOCOL, metadata(), said])

    assert [each.data_change for each in read(tmp_path)[0].adds.values()] == [True]
