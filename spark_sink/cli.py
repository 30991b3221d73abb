"""The command of this package, loaded when it is run."""

import typer

from ledger.cli.lazy import later
from ledger.cli.root import serve


def register(_app: typer.Typer) -> None:
    """Add this command to the root command."""
    later(
        serve,
        "feeder",
        "spark_sink.feeder_role:serve_feeder",
        "Fold the log with Spark Structured Streaming into a store that Spark jobs plan from.",
    )
