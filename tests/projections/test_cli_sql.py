"""The command that answers queries, in every form of output, and changed rows."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from ledger.machine.exit_codes import ExitCode
from ledger.snapshot.sql_text import QuerySyntaxError
from tests.core.parts import table_of
from tests.driver import CATALOG
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import Lakeledger, command_line

SQL = ("sql", "--catalog", CATALOG)
QUERY = "SELECT hour, id, name FROM flights ORDER BY id"


@pytest.fixture
def lakeledger(tmp_path: Path) -> Lakeledger:
    """Return a way to run the command line on the host with a table of two versions."""
    folder = tmp_path / "flights"
    folder.mkdir()
    for name, rows in (("a", [(1, "x"), (2, None)]), ("b", [(3, 'y"')])):
        columns = dict(zip(("id", "name"), map(list, zip(*rows, strict=True)), strict=True))
        schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
        pq.write_table(pa.table(columns, schema=schema), folder / name)
    domain = Followed()
    session = domain.open_session()
    made = table_of(("hour", "string"), ("id", "bigint"), ("name", "string"), by=["hour"])
    table = domain.create_table(session, "flights", made=made._replace(location=str(folder)))
    commit(domain, session, table, ["a"])
    commit(domain, session, table, ["b"])
    return command_line(domain, tmp_path)


def test_people_get_aligned_columns_in_which_null_is_not_a_text(lakeledger: Lakeledger) -> None:
    done = lakeledger(*SQL, QUERY)

    assert [line.split() for line in done.stdout.splitlines()] == [
        ["hour", "id", "name"],
        ["1", "1", "x"],
        ["1", "2", "NULL"],
        ["1", "3", 'y"'],
    ]
    assert "as of position" in done.stderr


def test_csv_has_a_header_quotes_what_it_must_and_null_is_empty(lakeledger: Lakeledger) -> None:
    done = lakeledger(*SQL, QUERY, "--output", "csv")
    assert done.stdout == 'hour,id,name\n1,1,x\n1,2,\n1,3,"y"""\n'


def test_json_is_an_object_a_line(lakeledger: Lakeledger) -> None:
    done = lakeledger(*SQL, QUERY, "--output", "json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"hour": "1", "id": 1, "name": "x"},
        {"hour": "1", "id": 2, "name": None},
        {"hour": "1", "id": 3, "name": 'y"'},
    ]


def test_parquet_on_stdout_is_one_file(lakeledger: Lakeledger) -> None:
    done = lakeledger(*SQL, QUERY, "--output", "parquet")
    found = pq.read_table(io.BytesIO(done.stdout_bytes))
    assert found.to_pydict() == {"hour": ["1"] * 3, "id": [1, 2, 3], "name": ["x", None, 'y"']}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--version", "1"], 2),
        (["--version", "0"], 0),
        (["--position", "6"], 2),
        (["--as-of", "2999-01-01T00:00:00Z"], 3),
        (["--parameter", "id=2"], 1),
        (["-p", "$id=2"], 1),
    ],
)
def test_options(lakeledger: Lakeledger, options: list[str], expected: int) -> None:
    """A query is answered as of any place, and with values from the command line."""
    where = " WHERE id >= 3 OR id = $id" if "id=2" in options[-1] else ""
    expected += 1 if where else 0
    query = f"SELECT count(*) FROM flights{where}"  # noqa: S608 - of this test
    done = lakeledger(*SQL, query, *options, "--output", "csv")
    assert done.stdout.splitlines()[1:] == [str(expected)], done.output


def test_what_is_no_query_is_refused_and_so_are_two_places(lakeledger: Lakeledger) -> None:
    assert isinstance(lakeledger(*SQL, "DROP TABLE flights").exception, QuerySyntaxError)
    done = lakeledger(*SQL, QUERY, "--version", "1", "--position", "6")
    assert done.exit_code == ExitCode.USAGE
    assert lakeledger(*SQL, QUERY, "-p", "id").exit_code == ExitCode.USAGE


def test_the_changes_of_a_table_can_be_printed_row_by_row(lakeledger: Lakeledger) -> None:
    table = ("table", "changes", "flights", "--catalog", CATALOG, "--rows")
    lines = lakeledger(*table, "--output", "json", "--after", "1").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [3]
    assert [line.split()[:2] for line in lakeledger(*table).stdout.splitlines()] == [
        ["1", "insert"],
        ["1", "insert"],
        ["2", "insert"],
    ]
