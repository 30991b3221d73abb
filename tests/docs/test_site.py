"""The pages can be built as a site, and the builder has nothing to say against them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages


@pytest.mark.integration
def test_every_page_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("myst_parser", reason="needs the extra docs: make setup installs it")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "docs", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    names = [Path(page.path).stem for page in pages() if page.path != "README.md"]
    assert [name for name in names if not (tmp_path / f"{name}.html").exists()] == []
    assert "Quick start: operator" in (tmp_path / "index.html").read_text(encoding="utf-8")
