"""A ledger of many tables with odd names, attached at once: every SELECT is what a scan shows."""

from pathlib import Path
from threading import Event as Signal
from typing import Any, Final

import polars as pl
import pytest

from ledger.client import Ledger
from ledger.definitions.client_reads import open_log
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from tests.tables.published_lake import PUBLISHED
from tests.web.served import serving
from tests.web.test_unity import OF_ALL_TYPES, attached

COUNT: Final = 60
# Spaces, reserved words, quotes, signs of SQL and of paths, other scripts, case, digits first.
NAMES: Final = (
    *("order", "db.select", "a b", "db.a b", "it's", 'say "hi"', "db.back`tick", "x-y", "50%"),
    *(
        "Über",
        "db.日本",
        "UPPER",
        "db.MixedCase",
        "1st",
        "semi;colon",
        "q?",
        "h#sh",
        "a&b=c",
        "p+q",
    ),
    *(
        "back\\slash",
        "db.{curly}",
        "[square]",
        "db.(round)",
        "at@sign",
        "emoji😀",
        "main",
        "default",
    ),
)
COLUMNS: Final = (
    *("id", "Order", "a b", "x.y", "p=q", "Über", "50%", "it's", 'say "hi"', "semi;colon", "日本"),
    "back`tick",
)
PARTS: Final = ("by_int", "by text", "by_day")


def columns() -> list[tuple[str, str]]:
    """Return columns with odd names, and with every type that the list of a schema may have."""
    odd = [(name, "bigint") for name in COLUMNS]
    every = [(f"{name} of all", kind) for name, (kind, _) in OF_ALL_TYPES.items()]
    return [*zip(PARTS, ("int", "string", "date"), strict=True), *odd, *every]


def row(number: int) -> dict[str, Any]:
    """Return a row; every third one has NULL in each column."""
    if number % 3 == 2:
        return {name: None for name, _ in columns()}
    values = {f"{name} of all": value for name, (_, value) in OF_ALL_TYPES.items()}
    parts = dict(zip(PARTS, (number, "x/=%'é ", OF_ALL_TYPES["day"][1]), strict=True))
    return {**parts, **dict.fromkeys(COLUMNS, number), **values}


def fill(ledger: Ledger, root: Path) -> None:
    """Make tables with odd names and columns, and many plain ones."""
    for number, name in enumerate(NAMES):
        ledger.create_table(
            name,
            columns(),
            partition_columns=PARTS if number % 2 else [],
            location=root / f"odd {number} 100% #ü?+",
            properties=PUBLISHED,
        )
        ledger.append(name, [row(each) for each in range(3)])
    for number in range(COUNT):
        name = f"s{number % 3}.t{number}"
        ledger.create_table(
            name, [("id", "bigint")], location=root / f"t{number}", properties=PUBLISHED
        )
        ledger.append(name, [{"id": number}])


def kinds(table: Any) -> list[str]:
    """Return the types of columns; DuckDB names the elements of lists otherwise.

    It does not say either that a field of a struct cannot be NULL.
    """
    return [
        str(each).replace("<l: ", "<element: ").replace(" not null", "")
        for each in table.schema.types
    ]


@pytest.mark.slow
@pytest.mark.integration
def test_every_table_is_what_a_scan_shows(tmp_path: Path) -> None:
    with InMemoryLedger() as memory, memory.connect() as ledger:
        fill(ledger, tmp_path)
        publisher, stop = DeltaPublisher(memory.log), Signal()
        publisher.run(stop, stop.set)
        assert not publisher.stopped
        with serving(lambda: open_log(memory.log)) as served:
            connection = attached(served.url)
            names = {each.name for each in ledger.tables()}
            found: list[Any] = []
            for _ in range(5):
                found = connection.execute("SHOW ALL TABLES").fetchall()
                if len(found) == len(names):
                    break
            shown = {
                name if schema == "default" else f"{schema}.{name}": (schema, name, said)
                for _, schema, name, said, *_ in found
            }
            assert shown.keys() == names
            for full, (schema, name, said) in shown.items():
                quoted = name.replace('"', '""')
                scan = ledger.scan(full).to_arrow()
                query = f'SELECT * FROM lake."{schema}"."{quoted}"'  # noqa: S608 - names of above
                table = connection.execute(query).to_arrow_table()
                assert said == table.column_names == scan.column_names, full
                assert sorted(map(repr, table.to_pylist())) == sorted(
                    map(repr, scan.to_pylist())
                ), full
                assert kinds(table) == kinds(scan), full
            catalog = pl.Catalog(served.url, require_https=False)
            for number in range(5):
                frame = catalog.scan_table("main", f"s{number % 3}", f"t{number}").collect()
                assert frame.to_dicts() == [{"id": number}]
