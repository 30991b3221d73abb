"""The command `init`: the topics of a ledger on a Kafka cluster."""

from typing import Annotated

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.options import BeginAnewOption, BootstrapOption, FlushOption, LedgerOption

COPIES_MAX = 2**15 - 1  # Kafka's own bound.


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
