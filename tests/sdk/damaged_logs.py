"""Small logs that deltalake wrote, and what crashed writers and clean-up jobs do to them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import strategies as st
from pyarrow import parquet

VERSIONS = 8
CHECKPOINTS = (2, 5)
HINT = "_last_checkpoint"
V2_NAME = "80a083e8-7026-4e79-81be-64bd76c43a11"
LEFTOVERS = (
    "{v}.json.tmp",
    ".{v}.json.crc",
    ".{v}.checkpoint.parquet.crc",
    "_commit_6c0f.json.tmp",
    "{v}.crc",
    "{v}.{v}.compacted.json",
    "{v}.checkpoint.parquet.tmp",
    "{v}.6c0f.json",
    "copy of {v}.json",
)


class Damage(NamedTuple):
    """Something that befell a log: its name, and what it does to the folder."""

    name: str
    do: Callable[[Path], object]

    def __repr__(self) -> str:
        return self.name


def plain(table: Path) -> None:
    """Write a table without partitions, whole versions of which are overwritten."""
    for number in range(VERSIONS):
        rows = pa.table({"id": [number]})
        if number == VERSIONS - 2:
            write_deltalake(table, rows, mode="overwrite")
        else:
            write_deltalake(table, rows, mode="append")
        if number in CHECKPOINTS:
            DeltaTable(table).create_checkpoint()


def partitioned(table: Path) -> None:
    """Write a table with odd partition values, rows of which are deleted."""
    for number in range(VERSIONS):
        if number == VERSIONS - 2:
            DeltaTable(table).delete("id = 1")
        else:
            rows = {"id": [number, -1], "p": [f"a b/{number}%", None]}
            write_deltalake(table, pa.table(rows), mode="append", partition_by=["p"])
        if number in CHECKPOINTS:
            DeltaTable(table).create_checkpoint()


def in_parts(table: Path) -> None:
    """Write a table whose checkpoints have two parts each."""
    partitioned(table)
    for version in CHECKPOINTS:
        path = log_of(table) / checkpoint(version)
        rows = parquet.read_table(path)
        middle = rows.num_rows // 2
        for number, part in enumerate((rows.slice(0, middle), rows.slice(middle)), start=1):
            name = f"{version:020}.checkpoint.{number:010}.{2:010}.parquet"
            parquet.write_table(part, path.with_name(name))
        path.unlink()
    hint = {"version": CHECKPOINTS[-1], "size": rows.num_rows, "parts": 2}
    (log_of(table) / HINT).write_text(json.dumps(hint))


def with_sidecars(table: Path) -> None:
    """Write a table whose newest checkpoint has the newer form, with a sidecar."""
    plain(table)
    version = CHECKPOINTS[-1]
    first, path = log_of(table) / f"{0:020}.json", log_of(table) / checkpoint(version)
    features = {"readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    actions = [protocol if "protocol" in action else action for action in actions]
    first.write_text("\n".join(map(json.dumps, actions)))
    adds = parquet.read_table(path, columns=["add"])
    adds = adds.filter(adds.column("add").is_valid())
    sidecar = log_of(table) / "_sidecars" / "adds.parquet"
    sidecar.parent.mkdir()
    parquet.write_table(adds, sidecar)
    size = sidecar.stat().st_size
    named = {"path": sidecar.name, "sizeInBytes": size, "modificationTime": 1}
    top = [{"checkpointMetadata": {"version": version}}, {"sidecar": named}]
    top += [action for action in actions if "protocol" in action or "metaData" in action]
    name = f"{version:020}.checkpoint.{V2_NAME}.json"
    path.with_name(name).write_text("\n".join(map(json.dumps, top)))
    for old in CHECKPOINTS:
        path.with_name(checkpoint(old)).unlink()
    path.with_name(HINT).unlink()


LOGS = {"plain": plain, "partitioned": partitioned, "in parts": in_parts, "v2": with_sidecars}


def log_of(table: Path) -> Path:
    return table / "_delta_log"


def checkpoint(version: int) -> str:
    """Return the name of a checkpoint of one file."""
    return f"{version:020}.checkpoint.parquet"


def damages(log: Path) -> st.SearchStrategy[Damage]:
    """Return what can befall a log with the files that it has."""
    files = sorted(each.relative_to(log).as_posix() for each in log.rglob("*") if each.is_file())
    versions = [file for file in files if file.endswith(".json") and "checkpoint" not in file]
    newest = [version for version in versions if int(version[:20]) > CHECKPOINTS[-1]]
    number, beyond = st.integers(0, VERSIONS + 1), st.integers(VERSIONS, VERSIONS + 1)
    blank = st.sampled_from(["", "?"])
    return st.one_of(
        st.builds(removed, st.sampled_from(files)),
        st.builds(cleaned, st.integers(1, VERSIONS - 1)),
        st.builds(cut, st.sampled_from(files), st.integers(0, 99)),
        st.builds(cut_to_lines, st.sampled_from(versions), st.integers(0, 2)),
        st.builds(hint, st.sampled_from(HINTS), number),
        st.builds(left, st.sampled_from(LEFTOVERS), number, blank),
        st.builds(begun, beyond, st.sampled_from(["", "\n", '{"add":{"pa'])),
        st.builds(begun_checkpoint, number),
        st.builds(one_part, number),
        st.builds(appended, st.sampled_from(versions), st.sampled_from(MORE)),
        st.builds(appended, st.sampled_from(newest), st.sampled_from(MORE_FILES)),
    )


HINTS = ("", "{", "[]", "7", '{"version":%d,"size":1}')
MORE = (
    '{"somethingNew":{"a":1}}',
    '{"add":null,"somethingNew":[]}',
    "{}",
    "",
    '{"commitInfo":{"timestamp":"odd","operation":7,"readVersion":99}}',
    '{"txn":{"appId":"etl","version":3}}',
    '{"domainMetadata":{"domain":"d","configuration":"","removed":false}}',
)
FIELDS = '"partitionValues":{},"size":1,"modificationTime":-1,"dataChange":true'
MORE_FILES = (
    f'{{"add":{{"path":"new",{FIELDS},"tags":{{"a":null}},"somethingNew":3}}}}',
    '{"remove":{"path":"never there","dataChange":true}}',
)


def removed(name: str) -> Damage:
    """Remove one file, as a clean-up by age does."""
    return Damage(f"remove {name}", lambda log: (log / name).unlink(missing_ok=True))


def cleaned(version: int) -> Damage:
    """Remove all versions before one."""

    def do(log: Path) -> None:
        for before in range(version):
            (log / f"{before:020}.json").unlink(missing_ok=True)

    return Damage(f"clean up before {version}", do)


def cut(name: str, percent: int) -> Damage:
    """Leave the first part of a file."""

    def do(log: Path) -> None:
        if (log / name).exists():
            content = (log / name).read_bytes()
            (log / name).write_bytes(content[: len(content) * percent // 100])

    return Damage(f"cut {name} to {percent} %", do)


def cut_to_lines(name: str, lines: int) -> Damage:
    """Leave the first lines of a version."""

    def do(log: Path) -> None:
        if (log / name).exists():
            kept = (log / name).read_text(errors="replace").splitlines(keepends=True)[:lines]
            (log / name).write_text("".join(kept))

    return Damage(f"cut {name} to {lines} lines", do)


def hint(text: str, version: int) -> Damage:
    """Write the hint of the last checkpoint."""
    said = text % version if "%" in text else text
    return Damage(f"hint {said!r}", lambda log: (log / HINT).write_text(said))


def left(name: str, version: int, text: str) -> Damage:
    """Leave a file that is no part of a log."""
    named = name.format(v=f"{version:020}")
    return Damage(f"leave {named} {text!r}", lambda log: (log / named).write_text(text))


def begun(version: int, text: str) -> Damage:
    """Begin a new version, and die."""
    path = f"{version:020}.json"
    return Damage(f"begin {path} {text!r}", lambda log: (log / path).write_text(text))


def begun_checkpoint(version: int) -> Damage:
    """Begin a checkpoint, and die."""

    def do(log: Path) -> None:
        if not (log / checkpoint(version)).exists():
            (log / checkpoint(version)).write_text("")

    return Damage(f"begin a checkpoint of {version}", do)


def one_part(version: int) -> Damage:
    """Write the first part of a checkpoint of three, and die."""
    path = f"{version:020}.checkpoint.{1:010}.{3:010}.parquet"
    return Damage(f"begin {path}", lambda log: (log / path).write_text("?"))


def appended(name: str, line: str) -> Damage:
    """Write a line more into a version, as newer writers do."""

    def do(log: Path) -> None:
        if (log / name).exists():
            (log / name).write_text(
                (log / name).read_text(errors="replace").rstrip() + "\n" + line + "\n"
            )

    return Damage(f"append {line!r} to {name}", do)
