"""The README and the pages in docs as data: their lines, their blocks of code, their links."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
FENCE: Final = "```"
SPAN: Final = re.compile(r"`[^`\n]+`")
LINK: Final = re.compile(r"\]\(\s*([^)\s]+)\s*\)")
HEADING: Final = re.compile(r"#{1,6} +(.+)")


class Block(NamedTuple):
    """A block of code on a page: where it begins, in which language, below which heading."""

    page: str
    line: int
    language: str
    heading: str
    text: str

    def __str__(self) -> str:
        """Return where it stands, which names a test."""
        return f"{self.page}:{self.line}"


class Page(NamedTuple):
    """A page: its path in the repository and its text."""

    path: str
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


@cache
def pages() -> tuple[Page, ...]:
    paths = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    return tuple(
        Page(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths
    )


def page(path: str) -> Page:
    return next(each for each in pages() if each.path == path)


def blocks(page: Page) -> Iterator[Block]:
    """Yield the blocks of code of a page."""
    heading, begun, language = "", 0, ""
    inner: list[str] = []
    for number, line in enumerate(page.lines, start=1):
        if begun and line.startswith(FENCE):
            yield Block(page.path, begun, language, heading, "\n".join(inner) + "\n")
            begun, inner = 0, []
        elif begun:
            inner.append(line)
        elif line.startswith(FENCE):
            begun, language = number, line.removeprefix(FENCE)
        elif found := HEADING.fullmatch(line):
            heading = found[1]


def all_blocks(language: str) -> list[Block]:
    return [block for page in pages() for block in blocks(page) if block.language == language]


def prose(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page with their numbers, without its code."""
    inside = False
    for number, line in enumerate(page.lines, start=1):
        if line.startswith(FENCE):
            inside = not inside
        elif not inside:
            yield number, SPAN.sub("`code`", line)


def text_of(page: Page) -> str:
    """Return the text of a page without its blocks of code; code within a line stays."""
    inside, kept = False, []
    for line in page.lines:
        if line.startswith(FENCE):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def links(page: Page) -> list[str]:
    return LINK.findall(SPAN.sub("`code`", text_of(page)))


def anchors(page: Page) -> set[str]:
    """Return the names of a page's headings in a link."""
    inside, found = False, set()
    for line in page.lines:
        inside = inside is not line.startswith(FENCE)
        if not inside and (heading := HEADING.fullmatch(line)):
            found.add(anchor(heading[1]))
    return found


def anchor(heading: str) -> str:
    """Return the name of a heading in a link: its words, small, with hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def spans(pages: Iterable[Page]) -> str:
    """Return all that stands in code within lines of pages, a span a line."""
    return "\n".join(span for page in pages for span in SPAN.findall(text_of(page)))
