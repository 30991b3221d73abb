"""R8, R9, R10 and R12: the ledger against deltalake, on one table on the same disk.

Four writers of deltalake commit to the log of a table, sixteen sessions of the ledger append one
file each in one-shot commits; neither writes data, neither flushes to the disk. No commit reads, so
none conflicts, and each that fails was failed by the way the system works (R10).
"""

import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from ledger.client import Ledger
from ledger.log.wire.file_list import AddFile, RemoveFile
from ledger.machine.kafka.broker import Broker
from ledger.reads.port import TableRow
from ledger.snapshot.reading import TableFiles
from tests.benchmarks import peer
from tests.benchmarks.closed_loop import SIXTEEN, Job, append, warm_broker, work
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.topics import create_topics
from tests.benchmarks.worked import CPU_NOTE, Worked
from tests.core.parts import equals
from tests.integration.fleet import Fleet

ROUNDS: Final = 3
SECONDS: Final = 3.0
WRITERS: Final = 4
BEHIND: Final = 500
# What a table has before; a check of deltalake costs more the more there are.
FILES: Final = 2_000
COMMITS_BEHIND: Final = 15
NO_FSYNC: Final = "neither with fsync"


class Round(NamedTuple):
    """What sixteen sessions and the writers did."""

    ours: Worked
    delta: Worked


def measure_rate(broker: Broker) -> list[Figure]:
    """Return R8, and the CPU of one commit on either side."""
    found = rounds(broker)
    peers = f"against {WRITERS} writers of deltalake, log only; {NO_FSYNC}"
    return [
        against(
            "R8",
            "commits/s",
            [(each.ours.rate, each.delta.rate) for each in found],
            f"one-shot appends of 1 file to one table, {SIXTEEN.who}, {peers}",
        ),
        against(
            "R8-cpu",
            "us of CPU per commit",
            [(each.ours.cpu_us, each.delta.cpu_us) for each in found],
            CPU_NOTE,
        ),
    ]


def measure_latency(broker: Broker) -> list[Figure]:
    """Return R9."""
    found = rounds(broker)
    note = (
        f"a commit of deltalake, {WRITERS} writers, against one of the ledger, {SIXTEEN.who}; "
        "those of R8"
    )
    return [
        against("R9", "ms p99", [(each.delta.p99_ms, each.ours.p99_ms) for each in found], note)
    ]


def measure_failures(broker: Broker) -> list[Figure]:
    """Return R10."""
    found = rounds(broker)
    ours = [each.ours for each in found]
    delta = [each.delta for each in found]
    note = (
        f"of {attempts(ours)} commits without a conflict; deltalake gave up {failures(delta)} of "
        f"{attempts(delta)} after its default retries"
    )
    return [Figure("R10", failures(ours), "failed commits", note=note)]


def attempts(found: Iterable[Worked]) -> int:
    """Return how many commits were tried."""
    return sum(len(each.took_ms) + each.failed for each in found)


def failures(found: Iterable[Worked]) -> int:
    """Return how many commits failed."""
    return sum(each.failed for each in found)


@cache
def rounds(broker: Broker) -> list[Round]:
    """Return what all did, round by round; measured once for R8, R9 and R10."""
    warm_broker(broker)
    name = "r8"
    create_topics(broker.bootstrap, name)
    with Fleet(broker.bootstrap, name, 1):
        with Ledger.connect(broker.bootstrap, name) as client:
            table = create_table(client).table
        job = Job(broker.bootstrap, name, table, SIXTEEN, SECONDS, what="append")
        return [Round(work(job), delta_work(broker)) for _ in range(ROUNDS)]


def delta_work(broker: Broker) -> Worked:
    """Return what the writers of deltalake did to a new table."""
    with tempfile.TemporaryDirectory(dir=broker.folder.parent) as folder:
        crew = {"processes": WRITERS, "sessions": 1, "warm_up": 1}
        return peer.work("delta", {**crew, "path": f"{folder}/t", "seconds": SECONDS})


def create_table(client: Ledger) -> TableRow:
    """Create a table of files, partitioned by region."""
    columns = [("id", "bigint"), ("region", "string")]
    return client.create_table("db.files", columns, partition_columns=["region"])


def measure_behind(broker: Broker) -> list[Figure]:
    """Return R12."""
    name = "r12"
    create_topics(broker.bootstrap, name)
    with (
        Fleet(broker.bootstrap, name, 1),
        Ledger.connect(broker.bootstrap, name) as client,
        Ledger.connect(broker.bootstrap, name) as other,
    ):
        table = create_table(client)
        client.append(table, map(file, range(FILES)))
        found = [
            (delta_behind_ms(broker.folder.parent), ours_behind_ms(client, other, table))
            for _ in range(ROUNDS)
        ]
    note = (
        f"append of deltalake through a handle {BEHIND} versions behind, {FILES} files in the "
        "table, against a transaction of the ledger: open, then commit of an update planned "
        f"{BEHIND} winners ago; {NO_FSYNC}"
    )
    return [against("R12", "ms", found, note)]


def delta_behind_ms(folder: Path) -> float:
    """Return the milliseconds of a commit of deltalake that many have overtaken."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        job = {"path": f"{place}/t", "behind": BEHIND, "files": FILES}
        with peer.running("delta_behind", job) as process:
            return float(peer.told(process))


def ours_behind_ms(client: Ledger, other: Ledger, table: TableRow) -> float:
    """Return the median milliseconds of transactions that as many have overtaken."""
    planned_at = client.token.position
    for number in range(BEHIND):
        append(other, table.table, number)
    took_ms: list[float] = []
    for number in range(COMMITS_BEHIND):
        began_s = time.perf_counter()
        update(client, table, planned_at, f"us{number}")
        took_ms.append((time.perf_counter() - began_s) * 1000)
    return median(took_ms)


def file(number: int) -> AddFile:
    """Return one of the files that the table has before."""
    return AddFile(f"region=eu/part-{number}.parquet", ("eu",), 100, 1)


def update(client: Ledger, table: TableRow, planned_at: int, region: str) -> None:
    """Update the one file of a region, as it was found at a position."""
    path = f"region={region}/{planned_at}.parquet"
    with client.begin(level="serializable") as txn:
        txn.use(TableFiles(table, planned_at, equals("region", region), ()))
        txn.remove_files(table, [RemoveFile(path, (region,))], read_at=planned_at)
        txn.add_files(table, [AddFile(f"{path}.new", (region,), 100, 1)], operation="UPDATE")
