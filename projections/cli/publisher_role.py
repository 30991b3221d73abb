"""The command `serve publisher`: it writes the Delta logs of published tables until it stops."""

from contextlib import closing
from threading import Event as Signal

from ledger.cli.answers import FailureOption, Output
from ledger.cli.options import BootstrapOption, LedgerOption, SetOption, WithParentOption
from ledger.cli.roles import run_role
from ledger.config.config import load
from ledger.log.kafka.log import KafkaLog
from ledger.log.port import Topic
from ledger.log_lines import LogLines
from ledger.machine.process import interruptible
from projections.delta.publisher import DeltaPublisher

log_lines = LogLines("lakeledger.publisher")


def serve_publisher(
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    settings: SetOption = None,
    *,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Write a Delta log for every table whose property `lakeledger.publish` is `delta`."""
    loaded = load({"bootstrap": bootstrap, "ledger": ledger}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client = found.client()

    def run(stop: Signal) -> None:
        with closing(KafkaLog(kafka, found.ledger, client=client)) as log:
            with interruptible():
                log.topic_id(Topic.EVENTS)  # Before the broker answers there is no role to stop.
            publisher, told = DeltaPublisher(log, retention_h=found.publisher.retention_h), Signal()

            def caught_up() -> None:
                if not told.is_set():
                    told.set()
                    log_lines.info(
                        "caught up", position=publisher.position, written=publisher.written
                    )

            publisher.run(stop, caught_up)

    run_role("publisher", run, with_parent=with_parent, output=output)
