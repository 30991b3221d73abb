"""The page about HTTP tells all of it: paths, errors and metrics."""

import re
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ledger.reads.remote.http_form import RAISED
from projections.delta.publisher import DeltaPublisher
from projections.web.answers.questions import QUESTIONS
from projections.web.roles.cache import CACHE_QUESTIONS
from projections.web.roles.publisher import PUBLISHER_QUESTIONS, serve_publisher
from tests.web.served import Served, samples
from tests.web.test_cache import ServedCache
from tests.web.test_health import followed, played
from tests.web.test_publisher import ANYWHERE

PAGE = (Path(__file__).parents[2] / "docs/http.md").read_text(encoding="utf-8")
PATHS = {
    "/position",
    *(question.path for question in QUESTIONS),
    *(question.path for question in CACHE_QUESTIONS),
    *(question.path for question in PUBLISHER_QUESTIONS),
}
TOLD = set(re.findall(r"`(?:POST )?([\w/{}-]+)`", PAGE))


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_path_stands_there(path: str) -> None:
    assert path in TOLD


@pytest.mark.parametrize("name", sorted(RAISED))
def test_every_error_that_a_client_raises_stands_there(name: str) -> None:
    assert name in TOLD


def of_follower() -> set[str]:
    with followed(played()) as served:
        return {name.split()[0] for name in samples(served)}


def of_cache() -> set[str]:
    with ExitStack() as own:
        cached = ServedCache(own)
        cached.start()
        return {name.split()[0] for name in samples(cached.served)}


def of_publisher() -> set[str]:
    with closing(Served(serve_publisher(DeltaPublisher(played().log), ANYWHERE))) as served:
        return {name.split()[0] for name in samples(served)}


@pytest.mark.parametrize("names_of", [of_follower, of_cache, of_publisher])
def test_every_metric_of_ours_stands_there(names_of: Callable[[], set[str]]) -> None:
    names = names_of()
    ours = {name for name in names if re.match(r"lakeledger(?!.*_created$)", name)}
    told = set(re.findall(r"lakeledger_\w+", PAGE))
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in ours} <= told
