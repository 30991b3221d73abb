"""A published table with rows in the log: readers of Delta see it as its flushes go on."""

import json
import signal
from contextlib import closing
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.machine.process import ExitCode
from ledger.reads.port import Reads
from projections.delta.log.log_folder import version_file
from projections.queries import open_reads
from tests.integration.commands import answer_of, starting
from tests.integration.test_flusher import PROPERTIES, QUICK, wait_for_files
from tests.integration.trimmed import wait_for
from tests.tables.delta_readers import by_deltalake, by_duckdb

pytestmark = pytest.mark.kafka

NAME = "db.small"


def test_readers_of_delta_see_states_that_the_table_had(tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "data"
    with starting(home, "--publish", **QUICK) as command:
        command.wait_for("Ctrl-C stops it all")
        address = answer_of(home, "status")["bootstrap"]
        with (
            closing(open_reads(home / "lake" / "store")) as reads,
            Ledger.connect(address, "lake", reads=reads) as ledger,
        ):
            write(ledger, place, reads)
            version = ledger.table(NAME).version
            wait_for((place / "_delta_log" / version_file(version)).exists)
            assert shown_by(place, version) == version
            held = 0
            for number in range(version + 1):
                shows = shown_by(place, number)
                held += shows < number
                wanted = sorted(ledger.scan(NAME, version=shows).to_arrow()["id"].to_pylist())
                for reader in (by_deltalake, by_duckdb):
                    found = reader(str(place), number)["id"].to_pylist()
                    assert sorted(found) == wanted, (number, shows)
            assert held > 0
            verified = answer_of(home, "table", "verify", NAME)
            assert verified["findings"] == []
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def write(ledger: Ledger, place: Path, reads: Reads) -> None:
    """Append rows to a new table, delete some, and wait until all are in files."""
    ledger.create_table(
        NAME,
        [("id", "BIGINT")],
        location=place,
        properties={**PROPERTIES, "lakeledger.publish": "delta"},
    )
    for key in range(60):
        ledger.append(NAME, [{"id": key}])
        if key % 20 == 19:
            with ledger.transaction() as txn:
                txn.delete(NAME, f"id = {key}")
    wait_for_files(reads)


def shown_by(place: Path, version: int) -> int:
    """Return the version whose rows a version of a log has."""
    line = (place / "_delta_log" / version_file(version)).read_text().splitlines()[0]
    return int(json.loads(line)["commitInfo"]["lakeledger"].get("shows", version))
