"""Writers of numbered rows that are killed: no number is in the table twice."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.tables.laws.numbered_work import TABLE, opened


def killed_after(folder: Path, commits: int) -> int:
    """Let a process append rows, and kill it; return how many rows it said that it committed."""
    command = [sys.executable, "-m", "tests.tables.laws.numbered_work", str(folder)]
    rows = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.strip().isdecimal():
                continue
            rows, commits = rows + int(line), commits - 1
            if not commits:
                break
        process.kill()
    return rows


@pytest.mark.integration
def test_no_number_is_given_twice_by_writers_that_are_killed(tmp_path: Path) -> None:
    said = sum(killed_after(tmp_path, commits) for commits in (1, 4, 6, 3))
    with opened(tmp_path) as ledger:
        ids = Counter(ledger.scan(TABLE, columns=["id"]).to_arrow()["id"].to_pylist())
        assert max(ids.values()) == 1
        assert len(ids) >= said
        ledger.append(TABLE, [{"count": 3}] * 3)
        # The last commit of a writer may be decided only now.
        after = Counter(ledger.scan(TABLE, columns=["id"]).to_arrow()["id"].to_pylist())
        assert max(after.values()) == 1
        assert len(after) >= len(ids) + 3
        assert max(after) > max(ids)
