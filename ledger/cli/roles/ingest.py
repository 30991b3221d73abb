"""The command `serve ingest`: one process of an ingest, until it is stopped."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from os import getpid
from pathlib import Path
from socket import gethostname
from threading import Event as Signal
from typing import Annotated, Final

import typer

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles.role import Server, answering, opened_reads, run_role, wait_for_broker
from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.config import Loaded, load
from ledger.config.settings import OFF, IngestSettings, WebSettings
from ledger.errors import LedgerError, OffsetGoneError, SettingsError
from ledger.ingest.ingest import Ingest
from ledger.ingest.mapping import read_mapping
from ledger.ingest.opening import opened_ingest
from ledger.log.consumers import INGEST
from ledger.log.kafka.log import KafkaLog
from ledger.machine.process import final
from ledger.reads.port import Reads
from projections.fold.registering import Registration

MappingArgument = Annotated[
    Path, typer.Argument(metavar="MAPPING", help="The file that maps topics to tables.")
]
APPLICATION: Final = "lakeledger ingest"
PAUSE_S: Final = 0.5


def serve_ingest(
    mapping: Annotated[
        str | None, typer.Argument(metavar="[MAPPING]", help="The file that maps topics to tables.")
    ] = None,
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The follower's rows on this host.")
    ] = None,
    ledger: LedgerOption = None,
    *,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port of health and metrics; port 0 = any.")
    ] = None,
    settings: SetOption = None,
    no_http: Annotated[bool, typer.Option("--no-http", help="Answer no HTTP.")] = False,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Bring records of topics into tables, as a mapping says; several share the work."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store, "ingest.mapping": mapping}
    loaded = load({**flags, "ingest.http": OFF if no_http else http}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    if found.ingest.mapping is None:
        raise SettingsError(
            "ingest.mapping is not set. Name the file, or set LAKELEDGER_INGEST__MAPPING: it says "
            "which topics go into which tables"
        )
    client, plan = found.client(), read_mapping(found.ingest.mapping.expanduser())

    def run(stop: Signal) -> None:
        with ExitStack() as own:
            log = own.enter_context(closing(KafkaLog(kafka, found.ledger, client=client)))
            wait_for_broker(log)
            reads = own.enter_context(closing(reads_here(loaded, stop)))
            made = own.enter_context(
                Ledger.connect(
                    kafka,
                    found.ledger,
                    catalog=found.catalog,
                    reads=reads,
                    client=client,
                    application=APPLICATION,
                    warehouse=found.warehouse,
                )
            )
            ingest = own.enter_context(closing(opened_ingest(made, plan, kafka, client)))
            serve = partial(probes, ingest, found.ingest, found.web)
            own.enter_context(answering(found.ingest.http, serve))
            name = f"{plan.name}-{gethostname()}-{getpid()}"
            entry = Registration(log, INGEST, name, SystemClock())
            own.callback(entry.leave)
            entry.ask(reads.position)
            work(ingest, stop, lambda _: entry.ask(reads.position))

    run_role("ingest", run, with_parent=with_parent, output=output)


def reads_here(loaded: Loaded, stop: Signal) -> Reads:
    """Return the rows, as soon as the follower has made some."""
    while True:
        try:
            return opened_reads(loaded)
        except LedgerError as problem:
            if not problem.retry_unchanged or stop.wait(PAUSE_S):
                raise


def probes(ingest: Ingest, settings: IngestSettings, doors: WebSettings) -> Server:
    """Serve health and metrics of an ingest."""
    from projections.web.roles.ingest import serve_ingest  # noqa: PLC0415 - HTTP server

    return serve_ingest(ingest, settings, doors)


def work(ingest: Ingest, stop: Signal, tell: Callable[[Ingest], None] = lambda _: None) -> None:
    """Run an ingest until it is stopped; a restart would not mend records that are gone."""
    with final(OffsetGoneError):
        ingest.run(stop, tell)
