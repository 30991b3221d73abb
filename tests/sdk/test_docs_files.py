"""The page about files: its example runs, and what it says is taken is taken."""

import re
from pathlib import Path
from typing import Final

from ledger.client import Ledger
from ledger.testing import InMemoryLedger

PAGE: Final = Path(__file__).parents[2] / "docs" / "files.md"
CONNECT: Final = "with Ledger.connect() as ledger:"


def test_example(memory: InMemoryLedger, ledger: Ledger) -> None:
    """The example commits a file and replaces it, on a ledger in memory."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert CONNECT in found[1]

    exec(found[1].replace(CONNECT, "with connect() as ledger:"), {"connect": memory.connect})  # noqa: S102 - the page's own

    (file,) = ledger.read("db.flights")
    assert (file.path, file.partition) == ("day=2024-01-31/b.parquet", ("2024-01-31",))
    assert ledger.reads().versions(1, 1)[0].operation == "UPDATE"
