"""The consumer on the page of events decodes a log in memory as the product does."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ledger.client import Ledger
from ledger.core.events.events import TxnCommitted
from ledger.log.lossy import LossyLog
from ledger.log.memory import MemoryLog
from ledger.log.port import Topic
from ledger.log.wire.codec import decode_event
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from ledger.log.wire.inline_vectors import inline_rows
from ledger.testing import InMemoryLedger
from tests.docs.pages import ROOT, all_blocks
from tests.sdk.conftest import ALERT, IMPATIENT

Commit = tuple[int, int, list[str], list[str], dict[str, Any]]
MANY = 12_000


@pytest.fixture
def page() -> dict[str, Any]:
    """Return the functions of the page that read values, whatever brings these."""
    texts = [block.text for block in all_blocks("python") if block.page.endswith("events.md")]
    names: dict[str, Any] = {}
    schemas = repr(str(ROOT / "ledger" / "log" / "schemas"))
    for text in texts:
        if "confluent_kafka" not in text:
            own = text.replace('"schemas"', schemas)
            exec(compile(own, "events.md", "exec"), names)  # noqa: S102 - the text of our own page
    return names


@pytest.fixture
def commits(page: dict[str, Any]) -> Callable[[Iterator[bytes]], Iterator[Commit]]:
    """Return the function of the page that yields the files of each commit."""
    found: Callable[[Iterator[bytes]], Iterator[Commit]] = page["commits"]
    return found


def test_page_decodes_a_log(commits: Callable[[Iterator[bytes]], Iterator[Commit]]) -> None:
    """The page reads plain, deflated and staged lists, and drops what a former leader appends."""
    log = LossyLog()
    with (
        InMemoryLedger(log=log, settings=ALERT) as memory,
        memory.connect(settings=IMPATIENT) as ledger,
    ):
        expected = written(ledger, memory)
        # A record again, as a leader that was replaced may append it.
        values = [record.value for record in log.topics[Topic.EVENTS].records]

        assert list(commits(iter([*values, values[5]]))) == expected


def written(ledger: Ledger, memory: InMemoryLedger) -> list[Commit]:
    """Return the commits of a short history: position, table, added and removed paths, no rows."""
    ledger.create_table("t")
    vector = DeletionVector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
    first = ledger.append("t", [AddFile("a", deletion_vector=vector), "b"])
    memory.take_over(crash=True)
    many = [f"part-{number}" for number in range(MANY)]
    with ledger.transaction() as txn:
        txn.add_files("t", many)
    with ledger.transaction() as lost:
        lost.add_files("t", ["never"])
        lost.abort()
    with ledger.transaction() as last:
        last.remove_files("t", ["b"])
    assert txn.receipt is not None
    assert last.receipt is not None
    return [
        (first.position, 1, ["a", "b"], [], {}),
        (txn.receipt.position, 1, many, [], {}),
        (last.receipt.position, 1, [], ["b"], {}),
    ]


def test_page_deletes_the_rows_that_commits_mark(
    commits: Callable[[Iterator[bytes]], Iterator[Commit]], tmp_path: Path
) -> None:
    """The rows that it finds are in the vectors that readers of the ledger get."""
    log = MemoryLog()
    with InMemoryLedger(log=log) as memory, memory.connect() as ledger:
        rows_changed(ledger, tmp_path)
        values = [record.value for record in log.topics[Topic.EVENTS].records]
        bodies = [decode_event(value).body for value in values]
        parts = [part for body in bodies if isinstance(body, TxnCommitted) for part in body.parts]
        assert [bool(part.translated and part.left_out) for part in parts[-3:-1]] == [True, True]
        live: dict[str, set[int]] = {}
        found = list(commits(iter(values)))
        assert len(found) == len(parts)
        for position, _, added, removed, marked in found:
            live = {path: rows for path, rows in live.items() if path not in removed}
            live |= {path: set() for path in added}
            for path, rows in marked.items():
                live[path] = live[path] | set(rows)

            assert live == rows_of(ledger.read("t", position=position))


def rows_changed(ledger: Ledger, folder: Path) -> None:
    """Change rows of files that others replace, rewrite and mark meanwhile."""
    rows = [{"id": number} for number in range(900)]
    made = {"lakeledger.rows": "marks"}
    ledger.create_table("t", rows[:600], location=str(folder / "t"), properties=made)
    ledger.append("t", rows[600:])
    with ledger.transaction() as late, ledger.transaction() as rewrite:
        late.delete("t", "id IN (7, 700)")
        rewrite.update("t", {"id": -1}, "id < 500 AND id > 100")
        ledger.delete("t", "id = 8")
        ledger.optimize("t")
    ledger.delete("t", "id = 1")


def rows_of(files: Iterable[Any]) -> dict[str, set[int]]:
    """Return the deleted rows of files, by path."""
    return {file.path: set(inline_rows(file.deletion_vector)) for file in files}


def test_page_reads_the_rows_of_blocks(page: dict[str, Any], tmp_path: Path) -> None:
    """They are what a scan shows, found in the lists of commits without the product."""
    log = MemoryLog()
    with InMemoryLedger(log=log) as memory, memory.connect() as ledger:
        made = {"lakeledger.inline": "on"}
        columns = [("id", "bigint"), ("tags", "array<string>")]
        ledger.create_table("t", columns, location=str(tmp_path / "t"), properties=made)
        for number in range(2):
            ledger.append("t", [{"id": number, "tags": ["a", None]}])
        found: dict[str, pa.Table] = {}
        for record in log.topics[Topic.EVENTS].records:
            name, event = page["decode"](record.value)
            for part in event["parts"] if name == "TxnCommitted" else ():
                _, files = page["decode"](part["footprint"]["files"])
                found |= dict(page["blocks"](files))

        assert set(found) == {file.path for file in ledger.read("t")}
        rows = [row for block in found.values() for row in block.to_pylist()]
        assert rows == sorted(ledger.scan("t").to_arrow().to_pylist(), key=lambda row: row["id"])
