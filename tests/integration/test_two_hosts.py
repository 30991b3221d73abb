"""Several machines, by the commands of the page: roles on two hosts, which share one warehouse."""

import sys
from pathlib import Path

import pytest

from tests.integration.two_hosts import kafka_on, two_hosts, why_not

pytestmark = pytest.mark.kafka

PORT = 8181
ROWS = 3
WRITES = """
import sys
from ledger.client import Ledger
with Ledger.connect() as ledger:
    if sys.argv[1] == "create":
        ledger.create_table("sales.orders", [("id", "BIGINT")])
    ledger.append("sales.orders", [{"id": int(sys.argv[2])}])
    print(sorted(row["id"] for row in ledger.scan("sales.orders").to_arrow().to_pylist()))
"""


def test_hosts_that_share_a_kafka_and_a_warehouse_write_and_read_the_same_tables(
    tmp_path: Path,
) -> None:
    """The first host has Kafka and a sequencer, the second one a follower; both have clients."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    rows = tmp_path / "rows"
    program = (sys.executable, "-c", WRITES)
    with two_hosts(tmp_path) as (first, second), kafka_on(first, tmp_path / "kafka") as kafka:
        for host in (first, second):
            host.settings |= {
                "LAKELEDGER_BOOTSTRAP": kafka,
                "LAKELEDGER_LEDGER": "lake",
                "LAKELEDGER_WAREHOUSE": str(tmp_path / "warehouse"),
                "LAKELEDGER_WEB__OPEN": "true",
            }
        first.settings["LAKELEDGER_READS_URL"] = f"http://{second.address}:{PORT}"
        second.settings["LAKELEDGER_STORE"] = str(rows)
        where = ("--bootstrap", kafka, "--ledger", "lake")
        made = first.lakeledger("init", *where, "--replication", "1")
        assert made.returncode == 0, made.stderr
        sequencer = first.start("serve", "sequencer", *where)
        http = ("--http", f"{second.address}:{PORT}")
        follower = second.start("serve", "follower", *where, "--store", str(rows), *http)
        with sequencer, follower:
            sequencer.wait_for("leading")
            follower.wait_for("caught up")
            created = first.run((*program, "create", "1"))
            assert created.stdout == "[1]\n", created.stderr
            appended = second.run((*program, "append", "2"))
            assert appended.stdout == "[1, 2]\n", appended.stderr
            again = first.run((*program, "append", "3"))
            assert again.stdout == "[1, 2, 3]\n", again.stderr
            status = first.lakeledger("status")
            assert status.returncode == 0, status.stdout
            assert first.lakeledger("table", "list").stdout.count("sales.orders") == 1
