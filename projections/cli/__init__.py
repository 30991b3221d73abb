"""Commands over the read model: status, txns, tables, conflicts, the watermark, and caches; roles.

They read the follower's store on this host and say as of which position they speak. Ending somebody
else's txn and forgetting aborted ones are commands to the ledger and go through the SDK. Each
subject has a module of its own, loaded when one of its commands is run.
"""

import typer

from ledger.cli.lazy import later
from ledger.cli.root import serve


def register(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    later(
        serve,
        "follower",
        f"{__name__}.follower:serve_follower",
        "Fold the log into rows that every process of this host can read, and others over HTTP.",
    )
    later(
        serve,
        "cache",
        f"{__name__}.cache_role:serve_cache",
        "Answer reads of metadata from memory, over HTTP; misses go to rows behind it.",
    )
    later(
        app,
        "status",
        f"{__name__}.status:status",
        "Say who leads, how far the rows are behind, what is open, and what cannot be.",
    )
    later(
        app,
        "clean",
        f"{__name__}.cleaning:clean",
        "Tell the ledger what compaction removed: no file under these ids can be reached any more.",
    )
    for name, where, what in (
        ("anomaly", "anomalies", "Look at what commits said that cannot be, and acknowledge it."),
        ("cache", "cache", "Look at a metadata cache, and read from it."),
        ("conflict", "conflicts", "Look at lost conflicts."),
        ("table", "tables", "Look at tables."),
        ("txn", "txns", "Look at txns, and end them."),
        ("watermark", "cleaning", "What may be cleaned, and what holds it back."),
    ):
        later(app, name, f"{__name__}.{where}:app", what)
