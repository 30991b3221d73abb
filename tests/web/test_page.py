"""The page about HTTP tells all of it: paths, errors and metrics."""

import re
from pathlib import Path

import pytest

from ledger.read_form import RAISED
from projections.web.questions import QUESTIONS
from tests.web.served import samples
from tests.web.test_health import followed, played

PAGE = (Path(__file__).parents[2] / "docs/http.md").read_text(encoding="utf-8")
TOLD = set(re.findall(r"`(?:POST )?([\w/{}-]+)`", PAGE))


@pytest.mark.parametrize("path", ["/position", *(each.path for each in QUESTIONS)])
def test_paths(path: str) -> None:
    """Every path stands there."""
    assert path in TOLD


@pytest.mark.parametrize("name", sorted(RAISED))
def test_errors(name: str) -> None:
    """Every error that a client raises stands there."""
    assert name in TOLD


def test_metrics() -> None:
    """Every metric of ours stands there."""
    with followed(played()) as served:
        names = {name.split()[0] for name in samples(served)}
    ours = {name for name in names if re.match(r"lakeledger(?!.*_created$)", name)}
    told = set(re.findall(r"lakeledger_\w+", PAGE))
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in ours} <= told
