"""The command that is a cache: it keeps entries of its own by the log until it is stopped."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from time import monotonic
from typing import Annotated

import structlog
import typer

from ledger.cli import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.config import load
from ledger.log.kafka import KafkaLog
from ledger.log.port import Log
from ledger.process import freeze_recovered, role_process
from ledger.reads import Reads
from ledger.settings import CacheSettings
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.starting import StartingEntries
from projections.cache.store import Reopened, StoreAt
from projections.queries import open_reads

LOOK_S = 0.1

log_lines = structlog.get_logger("lakeledger.cache")


def serve_cache(
    bootstrap: BootstrapOption = None,
    store: Annotated[Path | None, typer.Option(help="The follower's rows on this host.")] = None,
    ledger: LedgerOption = None,
    catalog: Annotated[str | None, typer.Option(help="The catalog of names.")] = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port to answer at; port 0 = any free.")
    ] = None,
    *,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
) -> None:
    """Answer reads of metadata from memory, over HTTP; misses go to the follower's rows."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store, "catalog": catalog}
    loaded = load({**flags, "cache.http": http}, settings or ())
    kafka, rows = loaded.required("bootstrap"), loaded.required("store")
    found = loaded.settings

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger)) as log:
            keep(log, rows, found.catalog, found.cache, stop)

    raise typer.Exit(role_process("cache", run, with_parent=with_parent))


def keep(log: Log, rows: Path, catalog: str, settings: CacheSettings, stop: Signal) -> None:
    """Keep a cache and answer from it until `stop` is set; raises what ends the following.

    It answers at once, from the store until the entries have come to the end of the log.
    """
    from projections.web.cache_serving import serve_cache as serve  # noqa: PLC0415 - HTTP server

    with ExitStack() as own:
        entries = StartingEntries(log, bytes_max=settings.bytes_max)
        cache = MetadataCache(entries, StoreAt(rows), catalog)
        own.callback(cache.close)
        reads = own.enter_context(closing(Reopened[Reads](lambda: open_reads(rows))))
        process = CacheProcess(
            cache,
            reads,
            lag=entries.lag,
            is_loading=entries.is_loading,
            max_wait_ms=settings.max_wait_ms,
        )
        server = own.enter_context(closing(serve(process, entries, settings)))
        log_lines.info("answering HTTP", url=server.url)
        own.enter_context(sampling(cache, settings.sample_every_s))
        began_s = monotonic()
        entries.start()
        while entries.is_loading():
            if stop.wait(LOOK_S):
                return
        freeze_recovered()
        seconds = round(monotonic() - began_s, 3)
        log_lines.info("caught up", position=entries.position(), seconds=seconds)
        while not stop.wait(LOOK_S):
            entries.check()


@contextmanager
def sampling(cache: MetadataCache, every_s: float) -> Iterator[None]:
    """Let a thread compare the cache with its store now and then while the block runs."""
    stop = Signal()
    thread = Thread(target=cache.watch, args=(stop, every_s), name="lakeledger-sampler")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
