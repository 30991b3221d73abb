"""Commands over the read model: status, txns, tables, conflicts, the watermark, and caches; roles.

They read the follower's store on this host and print the position that an answer is as of. Aborting
a txn and forgetting aborted ones are commands to the ledger and go through the SDK. Each subject
has a module of its own, loaded when one of its commands is run.
"""

import typer

from ledger.cli.lazy import later
from ledger.cli.root import serve


def register(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    add_roles()
    later(
        app,
        "status",
        f"{__name__}.status:status",
        "Show the leader, how far the rows are behind, open txns, and anomalies.",
    )
    later(
        app,
        "clean",
        f"{__name__}.cleaning:clean",
        "Record what compaction removed: no file under these ids can be reached any more.",
    )
    later(
        app,
        "diff",
        f"{__name__}.diff:diff",
        "Show what changed between two positions: tables, columns, files, rows, txns, by whom.",
    )
    later(
        app,
        "bisect",
        f"{__name__}.bisect:bisect",
        "Find the commit of a table at which a check begins to fail.",
    )
    later(
        app,
        "ui",
        f"{__name__}.ui:ui",
        "Open the pages of the ledger in a browser: overview, timeline, conflicts, tables.",
    )
    later(app, "sql", f"{__name__}.sql:sql", "Answer a query over tables, all as of one position.")
    for name, where, what in (
        ("anomaly", "anomalies", "Look at anomalies in commits, and acknowledge them."),
        ("cache", "cache", "Look at a metadata cache, and read from it."),
        ("conflict", "conflicts", "Look at lost conflicts."),
        ("stream", "streams", "Look at streams that write tables."),
        ("table", "tables", "Look at tables."),
        ("txn", "txns", "Look at txns, and end them."),
        ("watermark", "cleaning", "What may be cleaned, and what holds it back."),
    ):
        later(app, name, f"{__name__}.{where}:app", what)


def add_roles() -> None:
    """Add the roles to the group `serve`."""
    later(
        serve,
        "sequencer",
        f"{__name__}.sequencer_role:serve_sequencer",
        "Lead the ledger, or stand by until the leader is gone.",
    )
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
        serve,
        "publisher",
        f"{__name__}.publisher_role:serve_publisher",
        "Write a Delta log for every table whose property `lakeledger.publish` is `delta`.",
    )
