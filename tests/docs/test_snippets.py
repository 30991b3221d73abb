"""The code of the README and the pages runs as it stands, against a ledger that is up.

The blocks of a page are one program, in their order; each quick start of the README is one by
itself. Hosts and folders that stand for others are given: those of the ledger that is up.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.config.client_config import client_settings
from ledger.ingest.mapping import read_mapping
from ledger.machine.up import Running, running
from ledger.machine.up_settings import UpSettings
from projections.queries import open_reads
from tests.docs.desk import OPERATOR, PYTHON, README, Desk, block_of
from tests.docs.pages import ROOT, Block, all_blocks

# A test of its own runs this page.
LAYOUTS: Final = "docs/layouts.md"
NEEDS_SPARK: Final = ("pyspark", "spark_sink")


def programs() -> Iterator[Any]:
    """Yield the programs of all pages, with the marks of what they need."""
    found: dict[str, list[Block]] = {}
    for block in all_blocks("python"):
        name = f"{block.page}: {block.heading}" if block.page == README else block.page
        found.setdefault(name, []).append(block)
    del found[LAYOUTS]
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


@pytest.fixture
def desk(up: Running, tmp_path: Path) -> Iterator[Desk]:
    """Give a desk, and leave no table behind: pages use the same names."""
    yield Desk(up.address, tmp_path)
    assert up.address.store is not None
    with (
        closing(open_reads(up.address.store)) as reads,
        Ledger.connect(up.address.bootstrap, up.address.ledger, reads=reads) as ledger,
    ):
        for table in ledger.tables():
            ledger.drop_table(table)


@pytest.mark.parametrize("program", list(programs()))
def test_the_python_of_a_page_runs_to_its_end(desk: Desk, program: str) -> None:
    desk.python(program)


@pytest.mark.kafka
def test_the_commands_for_operators_end_well(desk: Desk) -> None:
    desk.python(block_of(PYTHON, "python"))
    said = desk.run("bash", "-ec", block_of(OPERATOR, "sh"))

    assert "db.sales" in said


@pytest.mark.kafka
def test_layouts_say_what_is_printed(desk: Desk) -> None:
    program = "\n".join(block.text for block in all_blocks("python") if block.page == LAYOUTS)
    quoted = "main.db.flights:1:9223372036854775807::"

    assert quoted in (ROOT / LAYOUTS).read_text(encoding="utf-8")
    assert quoted in desk.python(program)


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_what_a_page_shows_as_json_is(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("properties"), ids=str)
def test_a_file_of_settings_that_a_page_shows_can_be_read(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    file.write_text(block.text, encoding="utf-8")
    found: Sequence[str] = list(client_settings(file))

    assert len(found) == len(block.text.splitlines())


@pytest.mark.parametrize("block", all_blocks("toml"), ids=str)
def test_a_mapping_that_a_page_shows_can_be_read(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "mapping.toml"
    file.write_text(block.text, encoding="utf-8")

    assert read_mapping(file).topics
