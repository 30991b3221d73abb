"""A whole ledger attached at once: the read routes of a Unity Catalog, and real clients of them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from threading import Event as Signal
from typing import Any, Final, NamedTuple

import pytest

from ledger.client import Ledger
from ledger.definitions.client_reads import open_log
from ledger.properties.column_mapping import PUBLISH
from ledger.testing import InMemoryLedger
from projections.delta.publisher import DeltaPublisher
from projections.web.answers.unity import UNITY_PATH, UNITY_QUESTIONS
from tests.web.served import Served, serving

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

EXTENSIONS: Final = ("httpfs", "delta", "unity_catalog")
DOCS: Final = Path(__file__).parents[2] / "docs"
OF_ALL_TYPES: Final[dict[str, tuple[str, Any]]] = {
    "id": ("bigint", 1),
    "flag": ("boolean", True),
    "tiny": ("tinyint", 1),
    "small": ("smallint", 2),
    "number": ("int", 3),
    "single": ("float", 1.5),
    "double": ("double", 2.5),
    "price": ("decimal(10,2)", Decimal("1.25")),
    "text": ("string", "é"),
    "short": ("varchar(10)", "v"),
    "data": ("binary", b"x"),
    "day": ("date", date(2020, 1, 1)),
    "moment": ("timestamp", datetime(2020, 1, 1, 12, tzinfo=UTC)),
    "prices": ("array<decimal(5,1)>", [Decimal("0.5")]),
    "items": ("array<int>", [1, 2]),
    "pairs": ("map<string,int>", {"a": 1}),
    "parts": ("struct<a:int NOT NULL,b:array<struct<c:map<string,int>>>>", {"a": 1, "b": None}),
}


class Lake(NamedTuple):
    """A ledger with published tables, and a server of its rows."""

    ledger: Ledger
    served: Served

    def ask(self, path: str) -> Any:
        return self.served.ask(f"{UNITY_PATH}{path}").form


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Return a ledger of published tables and one that is not."""
    root = tmp_path_factory.mktemp("lake")
    published, by_day = {PUBLISH: "delta"}, ["day"]
    flights = [("id", "bigint"), ("day", "int")]
    every = [(name, kind) for name, (kind, _) in OF_ALL_TYPES.items()]
    with InMemoryLedger() as memory, memory.connect() as ledger:
        for name, columns, by, properties in (
            ("flights", flights, by_day, published),
            ("db.Flights", flights, by_day, published),
            ("db.types", every, [], published),
            ("db.odd", [("at", "array<timestamp_ntz>")], [], published),
            ("db.odder", [("at", "map<string,decimal(5,1)>")], [], published),
            ("db.hidden", flights, by_day, {}),
        ):
            location = str(root / f"{name} folder")
            ledger.create_table(
                name, columns, partition_columns=by, location=location, properties=properties
            )
        with ledger.transaction() as txn:
            txn.insert("flights", [{"id": 1, "day": None}, {"id": 2, "day": 3}])
            txn.insert("db.types", [{name: value for name, (_, value) in OF_ALL_TYPES.items()}])
        with ledger.transaction() as txn:
            txn.delete("flights", "id = 1")
        stop = Signal()
        publisher = DeltaPublisher(memory.log)
        publisher.run(stop, stop.set)
        assert not publisher.stopped
        with serving(lambda: open_log(memory.log)) as served:
            yield Lake(ledger, served)


