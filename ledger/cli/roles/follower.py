"""The command `serve follower`: it folds the log into rows until it is stopped.

Meanwhile a thread answers reads over HTTP, also before the rows have caught up: so probes can read
how far they are.
"""

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output, progress_bar
from ledger.cli.options import (
    BootstrapOption,
    ImageOption,
    LedgerOption,
    SetOption,
    WithParentOption,
)
from ledger.cli.roles.role import Server, answering, first_of, images_of, run_role, wait_for_broker
from ledger.clock import SystemClock
from ledger.config.config import Settings, load
from ledger.config.settings import OFF
from ledger.errors import OffsetGoneError
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Log
from ledger.log_lines import is_debugged
from ledger.machine.process import final
from ledger.machine.room import HostPlaces
from ledger.trimming.look import Whereabouts
from ledger.trimming.watch import LogWatch, RowsReached
from projections.errors import StoreDamagedError
from projections.fold.follower import Follower, follow


def serve_follower(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The folder of the rows.")
    ] = None,
    ledger: LedgerOption = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port to answer reads at; port 0 = any free.")
    ] = None,
    settings: SetOption = None,
    *,
    image: ImageOption = None,
    no_http: Annotated[bool, typer.Option("--no-http", help="Answer no HTTP.")] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the rows anew; readers keep the old ones until then."),
    ] = False,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Fold the log into rows that every process of this host can read, and others over HTTP."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store, "log.archive": image}
    loaded = load({**flags, "follower.http": OFF if no_http else http}, settings or ())
    kafka, rows = loaded.required("bootstrap"), loaded.required("store")
    found, client = loaded.settings, loaded.settings.client()

    def connect() -> Log:
        return KafkaLog(kafka, found.ledger, client=client)

    def run(stop: Signal) -> None:
        followers: list[Follower] = []
        followed = first_of(followers)
        watch = watch_of(connect, found, rows, followed)

        def serve() -> Server:
            from projections.web.roles.follower import serve_store  # noqa: PLC0415 - HTTP server

            own = (rows, followed, found.follower, found.web)
            return serve_store(*own, warehouse=found.warehouse or "", seen=watch.seen)

        with closing(connect()) as log, answering(found.follower.http, serve):
            wait_for_broker(log)
            with (
                nullcontext() if found.follower.http == OFF else watch.running(),
                progress_bar("catching up") as progress,
                final(StoreDamagedError, OffsetGoneError),
            ):
                follow(
                    log,
                    rows,
                    stop,
                    rebuild=rebuild,
                    checkpoint_s=found.follower.checkpoint_s,
                    progress=progress,
                    started=followers.append,
                    checks_state=is_debugged(),
                    images=images_of(loaded),
                )

    run_role("follower", run, with_parent=with_parent, output=output)


def watch_of(
    connect: Callable[[], Log],
    settings: Settings,
    rows: Path,
    followed: Callable[[], Follower | None],
) -> LogWatch:
    """Return the watch of the log that a follower makes rows of, for its answers over HTTP."""

    def reached() -> RowsReached | None:
        follower = followed()
        if follower is None:
            return None
        mark = follower.fold.mark
        return RowsReached(mark.position, mark.offset)

    places = HostPlaces(rows, settings.warehouse or "")
    where = Whereabouts(settings.ledger, places, settings.log.archive)
    return LogWatch(connect, where, reached, SystemClock())
