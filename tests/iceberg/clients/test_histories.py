"""Random statements of the SDK, pyiceberg and DuckDB in turn; a model and all readers agree."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from ledger.properties.column_mapping import PUBLISH
from tests.iceberg.clients.canonical import texts
from tests.iceberg.clients.duckdb_client import attached
from tests.iceberg.clients.readers import NULL_PARTS, Served, agreed, pyiceberg_catalog

pytestmark = [
    pytest.mark.integration,
    # pyiceberg warns of a delete that finds no rows.
    pytest.mark.filterwarnings("ignore:Delete operation did not match:UserWarning"),
]

TABLE: Final = "db.t"
STEPS: Final = 14
SCHEMA: Final = pa.schema([("id", pa.int64()), ("day", pa.int32()), ("v", pa.string())])

Row = dict[str, Any]
Rows = list[Row]


class RandomClients:
    """Draws statements, lets a client run each, and plays it on a model of the rows."""

    def __init__(self, lake: Served, duck: Any, seed: int, *, is_format_3: bool) -> None:
        self.lake, self.duck, self.chance = lake, duck, Random(seed)
        self.catalog = pyiceberg_catalog(lake.uri)
        self.rows: Rows = []
        self.said: list[str] = []
        self._count = 0
        # pyiceberg writes no format 3.
        clients = ("sdk", "duckdb") if is_format_3 else ("sdk", "pyiceberg", "duckdb")
        self._calls = [
            getattr(self, f"_{verb}_by_{client}")
            for client in clients
            for verb in ("append", "append", "delete", "update")
            if hasattr(self, f"_{verb}_by_{client}")
        ]

    def step(self) -> None:
        """Do one statement."""
        call: Callable[[], object] = self.chance.choice([*self._calls, self._optimize])
        self.said.append(call.__name__)
        call()

    def _new(self) -> Rows:
        count = self.chance.randint(1, 4)
        found = [
            {"id": self._count + n, "day": self.chance.choice([1, 2, None]), "v": "new"}
            for n in range(count)
        ]
        self._count += count
        self.rows += found
        return found

    def _range(self) -> tuple[int, int]:
        first = self.chance.randint(0, max(0, self._count - 1))
        return first, first + self.chance.randint(0, 3)

    def _gone(self) -> str:
        first, last = self._range()
        self.rows = [row for row in self.rows if not first <= row["id"] <= last]
        return f"id >= {first} AND id <= {last}"

    def _changed(self) -> tuple[str, str]:
        first, last = self._range()
        text = f"v{self.chance.randint(0, 9)}"
        self.rows = [{**r, "v": text} if first <= r["id"] <= last else r for r in self.rows]
        return text, f"id >= {first} AND id <= {last}"

    def _append_by_sdk(self) -> None:
        self.lake.ledger.append(TABLE, self._new())

    def _append_by_pyiceberg(self) -> None:
        self.catalog.load_table(TABLE).append(pa.Table.from_pylist(self._new(), schema=SCHEMA))

    def _append_by_duckdb(self) -> None:
        rows = ", ".join(
            f"({row['id']}, {row['day'] or 'NULL'}, '{row['v']}')" for row in self._new()
        )
        self.duck.execute(f"INSERT INTO lake.{TABLE} VALUES {rows}")

    def _delete_by_sdk(self) -> None:
        self.lake.ledger.delete(TABLE, self._gone())

    def _delete_by_pyiceberg(self) -> None:
        self.catalog.load_table(TABLE).delete(self._gone())

    def _delete_by_duckdb(self) -> None:
        self.duck.execute(f"DELETE FROM lake.{TABLE} WHERE {self._gone()}")

    def _update_by_sdk(self) -> None:
        text, where = self._changed()
        self.lake.ledger.update(TABLE, {"v": f"'{text}'"}, where)

    def _update_by_duckdb(self) -> None:
        text, where = self._changed()
        self.duck.execute(f"UPDATE lake.{TABLE} SET v = '{text}' WHERE {where}")

    def _update_by_pyiceberg(self) -> None:
        _, where = self._changed()
        table = self.catalog.load_table(TABLE)
        ids = [row["id"] for row in table.scan(where).to_arrow().to_pylist()]
        new = [row for row in self.rows if row["id"] in ids]
        table.overwrite(pa.Table.from_pylist(new, schema=SCHEMA), overwrite_filter=where)

    def _optimize(self) -> None:
        self.lake.ledger.optimize(TABLE)


@pytest.fixture
def duck(lake: Served) -> Iterator[Any]:
    with attached(lake.uri) as connection:
        yield connection


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("parts", [[], ["day"]], ids=["whole", "by day"])
def test_random_statements_of_several_clients(
    lake: Served, duck: Any, seed: int, parts: list[str]
) -> None:
    form, grain = (("2", "rewrite"), ("2", "marks"), ("3", "marks"), ("3", "rewrite"))[seed % 4]
    properties = {PUBLISH: "delta", "lakeledger.rows": grain, "iceberg.format-version": form}
    lake.ledger.create_table(
        TABLE,
        [("id", "bigint"), ("day", "int"), ("v", "string")],
        partition_columns=parts,
        properties=properties,
    )
    clients = RandomClients(lake, duck, seed, is_format_3=form == "3")
    for _ in range(STEPS):
        clients.step()
        assert agreed(lake, TABLE, without=NULL_PARTS) == texts(clients.rows), clients.said
    for each in lake.ledger.history(TABLE)[:-1]:
        agreed(lake, TABLE, position=each.position, without=NULL_PARTS)
