"""Levels of the ledger over the smallest histories, and the page that shows them."""

import pytest

from tests.consistency.scene_table import PAGE, outcomes, page

pytestmark = pytest.mark.integration


def test_the_page_shows_what_each_level_makes_of_the_scenes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text


@pytest.mark.parametrize("grain", ["file", "rows"])
def test_at_serializable_no_scene_shows_an_anomaly(grain: str) -> None:
    found = outcomes("serializable", grain)
    assert {name: what for name, what in found.items() if "G" in what or "doubled" in what} == {}


def test_at_weaker_levels_the_judge_is_not_blind() -> None:
    assert "G2-item" in outcomes("write-serializable", "file")["write skew over two tables"]
    assert "doubled key" in outcomes("snapshot-isolation", "rows")["two MERGE that insert one key"]
