"""The command `serve notifier`: it tells programs of commits and conflicts until it is stopped."""

from contextlib import closing
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles.role import Server, answering, images_of, run_role, wait_for_broker
from ledger.config.config import load
from ledger.config.settings import OFF
from ledger.errors import OffsetGoneError, SettingsError
from ledger.log.kafka.log import KafkaLog
from ledger.machine.process import final
from projections.errors import StoreDamagedError
from projections.notifier.notifier import Notifier, deliveries_of


def serve_notifier(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The folder of its places in the log.")
    ] = None,
    ledger: LedgerOption = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port of health and metrics; port 0 = any.")
    ] = None,
    settings: SetOption = None,
    *,
    no_http: Annotated[bool, typer.Option("--no-http", help="Answer no HTTP.")] = False,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Tell webhooks, a topic or a lineage server of each commit and each lost conflict."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "notifier.store": store}
    loaded = load({**flags, "notifier.http": OFF if no_http else http}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client, place = found.client(), found.notifier.store
    if place is None:
        raise SettingsError(
            "notifier.store is not set. Give --store, or set LAKELEDGER_NOTIFIER__STORE: a folder "
            "in which each receiver has its place in the log"
        )

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log:
            wait_for_broker(log)
            images = images_of(loaded)
            made = deliveries_of(
                found.notifier, place.expanduser(), found.ledger, log.writer_to, images
            )
            notifier = Notifier(list(made))

            def serve() -> Server:
                from projections.web.roles.notifier import serve_notifier  # noqa: PLC0415 - HTTP server

                return serve_notifier(notifier, found.notifier, found.web)

            with (
                closing(notifier),
                answering(found.notifier.http, serve),
                final(OffsetGoneError, StoreDamagedError),
            ):
                notifier.run(log, stop)

    run_role("notifier", run, with_parent=with_parent, output=output)
