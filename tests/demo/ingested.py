"""A topic that becomes a table while statements change the table, and a kill of the ingest.

The flights of a month come as JSON. An UPDATE makes flights a mile longer, as far as they are
there. Each of them counts the flights that it changed, so the sums at the end are known.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event as Signal
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ledger.client import Ledger
from ledger.properties.known_properties import MARKS, ROWS
from ledger.reads.row_counts import ChangedRows
from ledger.transaction.transaction import Transaction
from tests.demo.flights import MEASURES, Totals, read_days, totals_of
from tests.demo.isolation import spark_sums
from tests.demo.listed_table import LONGER
from tests.demo.report import PATIENCE_S, Report, wait_until
from tests.demo.stage import Stage

TOPIC: Final = "flights-of-a-month"
TABLE: Final = "flights_of_a_topic"
MONTH: Final = 2
PARTITIONS: Final = 3
CHUNK: Final = 500
PAUSE_S: Final = 0.1
SHARES: Final = 50
CONFLICTS_MAX: Final = 1_000
MAPPING: Final = f"""
name = "demo"
[batch]
seconds = 0.2
[[topics]]
topic = "{TOPIC}"
table = "{TABLE}"
"""


def show_ingest(stage: Stage, report: Report) -> int:
    """Let a topic become a table beside statements; return how many commits lost a conflict."""
    days = read_days(stage.home.flights)
    rows = pa.concat_tables(table for day, table in days.items() if day.month == MONTH)
    stage.catch_up()
    before = stage.reads.position()
    with stage.connect("demo-ingest") as ledger:
        properties = {ROWS: MARKS}
        columns = [("id", "BIGINT"), ("month", "INT"), *((name, "BIGINT") for name in MEASURES)]
        location = str(stage.home.warehouse / TABLE)
        table = ledger.create_table(TABLE, columns, location=location, properties=properties)
        admin = AdminClient({"bootstrap.servers": stage.up.address.bootstrap})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
        ended = Signal()
        with ThreadPoolExecutor(2) as pool:
            producing = pool.submit(produce, stage.up.address.bootstrap, rows)
            updating = pool.submit(update, ledger, ended)
            with running(stage):
                wait_until(lambda: count(ledger) > CHUNK, "the first flights of the topic come")
            report.say("the ingest was killed, and another process begins where the ledger is")
            with running(stage):
                producing.result()
                wait_until(lambda: count(ledger) >= len(rows), "all flights of the topic came")
                ended.set()
                longer = updating.result()
        stage.catch_up()
        wanted = totals_of(rows).plus(Totals(0, longer, 0))
        found = totals_of(ledger.scan(TABLE).to_arrow())
        shown = f"{found.rows:,} flights, {found.distance:,} miles, {longer:,} changes among them"
        report.same("the table has each flight of the topic once", found, wanted, shown)
        report.same("and Spark finds the same", spark_sums(stage, table), {MONTH: wanted}, shown)
    return len(stage.reads.conflicts(before, CONFLICTS_MAX))


def produce(bootstrap: str, rows: Any) -> None:
    """Produce flights as JSON, some at a time."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number, row in enumerate(rows.select(["month", *MEASURES]).to_pylist()):
        producer.produce(TOPIC, json.dumps({"id": number, **row}), str(number))
        if number % CHUNK == 0:
            producer.flush(PATIENCE_S)
            Signal().wait(PAUSE_S)
    producer.flush(PATIENCE_S)


def update(ledger: Ledger, ended: Signal) -> int:
    """Make flights a mile longer until all of them came; return how many were changed."""
    changed = share = 0
    while not ended.is_set():
        share += 1
        where = f"id % {SHARES} = {share % SHARES}"
        changed += ledger.run(partial(make_longer, where)).updated
    return changed


def make_longer(where: str, txn: Transaction) -> ChangedRows:
    """Make some flights a mile longer."""
    return txn.update(TABLE, {LONGER: f"{LONGER} + 1"}, where)


def count(ledger: Ledger) -> int:
    """Return how many flights the table has."""
    return ledger.scan(TABLE).count()


@contextmanager
def running(stage: Stage) -> Iterator[None]:
    """Run a process of the ingest, and kill it at the end of the block."""
    mapping, address = stage.home.root / "ingest.toml", stage.up.address
    Path(mapping).write_text(MAPPING)
    where = ("--bootstrap", address.bootstrap, "--ledger", address.ledger)
    own = ("--store", str(address.store), "--no-http")
    command = [sys.executable, "-m", "ledger", "serve", "ingest", str(mapping), *own, *where]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()
