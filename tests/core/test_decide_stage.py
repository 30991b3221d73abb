"""Chunks of a footprint that come before its commit: their order, their bounds and their end.

The refusals of a command stand in the order they are checked: what a row does wrong, the rows above
it do wrong as well, as far as one command can.
"""

from typing import Any

import pytest

from ledger.core.acceptance import NO_CHAIN
from ledger.core.commands import CommitTxn, Footprint, Protocol, StageWrites, TableWrite
from ledger.core.conflicts.footprints import CHUNK_BYTES, path_hash
from ledger.core.conflicts.row_changes import NO_ROWS
from ledger.core.decide import candidate
from ledger.core.events.events import Event, TxnAborted, TxnCommitted, WritesStaged
from ledger.core.invariants import assert_invariants
from ledger.core.limits import (
    EVENT_BYTES_MAX,
    FOOTPRINT_ENTRIES_MAX,
    FOOTPRINT_READS_MAX,
    HASH_BYTES,
    STAGED_BYTES_MAX,
    STAGED_CHUNKS_MAX,
)
from ledger.core.refusals import Reason
from ledger.core.rows.bitmaps import bytes_of, rows_from
from ledger.core.rows.changes import Marks
from ledger.log.wire.codec import frame_event
from tests.core.parts import after, footprint, part, partition
from tests.core.scene import MISSING, Accepted, Refusal, Scene, accepts, last, refuses
from tests.driver import write

FIRST = footprint(adds=[partition()], remove=["a"], rows_added=3, files=b"first")
SECOND = footprint(adds=[partition()], remove=["b"], rows_added=4, files=b"second")
LAST = footprint(adds=[partition()], remove=["c"], rows_added=5, files=b"last")
PROTOCOL = Protocol(3, 7, ["deletionVectors"])
BROKEN = footprint(adds=["no partition"])
MARKED, MARKED_OTHERWISE = (
    footprint(remove=["a"])._replace(
        removes=b"", rows=NO_ROWS._replace(marks=[Marks("a", bytes_of(rows_from(row, row + 1)))])
    )
    for row in (1, 2)
)


def stage(
    scene: Scene, chunk: Footprint = FIRST, number: int = 1, *, txn: int = 0, table: int = 0
) -> StageWrites:
    """Return ada's command to stage a chunk, in her txn and in flights unless said otherwise."""
    asks = scene.asks(scene.ada)
    return StageWrites(*asks, txn or scene.mine, table or scene.flights, number, chunk)


def staged(scene: Scene, *chunks: Footprint, table: int = 0) -> Event:
    """Stage chunks in their order and return the last answer."""
    numbered = enumerate(chunks, start=1)
    return [scene.ask(stage(scene, chunk, number, table=table)) for number, chunk in numbered][-1]


def commit(scene: Scene, *writes: TableWrite, txn: int | None = None) -> CommitTxn:
    """Return ada's commit of her txn unless another is named."""
    return CommitTxn(*scene.asks(scene.ada), scene.mine if txn is None else txn, writes)


def of_flights(scene: Scene, last_chunk: Footprint) -> TableWrite:
    return TableWrite(scene.flights, 0, [], last_chunk)


