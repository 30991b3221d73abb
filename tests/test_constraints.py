"""Packages that are installed: each has one version, and the hash of the file that was tested."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PINNED: Final = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+")
HASHED: Final = re.compile(r"(\S+==\S+) --hash=sha256:[0-9a-f]{64}")


def lines(name: str) -> list[str]:
    """Return what a file says, without its remarks."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_versions() -> None:
    """Each package is pinned to one version."""
    assert [line for line in lines("constraints.txt") if PINNED.fullmatch(line) is None] == []


def test_hashes() -> None:
    """Each version has a hash, and there is none of anything else."""
    found = [HASHED.fullmatch(line) for line in lines("constraints-hashed.txt")]
    assert [each[1] if each else None for each in found] == lines("constraints.txt")
