"""Commands that look at tables: the list, one table, its files, its history."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows, say
from ledger.cli.failures import Stopped
from ledger.cli.lazy import LazyGroup, later
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, TableArgument, number_option
from ledger.cli.reading import (
    LIST_MAX,
    LimitOption,
    anomalies,
    brief,
    check_one_place,
    known_table,
    reading,
    time_of,
    version_at,
    when,
)
from ledger.cli.tables.anomalies import counted, counts_shown
from ledger.cli.tables.partitions import Columns, columns_at, columns_by_add, of_partition
from ledger.machine.exit_codes import ExitCode
from ledger.properties.column_mapping import is_published
from ledger.properties.column_values import described
from ledger.reads.amounts import amount, shown_count, shown_size
from ledger.reads.listed_tables import ListedTable, TableOrder, listed_tables
from ledger.reads.port import FileRow, Reads, TableRow, VersionRow
from ledger.reads.row_counts import rows_in

SUMS = ("rows", "files", "bytes")
TABLE_COLUMNS = ("table", "name", *SUMS, "last_change", "version", "layout")
# For tables that not every reader sees: the position of the drop, or the txn that alone sees it.
EVERY_COLUMNS = (*TABLE_COLUMNS, "dropped", "creator")
FILE_COLUMNS = ("path", "partition", "size", "modified", "version")
OF_LOG = ("valid_write_ids", "mappings")
"""Fields of write ids, which are shown to people only where the ids name folders."""
KEPT = {*SUMS, "version"}
"""Fields of a table that are shown also if they are 0 or not known."""
FIRST_FIELDS = (
    "name",
    *SUMS,
    "last_change",
    "version",
    "columns",
    "partitioned_by",
    "location",
    "properties",
    "kind",
    "layout",
)
VERSION_COLUMNS = ("version", "at", "operation", "user", "level", "txn", "adds", "removes", "rows")
FILES_MAX = 1_000

app = typer.Typer(cls=LazyGroup, name="table", no_args_is_help=True)
for _name, _target, _what in (
    (
        "adopt",
        "ledger.cli.tables.published:table_adopt",
        "Take over the table that a table was imported from: from now on the ledger commits.",
    ),
    (
        "changes",
        "ledger.cli.tables.changes:table_changes",
        "List the commits of a table, oldest first, each with what it added and removed.",
    ),
    (
        "flush",
        "ledger.cli.tables.vacuum:table_flush",
        "Put the rows of a table that lie in the log into files.",
    ),
    (
        "forget",
        "ledger.cli.log.forget:table_forget",
        "Take rows out of a table for good, and report which places still know their values.",
    ),
    ("keys", "ledger.cli.tables.keys:app", "List and drop the keys of encrypted rows in the log."),
    (
        "optimize",
        "ledger.cli.tables.vacuum:table_optimize",
        "Put the rows of small files, and of files with deleted rows, into larger files.",
    ),
    (
        "partitions",
        "ledger.cli.tables.table_partitions:table_partitions",
        "List the partitions that have files in a table, or had some, with files, bytes and rows.",
    ),
    (
        "publish",
        "ledger.cli.tables.switching:table_publish",
        "Publish tables as Delta: the publisher writes a log for each, from its next version on.",
    ),
    (
        "release",
        "ledger.cli.tables.published:table_release",
        "End the publication of a table: its log is that of an ordinary Delta table again.",
    ),
    (
        "undrop",
        "ledger.cli.tables.switching:table_undrop",
        "Bring back a dropped table with its last columns and rows, as a new table.",
    ),
    (
        "vacuum",
        "ledger.cli.tables.vacuum:table_vacuum",
        "Delete the data files that no reader needs: removed ones, and ones that no commit named.",
    ),
    (
        "verify",
        "ledger.cli.tables.published:table_verify",
        "Compare the published Delta log of a table with the ledger, version by version.",
    ),
):
    later(app, _name, _target, _what)


@app.command("list")
def table_list(
    ledger: NameOption = None,
    *,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="Dropped ones too, and those that only a txn sees.")
    ] = False,
    like: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only names like this; * is any text, | is or.")
    ] = "",
    sort: Annotated[
        TableOrder, typer.Option(help="Sort by this; numbers and times fall.")
    ] = TableOrder.NAME,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the tables with their rows, files and bytes, and the time of their last change."""
    with reading(ledger, output) as (_, reads):
        rows = reads.tables(include_dropped=dropped)
        lines = listed_tables(rows, reads.newest_versions(), like=like, order=sort)
        columns = EVERY_COLUMNS if dropped else TABLE_COLUMNS
        answer_rows([brief(line_fields(line, output), columns, output) for line in lines], output)


