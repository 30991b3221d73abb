"""A flusher of a real ledger: `lakeledger up` runs one, and any number may run beside it."""

import signal
from contextlib import closing
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.machine.process import ExitCode
from ledger.reads.port import Reads
from projections.queries import open_reads
from tests.integration.commands import Command, answer_of, starting

pytestmark = pytest.mark.kafka

NAME = "db.small"
WAIT_MS = 60_000
QUICK = {"LAKELEDGER_FLUSHER__LOOK_S": "0.1"}
PROPERTIES = {
    "lakeledger.inline": "on",
    "lakeledger.rows": "marks",
    "lakeledger.flush.seconds": "1",
}


def wait_for_files(reads: Reads) -> None:
    """Wait until no rows are left in the log."""
    seen = reads.position()
    while reads.blocks():
        reads.wait(seen + 1, WAIT_MS)
        seen = reads.position()


def test_up_flushes_rows_also_beside_another_flusher_and_after_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with starting(home, **QUICK) as command:
        command.wait_for("follower, flusher")
        command.wait_for("Ctrl-C stops it all")
        address = answer_of(home, "status")["bootstrap"]
        store = home / "lake" / "store"
        where = ("--bootstrap", address, "--store", str(store))
        with (
            closing(open_reads(store)) as reads,
            Ledger.connect(address, "lake", reads=reads) as ledger,
            Command(home, "serve", "flusher", *where, **QUICK) as second,
        ):
            second.wait_for("looking after tables")
            ledger.create_table(
                NAME, [("id", "BIGINT")], location=tmp_path / "data", properties=PROPERTIES
            )
            for key in range(20):
                ledger.append(NAME, [{"id": key}])
                if key == 10:
                    (first,) = (each for each in command.children() if "flusher" in each.cmdline())
                    first.kill()
                if not key % 5:
                    with ledger.transaction() as txn:
                        txn.delete(NAME, f"id = {key}")
            wait_for_files(reads)
            kept = [key for key in range(20) if key % 5]
            assert sorted(ledger.scan(NAME).to_arrow()["id"].to_pylist()) == kept
            assert not any(file.rows for file in ledger.read(NAME))
            assert "FLUSH" in {each.operation for each in ledger.history(NAME)}
            assert answer_of(home, "status")["rows_in_log"] is None
            ledger.append(NAME, [{"id": 99}])
            flushed = answer_of(home, "table", "flush", NAME)
            assert flushed["blocks"] in (0, 1)
            assert ledger.scan(NAME).count() == len(kept) + 1
            assert second.end(signal.SIGINT) == ExitCode.DONE
        assert command.end(signal.SIGTERM) == ExitCode.DONE
