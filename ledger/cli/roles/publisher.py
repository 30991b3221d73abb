"""The command `serve publisher`: it writes the Delta logs of published tables until it stops.

Meanwhile a thread answers its status over HTTP, also before it has caught up.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
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
from ledger.cli.roles.role import Server, answering, images_of, run_role, wait_for_broker
from ledger.config.config import load
from ledger.config.settings import OFF
from ledger.errors import OffsetGoneError
from ledger.log.kafka.log import KafkaLog
from ledger.log_lines import LogLines
from ledger.machine.process import final
from projections.delta.publisher import DeltaPublisher, PublisherState

log_lines = LogLines("lakeledger.publisher")


def serve_publisher(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="<path>", help="The folder of its state, for a quick restart."),
    ] = None,
    ledger: LedgerOption = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port of status and health; port 0 = any.")
    ] = None,
    settings: SetOption = None,
    *,
    image: ImageOption = None,
    no_http: Annotated[bool, typer.Option("--no-http", help="Answer no HTTP.")] = False,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Write a Delta log for every table whose property `lakeledger.publish` is `delta`."""
    flags = {"bootstrap": bootstrap, "ledger": ledger}
    own = {
        "publisher.http": OFF if no_http else http,
        "publisher.store": store,
        "log.archive": image,
    }
    loaded = load({**flags, **own}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client, folder = found.client(), found.publisher.store
    state = PublisherState(folder and folder.expanduser(), found.publisher.checkpoint_s)

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log, ExitStack() as held:
            wait_for_broker(log)
            progress = held.enter_context(progress_bar("publishing"))
            publisher = DeltaPublisher(
                log,
                state=state,
                retention_h=found.publisher.retention_h,
                progress=progress,
                images=images_of(loaded),
            )

            def serve() -> Server:
                from projections.web.roles.publisher import serve_publisher  # noqa: PLC0415 - HTTP server

                return serve_publisher(publisher, found.publisher, found.web)

            held.enter_context(answering(found.publisher.http, serve))
            with final(OffsetGoneError):
                publisher.run(stop, telling(publisher))

    run_role("publisher", run, with_parent=with_parent, output=output)


def telling(publisher: DeltaPublisher) -> Callable[[], None]:
    """Return a call that logs once that a publisher has caught up."""
    has_logged = Signal()

    def caught_up() -> None:
        if not has_logged.is_set():
            has_logged.set()
            log_lines.info("caught up", position=publisher.position, written=publisher.written)

    return caught_up
