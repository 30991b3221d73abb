"""The feeder as a role: `lakeledger serve feeder`."""

from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.cli import BootstrapOption, LedgerOption, WithParentOption, serve
from ledger.log.kafka import KafkaLog
from ledger.log.port import Topic
from ledger.process import freeze_recovered, role_process


def register(_app: typer.Typer) -> None:
    """Add these commands to the root command."""
    serve.command("feeder")(serve_feeder)


def serve_feeder(
    bootstrap: BootstrapOption,
    store: Annotated[Path, typer.Option(help="The folder of the rows Spark jobs read.")],
    ledger: LedgerOption = "lake",
    trigger_ms: Annotated[int, typer.Option(min=0, help="0 = batch after batch.")] = 0,
    *,
    with_parent: WithParentOption = False,
) -> None:
    """Fold the log with Spark Structured Streaming into a store that Spark jobs plan from."""

    def run(stop: Signal) -> None:
        from projections.fold import Fold  # noqa: PLC0415 - a role loads only what it runs
        from projections.rocks_store import RocksStore  # noqa: PLC0415
        from spark_sink.feeder import Feeder  # noqa: PLC0415 - loads Spark
        from spark_sink.session import ledger_session  # noqa: PLC0415

        spark = ledger_session("lakeledger-feeder")
        with closing(KafkaLog(bootstrap, ledger)) as log, RocksStore.open(store / "rows") as rows:
            fold = Fold.load(rows, log)
            fold.check_log(*log.ends(Topic.EVENTS))
            freeze_recovered()
            checkpoints = store / "checkpoints"
            Feeder(
                spark,
                fold,
                bootstrap=bootstrap,
                ledger=ledger,
                checkpoints=checkpoints,
                trigger_ms=trigger_ms,
            ).run(stop)
        spark.stop()

    raise typer.Exit(role_process("feeder", run, with_parent=with_parent))
