"""The consumer on the page of events decodes a log in memory as the product does."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.log.lossy import LossyLog
from ledger.log.port import Topic
from ledger.log.wire.file_extras import DeletionVector
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from tests.docs.pages import ROOT, all_blocks
from tests.sdk.conftest import ALERT, IMPATIENT

Commit = tuple[int, int, list[str], list[str]]
MANY = 12_000


@pytest.fixture
def commits() -> Callable[[Iterator[bytes]], Iterator[Commit]]:
    """Return the function of the page that yields the files of each commit."""
    first, *_ = [block.text for block in all_blocks("python") if block.page.endswith("events.md")]
    names: dict[str, Any] = {}
    first = first.replace('"schemas"', repr(str(ROOT / "ledger" / "log" / "schemas")))
    exec(compile(first, "events.md", "exec"), names)  # noqa: S102 - the text of our own page
    found: Callable[[Iterator[bytes]], Iterator[Commit]] = names["commits"]
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
    """Return the commits of a short history: position, table, added and removed paths."""
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
        (first.position, 1, ["a", "b"], []),
        (txn.receipt.position, 1, many, []),
        (last.receipt.position, 1, [], ["b"]),
    ]
