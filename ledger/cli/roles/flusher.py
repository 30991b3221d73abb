"""The command `serve flusher`: it looks after tables until it is stopped."""

from contextlib import ExitStack, closing
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles.iceberg import opened_reads
from ledger.cli.roles.role import run_role, wait_for_broker
from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.config import Loaded, load
from ledger.log.kafka.log import KafkaLog
from ledger.log_lines import LogLines
from ledger.reads.port import Reads
from ledger.upkeep.upkeep import Upkeep
from projections.errors import StoreMissingError

ROWS_S = 0.5
ANSWER_S = 60.0

log_lines = LogLines("lakeledger.flusher")


def serve_flusher(
    bootstrap: BootstrapOption = None,
    store: Annotated[
        str | None, typer.Option(metavar="<path>", help="The follower's rows on this host.")
    ] = None,
    ledger: LedgerOption = None,
    *,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Put rows of the log into files, and keep the files of tables that ask for it in order."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "store": store}
    loaded = load(flags, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client = found.client()

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log:
            wait_for_broker(log)
        reads = opened_when_there(loaded, stop)
        if reads is None:
            return
        with ExitStack() as own:
            own.callback(reads.close)
            connection = Ledger.connect(
                kafka,
                found.ledger,
                reads=reads,
                client=client,
                application="lakeledger flusher",
                timeout_s=ANSWER_S,
            )
            own.callback(connection.close)
            log_lines.info("looking after tables")
            Upkeep(connection, found.flusher, SystemClock()).run(stop)

    run_role("flusher", run, with_parent=with_parent, output=output)


def opened_when_there(loaded: Loaded, stop: Signal) -> Reads | None:
    """Return the rows as soon as a follower has begun them, None if the role is stopped before."""
    while True:
        try:
            return opened_reads(loaded)
        except StoreMissingError:
            if stop.wait(ROWS_S):
                return None
