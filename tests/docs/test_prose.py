"""How the README and the pages are written, as far as a program can tell: see docs/style.md."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.docs.pages import FENCE, ROOT, Page, page, pages, prose
from tests.sources import Module, lies_in, product

COLUMNS_MAX: Final = 160
README_BYTES_MAX: Final = 15 * 1024
LANGUAGES: Final = {"python", "sh", "json", "properties", "text", "toml", "{toctree}"}
# What a sentence about programs needs no word for: name the part of the program instead.
BANNED: Final = (
    *("who", "whom", "whoever", "whomever", "nobody", "somebody", "everybody", "anybody"),
    *("told", "those of", "that of", "is none", "are none"),
)
BANNED_WORDS: Final = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
BEGINS_WITH_OF: Final = re.compile(r"(?:^|[.:;|] |^[-*] |\*\*)Of\b")


# Short: these hide the subject of a docstring or a help text.
HIDING: Final = re.compile(
    r"\b(who|whoever|nobody|told|so many|others than|goes on)\b", re.IGNORECASE
)
NOT_CODE: Final = re.compile(r"`[^`]*`")
# Packages whose docstrings still have such words.
UNREAD: Final = ("ledger.files", "ledger.snapshot", "ledger.transaction", "ledger.work")


def odd_words(page: Page) -> list[str]:
    """Return the words of a page that do not belong in it, with their lines."""
    return [
        f"{page.path}:{number}: {found[0]}"
        for number, line in prose(page)
        for found in (*BANNED_WORDS.finditer(line), *BEGINS_WITH_OF.finditer(line))
    ]


@pytest.mark.parametrize("path", [each.path for each in pages()])
def test_a_page_names_the_parts_of_the_program(path: str) -> None:
    assert odd_words(page(path)) == []


def texts_of(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each docstring, and of each help of an option."""
    for node in module.nodes:
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                place = getattr(node, "name", "")
                yield f"{module.name}.{place}", ast.get_docstring(node) or ""
            case ast.keyword(arg="help", value=ast.Constant(value=str(text))):
                yield f"{module.name}:{node.lineno}", text
            case _:
                pass


def hiding_words(text: str) -> list[str]:
    return HIDING.findall(NOT_CODE.sub("", text))


def test_a_docstring_and_a_help_text_of_a_command_name_the_part_of_the_program() -> None:
    wrong = [
        (place, word)
        for module in product()
        if not lies_in(module.name, *UNREAD)
        for place, text in texts_of(module)
        for word in hiding_words(text)
    ]
    assert wrong == []


@pytest.mark.parametrize("text", ["Whoever asks waits.", "At most so many rows.", "It goes on."])
def test_hiding_words_are_seen(text: str) -> None:
    assert hiding_words(text)
    assert not hiding_words(f"`{text}`")


def test_words_of_changes() -> None:
    """So does what the changelog says, and each change that waits for a release."""
    paths = [ROOT / "CHANGELOG.md", *sorted((ROOT / "docs" / "changes").glob("*.md"))]
    texts = [Page(path.name, path.read_text(encoding="utf-8")) for path in paths]
    assert [word for text in texts for word in odd_words(text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "a reader who waits",
        "Nobody reads.",
        "It is told so.",
        "rows. Of these",
        "- Of all",
        "Of it",
    ],
)
def test_odd_words_are_seen(line: str) -> None:
    assert odd_words(Page("docs/x.md", line))
    assert not odd_words(Page("docs/x.md", f"{FENCE}text\n{line}\n{FENCE}\n`who`\n"))


@pytest.mark.parametrize("path", [*(each.path for each in pages()), "CHANGELOG.md"])
def test_no_line_is_longer_than_a_screen_is_wide(path: str) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    long = [number for number, line in enumerate(lines, start=1) if len(line) > COLUMNS_MAX]
    assert long == []


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size <= README_BYTES_MAX


@pytest.mark.parametrize("path", [each.path for each in pages()])
def test_code_names_its_language(path: str) -> None:
    """Every block of code says what it is, so that a test can tell whether it is right."""
    fences = [line for line in page(path).lines if line.startswith(FENCE)]
    assert {line.removeprefix(FENCE) for line in fences[::2]} <= LANGUAGES
    assert {*fences[1::2]} <= {FENCE}
