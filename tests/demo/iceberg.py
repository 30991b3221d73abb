"""An Iceberg client: DuckDB changes two tables in one commit, without any code of the ledger.

Its extension speaks the REST protocol of Iceberg with the catalog beside the ledger. The rows are
the ones that Spark SQL wrote, and the SDK and Spark read what DuckDB left.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ledger.reads.port import VersionRow
from spark_sink.catalog.session.attaching import Lake, attach
from tests.demo.report import Report
from tests.demo.spark_sql import CARRIERS, FLIGHTS, SUMS, spark_client
from tests.demo.stage import Stage

EXTENSIONS: Final = ("httpfs", "avro", "iceberg")
CARRIER: Final = "DL"
CHANGES: Final = (
    "BEGIN",
    "DELETE FROM lake.sql.flights WHERE carrier = 'DL'",
    "UPDATE lake.sql.carriers SET flights = 0 WHERE carrier = 'DL'",
    "COMMIT",
)
LEFT: Final = "SELECT carrier, flights FROM lake.sql.carriers WHERE flights > 0"
COUNTED: Final = "SELECT carrier, count(*) FROM lake.sql.flights GROUP BY carrier"


def show_iceberg(stage: Stage, report: Report) -> None:
    """Delete the flights of a carrier by DuckDB, and its sum, in one txn."""
    missing = [name for name in map(package_of, EXTENSIONS) if find_spec(name) is None]
    if missing:
        wanted = " ".join(name.replace("_", "-") for name in missing)
        report.say(f"DuckDB is not asked: pip install {wanted}")
        return
    uri = stage.up.address.iceberg_url
    with connected(uri) as duck, spark_client(stage) as ledger:
        lake = attach(stage.spark, ledger)
        before = ledger.history("sql.flights", 1)[0].position
        for statement in CHANGES:
            duck.execute(statement)
        report.say("DuckDB ran " + "; ".join(CHANGES))
        check_one_commit(stage, lake, report)
        check_rows(duck, lake, report)
        duck.execute(attaching("past", uri, f"main@{before}"))
        was, now = (
            sums(duck.execute(LEFT.replace("lake.", f"{name}.")).fetchall())
            for name in ("past", "lake")
        )
        report.check(
            f"ATTACH 'main@{before}' still has the carrier",
            holds=was.keys() - now.keys() == {CARRIER},
            found=f"{len(was)} carriers, now {len(now)}",
        )


def package_of(extension: str) -> str:
    """Return the package that brings an extension of DuckDB."""
    return f"duckdb_extension_{extension}"


def connected(uri: str | None) -> Any:
    """Return DuckDB with the catalog attached as `lake`; the caller closes it."""
    import duckdb  # noqa: PLC0415 - not installed everywhere

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in EXTENSIONS:
        package = find_spec(package_of(name))
        assert package is not None, "it is looked for before"
        found = next(Path(str(package.origin)).parent.rglob("*.duckdb_extension"))
        connection.execute(f"LOAD '{found}'")
    connection.execute(attaching("lake", uri))
    return connection


def attaching(name: str, uri: str | None, warehouse: str = "") -> str:
    """Return the statement that attaches the catalog."""
    options = f"TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none'"
    return f"ATTACH '{warehouse}' AS {name} ({options})"


def check_one_commit(stage: Stage, lake: Lake, report: Report) -> None:
    """Check that the last changes of both tables are one commit."""
    stage.catch_up()
    newest: list[VersionRow] = [
        lake.ledger.history(name.partition(".")[2], 1)[0] for name in (FLIGHTS, CARRIERS)
    ]
    report.check(
        "two tables changed in one commit",
        holds=len({(each.position, each.txn) for each in newest}) == 1,
        found=f"txn {newest[0].txn} at position {newest[0].position}",
    )


def check_rows(duck: Any, lake: Lake, report: Report) -> None:
    """Check that DuckDB, the SDK and Spark find the same rows, and sums that fit them."""
    wanted = sums(duck.execute(COUNTED).fetchall())
    report.same("DuckDB finds sums that fit", sums(duck.execute(LEFT).fetchall()), wanted, "both")
    by_sdk = lake.ledger.scan("sql.flights", columns=["carrier"]).to_arrow()["carrier"]
    counts = ((each["values"], each["counts"]) for each in by_sdk.value_counts().to_pylist())
    shown = f"{sum(wanted.values()):,} flights of {len(wanted)} carriers"
    report.same("the SDK reads the rows that DuckDB left", sums(counts), wanted, shown)
    report.same("and so does Spark", sums(lake.spark.sql(SUMS).collect()), wanted, shown)


def sums(rows: Iterable[Any]) -> dict[str, int]:
    """Return flights by carrier."""
    return {str(carrier): int(flights) for carrier, flights in rows}
