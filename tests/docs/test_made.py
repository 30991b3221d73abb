"""Pages that are made from the code are as the code makes them now."""

import pytest

from tests.docs.make import DOCS, between, made_pages


@pytest.mark.parametrize("name", ["events.md", "isolation.md", "sdk.md", "security.md"])
def test_made(name: str) -> None:
    """The page is the one that `make docs` writes."""
    assert (DOCS / name).read_text(encoding="utf-8") == made_pages()[name], "run make docs"


def test_marks_are_needed() -> None:
    """A page that lost its marks is told, not left as it is."""
    with pytest.raises(ValueError, match="once, not 0 times"):
        between("events", "no marks", "made")
