"""Write what pages have from the code: `python -m tests.docs.make`, a part of `make docs`."""

import re
from typing import Final

from tests.docs import event_tables, sdk_page
from tests.docs.pages import ROOT

DOCS: Final = ROOT / "docs"


def between(name: str, text: str, made: str) -> str:
    """Return a text with something else between the marks of a name; the marks stay."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    found, count = re.subn(
        marks, lambda mark: f"{mark[1]}\n{made}\n{mark[2]}", text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"the page must have the marks of {name} once, not {count} times")
    return found


def made_pages() -> dict[str, str]:
    """Return what each page that is made from the code should be, by its name in docs."""
    events = (DOCS / "events.md").read_text(encoding="utf-8")
    return {
        "events.md": between("events", events, event_tables.tables()),
        "sdk.md": sdk_page.page(),
    }


if __name__ == "__main__":
    for name, text in made_pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
