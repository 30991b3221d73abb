"""Commands about anomalies: impossible file changes in commits, and which are acknowledged.

An acknowledgement is a commit of its own, to a table without files: for each table it records, as
the progress of an application, the position up to which its anomalies are known. So it is in the
log: every host reads it, and rebuilt rows hold it too.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows, say
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, number_option
from ledger.cli.reading import LIST_MAX, LimitOption, known_table, reading
from ledger.errors import TableExistsError
from ledger.reads.port import AnomalyRow, Reads, TableRow
from ledger.reads.whole_numbers import ROWS_MAX
from ledger.session.explain import name_of

if TYPE_CHECKING:
    from ledger.client import Ledger

ACKNOWLEDGED: Final = "lakeledger.acknowledged"
"""The table whose progress of applications records the acknowledgements."""
OPERATION: Final = "ACKNOWLEDGE"

app = typer.Typer(no_args_is_help=True)

TableOption = Annotated[str | None, typer.Option(help="Only of this table, or its id.")]


class AnomalyCount(NamedTuple):
    """Anomalies by kind; `is_all` is false where one commit has more than are counted."""

    kinds: Mapping[str, int]
    is_all: bool


@app.command("list")
def anomaly_list(
    ledger: NameOption = None,
    table: TableOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    every: Annotated[bool, typer.Option("--all", help="Acknowledged ones too.")] = False,
    after: Annotated[int, number_option("Only those behind this position.")] = 0,
    limit: LimitOption = LIST_MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """List anomalies: impossible file changes in commits, oldest first."""
    with reading(ledger, output) as (_, reads):
        number = None if table is None else known_table(reads, catalog, table).table
        known = Known(reads, catalog)
        rows = list[AnomalyRow]()
        for page, _ in pages(reads, number, after):
            rows += [row for row in page if every or not known.has(row)]
            if len(rows) >= limit:
                break
        names = {each: name_of(reads, each) for each in {row.table for row in rows[:limit]}}
        answer_rows(
            [
                {**row._asdict(), "name": names[row.table], "acknowledged": known.has(row)}
                if output is Output.JSON
                else {
                    "position": row.position,
                    "name": names[row.table],
                    "kind": row.kind,
                    "path": row.path,
                }
                for row in rows[:limit]
            ],
            output,
        )


@app.command("acknowledge")
def anomaly_acknowledge(
    ledger: NameOption = None,
    table: TableOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    position: Annotated[
        int | None, number_option("Only those up to this position.", least=1)
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Acknowledge anomalies: lakeledger status no longer counts them, on any host."""
    from ledger.client import Ledger  # noqa: PLC0415 - a list of anomalies needs no client

    with Ledger.connect(ledger=ledger, catalog=catalog) as connection:
        rows = acknowledge(connection, table, position)
    answer_rows(rows, output)
    if not rows:
        say("no anomaly is left to acknowledge; see lakeledger anomaly list --all")


def acknowledge(
    connection: "Ledger", table: str | None, position: int | None
) -> list[dict[str, Any]]:
    """Acknowledge anomalies of one table or all, up to a position; return a row for each table."""
    reads, catalog = connection.reads(), connection.catalog
    number = None if table is None else known_table(reads, catalog, table).table
    # Events behind the rows may hold anomalies that no user has seen.
    up_to = min(reads.position(), position or reads.position())
    found = newly_known(reads, Known(reads, catalog), number, up_to)
    into = acknowledgements(connection) if found else ACKNOWLEDGED
    for each in found:
        connection.append(into, [], app=(app_of(each), up_to), operation=OPERATION)
    return [
        {"table": each, "name": name_of(reads, each), "up_to": up_to, "acknowledged": dict(kinds)}
        for each, kinds in found.items()
    ]


class Known:
    """The position up to which anomalies of a table are acknowledged; for a dropped one all are."""

    def __init__(self, reads: Reads, catalog: str) -> None:
        self._reads = reads
        found = reads.table_named(catalog, ACKNOWLEDGED)
        apps = reads.apps(found.table) if found is not None else ()
        self._up_to = {each.app: each.version for each in apps}
        self._dropped = dict[int, bool]()

    def has(self, row: AnomalyRow) -> bool:
        """Return whether an anomaly is acknowledged, or its table gone."""
        if row.table not in self._dropped:
            found = self._reads.table(row.table)
            self._dropped[row.table] = found is not None and found.dropped > 0
        return self._dropped[row.table] or row.position <= self._up_to.get(app_of(row.table), 0)


def app_of(table: int) -> str:
    """Return the application whose progress records the acknowledgements of a table."""
    return f"anomalies of table {table}"


def acknowledgements(connection: "Ledger") -> TableRow:
    """Return the table of acknowledgements, which the first call creates."""
    with suppress(TableExistsError):
        return connection.create_table(ACKNOWLEDGED)
    return known_table(connection.reads(), connection.catalog, ACKNOWLEDGED)


def newly_known(
    reads: Reads, known: Known, table: int | None, up_to: int
) -> Mapping[int, Counter[str]]:
    """Return how many anomalies are not acknowledged yet up to a position, by table and kind."""
    found = dict[int, Counter[str]]()
    for page, _ in pages(reads, table):
        for row in page:
            if row.position <= up_to and not known.has(row):
                found.setdefault(row.table, Counter())[row.kind] += 1
    return found


def counted(reads: Reads, catalog: str, table: int | None = None) -> AnomalyCount:
    """Return how many anomalies are not acknowledged, of a table or of all."""
    known = Known(reads, catalog)
    kinds, is_all = Counter[str](), True
    for page, is_whole in pages(reads, table):
        kinds.update(row.kind for row in page if not known.has(row))
        is_all &= is_whole
    return AnomalyCount(dict(sorted(kinds.items())), is_all)


def pages(
    reads: Reads, table: int | None, after: int = 0, size: int = ROWS_MAX
) -> Iterator[tuple[Sequence[AnomalyRow], bool]]:
    """Yield pages of the anomalies behind a position, and whether a page is complete up to its end.

    A position with more anomalies than a page yields one page only.
    """
    while rows := reads.anomalies(table, size, after=after):
        last = rows[-1].position
        if len(rows) < size:
            yield rows, True
            return
        before = [row for row in rows if row.position < last]
        yield (before, True) if before else (rows, False)
        after = last - 1 if before else last


def counts_shown(found: AnomalyCount, output: Output) -> dict[str, Any]:
    """Return counts as fields: one line for each kind, or an object in JSON."""
    more = "" if found.is_all else " or more"
    kinds = (
        found.kinds
        if output is Output.JSON
        else [{kind: f"{number}{more}"} for kind, number in found.kinds.items()]
    )
    return {"anomalies": kinds, "more_anomalies": not found.is_all}
