"""The command that answers queries in SQL over the tables of a ledger."""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from ledger.cli.answers import CONTROLS, Output, write
from ledger.cli.failures import Stopped
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, number_option
from ledger.cli.reading import check_one_place, reading
from ledger.cli.tables.row_values import cell, json_rows
from ledger.machine.exit_codes import ExitCode
from ledger.snapshot.sql import SqlPlace, to_parquet


class SqlOutput(StrEnum):
    """How the rows of a query are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def sql(
    query: Annotated[str, typer.Argument(help="A SELECT in DuckDB's SQL.")],
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=TEXT", help="The value of $NAME."),
    ] = None,
    version: Annotated[int | None, number_option("As of a version of the only table.")] = None,
    position: Annotated[int | None, number_option("As of a position.", least=1)] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="As of a time with its zone, ISO 8601.")
    ] = None,
    output: Annotated[
        SqlOutput, typer.Option("--output", "-o", help="How to write the rows.")
    ] = SqlOutput.TABLE,
) -> None:
    """Answer a query over tables, all as of one position.

    JSON is an object a line. Parquet goes to a file: `--output parquet > rows.parquet`.
    """
    check_one_place(version, position, as_of)
    if output is SqlOutput.PARQUET and sys.stdout.isatty():
        raise Stopped("Parquet is no text: send it to a file with >", ExitCode.USAGE)
    values = parameters_of(parameter or ()) or None
    with reading(ledger, Output.TABLE if output is SqlOutput.TABLE else Output.JSON) as (_, reads):
        place = SqlPlace(reads, catalog)
        asked: Any = {"version": version, "position": position, "at": as_of}
        with place.batches(query, values, **asked) as (_, rows):
            WRITERS[output](rows)


def parameters_of(texts: Sequence[str]) -> dict[str, str]:
    """Return the parameters of the command line by name; raises BadParameter for another form."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--parameter must be like name=text, got {text!r}")
        found[name.removeprefix("$")] = value
    return found


def write_table(rows: Any) -> None:
    """Write rows as people read them, aligned."""
    header = tuple(rows.schema.names)
    found = [[cell(each) for each in row] for row in rows_of(rows)]
    write([tuple(each.translate(CONTROLS) for each in row) for row in found], header=header)


def write_csv(rows: Any) -> None:
    """Write rows as CSV with a header; NULL is empty."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.schema.names)
    for row in rows_of(rows):
        writer.writerow(["" if each is None else cell(each) for each in row])


def write_json(rows: Any) -> None:
    """Write rows as JSON objects, a line each."""
    for batch in rows:
        if batch.num_rows:
            typer.echo(json_rows(batch.to_pylist()))


def write_parquet(rows: Any) -> None:
    """Write rows as a Parquet file."""
    to_parquet(rows, sys.stdout.buffer)


def rows_of(rows: Any) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples: two columns of an answer may have one name."""
    for batch in rows:
        columns = [column.to_pylist() for column in batch.columns]
        yield from zip(*columns, strict=True)


WRITERS: Final[Mapping[SqlOutput, Callable[[Any], None]]] = {
    SqlOutput.TABLE: write_table,
    SqlOutput.CSV: write_csv,
    SqlOutput.JSON: write_json,
    SqlOutput.PARQUET: write_parquet,
}
