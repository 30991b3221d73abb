"""The site of these pages, made by `make docs`: Sphinx reads Markdown through MyST.

The README is its first page. In the repository each page links to files as they lie there; on the
site these links lead to the pages that show them.
"""

from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
TOCTREE: Final = "```{toctree}"
# The pages that show a file of the repository, above their lists of pages.
SHOWN: Final = {"index": "README.md", "changelog": "CHANGELOG.md"}
LINKS: Final = {
    "](docs/": "](",
    "](../README.md": "](index.md",
    "](../CHANGELOG.md": "](changelog.md",
    "](CHANGELOG.md": "](changelog.md",
    "[Apache License 2.0](LICENSE)": "Apache License 2.0",
}

project = "LakeLedger"
extensions = ["myst_parser"]
exclude_patterns = ["changes"]
myst_heading_anchors = 4
html_theme = "alabaster"
html_theme_options = {"page_width": "1240px", "body_max_width": "960px", "show_powered_by": "false"}
html_show_sourcelink = False
html_copy_source = False


def on_the_site(app: Any, name: str, source: list[str]) -> None:
    """Give a page the text and the links that it has on the site."""
    (text,) = source
    if name in SHOWN:
        file = ROOT / SHOWN[name]
        app.env.note_dependency(str(file))  # Else a page is not made anew once the file changes.
        lists = text[text.index(TOCTREE) :] if TOCTREE in text else ""
        text = f"{file.read_text(encoding='utf-8')}\n{lists}"
    for there, here in LINKS.items():
        text = text.replace(there, here)
    source[0] = text


def setup(app: Any) -> None:
    """Hear of each page before it is read."""
    app.connect("source-read", on_the_site)
