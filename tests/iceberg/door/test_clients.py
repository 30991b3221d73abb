"""Real clients at the door: they list, create, write and read, at once and as of a position."""

from pathlib import Path
from typing import Any, Final

import pytest

from ledger.config.settings import WebSettings
from ledger.testing import InMemoryLedger
from tests.iceberg.door.doors import Door, answering, tokens_in
from tests.iceberg.imports.iceberg_tables import new_table

pyiceberg = pytest.importorskip("pyiceberg.catalog")
exceptions = pytest.importorskip("pyiceberg.exceptions")
schemas = pytest.importorskip("pyiceberg.schema")
types = pytest.importorskip("pyiceberg.types")
pyarrow = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

SCHEMA: Final = schemas.Schema(
    types.NestedField(1, "id", types.LongType()), types.NestedField(2, "name", types.StringType())
)
ROWS: Final = [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]


def catalog(door: Door, **more: Any) -> Any:
    return pyiceberg.load_catalog("lake", type="rest", uri=door.url, **more)


def rows_of(door: Door, name: str) -> list[Any]:
    found: list[Any] = door.ledger.scan(name).to_arrow().to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


def table_of(rows: list[dict[str, Any]]) -> Any:
    return pyarrow.Table.from_pylist(rows)


def test_python_creates_writes_and_reads(door: Door) -> None:
    lake = catalog(door)
    lake.create_namespace("db", {"owner": "ada"})
    table = lake.create_table("db.t", table_of(ROWS).schema)
    table.append(table_of(ROWS))
    table.delete("id = 1")

    assert rows_of(door, "db.t") == ROWS[1:]
    assert lake.load_table("db.t").scan().to_arrow().to_pylist() == ROWS[1:]
    assert lake.list_tables("db") == [("db", "t")]
    assert lake.load_namespace_properties("db") == {"owner": "ada"}
    assert lake.table_exists("db.t")
    lake.rename_table("db.t", "db.u")
    lake.drop_table("db.u")
    lake.drop_namespace("db")
    assert lake.list_namespaces() == []


def test_python_reads_a_pinned_catalog(door: Door) -> None:
    door.ledger.create_table("db.t", ROWS[:1])
    position = door.ledger.reads().position()
    door.ledger.append("db.t", ROWS[1:])

    then = catalog(door, warehouse=f"main@{position}")
    assert then.load_table("db.t").scan().to_arrow().to_pylist() == ROWS[:1]
    with pytest.raises(exceptions.BadRequestError, match="only be read"):
        then.load_table("db.t").append(table_of(ROWS))
    assert len(rows_of(door, "db.t")) == 2


def test_python_with_a_token_is_named_and_one_that_only_reads_is_refused(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    headers = tokens_in(tmp_path / "tokens", etl=True, reader=False)
    words = {name: each["authorization"].partition(" ")[2] for name, each in headers.items()}
    with answering(memory, tmp_path, doors=WebSettings(tmp_path / "tokens")) as door:
        writes, reads = (catalog(door, token=words[name]) for name in ("etl", "reader"))
        writes.create_namespace("db")
        writes.create_table("db.t", table_of(ROWS).schema).append(table_of(ROWS))
        (newest, *_) = memory.reads.versions(door.ledger.table("db.t").table, 1)
        assert newest.user == "etl"
        assert len(reads.load_table("db.t").scan().to_arrow()) == 2
        with pytest.raises(exceptions.ForbiddenError, match="only read"):
            reads.load_table("db.t").append(table_of(ROWS))


def test_python_registers_a_table_below_a_permitted_place(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with answering(memory, tmp_path / "lake", places=[str(other)]) as door:
        made = new_table(other, SCHEMA)
        made.append(table_of(ROWS))
        lake = catalog(door)
        lake.create_namespace("db")
        lake.register_table("db.t", made.metadata_location)

        assert rows_of(door, "db.t") == ROWS
        lake.load_table("db.t").append(table_of([{"id": 3, "name": "eve"}]))
        assert len(rows_of(door, "db.t")) == 3
        with pytest.raises(exceptions.BadRequestError, match="permitted place"):
            lake.register_table("db.u", "file:///etc/x.metadata.json")
    with answering(memory, tmp_path / "lake") as door:
        form = {"name": "u", "metadata-location": made.metadata_location}
        assert door.post("namespaces/db/register", form).error[0] == 406


@pytest.fixture
def duck(door: Door) -> Any:
    """Return a connection of DuckDB that has attached the catalog."""
    found = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        package = pytest.importorskip(f"duckdb_extension_{name}")
        (extension,) = Path(package.__file__).parent.rglob(f"{name}.duckdb_extension")
        found.execute(f"LOAD '{extension}'")
    return attached(found, door)


def attached(duck: Any, door: Door, warehouse: str = "", name: str = "lake") -> Any:
    where = f"ENDPOINT '{door.url}', AUTHORIZATION_TYPE 'none'"
    duck.sql(f"ATTACH '{warehouse}' AS {name} (TYPE iceberg, {where})")
    return duck


def test_duckdb_creates_writes_and_reads(door: Door, duck: Any) -> None:
    duck.sql("CREATE SCHEMA lake.db")
    duck.sql("CREATE TABLE lake.db.t (id BIGINT, name VARCHAR)")
    duck.sql("INSERT INTO lake.db.t VALUES (1, 'ada'), (2, 'bob')")
    duck.sql("DELETE FROM lake.db.t WHERE id = 1")
    duck.sql("UPDATE lake.db.t SET name = 'eve' WHERE id = 2")

    assert rows_of(door, "db.t") == [{"id": 2, "name": "eve"}]
    assert duck.sql("SELECT * FROM lake.db.t").fetchall() == [(2, "eve")]


def test_duckdb_commits_several_tables_together(door: Door, duck: Any) -> None:
    for name in ("a", "b"):
        door.ledger.create_table(f"db.{name}", ROWS)
    before = door.ledger.reads().position()
    duck.sql("BEGIN")
    duck.sql("INSERT INTO lake.db.a VALUES (3, 'eve')")
    duck.sql("DELETE FROM lake.db.b WHERE id = 1")
    duck.sql("COMMIT")

    after = door.ledger.reads().newest_versions()
    assert len({row.position for row in after}) == 1
    assert after[0].position > before
    assert len(rows_of(door, "db.a")) == 3
    assert len(rows_of(door, "db.b")) == 1


def test_duckdb_attaches_every_table_as_of_one_position(door: Door, duck: Any) -> None:
    for name in ("a", "b"):
        door.ledger.create_table(f"db.{name}", ROWS[:1])
    position = door.ledger.reads().position()
    door.ledger.append("db.a", ROWS[1:])
    attached(duck, door, f"main@{position}", "pinned")

    counts = "SELECT (SELECT count(*) FROM {0}.db.a), (SELECT count(*) FROM {0}.db.b)"
    assert duck.sql(counts.format("pinned")).fetchall() == [(1, 1)]
    assert duck.sql(counts.format("lake")).fetchall() == [(2, 1)]
    with pytest.raises(duckdb.Error, match="only be read"):
        duck.sql("INSERT INTO pinned.db.a VALUES (9, 'x')")
    assert len(rows_of(door, "db.a")) == 2
