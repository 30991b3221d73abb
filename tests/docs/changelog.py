"""Put the changes since the last release into the changelog: `make changelog VERSION=0.2.0`.

A change is a file `<what>.<kind>.md` in docs/changes. They become one section, by kind, above the
older versions; then the files are removed.
"""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Final

from tests.docs.pages import ROOT

KINDS: Final = ("added", "changed", "fixed", "removed", "security")
ABOUT: Final = "README.md"


def fragments(folder: Path) -> Mapping[str, Sequence[Path]]:
    """Return the files of changes by their kind.

    Raises ValueError for a file whose name has no kind.
    """
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        if path.name == ABOUT:
            continue
        kind = path.name.removesuffix(".md").rpartition(".")[2]
        if kind not in found:
            raise ValueError(
                f"{path.name} must be named <what>.<kind>.md, with a kind of {', '.join(KINDS)}"
            )
        found[kind].append(path)
    return found


def section(version: str, day: str, changes: Mapping[str, Sequence[str]]) -> str:
    parts = [f"## {version} ({day})\n"]
    for kind, texts in changes.items():
        if texts:
            items = [indent(text.strip(), "  ").replace("  ", "- ", 1) for text in texts]
            parts.append("\n".join([f"### {kind.capitalize()}\n", *items, ""]))
    return "\n".join(parts) + "\n"


def with_section(changelog: str, made: str) -> str:
    """Return a changelog with a section above the older ones."""
    at = changelog.index("\n## ") + 1
    return changelog[:at] + made + changelog[at:]


def release(version: str, day: str, root: Path = ROOT) -> None:
    """Put all changes into the changelog and remove their files; raises ValueError without any."""
    files = fragments(root / "docs" / "changes")
    changes = {
        kind: [path.read_text(encoding="utf-8") for path in paths] for kind, paths in files.items()
    }
    if not any(changes.values()):
        raise ValueError("docs/changes has no change: there is nothing to release")
    changelog = root / "CHANGELOG.md"
    text = with_section(changelog.read_text(encoding="utf-8"), section(version, day, changes))
    changelog.write_text(text, encoding="utf-8")
    for paths in files.values():
        for path in paths:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the version: make changelog VERSION=0.2.0")
    release(sys.argv[1], f"{datetime.now(UTC):%Y-%m-%d}")