def attached(url: str) -> Any:
    """Return a connection of DuckDB to which a catalog is attached as `lake`."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute("SET TimeZone = 'UTC'")
    for name in EXTENSIONS:
        module = pytest.importorskip(f"duckdb_extension_{name}")
        folder = Path(str(module.__file__)).parent
        (extension,) = folder.rglob(f"{name}.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    connection.execute(
        f"CREATE SECRET (TYPE unity_catalog, TOKEN 'x', ENDPOINT '{url}', AWS_REGION 'us-east-1')"
    )
    connection.execute("ATTACH 'main' AS lake (TYPE unity_catalog)")
    return connection


def listed(connection: Any) -> list[tuple[Any, ...]]:
    """Return all tables of a connection.

    The extension now and then shows none at first, whatever server answers it.
    """
    shown = (connection.execute("SHOW ALL TABLES").fetchall() for _ in range(5))
    return next(filter(None, shown), [])


def test_duckdb_reads_what_the_ledger_has(lake: Lake) -> None:
    connection = attached(lake.served.url)
    found = listed(connection)
    assert [f"{schema}.{name}" for _, schema, name, *_ in found] == [
        "db.Flights",
        "db.types",
        "default.flights",
    ]
    for _, schema, name, columns, *_ in found:
        rows = connection.table(f'lake.{schema}."{name}"').to_arrow_table()
        scan = lake.ledger.scan(name if schema == "default" else f"{schema}.{name}").to_arrow()
        assert columns == rows.column_names == scan.column_names
        assert rows.to_pylist() == scan.to_pylist()
    query = "SELECT count(*) FROM lake.default.flights WHERE day = 3"
    assert connection.execute(query).fetchall() == [(1,)]


def test_polars_reads_what_the_ledger_has(lake: Lake) -> None:
    catalog = polars.Catalog(lake.served.url, require_https=False)
    assert [each.name for each in catalog.list_catalogs()] == ["main"]
    assert [namespace.name for namespace in catalog.list_namespaces("main")] == ["db", "default"]
    assert [table.name for table in catalog.list_tables("main", "db")] == ["Flights", "types"]
    found = catalog.get_table_info("main", "db", "odd")
    assert [column.type_text for column in found.columns] == ["array<timestamp_ntz>"]


def test_one_table(lake: Lake) -> None:
    """A table is found under its full name in any case, with partitions, types and its folder."""
    found = lake.ask("/tables/MAIN.DB.flights?full_name=main.db.flights&odd=1")

    assert (found["name"], found["schema_name"], found["data_source_format"]) == (
        "Flights",
        "db",
        "DELTA",
    )
    assert found["storage_location"].startswith("file:///")
    assert found["storage_location"].endswith("/db.Flights%20folder")
    columns = [(each["name"], each["type_name"], each["type_text"]) for each in found["columns"]]
    assert columns == [("id", "LONG", "bigint"), ("day", "INT", "int")]
    assert [each.get("partition_index") for each in found["columns"]] == [None, 0]
    price = lake.ask("/tables/main.db.types")["columns"][7]
    assert (price["type_precision"], price["type_scale"]) == (10, 2)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/tables/main.db.hidden", 404),
        ("/tables/main.default.hidden", 404),
        ("/schemas?catalog_name=other", 404),
        ("/schemas/main.nowhere", 404),
        ("/catalogs/other", 404),
        ("/schemas", 400),
        ("/tables?catalog_name=main", 400),
        ("/catalogs/main", 200),
        ("/schemas/main.db", 200),
        ("/tables?catalog_name=main&schema_name=nowhere", 200),
    ],
)
def test_what_is_not_published_is_not_there(lake: Lake, path: str, status: int) -> None:
    assert lake.served.ask(f"{UNITY_PATH}{path}").status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/tables", "/tables/main.db.flights", "/schemas", "/catalogs"])
def test_nothing_is_written(lake: Lake, path: str, method: str) -> None:
    assert lake.served.ask(f"{UNITY_PATH}{path}", method, b"{}").status == 405


def test_a_list_comes_in_pages_if_its_client_wants_so(lake: Lake) -> None:
    first = lake.ask("/tables?catalog_name=main&schema_name=db&max_results=1")
    token = first["next_page_token"]
    second = lake.ask(f"/tables?catalog_name=main&schema_name=db&max_results=1&page_token={token}")
    assert [each["name"] for each in first["tables"] + second["tables"]] == ["Flights", "types"]
    assert "next_page_token" not in second


def test_no_credentials_are_given_out_and_only_for_a_table_that_is_there(lake: Lake) -> None:
    table = lake.ask("/tables/main.db.types")["table_id"]
    path = f"{UNITY_PATH}/temporary-table-credentials"
    asked = f'{{"table_id":"{table}","operation":"READ_WRITE"}}'.encode()
    assert set(lake.served.ask(path, "POST", asked).form) == {"url", "expiration_time"}
    assert lake.served.ask(path, "POST", asked.replace(table.encode(), b"x")).status == 404
    assert lake.served.ask(path, "POST", b"").status == 400


def test_name_that_two_tables_would_have(tmp_path: Path) -> None:
    """A table without a schema has its name before one in a schema called default."""
    unity = import_module("projections.web.answers.unity_answers")
    with InMemoryLedger() as memory, memory.connect() as ledger:
        for name in ("default.a", "a"):
            ledger.create_table(
                name, [("id", "int")], location=str(tmp_path / name), properties={PUBLISH: "delta"}
            )
        found = unity.published_tables(memory.reads)
        assert [(each.full_name, each.row.name) for each in found] == [("main.default.a", "a")]


def test_page_names_every_route() -> None:
    text = (DOCS / "publishing.md").read_text(encoding="utf-8")
    paths = [question.path.partition("/{")[0] for question in UNITY_QUESTIONS]
    assert [path for path in paths if f"`{path}`" not in text] == []
    assert UNITY_PATH in text
