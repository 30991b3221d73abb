"""Commands for ledgers on a Kafka cluster: their topics, and the sequencer."""

import os
import socket
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli.answers import FailureOption, Output, OutputOption, answer, say
from ledger.cli.options import (
    BeginAnewOption,
    BootstrapOption,
    FlushOption,
    LeaseOption,
    LedgerOption,
    SetOption,
    WithParentOption,
)
from ledger.cli.roles import run_role
from ledger.log_lines import LogLines
from ledger.machine.exit_codes import is_debugged
from ledger.machine.process import freeze_recovered, interruptible

COPIES_MAX = 2**15 - 1  # Kafka's own bound.
log_lines = LogLines("lakeledger.cli")


def init(
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    replication: Annotated[
        int, typer.Option(min=1, max=COPIES_MAX, help="Copies of each topic.")
    ] = 3,
    *,
    flush: FlushOption = True,
    begin_anew: BeginAnewOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create the topics of a ledger on a Kafka cluster, or verify the existing ones."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.log.anew import give_up  # noqa: PLC0415
    from ledger.log.kafka.topics import create_topics, verify_topics  # noqa: PLC0415

    loaded = load({"bootstrap": bootstrap, "ledger": ledger})
    kafka, name = loaded.required("bootstrap"), loaded.settings.ledger
    client = loaded.settings.client()
    deleted = give_up(kafka, name, client=client) if begin_anew else []
    create_topics(kafka, name, replication=replication, flush=flush, client=client)
    warnings = list(verify_topics(kafka, name, client=client))
    if output is Output.JSON:
        fields = {"ledger": name, "bootstrap": kafka, "warnings": warnings, "deleted": deleted}
        answer(fields, output)
        return
    if deleted:
        say(f"deleted {', '.join(deleted)}; start each follower and feeder once with --rebuild")
    for warning in warnings:
        say(f"warning: {warning}")
    say(f"the topics of ledger {name} are as they must be; next: lakeledger serve sequencer")


def serve_sequencer(
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    name: Annotated[str, typer.Option(help="Shown in the log.")] = socket.gethostname(),
    catalog: Annotated[str | None, typer.Option(help="First catalog of a new ledger.")] = None,
    lease_s: LeaseOption = None,
    *,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Lead the ledger, or stand by until the leader is gone."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.config.settings import Genesis  # noqa: PLC0415
    from ledger.core.limits import DEFAULT_LIMITS  # noqa: PLC0415
    from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415
    from ledger.log.kafka.topics import verify_topics  # noqa: PLC0415
    from ledger.machine.former_rows import check_rows_left  # noqa: PLC0415
    from ledger.sequencer.sequencer import Sequencer  # noqa: PLC0415

    flags = {"bootstrap": bootstrap, "ledger": ledger, "catalog": catalog}
    loaded = load({**flags, "sequencer.lease_s": lease_s}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client = found.client()

    def run(stop: Signal) -> None:
        log = KafkaLog(kafka, found.ledger, client=client, gather_s=found.sequencer.gather_s)
        with interruptible():
            verify_topics(kafka, found.ledger, client=client)
            check_rows_left(log, found.ledger, filter(None, [found.store]))
        limits = DEFAULT_LIMITS._replace(lease_ms=round(found.sequencer.lease_s * 1000))
        sequencer = Sequencer(
            log,
            Genesis(found.ledger, found.catalog, limits=limits),
            name=f"{name}/{os.getpid()}",
            settings=found.sequencer,
            checks_state=is_debugged(),
        )
        freeze_recovered()
        log_lines.info("standing by", name=name, position=sequencer.acceptor.head.position)
        sequencer.run(stop)

    run_role("sequencer", run, with_parent=with_parent, output=output)
