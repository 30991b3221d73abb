"""Rows in the log: every reader sees them as it sees the rows of files."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.errors import UnreadableTableError
from ledger.files.rows.blocks import block_of, rows_of_block
from ledger.files.rows.joined_blocks import JOINED_MAX
from ledger.log.wire.file_extras import is_block
from ledger.testing import InMemoryLedger

COLUMNS = [("id", "bigint"), ("day", "date"), ("name", "string")]
ROW = {"id": 1, "day": None, "name": "a"}
Step = tuple[str, int]


INLINE = {"lakeledger.inline": "on"}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Return a client of a table `t` with rows in the log, and of one `f` without."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        create(ledger, tmp_path, "t", INLINE)
        create(ledger, tmp_path, "f", {})
        yield ledger


def create(
    ledger: Ledger, folder: Path, name: str, properties: dict[str, str], by: Sequence[str] = ()
) -> None:
    place = str(folder / name)
    ledger.create_table(
        name, COLUMNS, location=place, properties=properties, partition_columns=list(by)
    )


def blocks(ledger: Ledger, name: str = "t") -> list[bool]:
    return [is_block(file.path) for file in ledger.scan(name).files]


def rows(ledger: Ledger, name: str = "t", version: int | None = None) -> list[str]:
    found = ledger.scan(name, version=version).to_arrow().to_pylist()
    return sorted(json.dumps(row, default=str) for row in found)


def test_few_rows_are_no_file(ledger: Ledger, tmp_path: Path) -> None:
    ledger.append("t", [ROW])
    ledger.append("f", [ROW])
    assert (blocks(ledger), blocks(ledger, "f")) == ([True], [False])
    assert rows(ledger) == rows(ledger, "f")
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


@pytest.mark.parametrize(
    ("given_rows", "value", "is_inside"),
    [
        ([ROW] * 1_000, "on", True),
        ([ROW] * 1_001, "on", False),
        ([{**ROW, "name": "x" * 70_000}], "on", False),
        ([{**ROW, "name": "x" * 70_000}], "100000", True),
        ([ROW], "1", False),
        ([ROW], "off", False),
    ],
    ids=["1000 rows", "1001 rows", "large", "large and allowed", "too small a bound", "off"],
)
def test_the_bounds_of_a_block(
    ledger: Ledger, given_rows: list[dict[str, object]], value: str, *, is_inside: bool
) -> None:
    ledger.alter_table("t", properties={"lakeledger.inline": value})
    ledger.append("t", given_rows)
    assert blocks(ledger) == [is_inside]
    assert ledger.scan("t").count() == len(given_rows)


@pytest.mark.parametrize(
    "properties",
    [
        {"lakeledger.inline": "yes"},
        {"lakeledger.inline": "0"},
        {"lakeledger.inline": "262145"},
        {"lakeledger.inline": "on", "lakeledger.statistics.skip": "name"},
        {"lakeledger.inline.encrypted": "true"},
        {"lakeledger.inline": "off", "lakeledger.inline.encrypted": "true"},
        {"lakeledger.inline": "on", "lakeledger.inline.encrypted": "yes"},
    ],
    ids=str,
)
def test_what_does_not_go_with_rows_in_the_log_is_refused(
    ledger: Ledger, tmp_path: Path, properties: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match=r"lakeledger\.inline"):
        create(ledger, tmp_path, "u", properties)


def test_an_encrypted_table_has_no_partitions(ledger: Ledger, tmp_path: Path) -> None:
    encrypted = {**INLINE, "lakeledger.inline.encrypted": "true"}
    with pytest.raises(ValueError, match="the partition columns day: leave them out"):
        create(ledger, tmp_path, "u", encrypted, ["day"])


def test_more_blocks_than_are_joined_are_read_once(ledger: Ledger) -> None:
    for number in range(3):
        ledger.append("t", [{**ROW, "id": number}])
    (first, *_) = ledger.scan("t").files
    source = ledger.scan("t")._source  # noqa: SLF001 - many files without many commits
    many = [first._replace(path=f"rows:{number}") for number in range(2 * JOINED_MAX + 7)]
    again = type(source)(**{**vars(source), "files": many})
    assert sum(batch.num_rows for batch in again.batches(["id"])) == len(many)


def test_a_block_has_the_columns_of_its_time(ledger: Ledger) -> None:
    ledger.append("t", [ROW])
    columns = [
        column._replace(name="title") if column.name == "name" else column
        for column in ledger.table("t").definition.columns
    ]
    ledger.alter_table("t", columns=columns)
    ledger.append("t", [{"id": 2, "title": "b"}])
    ledger.alter_table("t", columns=[*ledger.table("t").definition.columns, ("n", "int")])
    ledger.append("t", [{"id": 3, "title": "c", "n": 5}])
    found = ledger.scan("t", columns=["id", "title", "n"]).to_arrow().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, "a", None), (2, "b", None), (3, "c", 5)]
    assert ledger.scan("t", version=1).to_arrow()["name"].to_pylist() == ["a"]


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, b"cut", b"long"], ids=str)
def test_bytes_that_are_no_block_are_named(damage: bytes) -> None:
    block = block_of(pa.table({"id": [1, 2]}))
    data = {b"cut": block[:-9], b"long": block[:8] + b"\xff" * 9 + block[17:]}.get(damage, damage)
    with pytest.raises(UnreadableTableError, match="rows:x in the log cannot be read"):
        rows_of_block("rows:x", data)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "insert", "delete", "update", "merge", "optimize", "restore"]),
        st.integers(0, 9),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(
    steps=STEPS,
    grain=st.sampled_from(["marks", "rewrite"]),
    kind=st.sampled_from(["plain", "divided", "encrypted"]),
)
def test_a_table_with_rows_in_the_log_is_its_twin_of_files(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], grain: str, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    with InMemoryLedger() as memory, memory.connect(keys=folder / "keys") as ledger:
        partitions = ["day"] if kind == "divided" else []
        states = []
        for name, inline in (("t", INLINE), ("f", {})):
            chosen = {**inline, "lakeledger.rows": grain}
            if inline and kind == "encrypted":
                chosen["lakeledger.inline.encrypted"] = "true"
            create(ledger, folder, name, chosen, partitions)
            states.append(list(played(ledger, name, [("append", 3), *steps])))
        assert states[0] == states[1]
        assert told(ledger, "t") == told(ledger, "f")


def played(ledger: Ledger, name: str, steps: Sequence[Step]) -> Iterator[list[str]]:
    """Yield the rows of a table after each step; each version must still show them at the end."""
    then = {}
    for step in steps:
        do(ledger, name, *step)
        then[ledger.table(name).version] = now = rows(ledger, name)
        yield now
    for version, known in then.items():
        assert rows(ledger, name, version) == known


def do(ledger: Ledger, name: str, what: str, number: int) -> None:
    """Change a table by a step."""
    day = f"2026-01-{1 + number % 3:02}"
    new = [{"id": number, "name": what}, {"id": number + 1, "name": None}]
    given_rows = pa.Table.from_pylist(new).append_column(
        "day", pa.array([day, None]).cast(pa.date32())
    )
    if what == "append":
        ledger.append(name, given_rows)
        return
    with ledger.begin() as txn:
        match what:
            case "insert":
                txn.insert(name, given_rows)
                txn.update(name, {"name": "'own'"}, f"id = {number}")
            case "delete":
                txn.delete(name, f"id % 3 = {number % 3}")
            case "update":
                txn.update(name, {"name": f"'{number}'"}, f"id > {number}")
            case "merge":
                txn.merge(
                    name,
                    given_rows,
                    "target.id = source.id",
                    when_matched_update={"name": "concat(target.name, 'm')"},
                    when_not_matched_insert=True,
                )
            case "optimize":
                txn.optimize(name)
            case _:
                txn.restore(name, version=min(1, ledger.table(name).version))


def told(ledger: Ledger, name: str) -> list[list[str]]:
    """Return the rows of each change of a table, without versions and places in the log."""
    hidden = ("_position", "_commit_timestamp", "_commit_version")
    changes = [
        sorted(
            json.dumps({key: row[key] for key in row if key not in hidden}, default=str)
            for row in change.rows().to_pylist()
        )
        for change in ledger.changes(name)
    ]
    # A file may be large enough where a block is written anew.
    return [change for change in changes if change]