def line_fields(line: ListedTable, output: Output) -> dict[str, Any]:
    """Return a line of the list of tables: exact numbers as JSON, else as people read them."""
    fields = table_fields(line.row) | line_sums(line)
    return fields if output is Output.JSON else {**fields, **shown_counts(fields)}


def line_sums(line: ListedTable) -> dict[str, Any]:
    """Return the sums and the last change of a table, None for what is not known."""
    changed = when(line.changed) if line.changed else None
    return {"rows": line.rows, "files": line.files, "bytes": line.size, "last_change": changed}


def shown_counts(fields: dict[str, Any]) -> dict[str, str]:
    """Return the counts that are known with their thousands apart."""
    known = (name for name in ("rows", "files") if fields[name] is not None)
    return {name: shown_count(fields[name]) for name in known}


@app.command("show")
def table_show(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one table: its rows, files and bytes, its columns, its write ids and its anomalies.

    Rows come from the statistics of the files. They are empty if a file has none.
    """
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        line = ListedTable(row, reads.version_row(row.table))
        fields = table_fields(row) | line_sums(line) | table_details(reads, row, output)
        answer(fields if output is Output.JSON else readable(fields), output)


VersionOption = Annotated[int | None, number_option("As of a version of it.")]
PositionOption = Annotated[int | None, number_option("As of a position.", least=1)]
AsOfOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="As of a time, ISO 8601, by default UTC.")
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only files that may hold matching rows (Spark SQL condition).",
    ),
]


class Moment(NamedTuple):
    """The version, the position or the time of a question, None for all = now.

    `at` is the time in the words of `as_of`.
    """

    version: int | None
    position: int | None
    as_of: str | None = None
    at: int = 0


@app.command("files")
def table_files(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    version: VersionOption = None,
    position: PositionOption = None,
    as_of: AsOfOption = None,
    where: WhereOption = None,
    partition: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only of this partition.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many rows.")] = FILES_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the live files of a table, now or at a version."""
    asked = asked_moment(version, position, as_of)
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        at = moment_of(reads, row, asked)
        tree = condition_at(reads, row, at, where)
        found = reads.files(row.table, where=tree, position=at.position, version=at.version)
        columns = columns_at(reads, row, at.version, at.position)
        by_add = columns_by_add(reads, row, found)
        found = of_partition(found, columns, by_add, partition or ())
        shown = [
            brief(file_fields(file, by_add[file.added]), FILE_COLUMNS, output)
            for file in found[:limit]
        ]
        say(files_text(row, found))
        answer_rows(shown, output)


@app.command("history")
def table_history(
    name: TableArgument,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    below: Annotated[int | None, number_option("Only versions below this one.")] = None,
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the versions of a table, newest first."""
    with reading(ledger, output) as (_, reads):
        row = known_table(reads, catalog, name)
        found = reads.versions(row.table, limit, below=below)
        shown = [version_fields(version, output) for version in found]
        answer_rows([brief(fields, VERSION_COLUMNS, output) for fields in shown], output)


def version_fields(version: VersionRow, output: Output) -> dict[str, Any]:
    """Return the fields of a version; `rows` counts those that its statements changed."""
    rows = rows_in(version.info)
    counts = None if rows is None else rows._asdict() if output is Output.JSON else str(rows)
    return {**version._asdict(), "at": when(version.at), "rows": counts}


def table_details(reads: Reads, row: TableRow, output: Output) -> dict[str, Any]:
    """Return the fields that only `table show` prints."""
    definition, protocol = row.definition, reads.protocol(row.table)
    valid = reads.write_ids_at(row.table)
    return {
        "location": definition.location,
        "columns": list(map(described, definition.columns)),
        "partitioned_by": list(definition.partition_columns),
        "properties": {each.key: each.value for each in definition.properties},
        "protocol": protocol._asdict() if protocol is not None else None,
        "domains": {domain.name: domain.configuration for domain in reads.domains(row.table)},
        "apps": {each.app: each.version for each in reads.apps(row.table)},
        **delta_fields(row),
        "valid_write_ids": valid.text(),
        "mappings": [f"{mapping.write_id}->{mapping.txn}" for mapping in reads.mappings(row.table)],
        **(
            anomalies(reads, row.table)
            if output is Output.JSON
            else counts_shown(counted(reads, row.catalog, row.table), output)
        ),
    }


def delta_fields(row: TableRow) -> dict[str, Any]:
    """Return the fields of a published log, none for a table that is not published."""
    if not is_published(row.definition):
        return {}
    if find_spec("pyarrow") is None:
        return {"delta_features": "not known: pip install 'lakeledger[delta]' to read the log"}
    from ledger.cli.tables.published import published_fields  # noqa: PLC0415 - loads Arrow

    return published_fields(row)


def readable(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a table as people read them: the numbers of the log stand last.

    What the table does not have is left out.
    """
    shown = {**fields, **shown_counts(fields), "name": f"{fields['catalog']}.{fields['name']}"}
    if fields["bytes"] is not None:
        shown["bytes"] = shown_size(fields["bytes"])
    names = (*FIRST_FIELDS, *(field for field in fields if field not in FIRST_FIELDS))
    left_out = {"catalog", *(OF_LOG if fields["layout"] != "directories" else ())}
    kept = (name for name in names if name in KEPT or shown[name] not in (None, "", 0, [], {}))
    return {name: shown[name] for name in kept if name not in left_out}


def table_fields(row: TableRow) -> dict[str, Any]:
    """Return a table as JSON shows it, without its columns."""
    return {
        "table": row.table,
        "catalog": row.catalog,
        "name": row.name,
        "kind": row.definition.kind,
        "layout": row.definition.layout,
        "version": row.version,
        "last_write_id": row.last_write_id,
        "created": row.created,
        "changed": row.changed,
        "operation": row.operation,
        "dropped": row.dropped,
        "creator": row.creator,
    }


def file_fields(row: FileRow, columns: Columns) -> dict[str, Any]:
    """Return a file as fields, its partition by column."""
    values = dict(zip((column.name for column in columns), row.partition, strict=False))
    vector = None if row.deletion_vector is None else row.deletion_vector._asdict()
    return {
        **row._asdict(),
        "partition": values,
        "modified": when(row.modified),
        "deletion_vector": vector,
        "rows": row.rows.hex(),
    }


def files_text(row: TableRow, found: Sequence[FileRow]) -> str:
    """Return in words how many files were found, or why the ledger knows no files of the table."""
    if row.definition.layout == "directories":
        return (
            f"the ledger knows no files of table {row.name}: its layout is directories, they lie "
            "in delta_<write id> below its location; lakeledger table show lists the valid ids"
        )
    return f"{amount(len(found), 'file')}, {shown_size(sum(file.size for file in found))}"


def asked_moment(version: int | None, position: int | None, as_of: str | None) -> Moment:
    """Return the moment that options name; end the command if they name several."""
    check_one_place(version, position, as_of)
    at = time_of("--as-of", as_of) if as_of is not None else 0
    return Moment(version, position, as_of, at)


def moment_of(reads: Reads, row: TableRow, asked: Moment) -> Moment:
    """Return the version or the position of a table that is asked for.

    Ends the command if the table had no version at a time, or did not exist at a position.
    """
    version, position, as_of, at = asked
    if as_of is not None:
        version = version_at(reads, row, at, as_of).version
    if position is not None and reads.definition(row.table, position) is None:
        raise Stopped(
            f"table {row.name} did not exist at position {position}, it came at {row.created}",
            ExitCode.NOT_FOUND,
        )
    return Moment(version, position)


def condition_at(reads: Reads, row: TableRow, at: Moment, where: str | None) -> str:
    """Return the condition in an option as reads take it, "" without one.

    Raises PredicateSyntaxError and UnknownColumnError.
    """
    if where is None:
        return ""
    from ledger.expressions.build import condition_in  # noqa: PLC0415 - seldom needed
    from ledger.snapshot.as_of import position_of_version  # noqa: PLC0415 - seldom needed
    from ledger.snapshot.table_snapshot import TableSnapshot  # noqa: PLC0415 - seldom needed

    position = at.position or reads.position()
    if at.version is not None:
        position = position_of_version(reads, row.table, at.version)
    return TableSnapshot(reads, row, position).condition(condition_in(where)).to_wire()
