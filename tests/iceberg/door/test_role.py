"""The catalog as a process: beside the others of a machine, secured, and over another's rows."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.config.address import Address
from ledger.machine.process import ExitCode
from ledger.reads.remote.http import HttpReads
from ledger.reads.remote.web_login import WebLogin
from tests.integration.commands import Command, answer_of, lakeledger, up

pyiceberg = pytest.importorskip("pyiceberg.catalog")
pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.kafka

ROWS: Final = [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}]
PROGRAM: Final = """
import sys

import pyarrow
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import ForbiddenError, UnauthorizedError

url, name, token = sys.argv[1:]
rows = pyarrow.Table.from_pylist([{"id": 1}])
try:
    lake = load_catalog("lake", type="rest", uri=url, **({"token": token} if token else {}))
    lake.create_namespace_if_not_exists("db")
    lake.create_table(f"db.{name}", rows.schema).append(rows)
except (ForbiddenError, UnauthorizedError) as error:
    print(type(error).__name__)
else:
    print("done")
"""
FOUND: Final = "SELECT * FROM db.t ORDER BY id"


def address_of(home: Path) -> Address:
    address = Address.read(home / "lake")
    assert address is not None
    assert address.iceberg_url is not None
    return address


def catalog(url: str | None, **more: Any) -> Any:
    return pyiceberg.load_catalog("lake", type="rest", uri=url, **more)


def write(lake: Any) -> None:
    """Create a table, append rows to it, and delete one of them."""
    rows = pyarrow.Table.from_pylist(ROWS)
    lake.create_namespace("db")
    table = lake.create_table("db.t", rows.schema)
    table.append(rows)
    table.delete("id = 1")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Run a ledger with a catalog."""
    home = tmp_path / "home"
    with up(home, "--iceberg") as command:
        yield home
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_a_ledger_of_one_machine_is_a_catalog(home: Path) -> None:
    address = address_of(home)
    write(catalog(address.iceberg_url))

    assert answer_of(home, "sql", FOUND) == ROWS[1]
    assert answer_of(home, "status")["iceberg"] == {"url": address.iceberg_url, "problem": None}
    (location,) = (Path(address.warehouse) / "main" / "db").iterdir()
    assert location.name.startswith("t-")


def test_a_catalog_reads_the_rows_of_a_follower_of_another_host(home: Path, tmp_path: Path) -> None:
    address = address_of(home)
    where = ("--bootstrap", address.bootstrap, "--ledger", address.ledger)
    more = {"LAKELEDGER_READS_URL": str(address.reads_url)}
    more |= {"LAKELEDGER_WAREHOUSE": str(tmp_path / "warehouse")}
    with Command(home, "serve", "iceberg", "--http", "127.0.0.1:0", *where, **more) as command:
        line = command.wait_for("answering HTTP")
        url = next(word for word in line.replace('"', " ").split() if word.startswith("http://"))
        write(catalog(url.rstrip(",")))
        assert catalog(url).load_table("db.t").scan().to_arrow().to_pylist() == ROWS[1:]
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    assert answer_of(home, "sql", FOUND) == ROWS[1]
    assert list((tmp_path / "warehouse").rglob("*.parquet"))


@pytest.mark.slow
def test_a_secured_ledger_wants_a_token_that_may_write(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with up(home, "--iceberg", "--secure") as command:
        address = address_of(home)
        assert address.token_file is not None
        assert str(address.iceberg_url).startswith("https://")
        file = str(address.token_file.with_name("tokens"))
        tokens = {"": "", "client": address.token_file.read_text(encoding="utf-8").strip()}
        for name, more in {"etl": ["--write"], "reader": []}.items():
            done = lakeledger(home, "token", "new", name, "--file", file, *more)
            tokens[name] = done.stdout.strip()

        said = {name: written(address, name, token) for name, token in tokens.items()}
        assert said == {
            "": "UnauthorizedError",
            "client": "done",
            "etl": "done",
            "reader": "ForbiddenError",
        }
        assert users_of(address) == ["client", "etl"]
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def written(address: Address, name: str, token: str) -> str:
    """Return what becomes of a client with a token that makes a table, and takes it away."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(address.iceberg_url), name, token],
        env={**os.environ, "REQUESTS_CA_BUNDLE": str(address.ca_file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def users_of(address: Address) -> list[str]:
    """Return who made each table, by the name of the table."""
    login = WebLogin(address.token_file, address.ca_file)
    with closing(HttpReads(str(address.reads_url), login=login)) as reads:
        names = {row.name: row.table for row in reads.tables()}
        rows = [reads.version_row(names[name], version=0) for name in sorted(names)]
        return [row.user for row in rows if row is not None]
