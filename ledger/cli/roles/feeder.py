"""The command `serve feeder`: it folds the log within Spark until it is stopped."""

from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from threading import Event as Signal
from typing import Annotated

import typer

from ledger.backup.images.starting import StartImages
from ledger.cli.answers import FailureOption, Output, progress_bar
from ledger.cli.options import (
    BootstrapOption,
    ImageOption,
    LedgerOption,
    SetOption,
    WithParentOption,
)
from ledger.cli.roles.role import images_of, run_role
from ledger.clock import SystemClock
from ledger.config.config import Settings, load
from ledger.errors import OffsetGoneError
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import add_topic
from ledger.log.port import Log, Topic
from ledger.log_lines import is_debugged
from ledger.machine.folder import SPARK_CHECKPOINTS, SPARK_ROWS
from ledger.machine.process import final, freeze_recovered
from projections.fold.registering import Registration, name_of
from projections.store.port import RowStore


def serve_feeder(
    store: Annotated[Path, typer.Option(help="The folder of the rows Spark jobs read.")],
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    trigger_ms: Annotated[int | None, typer.Option(min=0, help="0 = batch after batch.")] = None,
    settings: SetOption = None,
    *,
    image: ImageOption = None,
    publish: Annotated[
        bool | None,
        typer.Option("--publish/--no-publish", help="Publish metadata to caches of other hosts."),
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the rows anew, without Spark, before feeding.")
    ] = False,
    with_parent: WithParentOption = False,
    output: FailureOption = Output.TABLE,
) -> None:
    """Fold the log with Spark Structured Streaming into a store that Spark jobs plan from."""
    flags = {"bootstrap": bootstrap, "ledger": ledger, "feeder.trigger_ms": trigger_ms}
    loaded = load({**flags, "feeder.publish": publish, "log.archive": image}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client, of_spark, images = found.client(), found.feeder_client(), images_of(loaded)

    def run(stop: Signal) -> None:
        from projections.errors import StoreDamagedError  # noqa: PLC0415
        from projections.fold.fold import Fold  # noqa: PLC0415 - a role loads only what it runs
        from projections.images.beginning import open_begun  # noqa: PLC0415
        from spark_sink.feeder import Feeder  # noqa: PLC0415 - loads Spark
        from spark_sink.session import ledger_session  # noqa: PLC0415

        spark = ledger_session("lakeledger-feeder")
        with final(StoreDamagedError, OffsetGoneError), ExitStack() as held:
            log = held.enter_context(closing(KafkaLog(kafka, found.ledger, client=client)))
            entry = Registration(log, "feeder", name_of(store), SystemClock())
            rebuild_rows(log, store / SPARK_ROWS, stop, images, entry, asked=rebuild)
            if stop.is_set():
                return
            rows: RowStore = held.enter_context(
                open_begun(log, store / SPARK_ROWS, images, hold=entry.hold)
            )
            if found.feeder.publish:
                rows = held.enter_context(published(kafka, found, log, rows))
            fold = Fold.load(rows, log, checks_state=is_debugged())
            fold.check_log(*log.ends(Topic.EVENTS))
            freeze_recovered()
            Feeder(
                spark,
                fold,
                bootstrap=kafka,
                ledger=found.ledger,
                checkpoints=store / SPARK_CHECKPOINTS,
                trigger_ms=found.feeder.trigger_ms,
                checkpoint_s=found.feeder.checkpoint_s,
                client=of_spark,
                entry=entry,
            ).run(stop)
        spark.stop()

    run_role("feeder", run, with_parent=with_parent, output=output)


def published(
    kafka: str, settings: Settings, log: Log, rows: RowStore
) -> AbstractContextManager[RowStore]:
    """Return a block with rows that are published to caches of other hosts too."""
    from projections.cache.topic.publishing import publishing  # noqa: PLC0415 - seldom needed

    add_topic(kafka, settings.ledger, Topic.CACHE, client=settings.client())
    return publishing(log, rows)


def rebuild_rows(
    log: Log, rows: Path, stop: Signal, images: StartImages, entry: Registration, *, asked: bool
) -> None:
    """Make the rows of a feeder anew if that is `asked` or their format is older.

    They are made with the same fold, and the progress is shown.
    """
    from projections.fold.follower import has_older_rows, rebuild  # noqa: PLC0415 - a role loads only what it runs

    if asked or has_older_rows(log, rows):
        with progress_bar("rebuilding") as progress:
            rebuild(log, rows, stop, progress=progress, images=images, entry=entry)
