"""The code of the README and the pages runs as it stands, against a ledger that is up.

The blocks of a page are one program, in their order; each quick start of the README is one by
itself. Hosts and folders that stand for others are given: those of the ledger that is up.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.config.client_config import client_settings
from ledger.machine.kafka.java import find_java
from ledger.machine.up import Running, UpSettings, running
from tests.docs.pages import ROOT, Block, all_blocks

README: Final = "README.md"
NEEDS_SPARK: Final = ("pyspark", "spark_sink")
SCHEMAS: Final = ROOT / "ledger" / "log" / "schemas"
QUICK_START: Final = "Quick start: Python"
OPERATOR: Final = "Quick start: operator"
CLEAN: Final = """
from ledger import Ledger
with Ledger.connect() as ledger:
    for table in ledger.tables():
        ledger.drop_table(table)
"""


def programs() -> Iterator[Any]:
    """Yield the programs of all pages, with the marks of what they need."""
    found: dict[str, list[Block]] = {}
    for block in all_blocks("python"):
        name = f"{block.page}: {block.heading}" if block.page == README else block.page
        found.setdefault(name, []).append(block)
    for name, blocks in found.items():
        text = "\n".join(block.text for block in blocks)
        is_for_spark = any(word in text for word in NEEDS_SPARK)
        marks = [pytest.mark.kafka, *([pytest.mark.spark] if is_for_spark else [])]
        yield pytest.param(text, id=name, marks=marks)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a whole ledger of this machine."""
    with running(UpSettings(home=tmp_path_factory.mktemp("home"))) as up:
        yield up


class Desk:
    """Where a reader of a page works: a folder, a ledger that is up, and nothing else set."""

    def __init__(self, up: Running, folder: Path) -> None:
        assert up.address.store is not None
        assert up.address.reads_url is not None
        self.folder = folder
        self._hosts = {
            "kafka:9092": up.address.bootstrap,
            "http://host:8181": up.address.reads_url,
            "127.0.0.1:9092": up.address.bootstrap,
        }
        (folder / "store").symlink_to(up.address.store)
        (folder / "schemas").symlink_to(SCHEMAS)
        java = find_java().home
        self._environ = {
            "HOME": str(Path.home()),
            "JAVA_HOME": str(java),
            "LAKELEDGER_HOME": str(up.address.store.parent.parent),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def run(self, *command: str) -> str:
        """Return what a command says; it must end well."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, program: str) -> str:
        """Return what a program says, with the hosts that it names."""
        for named, host in self._hosts.items():
            program = program.replace(named, host)
        return self.run(sys.executable, "-c", program)


@pytest.fixture
def desk(up: Running, tmp_path: Path) -> Iterator[Desk]:
    """Give a desk, and leave no table behind: pages use the same names."""
    desk = Desk(up, tmp_path)
    yield desk
    desk.python(CLEAN)


def block_of(heading: str, language: str) -> str:
    """Return the one block of the README below a heading."""
    found = [each for each in all_blocks(language) if each[0] == README and each.heading == heading]
    (block,) = found
    return block.text


@pytest.mark.parametrize("program", list(programs()))
def test_python_runs(desk: Desk, program: str) -> None:
    """The Python of a page runs to its end."""
    desk.python(program)


@pytest.mark.kafka
def test_operators_quick_start(desk: Desk) -> None:
    """The commands for operators end well, on the table of the quick start before them."""
    desk.python(block_of(QUICK_START, "python"))
    said = desk.run("bash", "-ec", block_of(OPERATOR, "sh"))

    assert "db.sales" in said


@pytest.mark.kafka
def test_layouts_say_what_is_printed(desk: Desk) -> None:
    """The list of write ids that a page quotes is the one that its program prints."""
    page = "docs/layouts.md"
    program = "\n".join(each.text for each in all_blocks("python") if each.page == page)
    quoted = "main.db.flights:1:9223372036854775807::"

    assert quoted in (ROOT / page).read_text(encoding="utf-8")
    assert quoted in desk.python(program)


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    """What a page shows as JSON is."""
    assert json.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("properties"), ids=str)
def test_settings_are_settings(block: Block, tmp_path: Path) -> None:
    """A file of settings that a page shows can be read."""
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(block.text, encoding="utf-8")
    found: Sequence[str] = list(client_settings(file))

    assert len(found) == len(block.text.splitlines())
