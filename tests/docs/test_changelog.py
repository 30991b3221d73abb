"""Changes since the last release are small files, which a release puts into the changelog."""

from pathlib import Path

import pytest

from tests.docs.changelog import fragments, release
from tests.docs.pages import ROOT

OLDER = "# Changelog\n\nIntro.\n\n## 0.1.0\n\nThe first version.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "changes").mkdir(parents=True)
    (tmp_path / "CHANGELOG.md").write_text(OLDER, encoding="utf-8")
    return tmp_path


def add(project: Path, name: str, text: str) -> Path:
    path = project / "docs" / "changes" / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_release_has_its_changes_by_kind_above_the_older_versions(project: Path) -> None:
    files = [
        add(project, "b.fixed.md", "A fault\nis gone.\n"),
        add(project, "a.added.md", "A verb.\n"),
        add(project, "a.fixed.md", "Another one.\n"),
    ]
    release("0.2.0", "2027-01-31", project)

    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text == (
        "# Changelog\n\nIntro.\n\n"
        "## 0.2.0 (2027-01-31)\n\n"
        "### Added\n\n- A verb.\n\n"
        "### Fixed\n\n- Another one.\n- A fault\n  is gone.\n\n"
        "## 0.1.0\n\nThe first version.\n"
    )
    assert [path for path in files if path.exists()] == []


def test_without_changes_there_is_no_release_and_the_changelog_stays(project: Path) -> None:
    with pytest.raises(ValueError, match="nothing to release"):
        release("0.2.0", "2027-01-31", project)
    assert (project / "CHANGELOG.md").read_text(encoding="utf-8") == OLDER


def test_a_change_has_a_kind(project: Path) -> None:
    add(project, "a.improved.md", "Better.\n")
    with pytest.raises(ValueError, match=r"a\.improved\.md must be named <what>\.<kind>\.md"):
        fragments(project / "docs" / "changes")


def test_each_change_has_a_kind_and_a_few_words() -> None:
    for paths in fragments(ROOT / "docs" / "changes").values():
        for path in paths:
            text = path.read_text(encoding="utf-8")
            assert 0 < len(text.strip()) <= 600, path.name
            assert max(map(len, text.splitlines())) <= 160, path.name
