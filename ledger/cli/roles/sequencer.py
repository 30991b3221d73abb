"""The command `serve sequencer`: it leads the ledger, or stands by, until it is stopped.

With an address it answers probes and metrics over HTTP, also while the state is being loaded.
"""

import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.backup.images.starting import BY_TRIM, StartImages
from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import (
    BootstrapOption,
    ImageOption,
    LeaseOption,
    LedgerOption,
    SetOption,
    WithParentOption,
)
from ledger.cli.roles.role import Server, answering, first_of, images_of, run_role
from ledger.clock import SystemClock
from ledger.config.config import Loaded, Settings, load
from ledger.config.layers import PREFIX
from ledger.config.settings import Genesis
from ledger.core.limits import DEFAULT_LIMITS
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topic_watch import TopicWatch, repeating
from ledger.log.kafka.topics import look_at_topics, verify_topics
from ledger.log.port import Log
from ledger.log_lines import LogLines, is_debugged
from ledger.machine.former_rows import check_rows_left
from ledger.machine.process import freeze_recovered, interruptible
from ledger.sequencer.sequencer import Sequencer
from ledger.trimming.policy import TrimPolicy, TrimRules, rules_of

log_lines = LogLines("lakeledger.cli")


def serve_sequencer(  # noqa: PLR0917 - options of a command are named
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    name: Annotated[str, typer.Option(help="Shown in the log.")] = socket.gethostname(),
    catalog: Annotated[str | None, typer.Option(help="First catalog of a new ledger.")] = None,
    lease_s: LeaseOption = None,
    http: Annotated[
        str | None,
        typer.Option("--http", help="host:port of probes and metrics, or off; port 0 = any free."),
    ] = None,
    *,
    image: ImageOption = None,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Lead the ledger, or stand by until the leader is gone."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "catalog": catalog}
    own = {"sequencer.lease_s": lease_s, "sequencer.http": http, "log.archive": image}
    loaded = load({**flags, **own}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client, rules = found.client(), rules_of(found.log)

    def connect() -> Log:
        return KafkaLog(kafka, found.ledger, client=client)

    def run(stop: Signal) -> None:
        log = KafkaLog(kafka, found.ledger, client=client, gather_s=found.sequencer.gather_s)
        watch = TopicWatch(partial(look_at_topics, kafka, found.ledger, client=client))
        sequencers: list[Sequencer] = []

        def serve() -> Server:
            from projections.web.roles.sequencer import serve_probes  # noqa: PLC0415 - HTTP server

            return serve_probes(
                first_of(sequencers),
                connect,
                found.sequencer,
                SystemClock(),
                found.web,
                faults=lambda: watch.faults,
            )

        with answering(found.sequencer.http, serve):
            with interruptible():
                verify_topics(kafka, found.ledger, client=client)
                check_rows_left(log, found.ledger, filter(None, [found.store]))
            sequencer = sequencer_of(log, found, name, images_of(loaded))
            sequencers.append(sequencer)
            freeze_recovered()
            position = sequencer.acceptor.head.position
            log_lines.info("standing by", name=name, position=position)
            with repeating(watch.look), trimming(rules, sequencer, connect, loaded):
                sequencer.run(stop)

    run_role("sequencer", run, with_parent=with_parent, output=output)


def sequencer_of(
    log: Log, settings: Settings, name: str, images: StartImages = BY_TRIM
) -> Sequencer:
    """Return a sequencer with its state loaded; `name` and the process stand in its fences."""
    limits = DEFAULT_LIMITS._replace(lease_ms=round(settings.sequencer.lease_s * 1000))
    return Sequencer(
        log,
        Genesis(settings.ledger, settings.catalog, limits=limits),
        name=f"{name}/{os.getpid()}",
        settings=settings.sequencer,
        checks_state=is_debugged(),
        images=images,
    )


def trimming(
    rules: TrimRules | None, sequencer: Sequencer, connect: Callable[[], Log], loaded: Loaded
) -> AbstractContextManager[None]:
    """Return a block in which a leader trims the log by the rules, if there are any."""
    if rules is None:
        return nullcontext()
    found, kafka = loaded.settings, loaded.required("bootstrap")
    # The command finds by itself what is set in files and variables, and not what flags say.
    login = (
        {} if found.client_config is None else {f"{PREFIX}CLIENT_CONFIG": str(found.client_config)}
    )
    return TrimPolicy(
        connect,
        rules,
        lambda: sequencer.role == "leading",
        SystemClock(),
        where=("--bootstrap", kafka, "--ledger", found.ledger),
        environ=login,
    ).running()
