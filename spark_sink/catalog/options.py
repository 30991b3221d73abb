"""The options of reads, streams and writes: which there are, and what each does.

An option that no table of the ledger obeys is refused by name. Settings of files, such as `fs.` and
`parquet.`, go to Spark's reader and writer of Parquet.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ledger.core.partitions.file_paths import FILE, LOCAL, parts_of
from ledger.definitions.locations import is_one_place
from spark_sink.catalog.session.open_statements import CatalogState, Question, Refusal, unsupported

QUERY: Final = "query"
CHANGES: Final = "query of changes"
STREAM: Final = "stream"
CHANGES_STREAM: Final = "stream of changes"
WRITE: Final = "write"
SINK: Final = "stream into a table"
ROWS: Final = "query of rows about a table"
USES: Final = (QUERY, CHANGES, STREAM, CHANGES_STREAM, WRITE, SINK)
OVERWRITE_MODE: Final = "partitionOverwriteMode"
REPLACE_WHERE: Final = "replaceWhere"
OVERWRITE_SCHEMA: Final = "overwriteSchema"
MERGE_SCHEMA: Final = "mergeSchema"
READ_CHANGES: Final = "readChangeFeed"
TXN_APP: Final = "txnAppId"
TXN_VERSION: Final = "txnVersion"

_STREAMS: Final = (STREAM, CHANGES_STREAM)
_CHANGED: Final = (CHANGES, CHANGES_STREAM)
_WRITES: Final = (WRITE, SINK)


class Option(NamedTuple):
    """An option that is obeyed: its name, where, and what it does."""

    name: str
    uses: tuple[str, ...]
    does: str


OPTIONS: Final = (
    Option("versionAsOf", (QUERY,), "reads the table as of a version"),
    Option("timestampAsOf", (QUERY,), "reads the table as of a time"),
    Option("ignoreMissingFiles", (QUERY,), "`true` leaves out files that are gone"),
    Option("ignoreCorruptFiles", (QUERY,), "`true` leaves out files that cannot be read"),
    Option("startingVersion", (STREAM, *_CHANGED), "the first version; in streams also `latest`"),
    Option("startingTimestamp", (STREAM, *_CHANGED), "the first version is the one at this time"),
    Option("endingVersion", _CHANGED, "the last version; a stream refuses it"),
    Option("endingTimestamp", _CHANGED, "the last version is the one at this time"),
    Option(READ_CHANGES, _CHANGED, '`true` with `format("lakeledger")` reads the changes'),
    Option("maxFilesPerTrigger", _STREAMS, "files of a batch"),
    Option("maxBytesPerTrigger", _STREAMS, "bytes of a batch"),
    Option("skipChangeCommits", (STREAM,), "leaves out commits that changed rows"),
    Option("ignoreDeletes", (STREAM,), "leaves out commits that only removed rows"),
    Option("ignoreChanges", (STREAM,), "gives all rows of files that a commit added"),
    Option(OVERWRITE_MODE, (WRITE,), "`dynamic` replaces the partitions that get rows only"),
    Option(REPLACE_WHERE, (WRITE,), "an overwrite replaces the rows of this condition only"),
    Option(OVERWRITE_SCHEMA, (WRITE,), "`true` lets a replaced table lose what no longer fits"),
    Option(MERGE_SCHEMA, (WRITE,), "`true` adds the columns that the table lacks"),
    Option(TXN_APP, (WRITE,), "with `txnVersion`: a write that was done before changes nothing"),
    Option(TXN_VERSION, (WRITE,), "the number of the write of `txnAppId`"),
    Option("compression", _WRITES, "the codec of the files"),
    Option("maxRecordsPerFile", _WRITES, "rows of a file"),
    Option("application", (SINK,), "the name under which batches are counted"),
    Option("from_batch", (SINK,), "the number of the first batch"),
    Option("checkpointLocation", (SINK,), "where Spark keeps the offsets"),
    Option("queryName", (SINK,), "the name of the query"),
)

KNOWN: Final = {option.name.lower(): option for option in OPTIONS}

# Spark makes it the place of a new table. Any other place has no effect.
PATH: Final = "path"
# Settings of Hadoop's file systems.
PASSED_PREFIXES: Final = ("__", "fs.", "parquet.")
ENCRYPTION: Final = ("parquet.encryption.", "parquet.crypto.")

# Values by which an option asks for what is so anyway.
SO_ANYWAY: Final[Mapping[str, str]] = {
    "datetimerebasemode": "corrected",
    "int96rebasemode": "corrected",
    "failondataloss": "true",
    "datachange": "true",
    **dict.fromkeys(
        (
            *("readchangefeed", "readchangedata", "mergeschema", "overwriteschema"),
            *("ignoremissingfiles", "ignorecorruptfiles", "skipchangecommits"),
            *("ignoredeletes", "ignorechanges", "recursivefilelookup"),
        ),
        "false",
    ),
}

_FEED: Final = "read the table of its changes, such as ledger.db.sales.changes"
_BATCHES: Final = "use spark_sink.foreach_batch, or toTable with the option application"

HELPS: Final[Mapping[str, str]] = {
    "readchangefeed": _FEED,
    "readchangedata": _FEED,
    "txnappid": _BATCHES,
    "txnversion": _BATCHES,
    "replaceusing": "use MERGE, or replaceWhere",
    "replaceon": "use MERGE, or replaceWhere",
    "excluderegex": "filter the rows of the stream",
    "schematrackinglocation": "a stream follows the columns of its table; see the page on streams",
    "snapshot-id": "use versionAsOf",
    "as-of-timestamp": "use timestampAsOf",
    "branch": "use versionAsOf",
    "tag": "use versionAsOf",
    "start-snapshot-id": f"use startingVersion, and {_FEED}",
    "end-snapshot-id": f"use endingVersion, and {_FEED}",
    "compression-codec": "use compression",
    "target-file-size-bytes": "use maxRecordsPerFile, or CALL ledger.system.optimize",
    "usermetadata": "note it with txn.app(..., info=...) in spark_sink.transaction",
    "versionasof": "read it as a query, or begin the stream with startingVersion",
    "timestampasof": "read it as a query, or begin the stream with startingTimestamp",
    "startingversion": f"use versionAsOf, or {_FEED}",
    "startingtimestamp": f"use timestampAsOf, or {_FEED}",
    PATH: "a table has one location; use spark.read.parquet or df.write.parquet for other files",
    "optimizewrite": "CALL ledger.system.optimize joins small files",
    "autocompact": "CALL ledger.system.optimize joins small files",
    "datachange": "CALL ledger.system.optimize writes files again without a change",
    "isolation-level": "begin spark_sink.transaction with a level",
}


def small(options: Mapping[str, Any]) -> Mapping[str, str]:
    """Return options by their names in small letters: Spark takes any."""
    return {str(name).lower(): str(value).strip() for name, value in options.items()}


def check_options(
    options: Mapping[str, Any], use: str, location: str = "", catalog: str = "", table: str = ""
) -> None:
    """Raise Refusal for the first option that has no effect in some use.

    A path has one only if it is the location of the table that is written, or the name of a table
    that `format("lakeledger")` reads or writes.
    """
    for name, value in options.items():
        small = str(name).lower()
        if small == PATH and location and is_one_place(from_hadoop(str(value)), location):
            continue
        if small == PATH and is_name_of(str(value), catalog, table):
            continue
        if SO_ANYWAY.get(small) == str(value).strip().lower():
            continue
        if small.startswith(PASSED_PREFIXES) and not small.startswith(ENCRYPTION):
            continue
        known = KNOWN.get(small)
        if known is None or use not in known.uses:
            raise refused(known.name if known else str(name), str(value), use)


def is_name_of(path: str, catalog: str, table: str) -> bool:
    """Return whether a path is the name of a table, with its catalog or in a schema."""
    name, owner = path.replace("`", ""), table.removesuffix(".changes")
    return bool(name and owner) and f".{catalog}.{owner}".endswith(f".{name}")


def from_hadoop(location: str) -> str:
    """Return a location that Spark names, in which nothing is escaped, as Hadoop has its paths.

    Spark gives `file:/x/a%20b` for `/x/a%20b` and for `file:///x/a%20b` alike: all are the folder
    that Spark's own tables would have.
    """
    scheme, authority, path = parts_of(location)
    return path if scheme == FILE and authority in LOCAL and path else location


def refused(name: str, value: str, use: str) -> Refusal:
    """Return the refusal of an option."""
    allowed = ", ".join(option.name for option in OPTIONS if use in option.uses)
    must = f"be one of {allowed}" if allowed else "be left out"
    helps = HELPS.get(name.lower(), "leave it out")
    return unsupported(f"an option of a {use} must {must}; got {name} = {value!r}: {helps}")


def check_read(state: CatalogState, asked: Question) -> None:
    """Refuse the options of a read that are not obeyed."""
    table = str(asked.get("table") or "")
    check_options(asked["options"], str(asked["use"]), catalog=state.name, table=table)


def page() -> str:
    """Return the table of options for the documentation."""
    lines = ["| Option | Where | Does |", "| --- | --- | --- |"]
    lines += [
        f"| `{option.name}` | {', '.join(option.uses)} | {option.does} |" for option in OPTIONS
    ]
    return "\n".join(lines)
