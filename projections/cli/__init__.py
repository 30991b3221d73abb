"""Commands over the read model: status, txns, tables, conflicts, the watermark, and caches; roles.

They read the follower's store on this host and say as of which position they speak. Ending somebody
else's txn and forgetting aborted ones are commands to the ledger and go through the SDK. Each
subject has a module of its own; here they are only put under the root command, with one beside them
that reads the log instead.
"""

import typer

from ledger.cli.log import whatif
from ledger.cli.root import serve
from projections.cli import anomalies, cache, cleaning, conflicts, status, tables, txns
from projections.cli.cache_role import serve_cache
from projections.cli.follower import serve_follower


def register(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    serve.command("follower")(serve_follower)
    serve.command("cache")(serve_cache)
    app.add_typer(cache.app, name="cache")
    app.add_typer(txns.app, name="txn")
    app.add_typer(tables.app, name="table")
    conflicts.app.command("whatif")(whatif)
    app.add_typer(conflicts.app, name="conflict")
    app.add_typer(cleaning.app, name="watermark")
    app.add_typer(anomalies.app, name="anomaly")
    app.command()(status.status)
    app.command()(cleaning.clean)
