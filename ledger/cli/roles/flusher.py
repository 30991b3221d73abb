"""The command `serve flusher`: it looks after tables until it is stopped."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles.role import opened_reads, run_role, wait_for_broker
from ledger.client import Ledger
from ledger.clock import SystemClock
from ledger.config.config import Loaded, load
from ledger.log.kafka.log import KafkaLog
from ledger.log_lines import LogLines
from ledger.upkeep.upkeep import Upkeep
from projections.errors import StoreMissingError, StoreVersionError

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

    @contextmanager
    def connect() -> Iterator[Ledger]:
        with (
            closing(opened_reads(loaded)) as reads,
            Ledger.connect(
                kafka,
                found.ledger,
                reads=reads,
                client=client,
                application="lakeledger flusher",
                timeout_s=ANSWER_S,
            ) as connection,
        ):
            yield connection

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log:
            wait_for_broker(log)
        if are_rows_there(loaded, stop):
            log_lines.info("looking after tables")
            Upkeep(connect, found.flusher, SystemClock()).run(stop)

    run_role("flusher", run, with_parent=with_parent, output=output)


def are_rows_there(loaded: Loaded, stop: Signal) -> bool:
    """Wait until a follower has begun the rows; False if the role is stopped before.

    Rows of an earlier version are made anew by the follower. Raises StoreVersionError for rows of a
    later one.
    """
    told = ""
    while not stop.is_set():
        try:
            opened_reads(loaded).close()
        except (StoreMissingError, StoreVersionError) as problem:
            if isinstance(problem, StoreVersionError) and problem.found > problem.wanted:
                raise
            if str(problem) != told:
                log_lines.info("waiting for the rows of a follower", why=str(problem))
            told = str(problem)
            stop.wait(ROWS_S)
        else:
            return True
    return False
