"""How fast the pages come: `python -m tests.benchmarks.pages [--tables N] [--versions N]`.

A log of many tables and versions is decided and folded in this process, without a broker. Then each
page is requested from a follower's server, at the newest position and in the middle of the past,
and opened in a browser until its first paint. A page is slow beyond 300 ms: then the command ends
with 1.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from playwright.sync_api import Page, sync_playwright

from ledger.log.port import Topic
from projections.store.rocks_store import RocksStore
from projections.web.pages.menu import PAGES
from projections.web.roles.follower import open_rows
from tests.core.parts import table_of
from tests.projections.followed import Followed
from tests.web.lake import file_of, write
from tests.web.served import Served, serving

TABLES: Final = 1_000
VERSIONS: Final = 100_000
FEED: Final = 2_000
ROUNDS: Final = 5
SLOW_MS: Final = 300.0
DAYS: Final = 30
LONG_EVERY: Final = 10
LOST_EVERY: Final = 100
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
PAINTED: Final = """() => new Promise((done) => new PerformanceObserver((found) => {
    for (const each of found.getEntries())
        if (each.name === "first-contentful-paint") done(each.startTime);
}).observe({type: "paint", buffered: true}))"""
OF_TABLES: Final = ("table", "history", "schema", "partitions", "files", "lineage", "rows")


class BusyLake(Followed):
    """A ledger of many tables, of which some are written to far more often than others."""

    def __init__(self, store: RocksStore, tables: int, versions: int) -> None:
        super().__init__(store)
        draw = Random(1)  # noqa: S311 - the same lake each time
        self.user = self.open_session("etl")
        made = table_of(("day", "date"), ("value", "int"), by=["day"])
        names = (f"area_{number % 20}.table_{number}" for number in range(tables))
        self.tables = [self.create_table(self.user, name, made=made) for name in names]
        self.lost = 0
        for number in range(versions - tables):
            self.commit_one(number, self.tables[int(tables * draw.random() ** 3)], draw)
            if not number % FEED:
                self.feed(number, versions)
        self.open_txn(self.user)
        self.feed(versions, versions)

    def commit_one(self, number: int, table: int, draw: Random) -> None:
        """Add a file to a table; some commits have a txn, and some lose."""
        day = f"2026-01-{1 + draw.randrange(DAYS):02d}"
        path = f"day={day}/part-{number:06d}.parquet"
        txn = 0 if number % LONG_EVERY else self.open_txn(self.user)
        self.commit(
            self.user, txn, write(table, [file_of(path, day, 1_000 + draw.randrange(10**6))])
        )
        if number % LOST_EVERY == LOST_EVERY - 1:
            late = self.open_txn(self.user)
            read_at, gone = self.head.position, [path]
            delete = write(table, (), gone, read_at=read_at, read=gone, operation="DELETE")
            self.commit(self.user, 0, delete)
            self.commit(self.user, late, delete)
            self.lost = self.head.position

    def feed(self, number: int, versions: int) -> None:
        """Make rows of the events so far, and forget their records."""
        print(f"\r{number:,} of {versions:,} versions", end="", file=sys.stderr, flush=True)
        self.follow()
        self.events.clear()

    def addresses(self) -> Iterator[str]:
        """Yield the address of each page, about a table with many versions."""
        busy = f"table={self.tables[0]}"
        subjects = {
            "txn": "txn=20",
            "conflict": f"position={self.lost}",
            "search": "q=table_1",
            "session": f"session={self.user}",
            **dict.fromkeys(OF_TABLES, busy),
        }
        for page in PAGES:
            yield f"{page.path}?{subjects.get(page.path, '')}".rstrip("?")
        for order in ("rows", "changed"):
            yield f"tables?sort={order}"
        yield "tables?like=*_7*"
        yield "activity?span=2000"
        yield f"table?table={self.tables[-1]}"


def measure(served: Served, address: str) -> float:
    """Return the shortest time for a page in milliseconds: others may use the machine too."""
    times = []
    for _ in range(ROUNDS):
        began_s = perf_counter()
        answer = served.ask(f"/ui/{address}".rstrip("/"))
        times.append(1_000 * (perf_counter() - began_s))
        assert answer.status == 200, (address, answer.data)
    return min(times)


def paint(page: Page, address: str) -> float:
    """Return the shortest time to the first paint of a page in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        page.goto(address)
        times.append(float(page.evaluate(PAINTED)))
    return min(times)


def main() -> int:
    """Build the ledger, and measure each page now, in the past, in a browser; 1 if one is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--versions", type=int, default=VERSIONS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, RocksStore.open(Path(folder)) as store:
        began_s = perf_counter()
        lake = BusyLake(store, asked.tables, asked.versions)
        records, newest = len(lake.log.topics[Topic.EVENTS].records), lake.head.position
        print(f"\n{records:,} events in {perf_counter() - began_s:.0f} s", file=sys.stderr)
        slow = 0
        with (
            serving(partial(open_rows, Path(folder))) as served,
            sync_playwright() as playwright,
            closing(playwright.chromium.launch(executable_path=CHROMIUM)) as browser,
        ):
            page = browser.new_page()
            print(f"{'page':40} {'now ms':>8} {'past ms':>8} {'paint ms':>8}")
            for address in lake.addresses():
                past = f"{address}{'&' if '?' in address else '?'}at={newest // 2}"
                shown = f"{served.url}/ui/{address}".rstrip("/")
                times = measure(served, address), measure(served, past), paint(page, shown)
                print(f"{'/ui/' + address:40}", *(f"{each:8.1f}" for each in times), flush=True)
                slow += max(times) > SLOW_MS
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
