"""T6 and T7: which files a read of one partition needs, out of a table of many files.

The rows are those of a follower, on the disk and read as by any process of the host. Each round
plans a read of one partition and a read of the whole table, in turn. For T7 deltalake opens a table
of as many files from a checkpoint and lists them.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sized
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.transaction import AddAction

from ledger.core.commands import TableWrite
from ledger.expressions.build import condition_in
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.machine.kafka.broker import Broker
from ledger.snapshot.as_of import known_row
from ledger.snapshot.table_snapshot import TableSnapshot
from projections.fold.fold import Fold
from projections.queries import StoreReads, open_reads
from projections.store.rocks_store import RocksStore
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.repeated import collected_as_in_a_role
from tests.core.parts import footprint, table_of
from tests.driver import Driver

FILES: Final = 500_000
FEW: Final = 12
MANY: Final = 100_000
FILES_PER_COMMIT: Final = 1_000
FILES_PER_DELTA_COMMIT: Final = 50_000
RECORDS_PER_BATCH: Final = 20
ROUNDS: Final = 5
MS: Final = 1_000
STATISTICS: Final = json.dumps(
    {
        "numRecords": 1_000,
        "minValues": {"id": 1, "city": "Aarhus"},
        "maxValues": {"id": 99_999, "city": "Zwolle"},
        "nullCount": {"id": 0, "city": 3},
    },
    separators=(",", ":"),
)
WHERE: Final = "day = 7"


class Planned(NamedTuple):
    """A table of many files, and how long it took to make its rows."""

    reads: StoreReads
    table: int
    position: int
    files: int
    seconds: float

    def plan_s(self, where: str | None, expected: int) -> float:
        """Return how long it takes to plan a read."""
        began_s = perf_counter()
        row = known_row(self.reads, self.table)
        found = TableSnapshot(self.reads, row, self.position).read(condition_in(where))
        taken_s = perf_counter() - began_s
        assert len(found) == expected, f"{len(found)} files, not {expected}"
        return taken_s


def measure(_: Broker) -> list[Figure]:
    """Return T6 with few partitions and with many, and the rate at which rows are made."""
    figures = []
    for name, files, partitions in (("T6", FILES, FEW), ("T6-many", MANY, MANY)):
        what = f"one of {partitions} partitions of {files} files, against all of them"
        with planned(files, partitions) as table:
            inside = len(range(7, files, partitions))
            rounds = [
                (MS * table.plan_s(WHERE, inside), MS * table.plan_s(None, files))
                for _ in range(ROUNDS + 1)
            ][1:]
            figures.append(against(name, "ms", rounds, what))
            rate = round(files / table.seconds)
            figures.append(Figure(f"{name}-rows", rate, "files/s", note="adds made to rows"))
    return figures


def measure_listing(_: Broker) -> list[Figure]:
    """Return T7: all files of a table, with a list of deltalake in turn."""
    with tempfile.TemporaryDirectory() as folder, planned(FILES, FEW) as table:
        place = delta_table(Path(folder), FILES)

        def listed_ms(files: Callable[[DeltaTable], Sized]) -> float:
            began_s = perf_counter()
            found = files(DeltaTable(place))
            taken_s = perf_counter() - began_s
            assert len(found) == FILES, f"{len(found)} files, not {FILES}"
            return MS * taken_s

        rounds = [
            (
                MS * table.plan_s(None, FILES),
                listed_ms(lambda each: each.file_uris()),
                listed_ms(lambda each: pa.table(each.get_add_actions(flatten=True))),
            )
            for _ in range(ROUNDS + 1)
        ][1:]
    what = f"{FILES} files listed, against deltalake's load from a checkpoint and"
    return [
        against("T7", "ms", [(ours, paths) for ours, paths, _ in rounds], f"{what} paths"),
        against(
            "T7-actions",
            "ms",
            [(ours, actions) for ours, _, actions in rounds],
            f"{what} add actions with statistics",
        ),
    ]


def delta_table(folder: Path, files: int) -> str:
    """Return a Delta table whose checkpoint holds the same files; no file of data is there."""
    columns = pa.schema([("day", pa.int32()), ("id", pa.int64()), ("city", pa.string())])
    table = DeltaTable.create(str(folder), DeltaSchema.from_arrow(columns), partition_by=["day"])
    for first in range(0, files, FILES_PER_DELTA_COMMIT):
        some = [added(n, FEW) for n in range(first, min(files, first + FILES_PER_DELTA_COMMIT))]
        actions = [
            AddAction(
                each.path,
                each.size,
                {"day": each.partition[0] or ""},
                each.modified,
                data_change=True,
                stats=each.stats,
            )
            for each in some
        ]
        table.create_write_transaction(actions, "append", table.schema(), ["day"])
        table.update_incremental()
    table.create_checkpoint()
    return str(folder)


@contextmanager
def planned(files: int, partitions: int) -> Iterator[Planned]:
    """Yield a table with so many files in so many partitions."""
    driver = Driver()
    columns = ("day", "int"), ("id", "bigint"), ("city", "string")
    session = driver.open_session()
    table = driver.create_table(session, "t", made=table_of(*columns, by=["day"]))
    for first in range(0, files, FILES_PER_COMMIT):
        some = range(first, min(files, first + FILES_PER_COMMIT))
        # Deciding about so many partitions is not measured here.
        said = listed(footprint(), FileList([added(each, partitions) for each in some]))
        part = TableWrite(table, driver.head.position, (), said._replace(adds=[]))
        driver.commit(session, 0, part)
    with tempfile.TemporaryDirectory() as folder:
        seconds = follow(driver, Path(folder))
        with closing(open_reads(Path(folder))) as reads:
            yield Planned(reads, table, reads.position(), files, seconds)


def follow(driver: Driver, folder: Path) -> float:
    """Make the rows of a log; return how long it took."""
    records = driver.records
    with RocksStore.open(folder) as store, collected_as_in_a_role():
        fold = Fold.load(store, driver.log)
        began_s = perf_counter()
        for first in range(0, len(records), RECORDS_PER_BATCH):
            fold.feed(records[first : first + RECORDS_PER_BATCH])
        return perf_counter() - began_s


def added(number: int, partitions: int) -> AddFile:
    """Return one file of the table."""
    day = number % partitions
    path = f"day={day}/part-{number:07}-5f3a9c1e-aaaa-bbbb-cccc-1234567890ab.c000.snappy.parquet"
    return AddFile(path, (str(day),), 1_234_567, 1_700_000_000_000, stats=STATISTICS)
