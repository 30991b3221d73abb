"""What pages name is there: pages, sections, files, modules."""

import pkgutil
import re
from typing import Final

import pytest

from tests.docs.pages import ROOT, Page, anchors, links, page, pages

WHOLE: Final = "\n".join(each.text for each in pages())
PACKAGES: Final = "ledger|projections|spark_sink|tests"
PATHS: Final = sorted(set(re.findall(rf"`((?:{PACKAGES}|docs)/[\w./-]*)`", WHOLE)))
# Two parts may be a method of a client that is called `ledger`. In SQL `ledger` is a catalog.
SQL: Final = r"(?!ledger\.(?:db|shop|system)\.)"
NAMES: Final = sorted(set(re.findall(rf"\b{SQL}((?:{PACKAGES})(?:\.\w+){{2,}})", WHOLE)))
OUTSIDE: Final = ("https://", "http://")


def dead(page: Page) -> list[str]:
    """Return the links of a page that lead nowhere."""
    found = []
    for link in links(page):
        path, _, section = link.partition("#")
        target = (ROOT / page.path).parent / path if path else ROOT / page.path
        if link.startswith(OUTSIDE):
            continue
        if not target.exists():
            found.append(link)
        elif section:
            there = Page(path, target.read_text(encoding="utf-8"))
            found += [] if section in anchors(there) else [link]
    return found


@pytest.mark.parametrize("path", [each.path for each in pages()])
def test_every_link_of_a_page_leads_to_a_file_and_a_section(path: str) -> None:
    assert dead(page(path)) == []


def test_dead_links_are_seen() -> None:
    wrong = Page("docs/x.md", "[a](none.md) [b](http.md#none) [c](http.md#paths) [d](\n#none)\n")
    assert dead(wrong) == ["none.md", "http.md#none", "#none"]


def test_the_first_page_of_the_site_lists_every_other_one() -> None:
    listed = page("docs/index.md").text
    names = {each.path for each in pages()} - {"README.md", "docs/index.md"}
    assert [name for name in sorted(names) if name[5:-3] not in listed.split()] == []


def test_the_index_of_the_decisions_names_each_of_them() -> None:
    decisions = page("docs/decisions.md")
    indexed = {link[1:] for link in links(decisions)}
    assert anchors(decisions) - {"decisions", "index"} <= indexed


@pytest.mark.parametrize("path", PATHS)
def test_every_file_and_folder_that_a_page_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_every_module_and_every_name_in_one_that_a_page_names_is_there(name: str) -> None:
    assert pkgutil.resolve_name(name)
