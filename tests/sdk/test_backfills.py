"""Backfills of row tracking: the rows of their files are numbered, though they were there."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT
from ledger.core.events.events import TxnCommitted
from ledger.delta.importer import import_delta
from ledger.log.lossy import LossyLog
from ledger.log.replay import Replay
from ledger.log.wire.file_list import AddFile
from ledger.testing import InMemoryLedger
from ledger.work.footprint_writer import FootprintWriter
from tests.sdk.delta_logs import add, begin, commits, info, write_log
from tests.sdk.told import bodies


@pytest.mark.parametrize(
    ("operation", "changes", "said"),
    [
        ("ROW TRACKING BACKFILL", [False, False], (9, 5)),
        ("ROW TRACKING BACKFILL", [True, False], (9, 2)),
        ("ROW TRACKING UNBACKFILL", [False, False], (-1, 0)),
        ("OPTIMIZE", [False, False], (-1, 0)),
    ],
)
def test_a_backfill_numbers_rows_that_were_there(
    ledger: Ledger, log: LossyLog, operation: str, changes: Sequence[bool], said: tuple[int, int]
) -> None:
    table = ledger.create_table("tracked", properties={"delta.enableRowTracking": "true"}).table
    ledger.append(table, [AddFile("first", stats='{"numRecords":9}')])
    files = [
        AddFile(f"f{rows}", stats=f'{{"numRecords":{rows}}}', data_change=change)
        for rows, change in zip((2, 3), changes, strict=True)
    ]

    with ledger.transaction() as txn:
        txn.add_files(table, files, operation=operation)

    (part,) = bodies(log, TxnCommitted)[-1].parts
    assert part.footprint is not None
    assert (part.first_row_id, part.footprint.rows_added) == said


def test_each_chunk_of_a_backfill_counts_the_rows_of_its_files() -> None:
    writer = FootprintWriter()
    stats = '{"numRecords":2}'
    files = [AddFile(f"f{at}", stats=stats, data_change=False) for at in range(40)]
    writer.add(files)
    writer.name("ROW TRACKING BACKFILL")

    chunks = [writer.with_files(EMPTY_FOOTPRINT, each) for each in (files[:30], files[30:])]

    assert [chunk.rows_added for chunk in chunks] == [60, 20]


def test_a_backfill_numbers_the_rows_of_files_that_were_there_before_tracking_was_enabled(
    memory: InMemoryLedger, ledger: Ledger, tmp_path: Path
) -> None:
    tracking = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    counted = {"stats": '{"numRecords":3}'}
    write_log(
        tmp_path,
        begin(),
        [info(), add("a", **counted)],
        [info("UPGRADE PROTOCOL", blind=False), {"protocol": tracking}],
        [info("ROW TRACKING BACKFILL", blind=False), add("a", dataChange=False, **counted)],
        [info(), add("b", **counted)],
    )

    import_delta(ledger, tmp_path, "flights")

    assert [footprint.rows_added for _, footprint in commits(memory)] == [0, 3, 0, 3, 3]
    bodies = [body for _, body in Replay(memory.log) if isinstance(body, TxnCommitted)]
    assert [body.parts[0].first_row_id for body in bodies] == [-1, -1, -1, 0, 3]
