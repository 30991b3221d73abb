"""Published tables at the end of a run, as a reader of Delta sees them.

The rows go into the history as reads of a session of their own. The judge compares them with what a
reader of the ledger saw.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from deltalake import DeltaTable, QueryBuilder

from ledger.client import Ledger
from ledger.errors import LedgerError
from ledger.reads.remote.publisher import HttpPublisher
from tests.consistency.client import now
from tests.consistency.history import Pen, Result, Txn
from tests.consistency.hosts import wait
from tests.consistency.judge.published import SESSION
from tests.consistency.operations import Read, ordered
from tests.consistency.subjects.ledger_sdk import connect
from tests.consistency.subjects.port import Job

WAIT_MS: Final = 10_000
REST_S: Final = 1.0
LIMIT_S: Final = 90.0


def note_published(job: Job) -> bool:
    """Read the published tables once their logs are whole; return whether that came about."""
    limit = now() + LIMIT_S
    while now() < limit:
        try:
            with connect({**job, "reads": "http"}) as ledger:
                await_publisher(ledger, job["publisher_url"])
                note_rows(ledger, job)
        except LedgerError as error:  # The host may still be coming back.
            print(f"published tables: {error}", file=sys.stderr)
            wait(REST_S)
        else:
            return True
    return False


def await_publisher(ledger: Ledger, url: str) -> None:
    """Wait until the publisher has written all that is committed now."""
    with ledger.begin("read_only") as txn:
        position = txn.opened
    with closing(HttpPublisher(url)) as publisher:
        publisher.wait(position, WAIT_MS)


def note_rows(ledger: Ledger, job: Job) -> None:
    """Leave a read of each published table in the history."""
    with (Path(job["folder"]) / f"session-{SESSION}.jsonl").open("w", encoding="utf-8") as file:
        pen = Pen(file)
        for name in job["published"]:
            begun = now()
            rows = rows_of(str(ledger.table(f"lake.{name}").definition.location))
            read = Txn(f"{SESSION}.{name}", SESSION, (Read(name),), [rows], "committed", begun)
            pen.begin(read)
            pen.end(Txn(read.id, SESSION, read.operations, [rows], "committed", begun, now()))


def rows_of(folder: str) -> Result:
    """Return the rows of a Delta table, marked ones left out."""
    query = "SELECT k, n, v FROM t"
    found: Any = QueryBuilder().register("t", DeltaTable(folder)).execute(query).read_all()
    columns = [found[name].to_pylist() for name in ("k", "n", "v")]
    return ordered(list(zip(*columns, strict=True)))
