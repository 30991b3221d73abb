"""A follower over HTTP: the reads of its rows, the pages, its health and its metrics."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from ledger.clock import SystemClock
from ledger.config.settings import UNLOCKED, FollowerSettings, WebSettings, hosts_of
from ledger.machine.room import NO_PLACES, HostPlaces
from ledger.reads.port import Reads
from projections.fold.follower import Follower
from projections.fold.lag import Lag
from projections.fold.registering import Registration
from projections.queries import StoreReads
from projections.rows.keys import BLOCKS, HISTORY, number_key, reader_of
from projections.rows.tables.blocks import read_blocks
from projections.rows.txns.history import EventFields
from projections.store.rocks import RocksLimits
from projections.store.rocks_reader import RocksReader
from projections.web.answers.questions import QUESTIONS
from projections.web.answers.registry import registry_routes
from projections.web.answers.unity import UNITY_QUESTIONS
from projections.web.app import WebPages
from projections.web.pages.serving import page_routes
from projections.web.roles.health import Check, Look, lag_check, registered_check
from projections.web.roles.log_seen import Seen, log_metrics, log_questions, unseen
from projections.web.roles.metrics import count, count_by, gauge
from projections.web.roles.role import Role, serve_pages
from projections.web.server.limits import LIMITS, WebLimits
from projections.web.server.server import WebServer

# There are several readers in one process; the operating system caches files for all of them.
ROCKS_LIMITS: Final = RocksLimits(block_cache_bytes=16 << 20)

MS: Final = 1000
event_fields: Final = reader_of(EventFields)

Followed = Callable[[], Follower | None]
"""The follower of this process, None until its state is loaded."""


def serve_store(
    store: Path,
    followed: Followed,
    settings: FollowerSettings,
    doors: WebSettings = UNLOCKED,
    *,
    warehouse: str = "",
    seen: Seen = unseen,
) -> WebServer:
    """Answer reads of the store at a path, with health and metrics of its follower.

    `seen` returns what this process saw of the log.

    The rows are read as in any other process of the host, as secondaries of their writer. So an
    answer shows whole batches, and costs the fold only its share of this process.
    Raises SettingsError if the server cannot listen at the configured address.
    """
    pages = read_pages(
        partial(open_rows, store),
        followed,
        lag_max_s=settings.lag_max_s,
        processes=hosts_of(settings.processes),
        places=HostPlaces(store, warehouse),
        reads_rows=settings.sql,
        seen=seen,
    )
    return serve_pages("follower", pages, settings, doors)


def read_pages(
    source: Callable[[], Reads],
    followed: Followed,
    *,
    lag_max_s: float,
    limits: WebLimits = LIMITS,
    processes: Sequence[str] = (),
    places: HostPlaces = NO_PLACES,
    reads_rows: bool = False,
    seen: Seen = unseen,
) -> WebPages[Reads]:
    """Return the pages of a read model; `followed` returns the follower of these rows.

    `processes` are the URLs of other processes whose health a page shows, and `places` those of the
    ledger on this host. With `reads_rows` pages show rows of tables, and answer queries. `seen`
    returns what this process saw of the log.
    """

    def lag() -> Lag | None:
        follower = followed()
        return None if follower is None else follower.lag()

    def measures(behind: Lag | None) -> Iterable[Metric]:
        follower = followed()
        own = () if follower is None else (*counters(follower), *gauges(follower, behind))
        return (*own, *measured(places), *log_metrics(seen()))

    pages = Role(
        "follower",
        source,
        {
            "store": store_check,
            "position": lambda _: position_check(followed()),
            "lag": lambda look: lag_check(look.lag, lag_max_s),
            "registered": lambda _: registered_check(entry_of(followed())),
        },
        lag,
        measures,
        (*QUESTIONS, *log_questions(seen), *UNITY_QUESTIONS),
        beside=registry_routes(),
    ).pages(limits)
    pages.add_routes(page_routes(pages, processes, reads_rows=reads_rows, seen=seen))
    return pages


def open_rows(store: Path) -> StoreReads:
    """Return one reader of the store; raises StoreMissingError before it exists."""
    return StoreReads(RocksReader.open(store, limits=ROCKS_LIMITS))


def entry_of(follower: Follower | None) -> Registration | None:
    """Return the entry of a follower among the processes that follow the log, if it has one."""
    return None if follower is None else follower.entry


def store_check(look: Look) -> Check:
    """Return whether the rows can be read."""
    if isinstance(look.position, int):
        return Check(is_up=True, detail=f"open, at position {look.position}")
    return Check(is_up=False, detail=str(look.position))


def position_check(follower: Follower | None) -> Check:
    """Return whether the rows have come to the end of the log that the follower found."""
    if follower is None:
        return Check(is_up=False, detail="the state is being loaded")
    position = follower.fold.mark.position
    if not follower.is_caught_up:
        return Check(is_up=False, detail=f"catching up, at position {position}")
    return Check(position > 0, f"events up to position {position} are applied")


def counters(follower: Follower) -> Iterator[Metric]:
    """Yield the counters since the follower started."""
    tally = follower.fold.tally
    yield count_by("events_applied", "Events that became rows", "type", tally.events)
    lost = "Commits that lost against an earlier one"
    yield count_by("conflicts", lost, "exception", tally.conflicts)
    yield count("anomalies", "Impossible file changes in commits", tally.anomalies)
    yield SummaryMetricFamily(
        "lakeledger_apply_seconds",
        "Time to make the rows of a batch of events and write them",
        count_value=tally.batches,
        sum_value=tally.seconds,
    )


def gauges(follower: Follower, lag: Lag | None) -> Iterator[Metric]:
    """Yield the position, the open work, and the lag if it is known."""
    fold = follower.fold
    txns = fold.state.txns
    yield gauge("position", "Position up to which rows are stored", fold.mark.position)
    yield gauge("open_txns", "Txns that are open, read-only ones too", len(txns.open))
    yield gauge("oldest_open_txn_seconds", "Age of the oldest open txn", oldest_open_s(follower))
    yield gauge("aborted_txns", "Aborted txns that are not forgotten", len(txns.aborted))
    yield gauge("cleanup_watermark", "Txn id below which mappings may go", txns.watermark)
    yield from rows_in_log(follower)
    if lag is not None:
        yield gauge("lag_positions", "Records of the log that are not rows yet", lag.records)
        yield gauge("lag_seconds", "For how long records have been unread", lag.behind_ms / 1000)


def rows_in_log(follower: Follower) -> Iterator[Metric]:
    """Yield how many rows wait in the log for a flusher, and for how long."""
    waiting = [read_blocks(row) for _, row in follower.fold.stored_under(BLOCKS)]
    since = min((each.since for each in waiting), default=0)
    oldest_s = max(0.0, (SystemClock().now_ms() - since) / MS) if since else 0.0
    yield gauge("logged_rows", "Rows in the log, not in files", sum(each.rows for each in waiting))
    yield gauge("logged_bytes", "Their bytes", sum(each.size for each in waiting))
    yield gauge("logged_oldest_seconds", "For how long the oldest of them has waited", oldest_s)


def oldest_open_s(follower: Follower) -> float:
    """Return for how long the oldest txn has been open, 0 without one."""
    fold = follower.fold
    # One call: the fold opens and ends txns meanwhile.
    txn = min(list(fold.state.txns.open.values()), key=lambda txn: txn.txn, default=None)
    row = None if txn is None else fold.stored(number_key(HISTORY, txn.opened))
    if row is None:
        return 0.0
    return max(0.0, (SystemClock().now_ms() - event_fields(row).at) / MS)


def measured(places: HostPlaces) -> Iterator[Metric]:
    """Yield the room on the disks of this host, and the age of its last backup if it is known."""
    disks = places.disks()
    for name, about, field in (
        ("disk_free_bytes", "Bytes that the disk of a place has left", "free"),
        ("disk_bytes", "Bytes of the disk of a place", "size"),
    ):
        family = GaugeMetricFamily(f"lakeledger_{name}", about, labels=("what",))
        for disk in disks:
            family.add_metric((disk.what,), getattr(disk, field))
        yield family
    if (last := places.last_backup()) is not None:
        yield gauge("backup_age_seconds", "Age of the last backup taken on this host", last.age_s())
