"""Other readers: DuckDB and deltalake read the published flights, without any code of the ledger.

The publisher writes the log of the table beside its data. The readers find the table by its folder
alone, and their sums by month equal what the committed statements wrote.
"""

from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from ledger.reads.port import TableRow
from tests.demo.flights import NOTHING, Totals
from tests.demo.report import Report, wait_until

DUCKDB_DELTA: Final = "duckdb_extension_delta"
LOG_FOLDER: Final = "_delta_log"
SUMS: Final = (
    "SELECT month, count(*) AS rows, sum(distance) AS distance, sum(dep_delay) AS dep_delay "
    "FROM flights GROUP BY month"
)


def by_deltalake(folder: str, version: int) -> pa.Table:
    """Return the sums that deltalake finds at a version."""
    from deltalake import DeltaTable, QueryBuilder  # noqa: PLC0415 - not installed everywhere

    table = DeltaTable(folder, version=version)
    return pa.table(QueryBuilder().register("flights", table).execute(SUMS).read_all())


def by_duckdb(folder: str, version: int) -> pa.Table:
    """Return the sums that DuckDB's Delta extension finds at a version."""
    import duckdb  # noqa: PLC0415 - not installed everywhere

    package = find_spec(DUCKDB_DELTA)
    assert package is not None, "it is looked for before"
    found = next(Path(str(package.origin)).parent.rglob("*.duckdb_extension"))
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{found}'")
        query = SUMS.replace("flights", "delta_scan(?, version = ?)", 1)
        return connection.execute(query, [folder, version]).to_arrow_table()


READERS: Final[Mapping[str, tuple[str, Callable[[str, int], pa.Table]]]] = {
    "deltalake": ("deltalake", by_deltalake),
    "DuckDB": (DUCKDB_DELTA, by_duckdb),
}


def check_other_readers(
    report: Report,
    table: TableRow,
    version: int,
    wanted: Mapping[int, Totals],
    *,
    but: Collection[str] = (),
) -> None:
    """Check that each reader that is installed finds the sums by month at a published version.

    Readers in `but` are not asked.
    """
    folder = table.definition.location
    log = Path(folder) / LOG_FOLDER / f"{version:020}.json"
    wait_until(log.exists, f"version {version} of {table.name} is published")
    report.say(f"the publisher has written {version + 1} versions of the Delta log in {folder}")
    for name, (package, read) in READERS.items():
        if name in but:
            continue
        if find_spec(package) is None:
            report.say(f"{name} is not asked: pip install {package.replace('_', '-')}")
            continue
        report.same(
            f"{name} finds the sums of version {version} in the folder alone",
            by_month(read(folder, version)),
            dict(wanted),
            f"{sum(each.rows for each in wanted.values()):,} rows in {len(wanted)} months",
        )


def by_month(sums: pa.Table) -> dict[int, Totals]:
    """Return the rows of sums by month."""
    found: dict[int, Totals] = {}
    for row in sums.to_pylist():
        values: dict[str, Any] = {key: int(row[key] or 0) for key in Totals._fields}
        month = int(row["month"])
        found[month] = found.get(month, NOTHING).plus(Totals(**values))
    return found
