"""Every command: its name, the function or group that is loaded when it runs, and its purpose."""

from typing import Final

COMMANDS: Final = (
    (
        "up",
        "ledger.cli.machine.up:up",
        "Run every process of a ledger on this machine until Ctrl-C.",
    ),
    (
        "init",
        "ledger.cli.machine.init:init",
        "Create the topics of a ledger on a Kafka cluster, or verify the existing ones.",
    ),
    (
        "acl",
        "ledger.cli.machine.acl:acl",
        "Print the commands that give a user the rights of a role, no more and no less.",
    ),
    (
        "backup",
        "ledger.cli.log.backup:backup",
        "Copy the events that are not in the backup yet; the ledger may run meanwhile.",
    ),
    (
        "restore",
        "ledger.cli.log.backup:restore",
        "Make the topics of a ledger from a backup, in a cluster without a ledger of that name.",
    ),
    (
        "recover",
        "ledger.cli.log.recover:recover",
        "Report what the log lost; with --cut, continue with ids above every id ever given.",
    ),
    ("config", "ledger.cli.machine.config:config", "Look at the settings."),
    ("import", "ledger.cli.tables.imports:imports", "Bring tables of other formats in."),
    (
        "ingest",
        "ledger.cli.ingest:app",
        "Bring records of Kafka topics into tables, and see how far each partition is.",
    ),
    ("log", "ledger.cli.log.log:log", "Look at the log itself."),
    ("token", "ledger.cli.machine.token:app", "Make, list and revoke tokens of HTTP servers."),
    (
        "status",
        "ledger.cli.machine.status:status",
        "Show the leader, how far the rows are behind, open txns, and anomalies.",
    ),
    (
        "clean",
        "ledger.cli.tables.cleaning:clean",
        "Record what compaction removed: no file under these ids can be reached any more.",
    ),
    (
        "diff",
        "ledger.cli.log.diff:diff",
        "Show what changed between two positions: tables, columns, files, rows, txns, by whom.",
    ),
    (
        "bisect",
        "ledger.cli.log.bisect:bisect",
        "Find the commit of a table at which a check begins to fail.",
    ),
    (
        "ui",
        "ledger.cli.machine.ui:ui",
        "Open the pages of the ledger in a browser: overview, timeline, conflicts, tables.",
    ),
    ("sql", "ledger.cli.tables.sql:sql", "Answer a query over tables, all as of one position."),
    (
        "anomaly",
        "ledger.cli.tables.anomalies:app",
        "Look at anomalies in commits, and acknowledge them.",
    ),
    ("cache", "ledger.cli.tables.cache:app", "Look at a metadata cache, and read from it."),
    ("conflict", "ledger.cli.txns.conflicts:app", "Look at lost conflicts."),
    (
        "namespace",
        "ledger.cli.tables.namespaces:app",
        "List, create and drop namespaces: the names around those of tables.",
    ),
    (
        "consumers",
        "ledger.cli.log.consumers:app",
        "List the processes that follow the log, and forget one that is gone.",
    ),
    ("stream", "ledger.cli.txns.streams:app", "Look at streams that write tables."),
    ("table", "ledger.cli.tables.tables:app", "Look at tables."),
    ("txn", "ledger.cli.txns.txns:app", "Look at txns, and end them."),
    ("watermark", "ledger.cli.tables.cleaning:app", "What may be cleaned, and what holds it back."),
)
ROLES: Final = (
    (
        "sequencer",
        "ledger.cli.roles.sequencer:serve_sequencer",
        "Lead the ledger, or stand by until the leader is gone.",
    ),
    (
        "follower",
        "ledger.cli.roles.follower:serve_follower",
        "Fold the log into rows that every process of this host can read, and others over HTTP.",
    ),
    (
        "cache",
        "ledger.cli.roles.cache:serve_cache",
        "Answer reads of metadata from memory, over HTTP; misses go to rows behind it.",
    ),
    (
        "publisher",
        "ledger.cli.roles.publisher:serve_publisher",
        "Write a Delta log for every table whose property `lakeledger.publish` is `delta`.",
    ),
    (
        "iceberg",
        "ledger.cli.roles.iceberg:serve_iceberg",
        "Answer clients of Apache Iceberg as a REST catalog: they read and write the tables.",
    ),
    (
        "notifier",
        "ledger.cli.roles.notifier:serve_notifier",
        "Tell webhooks, a topic or a lineage server of each commit and each lost conflict.",
    ),
    (
        "flusher",
        "ledger.cli.roles.flusher:serve_flusher",
        "Put rows of the log into files, and keep the files of tables that ask for it in order.",
    ),
    (
        "ingest",
        "ledger.cli.roles.ingest:serve_ingest",
        "Bring records of topics into tables, as a mapping says; several share the work.",
    ),
    (
        "feeder",
        "ledger.cli.roles.feeder:serve_feeder",
        "Fold the log with Spark Structured Streaming into a store that Spark jobs plan from.",
    ),
)
"""The commands of the group `serve`."""
