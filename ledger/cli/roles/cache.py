"""The command `serve cache`: a process that keeps metadata entries until it is stopped.

The entries follow the events of the log, and misses are read from the follower's rows on this host;
or both come from the cache topic, which a feeder of another host publishes.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from socket import gethostname
from threading import Event as Signal
from time import monotonic
from typing import Annotated

import typer

from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import (
    BootstrapOption,
    ImageOption,
    LedgerOption,
    SetOption,
    WithParentOption,
)
from ledger.cli.roles.role import images_of, run_role
from ledger.clock import SystemClock
from ledger.config.config import Settings, load
from ledger.config.settings import UNLOCKED, CacheSettings, WebSettings
from ledger.errors import LedgerError, LogUnavailableError, ReaderBehindError
from ledger.log.consumers import CACHE
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Log
from ledger.log_lines import LogLines
from ledger.machine.process import freeze_recovered
from ledger.reads.port import Reads
from projections.cache.following import FollowedEntries
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened, StoreAt
from projections.cache.topic.published import PublishedRows
from projections.cache.topic.remote import PublishedEntries, PublishedLists, PublishedStore
from projections.errors import StoreError
from projections.fold.registering import Registration
from projections.queries import open_reads

LOOK_S = 0.1

log_lines = LogLines("lakeledger.cache")


def serve_cache(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The follower's rows on this host.")
    ] = None,
    ledger: LedgerOption = None,
    *,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="events|published",
            help="Follow the log beside a follower's rows, or read what another host publishes.",
        ),
    ] = None,
    catalog: Annotated[str | None, typer.Option(help="The catalog of names.")] = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port to answer at; port 0 = any free.")
    ] = None,
    image: ImageOption = None,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Answer reads of metadata from memory, over HTTP; misses go to rows behind it."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store, "catalog": catalog}
    own = {"cache.http": http, "cache.source": source, "log.archive": image}
    loaded = load({**flags, **own}, settings or ())
    kafka, configured = loaded.required("bootstrap"), loaded.settings
    rows = loaded.required("store") if configured.cache.source == "events" else None
    client = configured.client()

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, configured.ledger, client=client)) as log, ExitStack() as held:
            if rows is None:
                process = fed_by_topic(log, configured)
            else:
                process = fed_by_log(log, rows, configured, held, images_of(loaded))
            keep(process, configured.cache, stop, configured.web)

    run_role("cache", run, with_parent=with_parent, output=output)


def fed_by_log(
    log: Log, rows: Path, settings: Settings, own: ExitStack, images: StartImages = BY_TRIM
) -> CacheProcess:
    """Return a cache that follows the log beside the rows at a path."""
    reads = own.enter_context(closing(Reopened[Reads](lambda: open_reads(rows))))
    name = f"{gethostname()}-{settings.cache.http}"
    entry = Registration(log, CACHE, name, SystemClock())
    size = settings.cache.bytes_max
    entries = FollowedEntries(log, bytes_max=size, images=images, entry=entry).start_loading()
    cache = MetadataCache(entries, StoreAt(rows), settings.catalog)
    return CacheProcess(cache, ReadLists(reads), max_wait_ms=settings.cache.max_wait_ms)


def fed_by_topic(log: Log, settings: Settings) -> CacheProcess:
    """Return a cache of the rows that another host publishes."""
    published = PublishedRows(log)
    entries = PublishedEntries(published, bytes_max=settings.cache.bytes_max)
    cache = MetadataCache(entries, PublishedStore(published), settings.catalog)
    return CacheProcess(cache, PublishedLists(published), max_wait_ms=settings.cache.max_wait_ms)


def keep(
    process: CacheProcess, settings: CacheSettings, stop: Signal, doors: WebSettings = UNLOCKED
) -> None:
    """Answer from a cache until `stop` is set, then close it; raises the error that ends it.

    It answers at once: from the store until the entries have reached the end of the log.
    """
    from projections.web.roles.cache import serve_cache as serve  # noqa: PLC0415 - HTTP server

    cache, entries = process.cache, process.cache.entries
    with ExitStack() as own:
        own.callback(cache.close)
        server = own.enter_context(closing(serve(process, settings, doors)))
        log_lines.info("answering HTTP", url=server.url)
        check_samples = own.enter_context(sampling(cache, settings.sample_every_s))
        began_s = monotonic()
        while entries.is_loading():
            check(cache, check_samples)
            if stop.wait(LOOK_S):
                return
        freeze_recovered()
        seconds = round(monotonic() - began_s, 3)
        log_lines.info("caught up", position=entries.position(), seconds=seconds)
        logged: type[LedgerError] | None = None
        while not stop.wait(LOOK_S):
            problem = check(cache, check_samples)
            logged = tell_of_rows(problem, logged)


def check(cache: MetadataCache, check_samples: Callable[[], None]) -> LedgerError | None:
    """Raise the error that ended entries or sampler; SettingsError for another ledger's rows.

    Rows that are missing or cannot be read now are tried again later; the reason is returned.
    """
    cache.entries.check()
    check_samples()
    try:
        cache.check_store()
    except (StoreError, ReaderBehindError, LogUnavailableError) as problem:
        return problem
    return None


def tell_of_rows(
    problem: LedgerError | None, logged: type[LedgerError] | None
) -> type[LedgerError] | None:
    """Log that rows cannot be read, or can again, if that differs from `logged`.

    The process stays ready, since it still answers what it holds.
    """
    kind = None if problem is None else type(problem)
    if problem is not None and kind is not logged:
        log_lines.warning("rows cannot be read", why=str(problem))
    elif problem is None and logged is not None:
        log_lines.info("rows can be read")
    return kind


@contextmanager
def sampling(cache: MetadataCache, every_s: float) -> Iterator[Callable[[], None]]:
    """Run a thread that compares the cache with its store now and then while the block runs.

    Yields a check that raises the error that ended the thread: a cache must not run on uncompared.
    """
    stop = Signal()
    with ThreadPoolExecutor(1, thread_name_prefix="lakeledger-sampler") as pool:
        watching = pool.submit(cache.sampler.watch, stop, every_s)
        try:
            yield lambda: watching.result() if watching.done() else None
        finally:
            stop.set()
