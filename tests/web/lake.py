"""A lake with a bit of everything, for tests of pages: also names that are meant to do harm."""

from collections.abc import Iterable, Sequence
from typing import Final

from ledger.core.commands import Footprint, TableWrite
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from projections.store.memory import MemoryStore
from projections.web.pages.menu import PAGES
from tests.core.parts import equals, footprint, partition, table_of
from tests.projections.followed import Followed

HOSTILE: Final = "<script>alert('x')</script>\"'&amp;{{ 7*7 }}"
HOSTILE_PATH: Final = "day=2/<img src=x onerror=alert(1)>.parquet"
STATS: Final = '{"numRecords":7}'


def file_of(path: str, day: str = "1", size: int = 1000) -> AddFile:
    return AddFile(path, (day,), size, 7, stats=STATS)


def write(
    table: int,
    adds: Iterable[AddFile] = (),
    removes: Sequence[str] = (),
    *,
    read_at: int = 0,
    operation: str = "WRITE",
    reads: Sequence[str] = (),
    read: Sequence[str] = (),
) -> TableWrite:
    """Return a part of a commit, with its list of files."""
    added = list(adds)
    said: Footprint = footprint(
        operation,
        read=read,
        remove=removes,
        reads=list(reads),
        adds=sorted({partition(*each.partition) for each in added}),
    )
    files = FileList(added, [RemoveFile(remove) for remove in removes])
    return TableWrite(table, read_at, [], listed(said, files))


class Lake(Followed):
    """A ledger with the table `flights`, a dropped one, and one with a hostile name.

    `lost` are the positions of the conflicts: over a file that two removed, over a blind append
    (at Serializable), and over files with hostile names.
    """

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.ada = self.open_session("ada")
        self.eve = self.open_session(HOSTILE)
        made = table_of(("day", "string"), ("delay", "int"), by=["day"])
        self.flights = self.create_table(self.ada, "flights", made=made)
        self.hostile = self.create_table(
            self.eve, "orders<b>&'\"", made=made._replace(location=f"s3://{HOSTILE}")
        )
        self.gone = self.create_table(self.ada, "gone", made=made)
        self.delays = self.create_table(self.ada, "delays", made=made)
        self.lost: list[int] = []
        self.play()
        self.follow()

    def addresses(self) -> list[str]:
        """Return the address of each page, about what it has most of."""
        flights, first = f"table={self.flights}", f"position={self.lost[0]}"
        subjects = {
            "txn": "txn=4",
            "conflict": first,
            "diff": "first=1",
            "search": "q=flights",
            "session": f"session={self.ada}",
        }
        of_table = ("table", "history", "schema", "partitions", "files", "lineage", "rows")
        subjects |= dict.fromkeys(of_table, flights)
        return [
            f"/ui/{page.path}?{subjects[page.path]}"
            if page.path in subjects
            else f"/ui/{page.path}".rstrip("/")
            for page in PAGES
        ]

    def lose(self, txn: int, *writes: TableWrite, level: str = "") -> None:
        """Commit what loses a conflict."""
        self.commit(self.eve, txn, *writes, level=level)
        self.lost.append(self.head.position)

    def derive(self) -> None:
        """Write a table from two others."""
        sources = [
            TableWrite(table, 0, [], footprint("", reads=[TRUE_PREDICATE]))
            for table in (self.flights, self.hostile)
        ]
        late = write(self.delays, [file_of("day=1/late.parquet")], operation="INSERT")
        self.commit(self.ada, self.open_txn(self.ada), *sources, late)

    def play(self) -> None:
        """Write the history."""
        for day in ("1", "2", "3"):
            files = [file_of(f"day={day}/{n}.parquet", day, 1000 * n) for n in range(1, 4)]
            self.commit(self.ada, 0, write(self.flights, files))
        read_at = self.head.position
        slow = self.open_txn(self.eve)
        self.commit(self.ada, 0, write(self.flights, [file_of("day=1/9.parquet")]))
        gone = ["day=1/1.parquet"]
        first = write(
            self.flights, (), gone, read_at=self.head.position, read=gone, operation="DELETE"
        )
        self.commit(self.ada, 0, first)
        whole = [TRUE_PREDICATE]
        late = write(
            self.flights, (), gone, read_at=read_at, read=gone, operation="DELETE", reads=whole
        )
        self.lose(slow, late)
        read_at = self.head.position
        self.commit(self.ada, 0, write(self.flights, [file_of("day=2/10.parquet", "2")]))
        self.lose(
            0,
            write(
                self.flights,
                [file_of("day=2/11.parquet", "2")],
                read_at=read_at,
                operation="UPDATE",
                reads=[equals("day", "2")],
            ),
            level="Serializable",
        )
        self.commit(self.eve, 0, write(self.hostile, [file_of(HOSTILE_PATH, HOSTILE)]))
        read_at = self.head.position
        both = write(
            self.hostile,
            (),
            [HOSTILE_PATH],
            read_at=read_at,
            operation="DELETE",
            read=[HOSTILE_PATH],
        )
        self.commit(self.ada, 0, both)
        self.lose(0, both)
        wider = table_of(
            *(("day", "string"), ("delay", "bigint"), (HOSTILE, "string")),
            by=["day"],
            lakeledger__publish="delta",
        )
        self.alter_table(self.ada, self.flights, wider, "ADD COLUMNS")
        self.drop_table(self.ada, self.gone)
        aborted = self.open_txn(self.ada)
        self.allocate(self.ada, [aborted], [self.flights])
        self.abort(self.ada, aborted)
        self.open_txn(self.ada)
        self.open_txn(self.eve, "read_only")
        self.derive()
        self.commit(self.ada, 0, write(self.flights, [file_of("day=3/12.parquet", "3")]))
