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


def test_each_package_is_pinned_to_one_version() -> None:
    assert [line for line in lines("constraints.txt") if PINNED.fullmatch(line) is None] == []


def test_each_version_has_a_hash_and_nothing_else_has() -> None:
    found = [HASHED.fullmatch(line) for line in lines("constraints-hashed.txt")]
    assert [each[1] if each else None for each in found] == lines("constraints.txt")
