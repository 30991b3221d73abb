"""Commands that are loaded when they are run: help knows all, and a start loads none."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ledger.cli.lazy import Later
from ledger.cli.root import app
from ledger.cli.tables import tables
from ledger.errors import SettingsError
from projections.store.rocks_store import RocksStore
from tests.command_line import ROOT
from tests.driver import CATALOG
from tests.projections.followed import Followed

# What takes most of the time in which a command starts.
HEAVY = ("structlog", "pydantic", "fastavro", "confluent_kafka", "rocksdict", "rich", "msgspec")
# What these commands need for no answer, and what took most of their time.
UNUSED = (
    "structlog",
    "fastavro",
    "urllib3",
    "starlette",
    "prometheus_client",
    "rich.console",
    "duckdb",
    "pydantic",
)
UNUSED_OF_US = (
    *("ledger.client", "ledger.log.replay", "ledger.core.decide.tables"),
    "ledger.core.evolve.evolve",
)
START = """
import sys
import ledger.cli.root
print(*sorted(set(sys.argv[1:]) & set(sys.modules)))
"""
RUN = """
import sys
from ledger.cli.root import main
command, unused = sys.argv[1].split(), sys.argv[2:]
sys.argv[1:] = command
try:
    main()
except SystemExit:
    print("loaded:", *sorted(set(unused) & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the rows of a ledger with a table."""
    folder = tmp_path_factory.mktemp("rows") / "store"
    with RocksStore.open(folder) as store:
        followed = Followed(store)
        session = followed.open_session()
        followed.create_table(session, "flights")
        followed.open_txn(session)
        followed.follow()
    return folder


def later_ones(group: Any) -> Iterator[Later]:
    """Yield the commands of a group, and of groups in it, that are loaded when they are run."""
    for command in group.commands.values():
        if isinstance(command, Later):
            yield command
        elif hasattr(command, "commands"):
            yield from later_ones(command)


ALL = [*later_ones(typer.main.get_command(app)), *later_ones(typer.main.get_group(tables.app))]


@pytest.mark.parametrize("command", ALL, ids=lambda each: str(each.name))
def test_what_a_command_is_for_is_told_before_it_is_loaded(command: Later) -> None:
    found = command.load()
    first, *_ = (found.help or "").splitlines()

    assert (found.name, first) == (command.name, command.help)
    assert not found.hidden


@pytest.mark.parametrize(
    ("missing", "error"), [("pyarrow", SettingsError), ("nothing", ModuleNotFoundError)]
)
def test_an_extra_that_is_missing(tmp_path: Path, missing: str, error: type[Exception]) -> None:
    """A command that needs a library of an extra says how to install it."""
    module = f"needs_{missing}"
    text = f"raise ModuleNotFoundError('No module', name={missing!r})\n"
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(error) as raised:
            Later("sql", f"{module}:command", "Answer.").load()
    finally:
        sys.path.remove(str(tmp_path))
    assert ("lakeledger[arrow]" in str(raised.value)) is (error is SettingsError)


def test_a_start_loads_neither_the_client_of_kafka_nor_the_store_nor_what_logs_and_checks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, *HEAVY], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("--help", tuple(each for each in HEAVY if each != "rich")),
        ("status", (*UNUSED, *UNUSED_OF_US, "confluent_kafka", "rocksdict")),
        ("table list", (*UNUSED, *UNUSED_OF_US, "confluent_kafka")),
    ],
)
def test_no_command_loads_what_it_does_not_use(
    rows: Path, tmp_path: Path, command: str, unused: tuple[str, ...]
) -> None:
    nowhere = {"LAKELEDGER_HOME": str(tmp_path / "nothing")}
    near = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:1", "LAKELEDGER_LEDGER": "demo"}
    near["LAKELEDGER_STORE"] = str(rows)
    where = near if command == "table list" else nowhere
    done = subprocess.run(
        [sys.executable, "-c", RUN, command, *unused],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **where},
    )
    assert done.stderr.splitlines()[-1] == "loaded:"
    assert "Traceback" not in done.stderr
    assert ("flights" in done.stdout) == (command == "table list")


COMPLETE = """
import sys
sys.argv[0] = "lakeledger"
from ledger.cli.root import main
main()
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("lakeledger table show fl", ["flights"]),
        ("lakeledger bisect fl", ["flights"]),
        ("lakeledger table show x", []),
        ("lakeledger txn show ", ["1"]),
    ],
)
@pytest.mark.parametrize("is_up", [True, False], ids=["up", "no ledger"])
def test_a_shell_completes_names(
    rows: Path, tmp_path: Path, words: str, found: list[str], *, is_up: bool
) -> None:
    near = {"LAKELEDGER_BOOTSTRAP": "127.0.0.1:1", "LAKELEDGER_LEDGER": "demo"}
    where = {**near, "LAKELEDGER_STORE": str(rows), "LAKELEDGER_CATALOG": CATALOG}
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "_LAKELEDGER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
            **(where if is_up else {"LAKELEDGER_HOME": str(tmp_path)}),
        },
    )
    assert (done.stdout.split(), done.stderr) == (found if is_up else [], "")
