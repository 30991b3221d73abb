"""The recipes for contributors name places that there are, and few of them."""

import re
from typing import Final

import pytest

from tests.docs.pages import ROOT

PAGE: Final = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
RECIPES: Final = ("A SQL function", "A column type", "An option of a read", "A verb of rows")
PLACE: Final = re.compile(r"^[0-9]\. `([^`]+)`, `([^`]+)`:", re.MULTILINE)
PLACES_MAX: Final = 3


def recipe(name: str) -> str:
    _, _, rest = PAGE.partition(f"**{name}.**")
    return rest.partition("\n**")[0]


@pytest.mark.parametrize("name", RECIPES)
def test_each_place_of_a_recipe_is_a_name_in_a_file(name: str) -> None:
    places = PLACE.findall(recipe(name))
    missing = [
        f"{path}: {what}"
        for path, what in places
        if not re.search(rf"\b{what}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []
    assert 2 <= len(places) <= PLACES_MAX
