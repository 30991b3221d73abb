"""Write what pages have from the code: `python -m tests.docs.make`, a part of `make docs`."""

import re
from textwrap import wrap
from typing import Final

from ledger.log.kafka.rights import ROLES, shown
from spark_sink.catalog import options
from tests import matrix, row_matrix
from tests.docs import (
    delta_tables,
    event_tables,
    given_types,
    http_tables,
    messages_page,
    rooms,
    sdk_page,
)
from tests.docs.pages import ROOT

DOCS: Final = ROOT / "docs"
WIDTH: Final = 150


def between(name: str, text: str, made: str) -> str:
    """Return a text with something else between the marks of a name; the marks stay."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    found, count = re.subn(
        marks, lambda mark: f"{mark[1]}\n{made}\n{mark[2]}", text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"the page must have the marks of {name} once, not {count} times")
    return found


def rights() -> str:
    """Return what each role does and the rights that it needs, an item each."""
    items = (
        f"- **`{name}`.** {role.does}. Rights: {shown(role.rights)}."
        for name, role in ROLES.items()
    )
    return "\n".join("\n".join(wrap(item, WIDTH, subsequent_indent="  ")) for item in items)


def publishing() -> str:
    """Return the page of published tables."""
    text = (DOCS / "publishing.md").read_text(encoding="utf-8")
    made = {
        "promises": delta_tables.promises(),
        "features": delta_tables.features(),
        "readers": delta_tables.readers(),
    }
    for name, table in made.items():
        text = between(name, text, f"{table}\n")
    return text


def made_pages() -> dict[str, str]:
    """Return what each page that is made from the code should be, by its name in docs."""
    contributing = (DOCS / "contributing.md").read_text(encoding="utf-8")
    events = (DOCS / "events.md").read_text(encoding="utf-8")
    isolation = (DOCS / "isolation.md").read_text(encoding="utf-8")
    for name, made in (
        ("matrix", matrix.page()),
        ("row matrix", row_matrix.page()),
        ("new rows", row_matrix.new_rows()),
        ("rules", matrix.rules_list()),
    ):
        isolation = between(name, isolation, f"{made}\n")
    security = (DOCS / "security.md").read_text(encoding="utf-8")
    http = (DOCS / "http.md").read_text(encoding="utf-8")
    tables = (DOCS / "tables.md").read_text(encoding="utf-8")
    spark_sql = (DOCS / "spark-sql.md").read_text(encoding="utf-8")
    return {
        "contributing.md": between("rooms", contributing, f"{rooms.picture()}\n"),
        "http.md": between("reads", http, http_tables.tables()),
        "isolation.md": isolation,
        "publishing.md": publishing(),
        "security.md": between("rights", security, f"{rights()}\n"),
        "events.md": between("events", events, event_tables.tables()),
        "messages.md": messages_page.page(),
        "tables.md": between("types", tables, given_types.tables()),
        "sdk.md": sdk_page.page(),
        "spark-sql.md": between("options", spark_sql, f"{options.page()}\n"),
    }


if __name__ == "__main__":
    for name, text in made_pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
