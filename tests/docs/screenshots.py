"""Make the pictures of the pages for docs/pages.md: `python -m tests.docs.screenshots`.

A ledger with flights of a week is played in memory and served. The chromium of this machine draws
its pages.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from playwright.sync_api import ViewportSize, sync_playwright

from ledger.core.commands import AppVersion, TableWrite
from ledger.core.predicates.predicates import TRUE_PREDICATE
from ledger.ingest.offsets import HOME, PartitionNote, app_of
from ledger.ingest.source import Partition
from ledger.log.consumers import PIN
from ledger.log.wire.file_list import FileList, listed
from ledger.trimming.look import ConsumerSeen, LastTrim
from ledger.trimming.watch import LogSeen
from ledger.work.app_notes import info_text, note_text
from projections.store.memory import MemoryStore
from tests.core.parts import equals, footprint, table_of
from tests.docs.pages import ROOT
from tests.projections.followed import Followed
from tests.web.lake import file_of, write
from tests.web.looks import AT, LOOK
from tests.web.served import rows_in, serving

FOLDER: Final = ROOT / "docs/images"
BYTES_MAX: Final = 150_000
SIZE: Final = ViewportSize(width=900, height=900)
DAYS: Final = tuple(f"2013-01-0{day}" for day in range(1, 8))
CARRIERS: Final = ("UA", "B6", "EV", "DL")


class Week(Followed):
    """A week of flights: loads, a compaction, late deletes that lose, and open txns."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), ledger="lake")
        self.etl = self.open_session("etl")
        self.ops = self.open_session("ops")
        made = table_of(("day", "date"), ("carrier", "string"), ("dep_delay", "int"), by=["day"])
        self.flights = self.create_table(self.etl, "flights", made=made)
        self.weather = self.create_table(self.etl, "weather", made=made)
        self.summary = self.create_table(self.etl, "summary", made=made)
        self.lost = 0
        for number, day in enumerate(DAYS):
            self.load(day, number)
        wider = table_of(
            *(("day", "date"), ("carrier", "string")),
            *(("dep_delay", "bigint"), ("origin", "string")),
            by=["day"],
            lakeledger__publish="delta",
        )
        self.alter_table(self.etl, self.flights, wider, "ADD COLUMNS")
        self.sum_up()
        self.bring_in()
        self.lose()
        self.open_txn(self.ops)
        self.load(DAYS[0], 8)
        self.follow()

    def load(self, day: str, number: int) -> None:
        """Add the files of a day to both tables."""
        files = [
            file_of(f"day={day}/{carrier}-{number}.parquet", day, 4_000 + 900 * number * at)
            for at, carrier in enumerate(CARRIERS, start=1)
        ]
        txn = self.open_txn(self.etl)
        self.commit(
            self.etl, txn, write(self.flights, files), write(self.weather, files[: 1 + number % 3])
        )

    def sum_up(self) -> None:
        """Write a table from the two others."""
        sources = [
            TableWrite(table, 0, [], footprint("", reads=[TRUE_PREDICATE]))
            for table in (self.flights, self.weather)
        ]
        files = [file_of(f"day={day}/sum.parquet", day, 9_000) for day in DAYS]
        txn = self.open_txn(self.etl)
        self.commit(self.etl, txn, *sources, write(self.summary, files, operation="INSERT"))

    def bring_in(self) -> None:
        """Commit how far the partitions of two topics came."""
        home = self.create_table(self.etl, HOME, made=table_of(("application", "string")))
        apps, notes = [], {}
        for topic, number, offset, left in (
            *(("departures", 0, 41_200, 0), ("departures", 1, 40_960, 112)),
            ("observations", 0, 8_750, 3),
        ):
            app = app_of("airport", Partition(topic, number))
            apps.append(AppVersion(app, offset))
            noted = PartitionNote(offset + left, f"{topic}-1", self.now)
            notes[app] = note_text(app, noted._asdict())
        noting = listed(footprint(apps=apps), FileList(info=info_text(notes)))
        self.commit(self.etl, 0, TableWrite(home, 0, [], noting))

    def lose(self) -> None:
        """Let one delete lose to another, and an update at Serializable to a blind append."""
        txn, day = self.open_txn(self.ops), DAYS[2]
        path = [f"day={day}/UA-2.parquet"]
        read_at = self.head.position
        both = write(
            self.flights,
            (),
            path,
            read_at=read_at,
            read=path,
            operation="DELETE",
            reads=[TRUE_PREDICATE],
        )
        self.commit(self.etl, 0, both)
        self.commit(self.ops, txn, both)
        txn, read_at = self.open_txn(self.ops), self.head.position
        late = [file_of(f"day={day}/late.parquet", day)]
        self.commit(self.etl, 0, write(self.flights, late))
        changed = [file_of(f"day={day}/fixed.parquet", day)]
        scans = [equals("day", day, "date")]
        update = write(self.flights, changed, read_at=read_at, operation="UPDATE", reads=scans)
        self.commit(self.ops, txn, update, level="Serializable")
        self.lost = self.head.position

    def seen(self) -> LogSeen:
        """Return a look at the log as it would be at the end of the week."""
        last = self.head.position
        at = {"feeder": last - 9, "follower": last - 1, "publisher": last - 4, PIN: 7}
        names = {PIN: "audit-2013"}
        consumers = [
            ConsumerSeen(
                role, names.get(role, f"{role}-1f0c"), "lake-1", position, last - position, AT, 20
            )
            for role, position in at.items()
        ]
        trim = LastTrim(4, 3, 6, "/backups/lake", last - 8)
        return LogSeen(LOOK._replace(first=4, last=last, trim=trim, consumers=consumers), 20)

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each picture, and the address of its page."""
        table = f"table={self.flights}"
        yield "overview", "/ui"
        yield "timeline", "/ui/timeline"
        yield "activity", "/ui/activity"
        yield "open", "/ui/open"
        yield "txn", f"/ui/txn?txn={self.reads.conflicts(0, 1)[0].txn}"
        yield "conflicts", "/ui/conflicts"
        yield "conflict", f"/ui/conflict?position={self.lost}"
        yield "tables", "/ui/tables"
        for name in ("table", "history", "schema", "partitions", "files", "rows"):
            yield name, f"/ui/{name}?{table}"
        yield "lineage", f"/ui/lineage?table={self.summary}"
        yield "search", "/ui/search?q=flights"
        yield "watermark", "/ui/watermark"
        yield "diff", "/ui/diff?first=5"
        yield "processes", "/ui/processes"
        yield "log", "/ui/log"
        yield "ingests", "/ui/ingests"
        yield "api", "/ui/api"


def make() -> None:
    """Draw each page."""
    week = Week()
    FOLDER.mkdir(exist_ok=True)
    with serving(rows_in(week), seen=week.seen) as served, sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        with closing(playwright.chromium.launch(executable_path=chromium)) as browser:
            page = browser.new_page(viewport=SIZE)
            for name, address in week.addresses():
                page.goto(f"{served.url}{address}")
                picture = FOLDER / f"page-{name}.png"
                page.screenshot(path=picture)
                if picture.stat().st_size > BYTES_MAX:
                    raise ValueError(f"{picture} has more than {BYTES_MAX} bytes")


if __name__ == "__main__":
    make()