STAGE = [
    Refusal(
        Reason.TXN_NOT_OPEN,
        "(unknown)",
        lambda s: stage(s, BROKEN, 2, txn=MISSING, table=MISSING),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.NOT_OWNER,
        "belongs to session",
        lambda s: stage(s, BROKEN, 2, txn=s.others, table=MISSING),
        lambda s: s.others,
    ),
    Refusal(
        Reason.TXN_READ_ONLY,
        "is read only",
        lambda s: stage(s, BROKEN, 2, txn=s.reading, table=MISSING),
        lambda s: s.reading,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 404",
        lambda s: stage(s, BROKEN, 2, table=MISSING),
        lambda _: MISSING,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 4",
        lambda s: stage(s, BROKEN, 2, table=s.gone),
        lambda s: s.gone,
    ),
    Refusal(
        Reason.UNKNOWN_TABLE,
        "there is no table 5",
        lambda s: stage(s, BROKEN, 2, table=s.draft),
        lambda s: s.draft,
    ),
    Refusal(
        Reason.TABLE_EXTERNAL,
        "weather is an external table",
        lambda s: stage(s, BROKEN, 2, table=s.weather),
        lambda s: s.weather,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "next chunk of table flights must be 1, got 2",
        lambda s: stage(s, BROKEN, 2),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "next chunk of table flights must be 2, got 1",
        lambda s: last(staged(s, FIRST), stage(s, BROKEN, 1)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "next chunk of table flights must be 1, got 0",
        lambda s: stage(s, BROKEN, 0),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "got 'no partition'",
        lambda s: stage(s, BROKEN),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "got '[1]'",
        lambda s: stage(s, footprint(removes_in=["[1]"])),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        f"path hashes must have {HASH_BYTES} bytes",
        lambda s: stage(s, footprint()._replace(removes=bytes(HASH_BYTES + 1))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        f"path hashes must have {HASH_BYTES} bytes",
        lambda s: stage(s, footprint()._replace(read_files=bytes(HASH_BYTES - 1))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        f"scans must be {FOOTPRINT_READS_MAX} at most, got {FOOTPRINT_READS_MAX + 1}",
        lambda s: stage(s, footprint(reads=["null"] * (FOOTPRINT_READS_MAX + 1))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        f"{FOOTPRINT_ENTRIES_MAX} at most, got {FOOTPRINT_ENTRIES_MAX + 1}",
        lambda s: stage(
            s, footprint(adds=["[]"])._replace(removes=bytes(HASH_BYTES * FOOTPRINT_ENTRIES_MAX))
        ),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "a protocol must come with the commit",
        lambda s: stage(s, footprint(files=bytes(STAGED_BYTES_MAX + 1), protocol=PROTOCOL)),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        f"{STAGED_BYTES_MAX} bytes in all open txns",
        lambda s: last(staged(s, FIRST), stage(s, footprint(files=bytes(STAGED_BYTES_MAX)), 2)),
        lambda s: s.mine,
    ),
    Refusal(
        Reason.LIMIT_EXCEEDED,
        f"got chunk {STAGED_CHUNKS_MAX + 1}",
        lambda s: last(
            staged(s, *[footprint()] * STAGED_CHUNKS_MAX), stage(s, FIRST, STAGED_CHUNKS_MAX + 1)
        ),
        lambda s: s.mine,
    ),
]
COMMIT = [
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 0 staged",
        lambda s: commit(s, of_flights(s, BROKEN._replace(staged=1))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 0 staged",
        lambda s: commit(s, of_flights(s, after([FIRST], BROKEN)), txn=0),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 1 staged",
        lambda s: last(staged(s, FIRST), commit(s, of_flights(s, BROKEN))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 1 staged",
        lambda s: last(staged(s, FIRST), commit(s, of_flights(s, after([SECOND], BROKEN)))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 1 staged",
        lambda s: last(
            staged(s, MARKED), commit(s, of_flights(s, after([MARKED_OTHERWISE], BROKEN)))
        ),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 2 staged",
        lambda s: last(
            staged(s, FIRST, SECOND), commit(s, of_flights(s, after([SECOND, FIRST], BROKEN)))
        ),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "chunks of table 1 than the 1 staged",
        lambda s: last(staged(s, FIRST), commit(s, write(s.flights))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.COMMAND_INVALID,
        "got 'no partition'",
        lambda s: last(staged(s, FIRST), commit(s, of_flights(s, after([FIRST], BROKEN)))),
        lambda s: s.flights,
    ),
    Refusal(
        Reason.STAGED_WRITES_DIFFER,
        "the commit leaves out staged table 1",
        lambda s: last(staged(s, FIRST), commit(s, part(MISSING))),
        lambda s: s.flights,
    ),
]
REFUSALS = [*STAGE, *COMMIT]
test_refused = refuses(REFUSALS)

ACCEPTED = [
    Accepted(
        "the first chunk", lambda s: staged(s, FIRST), lambda s: WritesStaged(s.flights, 1, FIRST)
    ),
    Accepted(
        "the second of a table",
        lambda s: staged(s, FIRST, SECOND),
        lambda s: WritesStaged(s.flights, 2, SECOND),
    ),
    Accepted(
        "tables count their chunks apart",
        lambda s: last(staged(s, FIRST), staged(s, SECOND, table=s.planes)),
        lambda s: WritesStaged(s.planes, 1, SECOND),
    ),
]
test_a_chunk_that_comes_in_its_order_is_kept_as_it_is = accepts(ACCEPTED)


def test_as_many_bytes_as_may_wait() -> None:
    scene = Scene()
    chunk = footprint(files=bytes(STAGED_BYTES_MAX - CHUNK_BYTES))

    assert candidate.stage(scene.state, stage(scene, chunk)).footprint is chunk


def commit_all(scene: Scene) -> Event:
    staged(scene, FIRST, SECOND)
    return scene.ask(commit(scene, of_flights(scene, after([FIRST, SECOND], LAST))))


def commit_lost(scene: Scene) -> Event:
    """Stage a chunk and lose to a commit that removed a file of it."""
    staged(scene, FIRST)
    scene.commit(scene.bob, 0, part(scene.flights, read_at=scene.position(), remove=["a"]))
    return scene.ask(commit(scene, of_flights(scene, after([FIRST], LAST))))


ENDS: list[tuple[str, Any, type]] = [
    ("commit", commit_all, TxnCommitted),
    ("lost conflict", commit_lost, TxnAborted),
    ("abort", lambda s: last(staged(s, FIRST), s.abort(s.ada, s.mine)), TxnAborted),
    ("close", lambda s: last(staged(s, FIRST), s.close_session(s.ada)), object),
    ("expiry", lambda s: last(staged(s, FIRST), s.tidy(txns=[s.mine])), object),
]


@pytest.mark.parametrize(("end", "kind"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_dropped_at_the_end(end: Any, kind: type) -> None:
    scene = Scene()
    event = end(scene)

    assert isinstance(event.body, kind)
    assert scene.state.txns.staged_bytes == 0
    assert scene.mine not in scene.state.txns.open
    assert_invariants(scene.state)


def test_what_waits_is_the_file_lists_of_all_chunks_whatever_their_tables() -> None:
    scene = Scene()
    staged(scene, FIRST, SECOND)
    staged(scene, LAST, table=scene.planes)

    assert scene.state.txns.staged_bytes >= len(FIRST.files + SECOND.files + LAST.files)
    assert_invariants(scene.state)


def test_joined_at_the_commit() -> None:
    scene = Scene()
    event: Any = commit_all(scene)
    won = scene.state.winners.parts[-1].footprint

    assert event.body.parts[0].footprint == after([FIRST, SECOND], LAST)
    assert won is not None
    assert won.removes == FIRST.removes + SECOND.removes + LAST.removes
    assert (won.rows_added, won.files) == (12, b"")


def test_a_staged_file_is_judged() -> None:
    """A file removed in a staged chunk loses like one of the commit itself.

    What was attempted is told as the commit brought it: the chunks before are in the log.
    """
    lost: Any = commit_lost(Scene()).body
    attempted = lost.attempted[0].footprint

    assert lost.evidence.rule == "file_removed_twice"
    assert (attempted.removes, attempted.files) == (LAST.removes, b"")


MANY = footprint(files=b"packed")._replace(removes=path_hash("a") * (FOOTPRINT_ENTRIES_MAX - 1))


def test_a_loser_fits_its_record() -> None:
    """However much was staged, an abort says no more of it than one record holds."""
    scene = Scene()
    chunks = [MANY] * 3
    staged(scene, *chunks)
    scene.commit(scene.bob, 0, part(scene.flights, read_at=scene.position(), remove=["a"]))
    lost = scene.ask(commit(scene, of_flights(scene, after(chunks, LAST))))

    assert isinstance(lost.body, TxnAborted)
    assert len(frame_event(lost.control, lost.body, NO_CHAIN)[1]) <= EVENT_BYTES_MAX


def test_hashes_wait_too() -> None:
    """What waits is bounded whatever a chunk is made of: path hashes count like file lists."""
    scene = Scene()
    staged(scene, MANY)

    assert scene.state.txns.staged_bytes >= len(MANY.files) + len(MANY.removes)


def test_a_table_only_read_may_have_more_files_than_a_command_can_name() -> None:
    scene = Scene()
    chunk, last_chunk = (footprint("", read=[path], data_change=False) for path in "ab")
    staged(scene, chunk)
    body = scene.ask(commit(scene, of_flights(scene, after([chunk], last_chunk)))).body

    assert isinstance(body, TxnCommitted)
    assert ([read.table for read in body.reads], body.parts) == ([scene.flights], [])


def test_marks_of_another_plan_have_another_digest() -> None:
    assert after([MARKED], LAST).digest != after([MARKED_OTHERWISE], LAST).digest
