"""An ingest as a part of `lakeledger up`, and its commands, on a real Kafka."""

import signal
from contextlib import closing, suppress
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest
from urllib3 import PoolManager

from ledger.client import Ledger
from ledger.config.client_config import client_settings
from ledger.errors import UnknownTableError
from ledger.machine.exit_codes import ExitCode
from ledger.machine.folder import STORE
from ledger.machine.up import running
from ledger.machine.up_settings import UpSettings
from projections.queries import open_reads
from tests.ingest.kafka_topics import create, produce, wait_for, write_mapping
from tests.integration.commands import answer_of, lakeledger, starting

pytestmark = [pytest.mark.integration, pytest.mark.kafka]

MAPPING = """
name = "shop"

[[topics]]
topic = "orders"
table = "db.orders"
bad = "table"
bad_table = "db.bad_orders"

[[topics]]
topic = "users"
table = "db.users"
key = ["id"]
"""
OK = 200
USERS = [{"id": 2, "name": "b"}]
COLUMNS = [("id", "BIGINT"), ("name", "STRING")]


def count(ledger: Ledger, table: str) -> int:
    """Return how many rows a table has, 0 without the table."""
    with suppress(UnknownTableError):
        return ledger.scan(table).count()
    return 0


def test_topics_are_in_tables_of_a_ledger_that_is_up(tmp_path: Path) -> None:
    mapping = write_mapping(tmp_path, MAPPING)
    with starting(tmp_path, "--ingest", str(mapping)) as command:
        url = command.wait_for("sequencers, notifier and ingests at").split()[-1]
        command.wait_for("Ctrl-C stops it all")
        bootstrap = answer_of(tmp_path, "status")["bootstrap"]
        for topic in ("orders", "users"):
            create(bootstrap, topic)
        produce(bootstrap, "orders", [(None, {"id": number}) for number in range(100)])
        produce(bootstrap, "orders", [(None, "no json")])
        produce(bootstrap, "users", [("1", {"id": 1, "name": "a"}), ("2", {"id": 2})])
        produce(bootstrap, "users", [("1", None), ("2", {"id": 2, "name": "b"})])
        with (
            closing(open_reads(tmp_path / "lake" / STORE)) as reads,
            Ledger.connect(bootstrap, "lake", reads=reads, warehouse=tmp_path / "tables") as ledger,
        ):
            for table in ("db.orders", "db.users"):
                ledger.create_table(table, COLUMNS)
            other = write_mapping(tmp_path / "lake", MAPPING.replace("shop", "other"))
            shown = lakeledger(tmp_path, "ingest", str(other), "--dry-run")
            wait_for(lambda: count(ledger, "db.orders") == 100)
            wait_for(lambda: ledger.scan("db.users").to_arrow().to_pylist() == USERS)
            wait_for(lambda: count(ledger, "db.bad_orders") == 1)
        found = answer_of(tmp_path, "ingest", "status", str(mapping))
        consumers = {each["role"]: each for each in answer_of(tmp_path, "consumers", "list")}
        metrics = PoolManager().request("GET", f"{url}/metrics").data.decode()
        # The topics are looked at now and then, and they were missing before.
        wait_for(lambda: PoolManager().request("GET", f"{url}/readyz").status == OK)
        assert command.end(signal.SIGTERM) == ExitCode.DONE

    assert consumers["ingest"]["name"].startswith("shop-")
    assert shown.returncode == ExitCode.DONE, shown.stderr
    assert "bad record at" in shown.stderr
    assert [row["lag"] for row in found] == [0, 0, 0, 0]
    assert {row["topic"]: row["ingest"] for row in found} == {"orders": "shop", "users": "shop"}
    assert 'lakeledger_ingest_records_total{topic="orders"} 101.0' in metrics
    assert 'lakeledger_ingest_bad_records_total{topic="orders"} 1.0' in metrics


@pytest.mark.slow
def test_an_ingest_of_a_secured_ledger_may_read_its_topics(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed; it is in [secure]")
    mapping = write_mapping(tmp_path, MAPPING)
    topics = ("orders", "users")
    settings = UpSettings(home=tmp_path, secure=True, ingests={mapping: topics})
    with running(settings) as up, closing(open_reads(tmp_path / "lake" / STORE)) as reads:
        assert settings.secured is not None
        assert up.broker is not None
        admin, own = settings.secured.admin(), client_settings(settings.secured.client_file())
        for topic in topics:
            create(up.broker.admin, topic, 2, **admin)
        produce(up.broker.admin, "orders", [(None, {"id": 1})], **admin)
        with Ledger.connect(
            up.address.bootstrap, "lake", reads=reads, client=own, warehouse=tmp_path / "tables"
        ) as ledger:
            for table in ("db.orders", "db.users"):
                ledger.create_table(table, COLUMNS)
            stop = Signal()
            watch = Thread(target=up.supervisor.watch, args=(stop,))
            watch.start()
            try:
                wait_for(lambda: count(ledger, "db.orders") == 1)
            finally:
                stop.set()
                watch.join()
