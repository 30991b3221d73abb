"""A trim takes the bytes of blocks that were removed below it, and nothing that is needed above."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.client import Ledger
from ledger.core.events.events import RecordsTrimmed
from ledger.definitions.client_reads import open_log
from ledger.errors import UnreadableTableError
from ledger.log.wire.file_extras import TRIMMED
from ledger.log.wire.file_list import unpack
from ledger.testing import InMemoryLedger, SequencerThread
from projections.rows.keys import LISTED

NAME = "db.small"
COLUMNS = [("id", "bigint"), ("name", "string")]
MARKS = {"lakeledger.inline": "on", "lakeledger.rows": "marks"}
TRIM_STEPS = ("append", "delete", "flush", "optimize")
NAMED = "ada lovelace"
BOUND = "statistics end with this text long before its end: "


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger, tmp_path: Path) -> Iterator[Ledger]:
    """Return a ledger whose table has three blocks at versions 1 to 3."""
    with memory.connect() as ledger:
        ledger.create_table(NAME, COLUMNS, location=tmp_path, properties=MARKS)
        for number in range(3):
            ledger.append(NAME, [{"id": number, "name": f"{BOUND}{NAMED} {number}"}])
        yield ledger


def trim(memory: InMemoryLedger, below: int) -> None:
    """Let the leader say that records left the log; they stay, for rows that are made anew."""
    memory.leader.stop()
    sequencer = memory.leader.sequencer
    assert sequencer.leader is not None
    sequencer.leader.append(RecordsTrimmed(below))
    memory.leader = SequencerThread(sequencer).start()


def flush(ledger: Ledger) -> int:
    with ledger.transaction() as txn:
        txn.flush(NAME)
    return ledger.reads().position()


def ids(ledger: Ledger, **place: Any) -> list[int]:
    return sorted(ledger.scan(NAME, **place).to_arrow()["id"].to_pylist())


def values(memory: InMemoryLedger) -> bytes:
    """Return the values of all rows of a follower; lists of files are inflated."""
    reads: Any = memory.reads
    reads.position()
    found = list[bytes]()
    for key, value in reads._rows.scan(b"", b"\xff"):  # noqa: SLF001
        found += [file.rows for file in unpack(value).adds] if key[:1] == LISTED else [value]
    return b"".join(found)


def test_blocks_that_were_removed_below_a_trim_are_gone(
    memory: InMemoryLedger, ledger: Ledger
) -> None:
    removed = flush(ledger)
    assert values(memory).count(NAMED.encode()) > 3
    ledger.trim_log(removed, archive="/backup", image=removed, digest=bytes(32))
    trim(memory, removed)
    assert ids(ledger, version=3) == [0, 1, 2]
    trim(memory, removed + 1)
    assert (NAMED.encode() in values(memory), TRIMMED in values(memory)) == (False, True)
    assert ids(ledger) == [0, 1, 2]
    with pytest.raises(UnreadableTableError, match="trimmed"):
        ids(ledger, version=3)
    with pytest.raises(UnreadableTableError, match="Read the changes after version 4"):
        list(ledger.changes(NAME, after=0).rows())
    assert list(ledger.changes(NAME, after=3).rows()) == []
    with pytest.raises(UnreadableTableError, match="later version"), ledger.transaction() as txn:
        txn.restore(NAME, version=3)


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(st.sampled_from(TRIM_STEPS), max_size=12),
    trims=st.lists(st.floats(0, 1), min_size=1, max_size=3),
)
def test_every_read_above_a_trim_is_as_before(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], trims: list[float]
) -> None:
    check_trims(tmp_path_factory.mktemp("small"), steps, trims)


def check_trims(folder: Path, steps: Sequence[str], trims: Sequence[float]) -> None:
    """Assert that trims are not seen above, and that rows made anew are the kept ones."""
    with InMemoryLedger() as memory, memory.connect() as ledger:
        ledger.create_table(NAME, COLUMNS, location=folder, properties=MARKS)
        for number, step in enumerate(["append", *steps]):
            carry_out(ledger, step, number)
        versions = [(row.version, row.position) for row in ledger.history(NAME)]
        before = {version: ids(ledger, version=version) for version, _ in versions}
        for below in sorted({2 + int(share * (versions[0][1] - 2)) for share in trims}):
            trim(memory, below)
            for version, position in versions:
                if position >= below:
                    assert ids(ledger, version=version) == before[version]
        assert dict(kept(memory.reads)) == dict(kept(open_log(memory.log)))


def carry_out(ledger: Ledger, step: str, number: int) -> None:
    with ledger.transaction() as txn:
        match step:
            case "append":
                rows = [{"id": 2 * number + n, "name": "a"} for n in range(2)]
                txn.insert(NAME, rows)
            case "delete":
                txn.delete(NAME, where=f"id % 3 = {number % 3}")
            case "flush":
                txn.flush(NAME)
            case _:
                txn.optimize(NAME)


def kept(reads: Any) -> Iterator[tuple[bytes, bytes]]:
    reads.position()
    yield from reads._rows.scan(b"", b"\xff")  # noqa: SLF001
