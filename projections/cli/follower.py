"""The command that is the follower: it folds the log into rows until it is stopped."""

from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Annotated

import typer
from rich.progress import Progress

from ledger.cli import BootstrapOption, LedgerOption, WithParentOption, err
from ledger.log.kafka import KafkaLog
from ledger.process import role_process
from projections.follower import follow


def serve_follower(
    bootstrap: BootstrapOption,
    store: Annotated[Path, typer.Option(help="The folder of the rows.")],
    ledger: LedgerOption = "lake",
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the rows anew.")] = False,
    with_parent: WithParentOption = False,
) -> None:
    """Fold the log into rows that every process of this host can read."""

    def run(stop: Signal) -> None:
        log = KafkaLog(bootstrap, ledger)
        with closing(log), Progress(console=err, disable=not err.is_terminal) as bar:
            task = bar.add_task("catching up", total=None)
            follow(
                log,
                store,
                stop,
                rebuild=rebuild,
                progress=lambda read, end: bar.update(task, completed=read, total=end),
            )

    raise typer.Exit(role_process("follower", run, with_parent=with_parent))
