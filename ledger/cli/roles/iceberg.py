"""The command `serve iceberg`: an Iceberg REST catalog of the ledger, until it is stopped."""

from contextlib import ExitStack, closing
from functools import partial
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles.role import Server, answering, opened_reads, run_role, wait_for_broker
from ledger.client import Ledger
from ledger.config.config import Settings, load
from ledger.config.settings import OFF, hosts_of
from ledger.errors import SettingsError
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.log_lines import LogLines
from ledger.reads.port import Reads

ASK_S = 2.0
ANSWER_S = 120.0
"""So long a change waits for the sequencer, also over a change of its leader.

Some clients delete their files once the outcome is unknown, so that is said late.
"""

log_lines = LogLines("lakeledger.iceberg")


def serve_iceberg(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The follower's rows on this host.")
    ] = None,
    ledger: LedgerOption = None,
    *,
    catalog: Annotated[str | None, typer.Option(help="The catalog of names.")] = None,
    http: Annotated[
        str | None, typer.Option("--http", help="host:port to answer at; port 0 = any free.")
    ] = None,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Answer clients of Apache Iceberg as a REST catalog: they read and write the tables."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store, "catalog": catalog}
    loaded = load({**flags, "iceberg.http": http}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    open_reads = partial(opened_reads, loaded)
    if found.iceberg.http == OFF:
        raise SettingsError(
            f"iceberg.http is {OFF}, and this process does nothing but answer HTTP. Give it a "
            "host:port"
        )
    client = found.client()

    def connect(reads: Reads, user: str | None) -> Ledger:
        return connected(kafka, found, reads, user)

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log, ExitStack() as own:
            wait_for_broker(log)

            def serve() -> Server:
                from projections.web.iceberg.lake import IcebergLake  # noqa: PLC0415 - HTTP server
                from projections.web.iceberg.source import LedgerSource  # noqa: PLC0415
                from projections.web.roles.iceberg import serve_iceberg  # noqa: PLC0415

                places = hosts_of(found.iceberg.register)
                source = LedgerSource(open_reads, connect)
                lake = IcebergLake(source, found.catalog, places=places)
                own.callback(lake.close)
                look = partial(log.ends, Topic.EVENTS, ASK_S)
                return serve_iceberg(lake, look, found.iceberg, found.web)

            own.enter_context(answering(found.iceberg.http, serve))
            stop.wait()

    run_role("iceberg", run, with_parent=with_parent, output=output)


def connected(kafka: str, settings: Settings, reads: Reads, user: str | None) -> Ledger:
    """Return a client for a user, None for the user of this process."""
    return Ledger.connect(
        kafka,
        settings.ledger,
        catalog=settings.catalog,
        reads=reads,
        client=settings.client(),
        application="lakeledger iceberg",
        timeout_s=ANSWER_S,
        user=user,
        warehouse=settings.warehouse,
    )
