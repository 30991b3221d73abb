"""Pages that are made from the code are as the code makes them now."""

from difflib import unified_diff

import pytest

from tests.docs.make import DOCS, between, made_pages


@pytest.mark.parametrize(
    "name",
    [
        *("contributing.md", "events.md", "http.md", "isolation.md", "messages.md"),
        *("sdk.md", "security.md", "spark-sql.md"),
    ],
)
def test_made(name: str) -> None:
    """The page is the one that `make docs` writes."""
    there = (DOCS / name).read_text(encoding="utf-8").splitlines()
    made = made_pages()[name].splitlines()
    assert [*unified_diff(there, made, lineterm="", n=0)][2:5] == [], "run make docs"


def test_a_page_without_its_marks_is_an_error_not_left_as_it_is() -> None:
    with pytest.raises(ValueError, match="once, not 0 times"):
        between("events", "no marks", "made")
